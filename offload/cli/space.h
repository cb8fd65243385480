/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.h - how much is free where directories lie, asked so that a file system that does not
 * answer cannot hold up who asks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum space_state {
	SPACE_SILENT, /* no answer in time */
	SPACE_FAILED, /* error says why */
	SPACE_KNOWN,
};

struct space {
	const char *path;
	enum space_state state;
	int error;
	uint64_t free_bytes, total_bytes; /* for users who are not root */
	uint64_t free_files, total_files; /* 0 of 0: it makes inodes as it needs them */
};

/* Fills the rows, whose paths are set: 0, or a negative errno if it cannot ask at all. */
int space_ask(struct space *rows, size_t count, uint64_t until_ms);
