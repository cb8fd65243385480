/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.c - extents as the kernel tells them (FIEMAP, SEEK_DATA), and what needs no more than one
 * call: sharing, punching, unnamed files. Reserving is space_reserve.c's.
 */
#include "vfs/space.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/space_extents.h"
#include "vfs/vfs_internal.h"

enum {
	STAT_BLOCK_BYTES = 512, /* st_blocks */
	EXTENTS_AT_ONCE = 1024, /* asked of the kernel in one call: 56 KiB */
	PROC_PATH_BYTES = 40,
};

/* ---- extents ---- */

int vfs_extents_visit(int fd, uint64_t end, vfs_extent_fn *visit, void *context)
{
	AUTO(free_ptr)
	struct fiemap *map = calloc(1, sizeof *map + EXTENTS_AT_ONCE * sizeof map->fm_extents[0]);
	uint64_t from = 0;
	int r;

	if (!map)
		return -ENOMEM;
	while (from < end) {
		map->fm_start = from;
		map->fm_length = end - from;
		map->fm_flags = 0;
		map->fm_extent_count = EXTENTS_AT_ONCE;
		if (ioctl(fd, FS_IOC_FIEMAP, map) < 0)
			return errno == ENOTTY ? -EOPNOTSUPP : -errno;
		for (uint32_t i = 0; i < map->fm_mapped_extents; i++) {
			const struct fiemap_extent *extent = &map->fm_extents[i];

			r = visit(context, extent);
			if (r < 0 || (extent->fe_flags & FIEMAP_EXTENT_LAST))
				return r;
			from = extent->fe_logical + extent->fe_length;
		}
		if (map->fm_mapped_extents == 0)
			break;
	}
	return 0;
}

struct usage_sums {
	uint64_t shared_bytes, extents;
};

static int usage_add(void *context, const struct fiemap_extent *extent)
{
	struct usage_sums *sums = context;

	sums->extents++;
	if (extent->fe_flags & FIEMAP_EXTENT_SHARED)
		sums->shared_bytes += extent->fe_length;
	return 0;
}

int vfs_usage(int fd, struct vfs_usage *ret_usage)
{
	struct usage_sums sums = { 0 };
	struct vfs_usage usage = { 0 };
	struct stat stat;
	int r;

	if (fstat(fd, &stat) < 0)
		return -errno;
	r = vfs_extents_visit(fd, INT64_MAX, usage_add, &sums);
	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	usage.knows_shared = r == 0;
	usage.total_bytes = (uint64_t) stat.st_size;
	usage.allocated_bytes = (uint64_t) stat.st_blocks * STAT_BLOCK_BYTES;
	usage.extents = sums.extents;
	/* Compressed extents are longer than what they take. */
	usage.unique_bytes = sums.shared_bytes < usage.allocated_bytes
	                             ? usage.allocated_bytes - sums.shared_bytes
	                             : 0;
	*ret_usage = usage;
	return 0;
}

int vfs_next_data(int fd, uint64_t from, uint64_t end, struct vfs_range *ret_data)
{
	off_t data, hole;

	if (from >= end)
		return -ENXIO;
	data = lseek(fd, (off_t) from, SEEK_DATA);
	if (data < 0 && errno == EINVAL) {
		*ret_data = (struct vfs_range){ .from = from, .to = end };
		return 0;
	}
	if (data < 0)
		return -errno;
	if ((uint64_t) data >= end)
		return -ENXIO;
	hole = lseek(fd, data, SEEK_HOLE);
	if (hole < 0)
		return -errno;
	*ret_data = (struct vfs_range){ .from = (uint64_t) data, .to = (uint64_t) hole };
	if (ret_data->to > end)
		ret_data->to = end;
	return 0;
}

/* ---- unnamed files ---- */

int vfs_unnamed_open(int dir_fd, uint32_t mode, int *ret_fd)
{
	int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, (mode_t) mode);

	if (fd < 0)
		return errno == EISDIR || errno == EINVAL ? -EOPNOTSUPP : -errno;
	*ret_fd = fd;
	return 0;
}

