/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small.h - many small files: created, written, committed, listed, read and removed, phase by
 * phase, each connection in a folder of its own with as many calls under way as the depth allows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client.h"
#include "measure.h"

enum small_phase {
	SMALL_CREATE,
	SMALL_WRITE,
	SMALL_COMMIT, /* a call a file; left out if the writes are FILE_SYNC */
	SMALL_LIST,   /* READDIRPLUS; an operation is an entry, a latency is a call's */
	SMALL_READ,
	SMALL_REMOVE,
	SMALL_PHASES,
};

extern const char *const small_phase_names[SMALL_PHASES];

struct small_options {
	struct target target;
	unsigned connections;
	unsigned depth;
	unsigned files; /* of all connections together */
	uint32_t file_bytes;
	bool stable; /* write FILE_SYNC, else UNSTABLE and COMMIT */
	struct observed observed;
};

/* A phase that is left out has no calls. Ends the program at the first wrong answer. */
void small_run(const struct small_options *options, struct measurement *ret_phases);
