/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearse_task.c - one file cloned, reserved or measured as a host and its plug-in do it.
 *
 * A full clone, in the order of this file:
 *
 *     clone_prepare    the host: look the source up, make directories; the destination must be new
 *     clone_create     the host: CREATE, set the length
 *     reserve_begin    the host, for a thick disk: reserve, by a plug-in's call
 *     clone_begin      the plug-in, in a session of its own: look up, clone
 *     job_wait         the plug-in: poll, until complete, refused too often, stalled or aborted
 *     verify           us: read both
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "offload/plugin/rehearse.h"
#include "vfs/base/cleanup.h"

enum {
	RETRY_MS = 250,
};

/* What became of waiting for a job. */
enum job_end {
	JOB_COMPLETE,
	JOB_ABORTED, /* as was asked for */
	JOB_FAILED,  /* the result's note says why */
};

static enum plugin_dialect dialect_of(const struct rehearse_task *task)
{
	return task->rehearsal->scenario->dialect == SCENARIO_DIALECT_Q ? PLUGIN_DIALECT_Q
	                                                                : PLUGIN_DIALECT_O;
}

__attribute__((format(printf, 2, 3))) static void note(struct rehearse_task *task,
                                                       const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(task->result.note, sizeof task->result.note, format, values);
	va_end(values);
}

int rehearse_task_open(struct rehearse_task *task)
{
	int r;

	if (task->open)
		return 0;
	r = plugin_session_open(&task->session, &task->server);
	task->open = r == 0;
	if (r < 0)
		plugin_session_close(&task->session);
	return r;
}

void rehearse_task_close(struct rehearse_task *task)
{
	if (task->open)
		plugin_session_close(&task->session);
	task->open = false;
}

/* One attempt, in the session at hand or a new one; a session without answers is given up. */
static int attempt_once(struct rehearse_task *task, int (*attempt)(struct rehearse_task *task))
{
	int r = rehearse_task_open(task);

	if (r == 0)
		r = attempt(task);
	if (r == -ECOMM)
		rehearse_task_close(task);
	return r;
}

int rehearse_task_try(struct rehearse_task *task, int (*attempt)(struct rehearse_task *task))
{
	uint64_t began_ms = rehearse_now_ms();
	bool again;
	int r;

	do {
		r = attempt_once(task, attempt);
		again = (r == -ECOMM ||
		         (r == -EREMOTEIO && task->session.status == NFS3ERR_JUKEBOX)) &&
		        rehearse_now_ms() - began_ms < REHEARSE_LOST_S * 1000 &&
		        !atomic_load(&task->rehearsal->stop);
		if (again)
			rehearse_sleep_ms(RETRY_MS);
	} while (again);
	if (r < 0)
		note(task, "%s", task->session.why);
	return r;
}

/* ---- the host ---- */

static int directory_make(struct rehearse_task *task, const char *path)
{
	struct plugin_session *session = &task->session;
	struct plugin_handle dir;
	const char *name;
	int r;

	r = plugin_lookup(session, path, &dir, NULL, NULL);
	if (r != -EREMOTEIO || session->status != NFS3ERR_NOENT)
		return r;
	r = plugin_lookup_parent(session, path, &dir, &name);
	if (r == 0)
		r = plugin_mkdir(session, &dir, name);
	if (r == 0)
		rehearse_made_note(task->rehearsal, path, true);
	return r == -EREMOTEIO && session->status == NFS3ERR_EXIST ? 0 : r; /* by another host */
}

static int directories_make(struct rehearse_task *task)
{
	char path[SCENARIO_PATH_BYTES];
	int r = 0;

	for (const char *slash = strchr(task->path, '/'); slash && r == 0;
	     slash = strchr(slash + 1, '/')) {
		snprintf(path, sizeof path, "%.*s", (int) (slash - task->path), task->path);
		r = directory_make(task, path);
	}
	return r;
}

