/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.h - the kernel's record locks on files, on open file descriptions (fcntl(2), F_OFD_SETLK):
 * what makes locks of network clients and of this machine's programs conflict.
 */
#pragma once

#include "vfs/file.h"

enum vfs_lock {
	VFS_LOCK_NONE,
	VFS_LOCK_SHARED,
	VFS_LOCK_EXCLUSIVE,
};

/* Open a regular file once more, apart from the cache, for locks only: they go when it is closed.
 * For reading and writing if the file system lets us, else for reading (@ret_writable). As the
 * server. */
int vfs_lock_open(const struct vfs_file *file, int *ret_fd, bool *ret_writable);

/* Bytes @first to @last, which may lie past what the kernel can lock: that part is left out. Does
 * not wait. 0; -EAGAIN: a program of this machine holds it; -EBADF: exclusive, and @fd is not
 * writable. */
int vfs_lock_set(int fd, enum vfs_lock lock, uint64_t first, uint64_t last);

/* Whom vfs_lock_set() would meet: @ret_holder is VFS_LOCK_NONE if nobody. */
struct vfs_lock_holder {
	enum vfs_lock lock;
	int32_t pid; /* -1: not a process's */
	uint64_t first, last;
};
int vfs_lock_test(int fd, enum vfs_lock lock, uint64_t first, uint64_t last,
                  struct vfs_lock_holder *ret_holder);
