/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - lodestore-offloadd's process: key, exports, jobs, service; the log; readiness.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "offload/config.h"
#include "offload/confined.h"
#include "offload/service.h"
#include "offload/status.h"
#include "offload/target.h"
#include "rpcgen/offload_text.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"
#include "vfs/base/process.h"
#include "vfs/handle_key.h"

enum {
	OPEN_FILES_MAX = 1024,
	DESCRIPTORS = 8192, /* of files, connections and jobs: far more than there can be */
};

struct offloadd {
	const struct offload_config *config;
	struct vfs *vfs;
	struct jobs *jobs;
	struct totals totals;
};

/* ---- exports ---- */

static void report_unusable(void *context, enum exports_severity severity,
                            const struct export_spec *spec, const char *message)
{
	if (severity == EXPORTS_ERROR)
		log_always(LOG_LEVEL_ERROR, "%s:%u: %s", spec->file, spec->line, message);
}

/* Takes over what is in @exports. */
static int exports_serve(struct offloadd *offloadd, struct exports *exports)
{
	size_t usable;
	int r = vfs_exports_set(offloadd->vfs, exports, report_unusable, NULL, &usable);

	if (r == 0)
		log_info("%zu exports", usable);
	return r;
}

static int exports_reload(struct offloadd *offloadd)
{
	struct exports exports;
	int r = offload_config_exports(offloadd->config, &exports);

	return r < 0 ? r : exports_serve(offloadd, &exports);
}

static void reload(void *context)
{
	log_info("reading the exports again");
	if (exports_reload(context) < 0)
		log_error(
			"the exports stay as they were; mend the mistakes above and reload again");
}

static void tick(void *context)
{
	struct offloadd *offloadd = context;

	vfs_sweep(offloadd->vfs);
	log_flush(false);
	process_alive();
}

/* ---- what is told of jobs ---- */

static void say_end(const struct job_record *record)
{
	enum log_level level = record->state == OFFLOAD_STATE_FAILED ? LOG_LEVEL_WARNING
	                                                             : LOG_LEVEL_INFO;

	log_at(level, "job %llu: %s of %s%s%s %s after %llu ms by %s, %llu bytes%s%s",
	       (unsigned long long) record->id, offload_kind_name(record->kind),
	       LOG_ESCAPED(record->source.shown), record->destination.shown[0] ? " to " : "",
	       LOG_ESCAPED(record->destination.shown), offload_state_name(record->state),
	       (unsigned long long) (record->finished_ms - record->created_ms),
	       record->engine[0] ? record->engine : "nothing",
	       (unsigned long long) record->bytes_total, record->text[0] ? ": " : "",
	       LOG_ESCAPED(record->text));
}

static void say_begin(const struct job_record *record)
{
	static const struct export_address nobody;
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	bool local = memcmp(&record->host, &nobody, sizeof nobody) == 0;
	const struct log_about about = {
		.client = local ? NULL : export_address_print(&record->host, text),
		.call = offload_kind_name(record->kind),
	};

	log_about(LOG_LEVEL_INFO, &about, "job %llu: %s of %s%s%s, asked by %s (uid %u)",
	          (unsigned long long) record->id, about.call, LOG_ESCAPED(record->source.shown),
	          record->destination.shown[0] ? " to " : "",
	          LOG_ESCAPED(record->destination.shown), local ? "root here" : about.client,
	          record->cred.uid);
}

static void job_told(void *context, const struct job_record *record)
{
	struct offloadd *offloadd = context;

	if (record->state == OFFLOAD_STATE_QUEUED)
		say_begin(record);
	else
		say_end(record);
	if (!job_is_live(record))
		totals_ended(&offloadd->totals, record);
}

static void say_refused(const struct service_refusal *refusal)
{
	const struct caller *caller = refusal->caller;
	enum log_level level = caller->local ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING;
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	const struct log_about about = {
		.client = caller->local ? NULL : export_address_print(&caller->address, text),
		.call = refusal->asked,
	};

	log_about(level, &about, "offload %s from %s is refused: %s%s%s", refusal->asked,
	          about.client ? about.client : "root here", refusal->what,
	          refusal->what[0] ? ": " : "", offload_error_text(refusal->error));
}

static void journal_bad(void *context, const char *path)
{
	log_warn("%s is no job: left as it is", LOG_ESCAPED(path));
}

