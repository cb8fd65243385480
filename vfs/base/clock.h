/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - clock_gettime(2) as one number. CLOCK_MONOTONIC for spans of time, which nobody sets;
 * CLOCK_REALTIME for moments that are shown.
 */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static inline uint64_t clock_ms(clockid_t clock)
{
	return clock_ns(clock) / 1000000;
}
