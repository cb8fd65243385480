/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - a Unix socket for who looks at the server: each connection gets one JSON document
 * (lodestore-nfsd(8) describes it) and is closed.
 *
 * A thread of its own serves it: a few connections at a time, each with a deadline, a few documents
 * a second. Whatever they do there, no worker waits for it.
 */
#pragma once

#include <stdio.h>

#include "nfsd/summary.h"

struct server;
struct status;

/* All workers run. What is wrong is logged: the server does without (NULL). @path "none": as the
 * user wants it. */
struct status *status_open(struct server *server, const char *path);

/* Before the workers end. Takes NULL. */
void status_stop(struct status *status);

/* After that. Takes NULL, returns NULL. */
struct status *status_close(struct status *status);

/* ---- status_text.c ---- */

struct status_times {
	uint64_t started_ms; /* since 1970 */
	uint64_t uptime_ms;
};

/* The document, with a newline. */
void status_text(FILE *to, struct server *server, const struct status_times *times,
                 const struct summary *summary);