static int clone_prepare(struct rehearse_task *task)
{
	struct plugin_session *session = &task->session;
	fattr3 attributes;
	int r;

	r = plugin_lookup(session, task->source_path, &task->source, &attributes, NULL);
	if (r < 0)
		return r;
	if (attributes.type != NF3REG) {
		session->status = NFS3ERR_INVAL;
		return plugin_session_say(session, -EREMOTEIO, "%s is no regular file",
		                          task->source_path);
	}
	task->source_bytes = attributes.size;
	r = directories_make(task);
	if (r < 0)
		return r;
	r = plugin_lookup(session, task->path, &task->file, NULL, NULL);
	if (r == -EREMOTEIO && session->status == NFS3ERR_NOENT)
		return 0;
	if (r < 0)
		return r;
	session->status = NFS3ERR_EXIST;
	return plugin_session_say(session, -EREMOTEIO,
	                          "%s is there already, and a rehearsal overwrites nothing. Remove"
	                          " it, or name another destination",
	                          task->path);
}

static int clone_create(struct rehearse_task *task)
{
	struct plugin_handle dir;
	const char *name;
	int r;

	r = plugin_lookup_parent(&task->session, task->path, &dir, &name);
	if (r == 0)
		r = plugin_create(&task->session, &dir, name, &task->file);
	if (r == 0)
		r = plugin_set_size(&task->session, &task->file, task->source_bytes);
	return r;
}

static int reserve_begin(struct rehearse_task *task)
{
	int r = plugin_lookup(&task->session, task->path, &task->file, NULL, NULL);

	if (r == 0)
		r = plugin_reserve(&task->session, dialect_of(task), &task->file, &task->progress);
	return r;
}

/* ---- the plug-in ---- */

static int clone_begin(struct rehearse_task *task)
{
	struct plugin_session *session = &task->session;
	int r;

	r = plugin_lookup(session, task->source_path, &task->source, NULL, NULL);
	if (r == 0)
		r = plugin_lookup(session, task->path, &task->file, NULL, NULL);
	if (r == 0)
		r = plugin_clone(session, dialect_of(task), &task->source, &task->file, task->path,
		                 task->step->disk != SCENARIO_THICK, &task->progress);
	return r;
}

static int clone_fast(struct rehearse_task *task)
{
	int r = plugin_clone_fast(&task->session, dialect_of(task), task->source_path, task->path);

	if (r == 0)
		r = plugin_lookup(&task->session, task->path, &task->file, NULL, NULL);
	return r;
}

static int job_poll(struct rehearse_task *task)
{
	return plugin_poll(&task->session, dialect_of(task), &task->file, &task->progress);
}

static int job_abort(struct rehearse_task *task)
{
	return plugin_abort(&task->session, dialect_of(task), &task->file);
}

/* Why an abort was sent. */
enum abort_cause {
	ABORT_NOT,
	ABORT_ASKED, /* by the scenario */
	ABORT_STALLED,
	ABORT_STOPPED, /* by a signal to us */
};

struct patience {
	uint64_t began_ms, moved_ms; /* moved: when done_bytes last changed */
	uint64_t done_bytes;
	unsigned failed_polls;
	enum abort_cause abort;
	uint64_t aborted_ms;
};

static enum abort_cause abort_due(const struct rehearse_task *task, const struct patience *patience,
                                  bool may_abort)
{
	uint64_t now_ms = rehearse_now_ms();

	if (atomic_load(&task->rehearsal->stop))
		return ABORT_STOPPED;
	if (may_abort && task->step->aborts &&
	    now_ms - patience->began_ms >= task->step->abort_after_ms)
		return ABORT_ASKED;
	return now_ms - patience->moved_ms >= task->rehearsal->scenario->patience_ms ? ABORT_STALLED
	                                                                             : ABORT_NOT;
}

/* Has the scenario, the user or a plug-in's patience had enough? Then the abort is sent, once. */
static void abort_if_due(struct rehearse_task *task, struct patience *patience, bool may_abort)
{
	if (patience->abort != ABORT_NOT)
		return;
	patience->abort = abort_due(task, patience, may_abort);
	if (patience->abort == ABORT_NOT)
		return;
	patience->aborted_ms = rehearse_now_ms();
	(void) rehearse_task_try(task, job_abort); /* how it went, the polls tell */
}

