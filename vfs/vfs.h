/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfs.h - files by handle: the whole public surface.
 *
 * Knows nothing of RPC or NFS. Functions return 0 or a negative errno, never log, and may block
 * unless "never blocks" is said. Those that take a caller act with that identity: call
 * vfs_identity_assume() first on the same thread; those that open by handle need the server's own
 * (vfs_identity_server()).
 */
#pragma once

#include "vfs/bulk.h"     /* room for large writes */
#include "vfs/export.h"   /* the table of exports */
#include "vfs/file.h"     /* files by handle, attributes, group commit */
#include "vfs/identity.h" /* acting as the caller */
#include "vfs/names.h"    /* lookup, create, rename, list, ... */
#include "vfs/space.h"    /* extents: usage, sharing, reserving, holes */
