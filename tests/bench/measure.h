/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.h - a stretch of time: how long it was, what both sides used, how long calls took.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "histogram.h"
#include "process.h"

/* Whose work it is, and the disk below: each may be unknown. */
struct observed {
	pid_t server;          /* 0: unknown */
	const char *disk_stat; /* its file in /sys/block; NULL: unknown */
};

struct measurement {
	uint64_t calls;
	uint64_t bytes;
	double seconds;
	uint64_t client_cpu_us;
	struct process_usage server; /* cpu_us: during the measurement */
	uint64_t disk_flushes;
	struct histogram latencies;
	/* between begin and end */
	struct observed observed;
	uint64_t began_ns;
};

/* Calls, bytes and latencies are for the caller to fill in. */
void measurement_begin(struct measurement *measurement, const struct observed *observed);
void measurement_end(struct measurement *measurement);

/* The members of a JSON object, or words on a line, that tell it. */
void measurement_print_json(const struct measurement *measurement);
void measurement_print_line(const struct measurement *measurement);
