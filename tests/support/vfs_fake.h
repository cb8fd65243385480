/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfs_fake.h - vfs/vfs.h in memory, put in the real one's place at link time (commit.c stays the
 * real one). Two exports of few files:
 *
 *     /a   read and write, root is root; its root is node 0
 *     /b   read only, root squashed, its hosts have names to be looked up; its root is node 1
 *     /c   not for anybody
 *
 * It refuses what vfs.h does not allow: opening by handle while acting as a caller, changing names
 * as the server, a size for a file that is not open for writing. Handles are 8 bytes: "FAKE",
 * node, generation, two zeros. Even nodes are found in the cache at once, odd ones must be opened
 * first. For one thread.
 */
#pragma once

#include "support/ring_fake.h"
#include "vfs/vfs.h"

enum {
	VFS_FAKE_NODES = 32,
	VFS_FAKE_HANDLE_BYTES = 8,
	VFS_FAKE_FD = 100000,        /* of node 0; no descriptor of the process */
	VFS_FAKE_DIRECT_FD = 200000, /* the same, O_DIRECT */
	VFS_FAKE_DIRECT_ALIGN_BYTES = 512,
	VFS_FAKE_DATA_BYTES = 16384,   /* kept of each file; what is behind reads as zeros */
	VFS_FAKE_FILE_BYTES = 4 << 20, /* larger ones: -EFBIG */
};

/* Empty file systems: "/a" with "file" (node 2, 5000 bytes), "dir" (node 3), "link" (node 4). */
struct vfs *vfs_fake_new(void);

/* Asserts that nobody holds a reference any more. */
void vfs_fake_free(void);

/* Before everything that can fail: 0, or the errno to fail with. NULL: nothing fails. */
void vfs_fake_fault(int (*fault)(void *context, const char *function), void *context);

/* A reload that changes what each client may do a second. */
void vfs_fake_limit(const struct export_rate *rate);

/* What the file system does for PREAD, PWRITE and FDATASYNC. */
int vfs_fake_io(const struct ring_fake_call *call);

/* The handle of a node, and its node's size and bytes. */
void vfs_fake_handle(unsigned node, uint8_t to[VFS_FAKE_HANDLE_BYTES]);
uint64_t vfs_fake_size(unsigned node);

/* Its export's file system takes direct writes, and the node has no holes; or has. */
void vfs_fake_direct(unsigned node);
void vfs_fake_sparse(unsigned node);
const uint8_t *vfs_fake_data(unsigned node);
