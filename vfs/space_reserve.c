/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space_reserve.c - making sure that writes to a file cannot fail for want of space.
 *
 *     vfs_reserve    holes and shared ranges noted; is there room at all?
 *       unshare      XFS does it itself; elsewhere a copy is made beside the file and taken in by
 *                    the kernel's compare-and-share, so that no write in between is lost
 *       fallocate    the holes (vfs_allocate: these alone)
 *       give_back    if the space ended after all: what lies unwritten in former holes
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/space.h"
#include "vfs/space_extents.h"

enum {
	UNSHARE_BYTES = 4 << 20, /* at once; FIDEDUPERANGE takes 16 MiB at most */
	UNSHARE_TRIES = 8,
	RANGES_AT_FIRST = 64,
};

struct ranges {
	struct vfs_range *at;
	size_t count, room;
	uint64_t bytes;
};

static void ranges_done(struct ranges *ranges)
{
	free(ranges->at);
}

static int ranges_add(struct ranges *ranges, uint64_t from, uint64_t to)
{
	struct vfs_range *grown;

	if (from >= to)
		return 0;
	ranges->bytes += to - from;
	if (ranges->count && ranges->at[ranges->count - 1].to == from) {
		ranges->at[ranges->count - 1].to = to;
		return 0;
	}
	if (ranges->count == ranges->room) {
		size_t room = ranges->room ? ranges->room * 2 : RANGES_AT_FIRST;

		grown = reallocarray(ranges->at, room, sizeof *grown);
		if (!grown)
			return -ENOMEM;
		ranges->at = grown;
		ranges->room = room;
	}
	ranges->at[ranges->count++] = (struct vfs_range){ .from = from, .to = to };
	return 0;
}

/* What is missing for the promise: holes, and extents that others have, too. */
struct need {
	uint64_t end, seen;
	bool known; /* if not, fallocate(2) has to find out */
	struct ranges holes, shared;
};

static void need_done(struct need *need)
{
	ranges_done(&need->holes);
	ranges_done(&need->shared);
}

static int need_add(void *context, const struct fiemap_extent *extent)
{
	struct need *need = context;
	uint64_t from = extent->fe_logical, to = from + extent->fe_length;
	int r;

	/* Room is set aside for it, but it has no place. */
	if (extent->fe_flags & FIEMAP_EXTENT_DELALLOC)
		return 0;
	from = from < need->end ? from : need->end;
	to = to < need->end ? to : need->end;
	r = ranges_add(&need->holes, need->seen, from);
	if (r == 0 && (extent->fe_flags & FIEMAP_EXTENT_SHARED))
		r = ranges_add(&need->shared, from, to);
	if (to > need->seen)
		need->seen = to;
	return r;
}

static int need_find(int fd, uint64_t bytes, struct need *need)
{
	int r;

	need->end = bytes;
	/* Data that has no place yet gets one first: it would look like a hole. */
	if (fdatasync(fd) < 0)
		return -errno;
	r = vfs_extents_visit(fd, bytes, need_add, need);
	if (r == -EOPNOTSUPP)
		return 0;
	need->known = r == 0;
	return r < 0 ? r : ranges_add(&need->holes, need->seen, bytes);
}

int vfs_reserve_need(int fd, uint64_t bytes, uint64_t *ret_holes, uint64_t *ret_shared)
{
	AUTO(need_done) struct need need = { 0 };
	int r = need_find(fd, bytes, &need);

	if (r < 0)
		return r;
	*ret_holes = need.holes.bytes;
	*ret_shared = need.shared.bytes;
	return 0;
}

bool vfs_has_room(int fd, uint64_t bytes)
{
	struct statvfs stat;

	for (unsigned i = 0; i < 2; i++) {
		if (fstatvfs(fd, &stat) < 0 || stat.f_bavail * stat.f_frsize >= bytes)
			return true;
		if (i == 0 && syncfs(fd) < 0)
			break;
	}
	return false;
}

/* ---- unsharing ---- */

static int copy_part(int from_fd, int to_fd, uint64_t from, uint64_t bytes, uint8_t *buffer)
{
	uint64_t done = 0;

	while (done < bytes) {
		ssize_t count = pread(from_fd, buffer, bytes - done, (off_t) (from + done));
		ssize_t written = count > 0 ? pwrite(to_fd, buffer, (size_t) count, (off_t) done)
		                            : count;

		if (count < 0 || written < 0)
			return -errno;
		if (written == 0)
			return -EAGAIN; /* the file became shorter */
		done += (uint64_t) written;
	}
	return 0;
}

static int unshare_part(int fd, int scratch_fd, uint64_t from, uint64_t bytes, uint8_t *buffer)
{
	int r = -EAGAIN;

	for (unsigned i = 0; r == -EAGAIN && i < UNSHARE_TRIES; i++) {
		if (ftruncate(scratch_fd, 0) < 0)
			return -errno;
		r = copy_part(fd, scratch_fd, from, bytes, buffer);
		if (r == 0)
			r = vfs_compare_and_share(scratch_fd, 0, fd, from, bytes);
	}
	/* Only now is the file the one owner of its new extents. */
	if (ftruncate(scratch_fd, 0) < 0)
		return -errno;
	return r == -EAGAIN ? -EBUSY : r;
}

