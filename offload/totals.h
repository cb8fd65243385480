/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.h - what the sidecar has done since it started, for who looks at it. Pure but for its
 * lock: thread-safe.
 */
#pragma once

#include <pthread.h>

#include "offload/job.h"

enum {
	TOTALS_KINDS = OFFLOAD_KIND_PUNCH + 1,
	TOTALS_ENGINES = 6, /* "" is the last: none, or one that is not known here */
	TOTALS_STATES = OFFLOAD_STATE_CANCELLED + 1,
};

struct totals_sum {
	uint64_t jobs, bytes, moved_bytes;
};

struct totals {
	pthread_mutex_t lock;
	struct totals_sum ended[TOTALS_KINDS][TOTALS_ENGINES][TOTALS_STATES]; /* under lock */
	uint64_t refused[OFFLOAD_STATUSES];                                   /* under lock */
};

void totals_init(struct totals *totals);

/* A job has ended. */
void totals_ended(struct totals *totals, const struct job_record *record);

/* A request was refused with one of offload.x's statuses. */
void totals_refused(struct totals *totals, offload_status status);

/* Sets ended, in @rows, and refused; names of engines are constants. */
void totals_answer(struct totals *totals, offload_total rows[OFFLOAD_TOTALS_ROWS_MAX],
                   offload_totals *answer);