int vfs_scratch_open(const struct vfs_export *export, int *ret_fd)
{
	return vfs_unnamed_open(export->root_fd, 0600, ret_fd);
}

static void proc_path(int fd, char to[PROC_PATH_BYTES])
{
	snprintf(to, PROC_PATH_BYTES, "/proc/self/fd/%d", fd);
}

int vfs_unnamed_handle(const struct vfs_file *dir, int fd, struct vfs_handle *ret_handle)
{
	uint64_t mix;

	return vfs_handle_of(dir->vfs, dir->export, fd, ret_handle, &mix);
}

int vfs_unnamed_link(int fd, int dir_fd, const char *name)
{
	char path[PROC_PATH_BYTES];

	proc_path(fd, path);
	return linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

int vfs_reopen(int fd, int flags, int *ret_fd)
{
	char path[PROC_PATH_BYTES];
	int opened;

	proc_path(fd, path);
	opened = open(path, flags | O_CLOEXEC);
	if (opened < 0)
		return -errno;
	*ret_fd = opened;
	return 0;
}

/* ---- sharing and holes ---- */

int vfs_share(int from_fd, int to_fd)
{
	struct stat from, to;

	if (fstat(from_fd, &from) < 0 || fstat(to_fd, &to) < 0)
		return -errno;
	if (from.st_dev != to.st_dev && from.st_blksize != to.st_blksize)
		return -EXDEV; /* Btrfs subvolumes have devices of their own; the kernel decides */
	if (ioctl(to_fd, FICLONE, from_fd) < 0)
		return errno == ENOTTY || errno == EINVAL ? -EOPNOTSUPP : -errno;
	/* A longer file keeps its tail: the copy is all of it. */
	if (to.st_size > from.st_size && ftruncate(to_fd, from.st_size) < 0)
		return -errno;
	return 0;
}

const char *vfs_export_fs_name(const struct vfs_export *export)
{
	return export->fs.name;
}

bool vfs_can_share(const struct vfs_export *export)
{
	AUTO(close_fd) int from = -EBADF;
	AUTO(close_fd) int to = -EBADF;

	return vfs_scratch_open(export, &from) == 0 && vfs_scratch_open(export, &to) == 0 &&
	       ioctl(to, FICLONE, from) == 0;
}

int vfs_compare_and_share(int from_fd, uint64_t from, int to_fd, uint64_t to, uint64_t bytes)
{
	union {
		struct file_dedupe_range range;
		uint8_t room[sizeof(struct file_dedupe_range) +
		             sizeof(struct file_dedupe_range_info)];
	} ask;

	/* All of it: the kernel refuses reserved words that are not zero. */
	memset(&ask, 0, sizeof ask);
	ask.range.src_offset = from;
	ask.range.src_length = bytes;
	ask.range.dest_count = 1;
	ask.range.info[0].dest_fd = to_fd;
	ask.range.info[0].dest_offset = to;
	if (ioctl(from_fd, FIDEDUPERANGE, &ask.range) < 0)
		return errno == ENOTTY || errno == EINVAL ? -EOPNOTSUPP : -errno;
	if (ask.range.info[0].status == FILE_DEDUPE_RANGE_DIFFERS)
		return -EAGAIN;
	if (ask.range.info[0].status < 0)
		return ask.range.info[0].status == -EINVAL ? -EOPNOTSUPP : ask.range.info[0].status;
	return ask.range.info[0].bytes_deduped == bytes ? 0 : -EAGAIN;
}

int vfs_punch(int fd, int scratch_fd, uint64_t from, uint64_t bytes)
{
	assert(bytes > 0 && bytes <= VFS_PUNCH_BYTES_MAX);
	if (scratch_fd >= 0)
		return vfs_compare_and_share(scratch_fd, 0, fd, from, bytes);
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) from,
	                 (off_t) bytes) < 0
	               ? -errno
	               : 0;
}

int vfs_zero(int fd, uint64_t from, uint64_t bytes)
{
	int mode = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;

	return fallocate(fd, mode, (off_t) from, (off_t) bytes) < 0 ? -errno : 0;
}