static int unshare_range(int fd, int scratch_fd, struct vfs_range range, uint8_t *buffer,
                         const struct vfs_steps *steps)
{
	int mode = FALLOC_FL_UNSHARE_RANGE | FALLOC_FL_KEEP_SIZE;
	int r = 0;

	while (r == 0 && range.from < range.to) {
		uint64_t bytes = range.to - range.from;

		bytes = bytes < UNSHARE_BYTES ? bytes : UNSHARE_BYTES;
		if (fallocate(fd, mode, (off_t) range.from, (off_t) bytes) < 0) {
			r = -errno;
			if (r == -EOPNOTSUPP && scratch_fd >= 0)
				r = unshare_part(fd, scratch_fd, range.from, bytes, buffer);
		}
		range.from += bytes;
		if (r == 0 && !steps->step(steps->context, bytes))
			r = -ECANCELED;
	}
	return r;
}

static int unshare(int fd, int scratch_fd, const struct ranges *shared,
                   const struct vfs_steps *steps)
{
	AUTO(free_ptr) uint8_t *buffer = NULL;
	struct stat stat;
	int r = 0;

	if (shared->count == 0)
		return 0;
	buffer = malloc(UNSHARE_BYTES);
	if (!buffer)
		return -ENOMEM;
	if (fstat(fd, &stat) < 0)
		return -errno;
	for (size_t i = 0; r == 0 && i < shared->count; i++) {
		struct vfs_range range = shared->at[i];

		/* The last extent may reach beyond the end of the file. */
		if (range.to > (uint64_t) stat.st_size)
			range.to = (uint64_t) stat.st_size;
		r = unshare_range(fd, scratch_fd, range, buffer, steps);
	}
	return r == 0 && fdatasync(fd) < 0 ? -errno : r;
}

/* ---- allocating ---- */

struct unwritten {
	int fd;
	struct vfs_range hole;
};

static int give_back_extent(void *context, const struct fiemap_extent *extent)
{
	struct unwritten *unwritten = context;
	uint64_t from = extent->fe_logical, to = from + extent->fe_length;

	from = from > unwritten->hole.from ? from : unwritten->hole.from;
	to = to < unwritten->hole.to ? to : unwritten->hole.to;
	if (from < to && (extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN))
		(void) fallocate(unwritten->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		                 (off_t) from, (off_t) (to - from));
	return 0;
}

static bool written_since(int fd, const struct stat *before)
{
	struct stat now;

	return fstat(fd, &now) < 0 || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

/* What fallocate(2) left when it gave up half way. Not if somebody writes to the file: rather keep
 * space than lose data. */
static void give_back(int fd, const struct ranges *holes, const struct stat *before)
{
	for (size_t i = 0; i < holes->count && !written_since(fd, before); i++) {
		struct unwritten unwritten = { .fd = fd, .hole = holes->at[i] };

		(void) vfs_extents_visit(fd, holes->at[i].to, give_back_extent, &unwritten);
	}
}

/* The holes only: XFS wants room for all that it is asked to allocate, also for what has places. */
static int allocate(int fd, const struct need *need)
{
	const struct ranges *holes = &need->holes;
	struct stat before;
	int r = 0;

	if (fstat(fd, &before) < 0)
		return -errno;
	if (!need->known && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t) need->end) < 0)
		r = -errno;
	for (size_t i = 0; r == 0 && i < holes->count; i++) {
		struct vfs_range hole = holes->at[i];

		if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t) hole.from,
		              (off_t) (hole.to - hole.from)) < 0)
			r = -errno;
	}
	/* It changes the time itself: what counts is from now on. */
	if (r < 0 && fstat(fd, &before) == 0)
		give_back(fd, holes, &before);
	return r < 0 || fsync(fd) < 0 ? (r < 0 ? r : -errno) : 0;
}

int vfs_reserve(int fd, int scratch_fd, uint64_t bytes, const struct vfs_steps *steps,
                uint64_t *ret_allocated)
{
	AUTO(need_done) struct need need = { 0 };
	int r = need_find(fd, bytes, &need);

	*ret_allocated = 0;
	if (r < 0)
		return r;
	*ret_allocated = need.holes.bytes + need.shared.bytes;
	if (!vfs_has_room(fd, *ret_allocated))
		return -ENOSPC;
	r = unshare(fd, scratch_fd, &need.shared, steps);
	return r < 0 ? r : allocate(fd, &need);
}

int vfs_allocate(int fd, uint64_t bytes)
{
	AUTO(need_done) struct need need = { 0 };
	int r = need_find(fd, bytes, &need);

	if (r < 0)
		return r;
	return vfs_has_room(fd, need.holes.bytes) ? allocate(fd, &need) : -ENOSPC;
}
