/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.h - all jobs: accepted, queued, run on threads of their own, kept for a day.
 *
 * Two queues. Every job is first looked at by a quick thread, which does what needs no copying
 * (sharing extents, allocating); what is left goes to the slow ones, copy_jobs of them, whose I/O
 * is idle. So a reflink never waits for a copy.
 *
 * Thread-safe. Blocking: jobs_begin() (journal, files).
 */
#pragma once

#include "offload/job.h"
#include "vfs/vfs.h"

struct jobs;

struct jobs_settings {
	const char *dir;    /* the journal's */
	unsigned copy_jobs; /* 1..JOBS_COPY_MAX */
	uint64_t copy_rate; /* bytes per second of all copies together; 0: no limit */
	bool thick_share;   /* thick = share */
	/* Told of each job that began or ended, for the log; on any thread. NULL: nobody. */
	void (*told)(void *context, const struct job_record *record);
	/* Told of files in the journal that are no records. NULL: nobody. */
	void (*bad)(void *context, const char *path);
	void *context;
	/* journal.h: step */
	void (*step)(void *context);
};

enum {
	JOBS_COPY_MAX = 16,
	JOBS_LIVE_MAX = 2048, /* more are refused */
	JOBS_KEPT_MAX = 4096, /* results; the oldest goes before its time */
};

/* Goes on with what an earlier process left. */
int jobs_open(struct vfs *vfs, const struct jobs_settings *settings, struct jobs **ret_jobs);

/* Stops what runs; it goes on after the next jobs_open(). Takes NULL, returns NULL. */
struct jobs *jobs_close(struct jobs *jobs);

/**
 * jobs_begin() - accept a job, or find it
 * @wanted: kind, flags, files, host, cred, reserve_bytes; the rest is zero
 *
 * When this returns 0 the job is in the journal.
 *
 * Return: 0; -EBUSY another job has one of the files; -EEXIST OFFLOAD_CLONE_NEW and it is there;
 *         -OFFLOAD_ESAME; -OFFLOAD_EMANY; what writing the journal gave.
 */
int jobs_begin(struct jobs *jobs, const struct job_record *wanted, uint64_t *ret_id);

/* As it is now. -OFFLOAD_ENOJOB. */
int jobs_get(struct jobs *jobs, uint64_t id, struct job_record *ret_record);

/* The latest of these kinds (bits 1 << offload_kind) for the file. -OFFLOAD_ENOJOB. */
enum {
	JOBS_ALL_KINDS = -1
};
int jobs_find(struct jobs *jobs, const struct job_file *file, unsigned kinds,
              struct job_record *ret_record);

/* The next one behind @after_id. -OFFLOAD_ENOJOB. */
int jobs_next(struct jobs *jobs, uint64_t after_id, struct job_record *ret_record);

/* How many wait and run; the oldest @max of them into @to. Returns how many those are. */
struct jobs_live {
	unsigned queued, running;
};
unsigned jobs_live(struct jobs *jobs, struct job_record *to, unsigned max,
                   struct jobs_live *ret_live);

/* Ask it to stop; one that has ended stays as it is. -OFFLOAD_ENOJOB. */
int jobs_cancel(struct jobs *jobs, uint64_t id);

/* Readable (an eventfd) when a job has ended since it was last read. */
int jobs_event_fd(const struct jobs *jobs);

/* Forget expired results; call it now and then. */
void jobs_tick(struct jobs *jobs);

uint64_t jobs_now_ms(void);
