/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate.h - so many bytes a second, for all copies together. Pure arithmetic; the callers' lock.
 */
#pragma once

#include <stdint.h>

struct rate {
	uint64_t bytes_per_s; /* 0: no limit */
	uint64_t free_ns;     /* when what was taken so far is paid for */
};

enum {
	RATE_BURST_MS = 200 /* what a pause saves up */
};

/* Nanoseconds until @bytes may be moved; 0: now, and they count as taken. @now_ns: a clock that
 * does not go backwards. */
uint64_t rate_take(struct rate *rate, uint64_t now_ns, uint64_t bytes);
