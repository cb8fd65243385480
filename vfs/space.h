/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.h - where a file's bytes lie: extents, sharing, reserving, holes. Part of vfs.h.
 *
 * All take descriptors of regular files, act as the server and may block for long. "Scratch" is an
 * empty unnamed file on the same file system (vfs_scratch_open()): with it some changes are made by
 * the kernel's own compare-and-share (FIDEDUPERANGE), which a client that writes at the same
 * moment cannot lose data to.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vfs/file.h"

struct vfs_usage {
	uint64_t total_bytes; /* the length */
	uint64_t allocated_bytes;
	uint64_t unique_bytes; /* allocated, and shared with no other file */
	uint64_t extents;
	bool knows_shared; /* the file system tells its extents */
};
int vfs_usage(int fd, struct vfs_usage *ret_usage);

struct vfs_range {
	uint64_t from, to; /* to: the first byte behind it */
};

/* The first range of data at or after @from and before @end. -ENXIO: only holes follow. A file
 * system that does not tell holes has none. Preallocated space is a hole. */
int vfs_next_data(int fd, uint64_t from, uint64_t end, struct vfs_range *ret_data);

/* An unnamed file in this directory, for reading and writing. -EOPNOTSUPP: not on this file
 * system. */
int vfs_unnamed_open(int dir_fd, uint32_t mode, int *ret_fd);

/* The same in the export's root. */
int vfs_scratch_open(const struct vfs_export *export, int *ret_fd);

/* The handle that it will have. @dir: where it was made. */
int vfs_unnamed_handle(const struct vfs_file *dir, int fd, struct vfs_handle *ret_handle);

/* Give an unnamed file its name. -EEXIST. The directory is still to be flushed. */
int vfs_unnamed_link(int fd, int dir_fd, const char *name);

/* Another descriptor of the same file, opened as @flags say (O_DIRECT, ...). */
int vfs_reopen(int fd, int flags, int *ret_fd);

/* @to becomes @from: extents shared, lengths equal. -EOPNOTSUPP, -EXDEV: not here; nothing was
 * changed then. Other errors may leave @to changed. */
int vfs_share(int from_fd, int to_fd);

/* "xfs" */
const char *vfs_export_fs_name(const struct vfs_export *export);

/* Can files below the export share extents? */
bool vfs_can_share(const struct vfs_export *export);

/* Called now and then with the bytes that have been dealt with since the last time; false stops
 * with -ECANCELED. */
struct vfs_steps {
	bool (*step)(void *context, uint64_t bytes);
	void *context;
};

/**
 * vfs_reserve() - give the first bytes of a file places on the disk that are its own
 * @scratch_fd: see above; for file systems that cannot unshare by themselves (Btrfs)
 * @bytes:      more than 0; the length does not change
 * @ret_allocated: how many were in holes or shared before; set also on failure
 *
 * Shared extents are unshared first. Asks for the free space before it begins, and takes back what
 * it allocated if the space ends all the same.
 *
 * Return: 0; -ENOSPC, -EDQUOT; -EOPNOTSUPP; -ECANCELED; -EBUSY: clients keep writing what was to be
 *         unshared.
 */
int vfs_reserve(int fd, int scratch_fd, uint64_t bytes, const struct vfs_steps *steps,
                uint64_t *ret_allocated);

/* The same for what lies in holes alone: shared extents stay shared. */
int vfs_allocate(int fd, uint64_t bytes);

/* Has the file system of a file this much for those who are not root? What was removed a moment ago
 * counts: Btrfs tells of it only after a commit, so one is waited for before the answer is no. */
bool vfs_has_room(int fd, uint64_t bytes);

/* What vfs_reserve() would have to allocate: bytes in holes and in shared extents. */
int vfs_reserve_need(int fd, uint64_t bytes, uint64_t *ret_holes, uint64_t *ret_shared);

/* Make an aligned range that was found to be zeros a hole. With @scratch_fd >= 0 (at least
 * VFS_PUNCH_BYTES_MAX long, all hole) the kernel looks once more: -EAGAIN if it is not zeros any
 * more, -EOPNOTSUPP if it cannot. Without, the caller has made sure that nobody writes. */
enum {
	VFS_PUNCH_BYTES_MAX = 8 << 20
};
int vfs_punch(int fd, int scratch_fd, uint64_t from, uint64_t bytes);

/* The range reads as zeros; what is allocated stays so. */
int vfs_zero(int fd, uint64_t from, uint64_t bytes);