/* It has ended without being complete. */
static enum job_end job_lost(struct rehearse_task *task, const struct patience *patience)
{
	switch (patience->abort) {
	case ABORT_ASKED:
		return JOB_ABORTED;
	case ABORT_STALLED:
		note(task, "no progress for %u s; aborted",
		     task->rehearsal->scenario->patience_ms / 1000);
		break;
	case ABORT_STOPPED:
		note(task, "interrupted; aborted");
		break;
	case ABORT_NOT:
		note(task, "the server says that it failed");
		break;
	}
	return JOB_FAILED;
}

static void progress_look(const struct rehearse_task *task, struct patience *patience)
{
	if (task->progress.done_bytes == patience->done_bytes)
		return;
	patience->done_bytes = task->progress.done_bytes;
	patience->moved_ms = rehearse_now_ms();
}

/* A poll was refused or not answered: is that the end? */
static bool poll_lost(struct rehearse_task *task, struct patience *patience, int error,
                      enum job_end *ret_end)
{
	patience->failed_polls++;
	if (error == -EREMOTEIO && patience->abort != ABORT_NOT) {
		*ret_end = job_lost(task, patience);
		return true;
	}
	if (patience->failed_polls < REHEARSE_POLLS_FAILED_MAX)
		return false;
	note(task, "%u polls in a row failed; the last: %s", patience->failed_polls,
	     task->session.why);
	*ret_end = JOB_FAILED;
	return true;
}

/* A poll was answered: has the job ended? */
static bool poll_answered(struct rehearse_task *task, struct patience *patience,
                          enum job_end *ret_end)
{
	patience->failed_polls = 0;
	progress_look(task, patience);
	if (task->progress.state == PLUGIN_COMPLETE) {
		*ret_end = JOB_COMPLETE;
		return true;
	}
	if (task->progress.state >= PLUGIN_FAILED) {
		*ret_end = job_lost(task, patience);
		return true;
	}
	if (patience->abort == ABORT_NOT ||
	    rehearse_now_ms() - patience->aborted_ms < REHEARSE_LOST_S * 1000)
		return false;
	note(task, "it was aborted %u s ago, and still runs", (unsigned) REHEARSE_LOST_S);
	*ret_end = JOB_FAILED;
	return true;
}

/* Polls until the job has ended. The first comes at once, the next after a pause each. What the
 * call that began it has told counts as a poll. */
static enum job_end job_wait(struct rehearse_task *task, bool may_abort)
{
	struct patience patience = { .began_ms = rehearse_now_ms() };
	enum job_end end;
	int r = 0;

	patience.moved_ms = patience.began_ms;
	for (bool first = true;; first = false) {
		if (r < 0 ? poll_lost(task, &patience, r, &end)
		          : poll_answered(task, &patience, &end))
			return end;
		abort_if_due(task, &patience, may_abort);
		if (!first)
			rehearse_sleep_ms(task->rehearsal->scenario->poll_ms);
		r = attempt_once(task, job_poll);
	}
}

/* ---- a clone, all of it ---- */

static int verify_attempt(struct rehearse_task *task)
{
	AUTO(free_ptr) uint8_t *ours = malloc(2 * (size_t) PLUGIN_READ_BYTES_MAX);
	struct plugin_session *session = &task->session;
	uint8_t *theirs = ours + PLUGIN_READ_BYTES_MAX;
	size_t our_bytes, their_bytes;
	bool our_eof = false, their_eof = false;
	int r;

	if (!ours)
		return plugin_session_say(session, -EREMOTEIO, "out of memory");
	for (uint64_t at = 0; !our_eof && !their_eof; at += our_bytes) {
		r = plugin_read(session, &task->file, at, ours, &our_bytes, &our_eof);
		if (r == 0)
			r = plugin_read(session, &task->source, at, theirs, &their_bytes,
			                &their_eof);
		if (r < 0)
			return r;
		/* Servers may give less than was asked for, but ours are asked alike. */
		if (our_bytes != their_bytes || our_eof != their_eof ||
		    memcmp(ours, theirs, our_bytes) != 0) {
			session->status = NFS3ERR_IO;
			return plugin_session_say(session, -EREMOTEIO,
			                          "NOT EQUAL to the source, from byte %llu on or a"
			                          " little later",
			                          (unsigned long long) at);
		}
	}
	return 0;
}

static int engine_attempt(struct rehearse_task *task)
{
	plugin_session_engine(&task->session, &task->file, task->result.engine);
	return plugin_lookup(&task->session, task->source_path, &task->source, NULL, NULL);
}

