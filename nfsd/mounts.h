/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.h - who has mounted what, for MOUNT's DUMP (showmount -a). A courtesy list, as RFC 1813
 * section 5.2.2 says: bounded, in memory, the oldest goes first. Thread-safe.
 */
#pragma once

#include "rpcgen/xdr_cursor.h"
#include "vfs/exports.h"

enum {
	MOUNTS_MAX = 4096
};

struct mounts;

struct mounts *mounts_new(void);
struct mounts *mounts_free(struct mounts *mounts);

void mounts_add(struct mounts *mounts, const struct export_address *client, const char *directory);
void mounts_remove(struct mounts *mounts, const struct export_address *client,
                   const char *directory);
void mounts_remove_all(struct mounts *mounts, const struct export_address *client);

/* DUMP's list with its end, as far as it fits. */
void mounts_put(struct mounts *mounts, struct xdr_out *out);
