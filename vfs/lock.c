/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/lock.h"

#include <errno.h>
#include <fcntl.h>

#include "vfs/vfs_internal.h"

int vfs_lock_open(const struct vfs_file *file, int *ret_fd, bool *ret_writable)
{
	static const int flags[] = { O_RDWR | O_NONBLOCK, O_RDONLY | O_NONBLOCK };
	struct vfs_handle_parts parts;
	int fd, r;

	r = vfs_handle_parse(file->handle.bytes, file->handle.count, &parts);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < 2; i++) {
		fd = vfs_open_by_parts(file->export, &parts, flags[i]);
		if (fd >= 0) {
			*ret_fd = fd;
			*ret_writable = i == 0;
			return 0;
		}
		if (fd != -EROFS && fd != -EPERM && fd != -ETXTBSY && fd != -EACCES)
			break;
	}
	return fd;
}

/* False: the kernel cannot name any of it. */
static bool range_of(uint64_t first, uint64_t last, struct flock *ret_range)
{
	if (first > INT64_MAX)
		return false;
	*ret_range = (struct flock){
		.l_whence = SEEK_SET,
		.l_start = (off_t) first,
		.l_len = last >= INT64_MAX ? 0 : (off_t) (last - first + 1),
	};
	return true;
}

static short type_of(enum vfs_lock lock)
{
	return lock == VFS_LOCK_EXCLUSIVE ? F_WRLCK : lock == VFS_LOCK_SHARED ? F_RDLCK : F_UNLCK;
}

int vfs_lock_set(int fd, enum vfs_lock lock, uint64_t first, uint64_t last)
{
	struct flock range;

	if (!range_of(first, last, &range))
		return 0;
	range.l_type = type_of(lock);
	if (fcntl(fd, F_OFD_SETLK, &range) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

int vfs_lock_test(int fd, enum vfs_lock lock, uint64_t first, uint64_t last,
                  struct vfs_lock_holder *ret_holder)
{
	struct flock range;

	*ret_holder = (struct vfs_lock_holder){ .lock = VFS_LOCK_NONE };
	if (!range_of(first, last, &range))
		return 0;
	range.l_type = type_of(lock);
	if (fcntl(fd, F_OFD_GETLK, &range) < 0)
		return -errno;
	if (range.l_type == F_UNLCK)
		return 0;
	*ret_holder = (struct vfs_lock_holder){
		.lock = range.l_type == F_WRLCK ? VFS_LOCK_EXCLUSIVE : VFS_LOCK_SHARED,
		.pid = range.l_pid,
		.first = (uint64_t) range.l_start,
		.last = range.l_len ? (uint64_t) (range.l_start + range.l_len - 1) : UINT64_MAX,
	};
	return 0;
}
