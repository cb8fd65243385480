/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/totals.h"

#include <assert.h>
#include <string.h>

static const char *const engines[TOTALS_ENGINES] = { "reflink",  "kernel", "copy",
	                                             "allocate", "read",   "" };

static unsigned engine_of(const struct job_record *record)
{
	unsigned engine = 0;

	while (engine < TOTALS_ENGINES - 1 && strcmp(engines[engine], record->engine) != 0)
		engine++;
	return engine;
}

void totals_init(struct totals *totals)
{
	memset(totals, 0, sizeof *totals);
	pthread_mutex_init(&totals->lock, NULL);
}

void totals_ended(struct totals *totals, const struct job_record *record)
{
	struct totals_sum *sum;
	unsigned kind = record->kind, state = record->state;

	assert(kind < TOTALS_KINDS && state < TOTALS_STATES);
	sum = &totals->ended[kind][engine_of(record)][state];
	pthread_mutex_lock(&totals->lock);
	sum->jobs++;
	sum->bytes += record->bytes_total;
	sum->moved_bytes += record->bytes_moved;
	pthread_mutex_unlock(&totals->lock);
}

void totals_refused(struct totals *totals, offload_status status)
{
	assert(status < OFFLOAD_STATUSES);
	pthread_mutex_lock(&totals->lock);
	totals->refused[status]++;
	pthread_mutex_unlock(&totals->lock);
}

static void add_row(offload_totals *answer, unsigned kind, unsigned engine, unsigned state,
                    const struct totals_sum *sum)
{
	if (sum->jobs == 0)
		return;
	answer->ended.ended_val[answer->ended.ended_len++] = (offload_total){
		.kind = (offload_kind) kind,
		.engine = { (u_int) strlen(engines[engine]), (char *) (uintptr_t) engines[engine] },
		.state = (offload_state) state,
		.jobs = sum->jobs,
		.bytes = sum->bytes,
		.moved_bytes = sum->moved_bytes,
	};
}

void totals_answer(struct totals *totals, offload_total rows[OFFLOAD_TOTALS_ROWS_MAX],
                   offload_totals *answer)
{
	/* Three states are ends, and there is no kind 0. */
	static_assert((TOTALS_KINDS - 1) * TOTALS_ENGINES * 3 <= OFFLOAD_TOTALS_ROWS_MAX, "all");

	answer->ended.ended_val = rows;
	answer->ended.ended_len = 0;
	pthread_mutex_lock(&totals->lock);
	for (unsigned i = 0; i < TOTALS_KINDS; i++)
		for (unsigned j = 0; j < TOTALS_ENGINES; j++)
			for (unsigned k = 0; k < TOTALS_STATES; k++)
				add_row(answer, i, j, k, &totals->ended[i][j][k]);
	for (unsigned i = 0; i < OFFLOAD_STATUSES; i++)
		answer->refused[i] = totals->refused[i];
	pthread_mutex_unlock(&totals->lock);
}
