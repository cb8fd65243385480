/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - the files that a load reads and writes.
 *
 * `generations` is only there with --verify: what each block must contain.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client.h"

struct file {
	struct nfs_handle handle;
	uint64_t bytes;
	uint32_t block_bytes;
	uint32_t *generations; /* by block; NULL: contents do not matter */
	bool *busy;            /* by block: a call on it is under way */
};

/* Mounts the export, and makes each of STEM.0 to STEM.(count - 1) that is missing or too short;
 * with `stamped` all are written anew. All of these end the program if they fail. */
struct file *files_prepare(const struct target *target, const char *stem, unsigned count,
                           uint64_t file_bytes, uint32_t block_bytes, bool stamped);

void files_commit(const struct target *target, const struct file *files, unsigned count);

/* Read everything back and check it; ends the program at the first fault. */
void files_check(const struct target *target, const struct file *files, unsigned count);

void files_free(struct file *files, unsigned count);
