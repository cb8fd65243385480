/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - a snapshot as Prometheus's metrics. Pure. docs/monitoring.md describes them.
 */
#pragma once

#include <stdio.h>

#include "nfsd/snapshot.h"

enum {
	METRICS_CLIENTS_MAX = 1000
};

/* The clients that have series of their own: the first that called. The others are one series, so
 * that strangers cannot make series without end; and nobody changes from one to the other, so that
 * no sum ever falls. Zeroed: nobody yet. */
struct metrics_series {
	unsigned max, count; /* max <= METRICS_CLIENTS_MAX */
	uint8_t keys[METRICS_CLIENTS_MAX][TALLY_KEY_BYTES];
};

void metrics_text(FILE *to, const struct snapshot *snapshot, struct metrics_series *series);
