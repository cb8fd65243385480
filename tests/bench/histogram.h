/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.h - latencies in nanoseconds, to about 1.6 percent: 64 steps an octave.
 */
#pragma once

#include <stdint.h>

enum {
	HISTOGRAM_STEP_BITS = 6,
	HISTOGRAM_SLOTS = (40 - HISTOGRAM_STEP_BITS) << HISTOGRAM_STEP_BITS, /* up to 2^39 ns */
};

struct histogram {
	uint64_t count;
	uint64_t slots[HISTOGRAM_SLOTS];
};

void histogram_add(struct histogram *histogram, uint64_t ns);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The latency that `share` (0..1) of all do not exceed, 0 if there are none. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);
