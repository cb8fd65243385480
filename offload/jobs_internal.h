/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_internal.h - between jobs.c, which owns jobs, and run_*.c, which do what they say.
 */
#pragma once

#include <pthread.h>

#include "offload/engine.h"
#include "offload/jobs.h"
#include "offload/journal.h"
#include "vfs/base/list.h"

/* While it runs, one thread of ours is the only one to change the record, under the lock; others
 * read it under the lock, and may set record.cancel. */
struct job {
	struct list_node node;       /* jobs->all, by id */
	struct list_node queue_node; /* of one of the queues; linked while it waits */
	struct jobs *jobs;
	struct job_record record;
	struct engine_control control;
	bool busy;    /* a thread has it, or jobs_begin() is still writing it down */
	bool touched; /* its existing destination is, or may be, not as it was before */
};

struct job_queue {
	pthread_cond_t more;
	struct list_node jobs;
};

struct jobs {
	struct vfs *vfs;
	struct jobs_settings settings;
	struct journal journal;
	struct engine_rate rate;
	struct disks disks;
	int event_fd;
	pthread_mutex_t lock;
	struct list_node all;
	size_t live_count, ended_count;
	uint64_t last_id;
	struct job_queue quick, slow;
	pthread_t threads[JOBS_COPY_MAX + 8];
	unsigned thread_count;
	bool stopping;
};

/* jobs.c: for the runners. */
void job_lock(struct job *job);
void job_unlock(struct job *job);

/* The record with the engine's figures. Under the lock. */
void job_copy(const struct job *job, struct job_record *ret_record);

/* Its control says cancel, but only because the process ends. */
bool job_is_only_stopped(struct job *job);

/* Write the record down, as it is now. */
int job_save(struct job *job);

/**
 * run_clone() and the like - do a job, or the rest of it
 * @slow: may copy
 * @ret_step: what was being done, for the text of a failure
 *
 * Return: 0: done and durable; -EAGAIN: needs the slow queue; other negative errno: it failed, and
 *         what there was to put back has been put back.
 */
typedef int run_fn(struct job *job, bool slow, const char **ret_step);
run_fn run_clone, run_reserve, run_checksum, run_punch;

/* run_common.c */

/* Which engine, seen by callers from now on. */
void job_engine(struct job *job, const char *engine);

/* Note why it fails, unless that was noted before. */
void job_note_failure(struct job *job, const char *step, int error);

/* fsync(2), known to be ours (disks.h). */
int run_flush(struct job *job, int fd);

struct stat;
uint64_t run_ctime_ns(const struct stat *stat);

/* Wait for the tick of the clock in which a file was changed to be over: a write from now on leaves
 * another time of change (kernels before 6.13 have none that are finer). */
void run_settle(uint64_t ctime_ns);

/* Open a regular file by a handle from the journal. */
int run_open(struct job *job, const struct vfs_handle *handle, enum vfs_open open,
             struct vfs_file **ret_file, struct stat *ret_stat);
void run_put(struct vfs_file **file);
