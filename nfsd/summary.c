/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/summary.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nfsd/worker.h"
#include "vfs/base/cleanup.h"

enum {
	ANSWER_MS = 500 /* a loop's turn takes much less */
};

/* A worker's copy: the worker's while pending, else ours. */
struct copy {
	struct loop_task task;
	struct worker *worker;
	sem_t *answered;
	atomic_bool pending;

	unsigned connections, calls;
	uint64_t accepted;
	struct counters counters; /* its tables: only in the rows below */
	struct tally_row *clients, *exports;
	unsigned client_count, export_count;
};

struct summary_asker {
	sem_t answered; /* somebody has; who it was the copies tell */
	struct copy *copies;
	unsigned count;
	struct summary summary;
};

static void copy_fill(struct loop_task *task)
{
	struct copy *copy = container_of(task, struct copy, task);
	struct worker *worker = copy->worker;

	copy->connections = atomic_load(&worker->conn_count);
	copy->calls = atomic_load(&worker->call_count);
	copy->accepted = worker->accepted_count;
	copy->counters = worker->counters;
	copy->client_count = tally_table_copy(&worker->counters.clients, copy->clients);
	copy->export_count = tally_table_copy(&worker->counters.exports, copy->exports);
	atomic_store(&copy->pending, false);
	sem_post(copy->answered);
}

/* Pages of rows that nobody fills are never touched. */
static struct tally_row *rows_new(unsigned tables)
{
	return calloc((size_t) tables * TALLY_ROWS_MAX, sizeof(struct tally_row));
}

struct summary_asker *summary_asker_new(struct server *server)
{
	struct summary_asker *asker = calloc(1, sizeof *asker);
	bool good;

	if (!asker)
		return NULL;
	sem_init(&asker->answered, 0, 0);
	asker->copies = calloc(server->worker_count, sizeof *asker->copies);
	asker->summary.clients = rows_new(server->worker_count);
	asker->summary.exports = rows_new(server->worker_count);
	good = asker->copies && asker->summary.clients && asker->summary.exports;
	while (good && asker->count < server->worker_count) {
		struct copy *copy = &asker->copies[asker->count];

		copy->task.run = copy_fill;
		copy->worker = server->workers[asker->count++];
		copy->answered = &asker->answered;
		copy->clients = rows_new(1);
		copy->exports = rows_new(1);
		good = copy->clients && copy->exports;
	}
	return good ? asker : summary_asker_free(asker);
}

struct summary_asker *summary_asker_free(struct summary_asker *asker)
{
	if (!asker)
		return NULL;
	for (unsigned i = 0; i < asker->count; i++) {
		free(asker->copies[i].clients);
		free(asker->copies[i].exports);
	}
	free(asker->copies);
	free(asker->summary.clients);
	free(asker->summary.exports);
	sem_destroy(&asker->answered);
	free(asker);
	return NULL;
}

/* ---- asking ---- */

static unsigned silent_count(const struct summary_asker *asker)
{
	unsigned silent = 0;

	for (unsigned i = 0; i < asker->count; i++)
		silent += atomic_load(&asker->copies[i].pending);
	return silent;
}

static void ask_all(struct summary_asker *asker)
{
	for (unsigned i = 0; i < asker->count; i++) {
		struct copy *copy = &asker->copies[i];

		if (!atomic_exchange(&copy->pending, true)) /* else it was asked before */
			loop_post(copy->worker->loop, &copy->task);
	}
}

static void wait_for_all(struct summary_asker *asker)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ANSWER_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (silent_count(asker) > 0 &&
	       sem_clockwait(&asker->answered, CLOCK_MONOTONIC, &until) == 0)
		;
}

static void add_copy(struct summary *summary, const struct copy *copy)
{
	summary->connections += copy->connections;
	summary->calls += copy->calls;
	summary->accepted += copy->accepted;
	for (unsigned i = 0; i < COUNTERS_PROGRAMS; i++)
		for (unsigned j = 0; j < COUNTERS_PROCEDURES_MAX; j++)
			tally_add(&summary->procedures[i][j], &copy->counters.procedures[i][j]);
	for (unsigned i = 0; i < REFUSALS; i++)
		summary->refusals[i] += copy->counters.refusals[i];
	for (unsigned i = 0; i < COUNTERS_STATUSES; i++)
		summary->statuses[i] += copy->counters.statuses[i];
	for (unsigned i = 0; i < CLOSED_REASONS; i++)
		summary->closed[i] += copy->counters.closed[i];
	summary->delayed += copy->counters.delayed;
	memcpy(summary->clients + summary->client_count, copy->clients,
	       copy->client_count * sizeof *copy->clients);
	memcpy(summary->exports + summary->export_count, copy->exports,
	       copy->export_count * sizeof *copy->exports);
	summary->client_count += copy->client_count;
	summary->export_count += copy->export_count;
}

const struct summary *summary_ask(struct summary_asker *asker)
{
	struct summary *summary = &asker->summary;

	ask_all(asker);
	wait_for_all(asker);
	*summary = (struct summary){
		.workers = asker->count,
		.clients = summary->clients,
		.exports = summary->exports,
	};
	for (unsigned i = 0; i < asker->count; i++) {
		if (atomic_load(&asker->copies[i].pending))
			summary->silent++;
		else
			add_copy(summary, &asker->copies[i]);
	}
	summary->client_count = tally_rows_merge(summary->clients, summary->client_count);
	summary->export_count = tally_rows_merge(summary->exports, summary->export_count);
	return summary;
}
