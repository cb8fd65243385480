/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - the files that a load reads and writes, and one call at a time to prepare them.
 *
 * `generations` is only there with --verify: what each block must contain.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "nfs.h"

struct target {
	const char *address;
	uint16_t nfs_port;
	uint16_t mount_port;
	const char *export;
};

struct file {
	struct nfs_handle handle;
	uint64_t bytes;
	uint32_t block_bytes;
	uint32_t *generations; /* by block; NULL: contents do not matter */
	bool *busy;            /* by block: a call on it is under way */
};

/* A blocking connection for one call at a time. All of these end the program if they fail. */
int client_connect(const struct target *target, uint16_t port);

/* Where a connection's xids begin: by chance, for a server may take a call that it has seen before,
 * on whichever connection, to be the same call once more (RFC 5531 section 9). */
uint32_t client_first_xid(void);

/* Mounts the export, and makes each file that is missing or too short; with `stamped` all are
 * written anew. */
struct file *files_prepare(const struct target *target, unsigned count, uint64_t file_bytes,
                           uint32_t block_bytes, bool stamped);

void files_commit(const struct target *target, const struct file *files, unsigned count);

/* Read everything back and check it; ends the program at the first fault. */
void files_check(const struct target *target, const struct file *files, unsigned count);

void files_free(struct file *files, unsigned count);

__attribute__((format(printf, 1, 2), noreturn)) void die(const char *format, ...);
