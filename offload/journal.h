/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - the jobs' records as small files in a directory: one a job, always whole, durable
 * when a function returns.
 */
#pragma once

#include "offload/job.h"

struct journal {
	char *dir;  /* NULL: not open */
	int dir_fd; /* locked */
	/* Tests end the process here: before the write and after it, for each write. */
	void (*step)(void *context);
	void *step_context;
};

/* Make the directory if it is not there. -EBUSY: another process has it open: two that go on with
 * the same jobs would write to the same files. */
int journal_open(const char *dir, struct journal *ret_journal);
void journal_close(struct journal *journal);

int journal_write(const struct journal *journal, const struct job_record *record);
void journal_remove(const struct journal *journal, uint64_t id);

/* The same for good: no later start finds it. */
int journal_withdraw(const struct journal *journal, uint64_t id);

/* Every record, in no order; what a crash left half written is removed. @bad: told of a file that
 * is no record, or cannot be read, and stays where it is. */
int journal_load(const struct journal *journal,
                 int (*record)(void *context, const struct job_record *record),
                 void (*bad)(void *context, const char *path), void *context);
