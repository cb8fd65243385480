/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfs/space.h on the file system that $TMPDIR lies on; what that one cannot do is told apart by
 * asking it, and must then be refused.
 */
#include "vfs/space.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "offload/fill_disk.h"
#include "support/temp_dir.h"
#include "vfs/base/cleanup.h"

enum {
	BLOCK = 4096,
	MIB = 1 << 20,
};

static char dir[TEMP_DIR_BYTES];
static int dir_fd;
static bool shares; /* the file system */

static int scratch(void)
{
	int fd;

	ck_assert_int_eq(vfs_unnamed_open(dir_fd, 0600, &fd), 0);
	return fd;
}

static void setup(void)
{
	int from, to;

	temp_dir_make(dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
	from = scratch();
	to = scratch();
	shares = ioctl(to, FICLONE, from) == 0;
	close(from);
	close(to);
}

static void teardown(void)
{
	close(dir_fd);
	temp_dir_remove(dir);
}

static void fill(int fd, uint64_t from, uint64_t bytes, int byte)
{
	uint8_t block[BLOCK];

	memset(block, byte, sizeof block);
	for (uint64_t at = from; at < from + bytes; at += BLOCK)
		MUST(pwrite(fd, block, BLOCK, (off_t) at) == BLOCK);
}

static bool is_filled(int fd, uint64_t from, uint64_t bytes, int byte)
{
	uint8_t block[BLOCK], want[BLOCK];

	memset(want, byte, sizeof want);
	for (uint64_t at = from; at < from + bytes; at += BLOCK)
		if (pread(fd, block, BLOCK, (off_t) at) != BLOCK || memcmp(block, want, BLOCK) != 0)
			return false;
	return true;
}

static bool go_on(void *context, uint64_t bytes)
{
	uint64_t *sum = context;

	*sum += bytes;
	return true;
}

static bool stop(void *context, uint64_t bytes)
{
	return false;
}

static struct vfs_usage usage(int fd)
{
	struct vfs_usage told;

	ck_assert_int_eq(fsync(fd), 0);
	ck_assert_int_eq(vfs_usage(fd, &told), 0);
	return told;
}

START_TEST(data_is_found_between_holes)
{
	AUTO(close_fd) int fd = scratch();
	struct vfs_range data;

	ck_assert_int_eq(ftruncate(fd, 8 * MIB), 0);
	ck_assert_int_eq(vfs_next_data(fd, 0, 8 * MIB, &data), -ENXIO);
	fill(fd, 2 * MIB, MIB, 1);
	ck_assert_int_eq(fsync(fd), 0);
	ck_assert_int_eq(vfs_next_data(fd, 0, 8 * MIB, &data), 0);
	ck_assert_uint_eq(data.from, 2 * MIB);
	ck_assert_uint_eq(data.to, 3 * MIB);
	ck_assert_int_eq(vfs_next_data(fd, 0, 2 * MIB + BLOCK, &data), 0);
	ck_assert_uint_eq(data.to, 2 * MIB + BLOCK);
	ck_assert_int_eq(vfs_next_data(fd, data.to, data.to, &data), -ENXIO);
	ck_assert_int_eq(vfs_next_data(fd, 3 * MIB, 8 * MIB, &data), -ENXIO);
}
END_TEST

START_TEST(preallocated_space_counts_as_allocated_and_as_a_hole)
{
	AUTO(close_fd) int fd = scratch();
	struct vfs_range data;
	struct vfs_usage told;

	ck_assert_int_eq(ftruncate(fd, 4 * MIB), 0);
	ck_assert_int_eq(fallocate(fd, 0, 0, 4 * MIB), 0);
	told = usage(fd);
	ck_assert_uint_eq(told.total_bytes, 4 * MIB);
	ck_assert_uint_ge(told.allocated_bytes, 4 * MIB);
	ck_assert_uint_eq(told.unique_bytes, told.allocated_bytes);
	ck_assert_int_eq(vfs_next_data(fd, 0, 4 * MIB, &data), -ENXIO);
}
END_TEST

START_TEST(what_is_shared_is_not_unique_and_reserving_makes_it_so)
{
	AUTO(close_fd) int from = scratch();
	AUTO(close_fd) int to = scratch();
	AUTO(close_fd) int spare = scratch();
	uint64_t sum = 0, allocated, holes, shared;
	struct vfs_steps steps = { go_on, &sum };
	struct vfs_usage told;

	fill(from, 0, 12 * MIB, 7);
	ck_assert_int_eq(ftruncate(from, 20 * MIB), 0);
	ck_assert_int_eq(fsync(from), 0);
	if (!shares) {
		ck_assert_int_eq(vfs_share(from, to), -EOPNOTSUPP);
		return;
	}
	ck_assert_int_eq(ftruncate(to, 30 * MIB), 0);
	ck_assert_int_eq(vfs_share(from, to), 0);
	told = usage(to);
	ck_assert_uint_eq(told.total_bytes, 20 * MIB);
	ck_assert_uint_lt(told.unique_bytes, MIB);
	ck_assert_uint_ge(told.allocated_bytes, 12 * MIB);
	ck_assert(told.knows_shared);
	ck_assert_int_eq(vfs_reserve_need(to, 20 * MIB, &holes, &shared), 0);
	ck_assert_uint_eq(holes, 8 * MIB);
	ck_assert_uint_eq(shared, 12 * MIB);

	ck_assert_int_eq(vfs_reserve(to, spare, 20 * MIB, &steps, &allocated), 0);
	ck_assert_uint_eq(allocated, 20 * MIB);
	ck_assert_uint_eq(sum, 12 * MIB);
	told = usage(to);
	ck_assert_uint_ge(told.unique_bytes, 20 * MIB);
	ck_assert_uint_eq(usage(from).unique_bytes, usage(from).allocated_bytes);
	ck_assert(is_filled(to, 0, 12 * MIB, 7));
	ck_assert(is_filled(to, 12 * MIB, 8 * MIB, 0));
	ck_assert_int_eq(vfs_reserve_need(to, 20 * MIB, &holes, &shared), 0);
	ck_assert_uint_eq(holes + shared, 0);
}
END_TEST

START_TEST(unsharing_can_be_stopped)
{
	AUTO(close_fd) int from = scratch();
	AUTO(close_fd) int to = scratch();
	AUTO(close_fd) int spare = scratch();
	struct vfs_steps steps = { stop, NULL };
	uint64_t allocated;

	if (!shares)
		return;
	fill(from, 0, 8 * MIB, 7);
	ck_assert_int_eq(vfs_share(from, to), 0);
	ck_assert_int_eq(vfs_reserve(to, spare, 8 * MIB, &steps, &allocated), -ECANCELED);
	ck_assert(is_filled(to, 0, 8 * MIB, 7));
}
END_TEST

START_TEST(reserving_more_than_there_is_fails_with_the_file_as_before)
{
	AUTO(close_fd) int fd = scratch();
	uint64_t sum = 0, allocated;
	struct vfs_steps steps = { go_on, &sum };
	struct vfs_usage before, after;
	struct statfs stat;
	uint64_t size;

	ck_assert_int_eq(fstatfs(fd, &stat), 0);
	size = ((uint64_t) stat.f_blocks * (uint64_t) stat.f_bsize / MIB + 64) * MIB;
	ck_assert_int_eq(ftruncate(fd, (off_t) size), 0);
	fill(fd, MIB, MIB, 9);
	before = usage(fd);
	ck_assert_int_eq(vfs_reserve(fd, -1, size, &steps, &allocated), -ENOSPC);
	after = usage(fd);
	ck_assert_uint_eq(after.allocated_bytes, before.allocated_bytes);
	ck_assert_uint_eq(after.total_bytes, size);
	ck_assert(is_filled(fd, MIB, MIB, 9));
}
END_TEST

/* XFS asks for room for all that it is told to allocate, though it has places already. */
START_TEST(what_is_reserved_needs_no_room_to_be_reserved_again)
{
	AUTO(close_fd) int fd = scratch();
	AUTO(close_fd) int filler = scratch();
	uint64_t sum = 0, allocated;
	struct vfs_steps steps = { go_on, &sum };
	struct vfs_usage before, after;
	int r = 0;

	ck_assert_int_eq(ftruncate(fd, 64 * MIB), 0);
	fill(fd, MIB, MIB, 5);
	ck_assert_int_eq(vfs_reserve(fd, -1, 64 * MIB, &steps, &allocated), 0);
	if (!fill_disk_but(filler, 4 * MIB))
		return;
	ck_assert_int_eq(vfs_reserve(fd, -1, 64 * MIB, &steps, &allocated), 0);
	ck_assert_uint_eq(allocated, 0);
	ck_assert_int_eq(vfs_allocate(fd, 66 * MIB), 0);
	ck_assert_uint_ge(usage(fd).allocated_bytes, 66 * MIB);
	for (unsigned i = 0; r == 0 && i < FILL_DISK_TRIES; i++) {
		before = usage(fd);
		r = vfs_allocate(fd, before.allocated_bytes + 64 * MIB);
		after = usage(fd);
		ck_assert(fill_disk_but(filler, 4 * MIB));
	}
	ck_assert_int_eq(r, -ENOSPC);
	ck_assert_uint_eq(after.allocated_bytes, before.allocated_bytes);
	ck_assert_uint_eq(after.total_bytes, 64 * MIB);
	ck_assert(is_filled(fd, MIB, MIB, 5));
}
END_TEST

START_TEST(reserving_leaves_length_and_content)
{
	AUTO(close_fd) int fd = scratch();
	uint64_t sum = 0, allocated;
	struct vfs_steps steps = { go_on, &sum };

	fill(fd, MIB, MIB, 5);
	ck_assert_int_eq(vfs_reserve(fd, -1, 16 * MIB, &steps, &allocated), 0);
	ck_assert_uint_le(allocated, 15 * MIB); /* XFS allocates ahead of writes */
	ck_assert_uint_eq(usage(fd).total_bytes, 2 * MIB);
	ck_assert_uint_ge(usage(fd).unique_bytes, 16 * MIB);
	ck_assert(is_filled(fd, MIB, MIB, 5));
	ck_assert(is_filled(fd, 0, MIB, 0));
	ck_assert_int_eq(vfs_zero(fd, MIB, MIB), 0);
	ck_assert(is_filled(fd, MIB, MIB, 0));
	ck_assert_uint_ge(usage(fd).unique_bytes, 16 * MIB);
}
END_TEST

START_TEST(zeros_become_holes_and_data_never_does)
{
	AUTO(close_fd) int fd = scratch();
	AUTO(close_fd) int spare = scratch();
	struct vfs_range data;
	uint64_t before;

	fill(fd, 0, 8 * MIB, 0);
	fill(fd, 6 * MIB, MIB, 3);
	before = usage(fd).allocated_bytes;
	ck_assert_int_eq(ftruncate(spare, VFS_PUNCH_BYTES_MAX), 0);
	if (shares) {
		ck_assert_int_eq(vfs_punch(fd, spare, 5 * MIB, 2 * MIB), -EAGAIN);
		ck_assert_int_eq(vfs_punch(fd, spare, MIB, 4 * MIB), 0);
	} else {
		ck_assert_int_eq(vfs_punch(fd, spare, MIB, 4 * MIB), -EOPNOTSUPP);
		ck_assert_int_eq(vfs_punch(fd, -1, MIB, 4 * MIB), 0);
	}
	ck_assert(is_filled(fd, 0, 6 * MIB, 0));
	ck_assert(is_filled(fd, 6 * MIB, MIB, 3));
	ck_assert_uint_le(usage(fd).allocated_bytes, before - 4 * MIB);
	ck_assert_int_eq(vfs_next_data(fd, MIB, 8 * MIB, &data), 0);
	ck_assert_uint_eq(data.from, 5 * MIB);
}
END_TEST

START_TEST(an_unnamed_file_gets_a_free_name_and_no_taken_one)
{
	AUTO(close_fd) int fd = scratch();
	AUTO(close_fd) int other = -EBADF;
	char path[TEMP_PATH_BYTES];
	struct stat one, two;

	ck_assert_int_eq(vfs_unnamed_link(fd, dir_fd, "name"), 0);
	ck_assert_int_eq(stat(temp_path(path, dir, "name"), &one), 0);
	ck_assert_int_eq(fstat(fd, &two), 0);
	ck_assert_uint_eq(one.st_ino, two.st_ino);
	other = scratch();
	ck_assert_int_eq(vfs_unnamed_link(other, dir_fd, "name"), -EEXIST);
	close_fd(&other);
	ck_assert_int_eq(vfs_reopen(fd, O_RDONLY, &other), 0);
	ck_assert_int_eq(write(other, "x", 1), -1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("space");
	TCase *tcase = tcase_create("space");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, data_is_found_between_holes);
	tcase_add_test(tcase, preallocated_space_counts_as_allocated_and_as_a_hole);
	tcase_add_test(tcase, what_is_shared_is_not_unique_and_reserving_makes_it_so);
	tcase_add_test(tcase, unsharing_can_be_stopped);
	tcase_add_test(tcase, reserving_more_than_there_is_fails_with_the_file_as_before);
	tcase_add_test(tcase, what_is_reserved_needs_no_room_to_be_reserved_again);
	tcase_add_test(tcase, reserving_leaves_length_and_content);
	tcase_add_test(tcase, zeros_become_holes_and_data_never_does);
	tcase_add_test(tcase, an_unnamed_file_gets_a_free_name_and_no_taken_one);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
