/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.h - what all workers have counted, at one moment.
 *
 * Each worker's loop is asked for a copy, so nobody shares a counter; one that does not answer in
 * time is "silent", and what it counted is missing. One thread at a time may ask.
 */
#pragma once

#include "nfsd/counters.h"

struct server;
struct summary_asker;

struct summary {
	unsigned workers, silent;
	unsigned connections, calls; /* there are now */
	uint64_t accepted;           /* connections, ever */
	struct tally procedures[COUNTERS_PROGRAMS][COUNTERS_PROCEDURES_MAX];
	uint64_t refusals[REFUSALS];
	uint64_t statuses[COUNTERS_STATUSES];
	uint64_t closed[CLOSED_REASONS];
	uint64_t delayed;
	struct tally_row *clients, *exports; /* merged: a row a key */
	unsigned client_count, export_count;
};

/* When all workers have been started. NULL if memory is short. */
struct summary_asker *summary_asker_new(struct server *server);

/* Valid until the next time. */
const struct summary *summary_ask(struct summary_asker *asker);

/* The workers' loops have been closed. Takes NULL, returns NULL. */
struct summary_asker *summary_asker_free(struct summary_asker *asker);
