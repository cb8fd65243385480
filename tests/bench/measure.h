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

struct measurement {
	uint64_t calls;
	uint64_t bytes;
	double seconds;
	uint64_t client_cpu_us;
	struct process_usage server; /* cpu_us: during the measurement */
	struct histogram latencies;
	/* between begin and end */
	pid_t pid;
	uint64_t began_ns;
};

/* `server` 0: nobody's memory and time are looked at. Calls, bytes, latencies are the caller's. */
void measurement_begin(struct measurement *measurement, pid_t server);
void measurement_end(struct measurement *measurement);

/* The members of a JSON object, or words on a line, that tell it. */
void measurement_print_json(const struct measurement *measurement);
void measurement_print_line(const struct measurement *measurement);
