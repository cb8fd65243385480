/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_kernel.c - copy_file_range(2): on network file systems the other side copies. On local
 * ones the kernel would go through the page cache, which engine_ring.c does better.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "offload/engine.h"
#include "vfs/base/cleanup.h"
#include "vfs/space.h"

enum {
	/* Then look whether to stop; and where the data went through our page cache after all, it
	 * is written out, or gigabytes would wait for one flush in the end. */
	PIECE_BYTES = 16 << 20,
	MAGIC_SMB2 = (int) 0xfe534d42,
	MAGIC_CEPH = 0x00c36400,
};

bool engine_kernel_offloads(int source_fd, int destination_fd)
{
	static const uint32_t types[] = { NFS_SUPER_MAGIC, (uint32_t) MAGIC_SMB2, MAGIC_CEPH,
		                          FUSE_SUPER_MAGIC };
	struct statfs source, destination;

	if (fstatfs(source_fd, &source) < 0 || fstatfs(destination_fd, &destination) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_COUNT(types); i++)
		if ((uint32_t) source.f_type == types[i] &&
		    (uint32_t) destination.f_type == types[i])
			return true;
	return false;
}

static int copy_piece(const struct engine_copy *copy, uint64_t from, uint64_t bytes,
                      uint64_t *ret_count)
{
	off_t from_at = (off_t) from, to_at = (off_t) from;
	ssize_t count = copy_file_range(copy->source_fd, &from_at, copy->destination_fd, &to_at,
	                                bytes, 0);

	if (count < 0)
		return -errno;
	if (count == 0)
		return -ETXTBSY; /* the source is shorter now */
	(void) sync_file_range(copy->destination_fd, (off_t) from, count,
	                       SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
	                               SYNC_FILE_RANGE_WAIT_AFTER);
	*ret_count = (uint64_t) count;
	return 0;
}

static int copy_range(const struct engine_copy *copy, struct vfs_range range,
                      struct engine_control *control)
{
	while (range.from < range.to) {
		uint64_t bytes = range.to - range.from, count = 0;
		int r;

		bytes = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
		r = engine_pace(control, bytes);
		if (r == 0)
			r = copy_piece(copy, range.from, bytes, &count);
		if (r < 0)
			return r;
		range.from += count;
		atomic_fetch_add(&control->moved_bytes, count);
		atomic_store(&control->done_bytes, range.from);
	}
	return 0;
}

int engine_kernel_copy(const struct engine_copy *copy, struct engine_control *control)
{
	struct vfs_range data = { .to = copy->from };
	uint64_t hole_from;
	int r = 0, zeroed;

	while (r == 0) {
		hole_from = data.to;
		r = vfs_next_data(copy->source_fd, data.to, copy->bytes, &data);
		if (r == -ENXIO)
			data = (struct vfs_range){ copy->bytes, copy->bytes };
		else if (r < 0)
			return r;
		zeroed = engine_zero_hole(copy, hole_from, data.from);
		if (zeroed < 0)
			return zeroed;
		if (r == 0)
			r = copy_range(copy, data, control);
	}
	if (r != -ENXIO)
		return r;
	atomic_store(&control->done_bytes, copy->bytes);
	return 0;
}