/* ---- starting ---- */

static int key_load(const char *state_dir, struct vfs_handle_key *ret_key)
{
	char why[VFS_HANDLE_KEY_WHY_BYTES];
	bool made;
	int r = vfs_handle_key_load(state_dir, ret_key, &made, why);

	if (r < 0)
		log_error("%s", why);
	return r;
}

static int jobs_start(struct offloadd *offloadd)
{
	const struct offload_config *config = offloadd->config;
	struct jobs_settings settings = {
		.copy_jobs = (unsigned) config->copy_jobs,
		.copy_rate = config->copy_rate,
		.thick_share = config->thick == OFFLOAD_THICK_SHARE,
		.told = job_told,
		.bad = journal_bad,
		.context = offloadd,
	};
	AUTO(free_ptr) char *dir = NULL;
	int r;

	if (asprintf(&dir, "%s/jobs", config->settings.state_dir) < 0)
		return -ENOMEM;
	settings.dir = dir;
	r = jobs_open(offloadd->vfs, &settings, &offloadd->jobs);
	if (r == -EBUSY)
		log_error("another lodestore-offloadd works on the jobs in %s: end it first", dir);
	else if (r < 0)
		log_error("cannot read the jobs in %s: %s", dir, strerror(-r));
	return r;
}

static int service_start(struct offloadd *offloadd)
{
	struct service_settings settings = {
		.socket_path = offloadd->config->socket,
		.vfs = offloadd->vfs,
		.jobs = offloadd->jobs,
		.totals = &offloadd->totals,
		.refused = say_refused,
		.reload = reload,
		.tick = tick,
		.context = offloadd,
	};
	int r = service_open(&settings);

	if (r == -EADDRINUSE)
		log_error("another lodestore-offloadd listens on %s", settings.socket_path);
	else if (r < 0)
		log_error("cannot listen on %s: %s. Make its directory, or name another socket with"
		          " --socket",
		          settings.socket_path, strerror(-r));
	return r;
}

/* Takes over what is in @exports. */
static int open_files(struct offloadd *offloadd, struct exports *exports)
{
	struct vfs_handle_key key;
	int r = key_load(offloadd->config->settings.state_dir, &key);

	if (r == 0)
		r = vfs_new(&key, OPEN_FILES_MAX, &offloadd->vfs);
	if (r < 0) {
		exports_done(exports);
		return r;
	}
	return exports_serve(offloadd, exports);
}

/* libtirpc makes a table for as many as are allowed. */
static void descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
	(void) setrlimit(RLIMIT_NOFILE, &limit);
}

static int start(struct offloadd *offloadd)
{
	struct exports exports;
	int r;

	descriptors_raise();
	r = confined_privileges();
	/* Before anything is made: a start that is refused leaves nothing. */
	if (r == 0)
		r = offload_config_exports(offloadd->config, &exports);
	if (r == 0)
		r = open_files(offloadd, &exports);
	if (r == 0)
		r = jobs_start(offloadd);
	if (r == 0)
		r = service_start(offloadd);
	return r == 0 ? confined_calls(offloadd->config->seccomp) : r;
}

static int serve(void *context, int ready_fd)
{
	const struct offload_config *config = context;
	struct offloadd offloadd = { .config = config };
	sigset_t signals;
	int r;

	totals_init(&offloadd.totals);
	process_prepare(&signals);
	r = start(&offloadd);
	if (r == 0) {
		log_info("ready on %s", config->socket);
		process_ready(ready_fd);
		r = service_run(&signals);
		process_ending();
		log_info("ending");
	}
	service_close();
	jobs_close(offloadd.jobs);
	if (offloadd.vfs)
		vfs_free(offloadd.vfs);
	log_flush(true);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run(struct offload_config *config)
{
	int status = process_run("lodestore-offloadd", config->settings.foreground, serve, config);

	if (status >= 0)
		return status;
	log_error("cannot leave the terminal: %s", strerror(-status));
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct offload_config config;
	int status = EXIT_FAILURE;

	switch (offload_config_load(argc, argv, &config)) {
	case SETTINGS_EXIT_OK:
		status = EXIT_SUCCESS;
		break;
	case SETTINGS_EXIT_ERROR:
		break;
	case SETTINGS_RUN:
		status = run(&config);
		break;
	}
	offload_config_done(&config);
	return status;
}
