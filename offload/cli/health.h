/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health.h - is the server well? A verdict and one line, as monitoring systems want them
 * (https://www.monitoring-plugins.org/doc/guidelines.html). lodestore(1) says what is judged how.
 * Pure but for the stream that it is given.
 */
#pragma once

#include <stdio.h>

#include "offload/cli/space.h"
#include "offload/cli/status_show.h"

/* The exit statuses of a plug-in. */
enum health {
	HEALTH_GOOD = 0,
	HEALTH_WARNING = 1,
	HEALTH_CRITICAL = 2,
	HEALTH_UNKNOWN = 3,
};

struct health_seen {
	struct status_pair pair;
	bool offload_answers;
	unsigned live_jobs;
	const struct space *spaces; /* a row an export that is served */
	size_t space_count;
	unsigned warn_space_percent, crit_space_percent;
};

/* Writes the line, performance data included. */
enum health health_judge(FILE *to, const struct health_seen *seen);

/* The line of one finding alone: when nothing else can be looked at. Returns @health. */
enum health health_tell(FILE *to, enum health health, const char *text);
