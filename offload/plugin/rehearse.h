/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearse.h - a scenario carried out: hosts with a plug-in, played by threads.
 *
 * A step of the scenario is a number of tasks (one a file); hosts x at-once threads take them one
 * by one, each task with sessions of its own. The next step begins when all tasks of one are done.
 * Nothing is overwritten, and what was made is written down, so that it can be removed.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "offload/plugin/plugin.h"
#include "offload/plugin/scenario.h"

enum {
	REHEARSE_NOTE_BYTES = 2 * PLUGIN_WHY_BYTES,
	REHEARSE_ENGINE_BYTES = 32,
	/* A plug-in's patience; for lack of progress it is the scenario's. */
	REHEARSE_POLLS_FAILED_MAX = 60,
	REHEARSE_LOST_S = 60, /* without an answer, on whatever connection */
};

/* What became of a task. */
struct rehearse_result {
	unsigned step, number, host; /* of the scenario's steps; from 1 */
	bool good;
	uint64_t ms; /* a clone: from CREATE to complete; others: the whole task */
	char engine[REHEARSE_ENGINE_BYTES]; /* of a clone, if the server tells; "" */
	char note[REHEARSE_NOTE_BYTES];     /* why not, or a remark */
};

struct rehearse_made; /* rehearse_made.c */

struct rehearsal {
	const struct scenario *scenario;
	const char *file; /* the scenario's name, in messages */
	bool verify, clean, json;
	FILE *to;         /* what is shown; stdout */
	atomic_bool stop; /* set by a signal: begin nothing new */
	/* Below: for the threads, under the lock. */
	pthread_mutex_t lock;
	struct rehearse_made *made;
	struct rehearse_result *results;
	size_t result_count;
	unsigned step, next; /* the step at work, and its next task, from 0 */
};

/* A task while it is worked on. */
struct rehearse_task {
	struct rehearsal *rehearsal;
	const struct scenario_step *step;
	struct plugin_server server;
	struct plugin_session session;
	bool open;
	char source_path[SCENARIO_PATH_BYTES], path[SCENARIO_PATH_BYTES];
	struct plugin_handle source, file;
	uint64_t source_bytes;
	struct plugin_progress progress;
	struct rehearse_result result;
};

/* Carry the scenario out, show what happens, and clean if that is asked for. Returns true if all
 * went well. */
bool rehearse_run(struct rehearsal *rehearsal);

/* rehearse_task.c: all of one task; task->result says how it went. */
void rehearse_task_run(struct rehearse_task *task);

/* Begin a session if there is none. For what fails with -ECOMM, see rehearse_task_try(). */
int rehearse_task_open(struct rehearse_task *task);
void rehearse_task_close(struct rehearse_task *task);

/* @attempt until it is answered, in new sessions, for REHEARSE_LOST_S; also while the server asks
 * to try later. What it does must do no harm when done twice. */
int rehearse_task_try(struct rehearse_task *task, int (*attempt)(struct rehearse_task *task));

uint64_t rehearse_now_ms(void);
void rehearse_sleep_ms(unsigned ms);

/* rehearse_made.c: files and directories that were made. */
void rehearse_made_note(struct rehearsal *rehearsal, const char *path, bool is_dir);
/* Remove them all: how many are left. */
unsigned rehearse_made_clean(struct rehearsal *rehearsal);
void rehearse_made_done(struct rehearsal *rehearsal);

/* rehearse_report.c */
void rehearse_report_task(struct rehearsal *rehearsal, const struct rehearse_result *result);
void rehearse_report_end(struct rehearsal *rehearsal, unsigned left_behind);
