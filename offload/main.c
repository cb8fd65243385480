/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - lodestore-offloadd's process: key, exports, jobs, service; the log; readiness.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "offload/config.h"
#include "offload/service.h"
#include "rpcgen/offload_text.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"
#include "vfs/handle_key.h"

enum {
	OPEN_FILES_MAX = 1024,
};

struct offloadd {
	const struct offload_config *config;
	struct vfs *vfs;
	struct jobs *jobs;
};

/* ---- exports ---- */

static void report_unusable(void *context, enum exports_severity severity,
                            const struct export_spec *spec, const char *message)
{
	if (severity == EXPORTS_ERROR)
		log_always(LOG_LEVEL_ERROR, "%s:%u: %s", spec->file, spec->line, message);
}

static int exports_load(struct offloadd *offloadd)
{
	struct exports exports;
	size_t usable;
	int r;

	r = offload_config_exports(offloadd->config, &exports);
	if (r == 0)
		r = vfs_exports_set(offloadd->vfs, &exports, report_unusable, NULL, &usable);
	if (r == 0)
		log_info("%zu exports", usable);
	return r;
}

static void reload(void *context)
{
	log_info("reading the exports again");
	if (exports_load(context) < 0)
		log_error(
			"the exports stay as they were; mend the mistakes above and reload again");
}

static void tick(void *context)
{
	struct offloadd *offloadd = context;

	vfs_sweep(offloadd->vfs);
	log_flush(false);
	(void) sd_notify(0, "WATCHDOG=1");
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

static void job_told(void *context, const struct job_record *record)
{
	if (record->state == OFFLOAD_STATE_QUEUED)
		log_info("job %llu: %s of %s%s%s", (unsigned long long) record->id,
		         offload_kind_name(record->kind), LOG_ESCAPED(record->source.shown),
		         record->destination.shown[0] ? " to " : "",
		         LOG_ESCAPED(record->destination.shown));
	else
		say_end(record);
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
	};
	AUTO(free_ptr) char *dir = NULL;
	int r;

	if (asprintf(&dir, "%s/jobs", config->state_dir) < 0)
		return -ENOMEM;
	settings.dir = dir;
	r = jobs_open(offloadd->vfs, &settings, &offloadd->jobs);
	if (r < 0)
		log_error("cannot read the jobs in %s: %s", dir, strerror(-r));
	return r;
}

static int service_start(struct offloadd *offloadd)
{
	struct service_settings settings = {
		.socket_path = offloadd->config->socket,
		.vfs = offloadd->vfs,
		.jobs = offloadd->jobs,
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

static int start(struct offloadd *offloadd)
{
	struct vfs_handle_key key;
	char missing[256];
	int r;

	r = vfs_identity_init(missing, sizeof missing);
	if (r == -EPERM)
		log_error("this process lacks %s. Run it as root, or give it these capabilities",
		          missing);
	if (r == 0)
		r = key_load(offloadd->config->state_dir, &key);
	if (r == 0)
		r = vfs_new(&key, OPEN_FILES_MAX, &offloadd->vfs);
	if (r == 0)
		r = exports_load(offloadd);
	if (r == 0)
		r = jobs_start(offloadd);
	return r == 0 ? service_start(offloadd) : r;
}

static int serve(const struct offload_config *config, int ready_fd)
{
	struct offloadd offloadd = { .config = config };
	sigset_t signals;
	int r;

	umask(0);
	(void) signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	(void) sigprocmask(SIG_BLOCK, &signals, NULL);
	(void) mallopt(M_ARENA_MAX, 2);
	r = start(&offloadd);
	if (r == 0) {
		log_info("ready on %s", config->socket);
		(void) sd_notify(0, "READY=1");
		if (ready_fd >= 0)
			(void) !write(ready_fd, "", 1);
		r = service_run(&signals);
		(void) sd_notify(0, "STOPPING=1");
		log_info("ending");
	}
	service_close();
	jobs_close(offloadd.jobs);
	if (offloadd.vfs)
		vfs_free(offloadd.vfs);
	log_flush(true);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The parent leaves when the child serves, so that who started it knows. */
static int serve_detached(const struct offload_config *config)
{
	int ready[2];
	pid_t child;
	char byte;

	if (pipe(ready) < 0)
		return EXIT_FAILURE;
	child = fork();
	if (child < 0) {
		log_error("cannot fork: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	if (child > 0) {
		close_fd(&ready[1]);
		return read(ready[0], &byte, 1) == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	close_fd(&ready[0]);
	(void) setsid();
	(void) !chdir("/");
	if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout))
		return EXIT_FAILURE;
	return serve(config, ready[1]);
}

int main(int argc, char **argv)
{
	struct offload_config config;
	int status = EXIT_FAILURE;

	switch (offload_config_load(argc, argv, &config)) {
	case OFFLOAD_CONFIG_EXIT_OK:
		status = EXIT_SUCCESS;
		break;
	case OFFLOAD_CONFIG_EXIT_ERROR:
		break;
	case OFFLOAD_CONFIG_RUN:
		status = config.foreground || getenv("NOTIFY_SOCKET") ? serve(&config, -1)
		                                                      : serve_detached(&config);
		break;
	}
	offload_config_done(&config);
	return status;
}