static void clone_finish(struct rehearse_task *task, enum job_end end, uint64_t began_ms)
{
	task->result.ms = rehearse_now_ms() - began_ms;
	task->result.good = end != JOB_FAILED;
	if (end == JOB_ABORTED)
		note(task, "aborted");
	else if (end == JOB_COMPLETE && task->step->aborts)
		note(task, "complete before it was to be aborted");
	if (end != JOB_COMPLETE)
		return;
	if (rehearse_task_try(task, engine_attempt) < 0 || !task->rehearsal->verify)
		return;
	task->result.good = rehearse_task_try(task, verify_attempt) == 0;
	if (task->result.good)
		note(task, "equal");
}

/* The space first, then the content; each by a plug-in's session. */
static enum job_end clone_full(struct rehearse_task *task)
{
	if (task->step->disk == SCENARIO_THICK &&
	    (rehearse_task_try(task, reserve_begin) < 0 || job_wait(task, false) != JOB_COMPLETE))
		return JOB_FAILED;
	rehearse_task_close(task);
	if (rehearse_task_try(task, clone_begin) < 0)
		return JOB_FAILED;
	return job_wait(task, true);
}

/* After a failure again, as often as the scenario says. */
static enum job_end clone_tries(struct rehearse_task *task)
{
	enum job_end end = JOB_FAILED;

	for (unsigned tries = task->rehearsal->scenario->tries; end == JOB_FAILED && tries > 0;
	     tries--) {
		if (task->step->disk != SCENARIO_FAST)
			end = clone_full(task);
		else if (rehearse_task_try(task, clone_fast) == 0)
			end = JOB_COMPLETE;
		if (atomic_load(&task->rehearsal->stop))
			return end;
		if (end == JOB_FAILED && tries > 1)
			rehearse_sleep_ms(task->rehearsal->scenario->poll_ms);
	}
	return end;
}

static void clone_run(struct rehearse_task *task)
{
	uint64_t began_ms;

	if (rehearse_task_try(task, clone_prepare) < 0)
		return;
	rehearse_made_note(task->rehearsal, task->path, false);
	began_ms = rehearse_now_ms();
	if (task->step->disk == SCENARIO_FAST || rehearse_task_try(task, clone_create) == 0)
		clone_finish(task, clone_tries(task), began_ms);
}

/* ---- the other steps ---- */

static int usage_attempt(struct rehearse_task *task)
{
	struct plugin_usage usage;
	int r;

	r = plugin_lookup(&task->session, task->path, &task->file, NULL, NULL);
	if (r == 0)
		r = plugin_usage_of(&task->session, dialect_of(task), &task->file, &usage);
	if (r == 0)
		note(task, "%llu bytes, %llu allocated, %llu unique",
		     (unsigned long long) usage.total_bytes,
		     (unsigned long long) usage.allocated_bytes,
		     (unsigned long long) usage.unique_bytes);
	return r;
}

static int support_attempt(struct rehearse_task *task)
{
	uint32_t can;
	int r = plugin_support(&task->session, dialect_of(task), &can);

	if (r == 0)
		note(task, "clone %s, reserve %s, statistics %s",
		     can & PLUGIN_CAN_CLONE ? "yes" : "no", can & PLUGIN_CAN_RESERVE ? "yes" : "no",
		     can & PLUGIN_CAN_STAT ? "yes" : "no");
	return r;
}

void rehearse_task_run(struct rehearse_task *task)
{
	uint64_t began_ms = rehearse_now_ms();

	switch (task->step->kind) {
	case SCENARIO_CLONE:
		clone_run(task);
		break;
	case SCENARIO_RESERVE:
		task->result.good = rehearse_task_try(task, reserve_begin) == 0 &&
		                    job_wait(task, false) == JOB_COMPLETE;
		break;
	case SCENARIO_STAT:
		task->result.good = rehearse_task_try(task, usage_attempt) == 0;
		break;
	case SCENARIO_SUPPORT:
		task->result.good = rehearse_task_try(task, support_attempt) == 0;
		break;
	}
	if (task->result.ms == 0)
		task->result.ms = rehearse_now_ms() - began_ms;
	rehearse_task_close(task);
}
