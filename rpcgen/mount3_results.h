/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount3_results.h - the lists of MOUNT's DUMP and EXPORT (RFC 1813 section 5.2), entry by entry.
 *
 * What rpcgen(1) makes of a list calls itself once for every entry; these do not. A list is its
 * entries, each with the "one more follows" word before it, and then the end. Versions 1, 2 and 3
 * have the same bytes.
 *
 * Names are at most MNTNAMLEN bytes and directories at most MNTPATHLEN; longer ones are the
 * caller's mistake (an assertion): no client could decode the list.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpcgen/mount3.h" /* generated: types and constants of the RFC */
#include "rpcgen/xdr_cursor.h"

enum {
	MOUNT3_LIST_END_BYTES = 4,
};

/* Bytes that mount3_put_mount() and mount3_put_export() will write: ask first to stop at a whole
 * entry when there is not room for all. */
size_t mount3_mount_bytes(struct xdr_view hostname, struct xdr_view directory);
size_t mount3_export_bytes(struct xdr_view directory, const struct xdr_view *groups,
                           size_t group_count);

/* DUMP: one mount. */
void mount3_put_mount(struct xdr_out *out, struct xdr_view hostname, struct xdr_view directory);

/* EXPORT: one directory and who may mount it; no groups means everyone. */
void mount3_put_export(struct xdr_out *out, struct xdr_view directory,
                       const struct xdr_view *groups, size_t group_count);

/* The end of either list. */
void mount3_put_list_end(struct xdr_out *out);
