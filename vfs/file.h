/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - cached open files: from a handle to a descriptor, attributes, data. Part of vfs.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "vfs/export.h"
#include "vfs/data_gate.h"
#include "vfs/group_commit.h"
#include "vfs/handle.h"
#include "vfs/identity.h"
#include "vfs/io/buffer.h"
#include "vfs/io/loop.h"

enum vfs_type {
	VFS_REGULAR,
	VFS_DIRECTORY,
	VFS_SYMLINK,
	VFS_BLOCK,
	VFS_CHARACTER,
	VFS_FIFO,
	VFS_SOCKET,
};

struct vfs_attr {
	enum vfs_type type;
	uint32_t mode; /* permission bits, 07777 */
	uint32_t nlink, uid, gid;
	uint32_t rdev_major, rdev_minor;
	uint64_t size, used_bytes, fsid, fileid;
	struct timespec atime, mtime, ctime;
};

/* What a cached file's descriptor can do; each includes those before. */
enum vfs_open {
	VFS_OPEN_PATH,       /* attributes, names below a directory */
	VFS_OPEN_READ,       /* data, directory flushes */
	VFS_OPEN_READ_WRITE, /* regular files */
};

/* Takes wire bytes. Never blocks. -EAGAIN: not in the cache, ask vfs_file_open(). -EBADMSG: no
 * handle of ours. A reference comes with it: vfs_file_put(). */
int vfs_file_find(struct vfs *vfs, const uint8_t *wire, size_t wire_bytes,
                  struct vfs_file **ret_file);

/* The same, and opens it if need be. -EBADMSG, -ESTALE; -ENFILE: no descriptor is free, try
 * later. */
int vfs_file_open(struct vfs *vfs, const uint8_t *wire, size_t wire_bytes,
                  struct vfs_file **ret_file);

/* Never blocks. Takes NULL; returns NULL. */
struct vfs_file *vfs_file_put(struct vfs_file *file);

/* Make the descriptor good for @open. -EROFS, -ESTALE, -ENFILE, ... */
int vfs_file_need(struct vfs_file *file, enum vfs_open open);
bool vfs_file_is(const struct vfs_file *file, enum vfs_open open); /* never blocks */

/* Good while the caller holds its reference. */
int vfs_file_fd(const struct vfs_file *file);
const struct vfs_handle *vfs_file_handle(const struct vfs_file *file);
struct vfs_export *vfs_file_export(const struct vfs_file *file);
uint64_t vfs_file_device(const struct vfs_file *file); /* which one it lies on now */
/* The device that a handle's file would be on; 0 if it is none of ours. Never blocks. */
uint64_t vfs_device(struct vfs *vfs, const uint8_t *wire, size_t wire_bytes);
enum vfs_type vfs_file_type(const struct vfs_file *file);
bool vfs_file_is_root(const struct vfs_file *file); /* the root of its export */

/* Never blocks. -ESTALE: removed meanwhile. */
int vfs_file_attr(const struct vfs_file *file, struct vfs_attr *ret_attr);

/* May the caller read (write) this open file's data? Never blocks. 0, -EACCES, or -EAGAIN if only
 * vfs_access() can tell. The owner always may, as a POSIX client that opened it earlier expects. */
int vfs_file_may(const struct vfs_file *file, const struct vfs_attr *attr,
                 const struct vfs_cred *cred, bool write);

/* Close files nobody uses: idle ones, removed ones; flush what lies dirty too long. Call it every
 * few seconds on a thread that may block. */
void vfs_sweep(struct vfs *vfs);

struct vfs_stats {
	uint64_t opened, hits, evicted, refused;
	unsigned open_files;
};
void vfs_stats_get(struct vfs *vfs, struct vfs_stats *ret_stats);

/* Data: vfs/write.c, vfs/commit.c */

/* One write. The caller sets the first group. */
struct vfs_write {
	void (*done)(struct vfs_write *write, int result);
	struct loop *loop;
	struct buffer_pool *buffers; /* of the loop's thread */
	bool durable; /* wanted: wait for the disk if that is the better way; in done(): it has */

	/* write.c's */
	struct vfs_file *file;
	const void *bytes;
	uint32_t count;
	uint64_t offset;
	struct buffer *aligned;
	bool direct;
	struct data_gate_waiter waiter;
	struct loop_task task;
	struct ring_op op;
};

/* Write @count > 0 bytes, which stay where they are until done(): how many, perhaps fewer, or a
 * negative errno. The file is open for writing. What is not durable then needs
 * vfs_file_commit(). From @write->loop's own thread. Never blocks. */
void vfs_file_write(struct vfs_file *file, struct vfs_write *write, const void *bytes,
                    uint32_t count, uint64_t offset);

/* Written data is not on disk yet: the file stays open until it is. Never blocks. */
void vfs_file_dirtied(struct vfs_file *file);

/* Waits for a flush that begins after now; done() is called on @loop. The rest is commit.c's. */
struct vfs_commit {
	void (*done)(struct vfs_commit *commit, int error);
	struct loop *loop;
	struct group_commit_waiter waiter;
	struct loop_task task;
	int error;
};

/* From @commit->loop's own thread. The file must be open for reading at least; the caller keeps its
 * reference until done(). Never blocks. */
void vfs_file_commit(struct vfs_file *file, struct vfs_commit *commit);

/* The same, waiting, for threads of the pool. */
int vfs_file_flush(struct vfs_file *file);
