/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs on a disk with little left, on the file system that $TMPDIR lies on: it is filled for that,
 * unless it is large.
 */
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/statfs.h>

#include "offload/fill_disk.h"
#include "offload/jobs_fixture.h"
#include "offload/slow_copy.h"
#include "offload/status.h"

static bool is_btrfs(void)
{
	struct statfs disk;

	ck_assert_int_eq(statfs(root, &disk), 0);
	return disk.f_type == BTRFS_SUPER_MAGIC;
}

static bool leave_free(unsigned mib)
{
	AUTO(close_fd) int fd = open_in("filler", O_RDWR | O_CREAT);

	return fill_disk_but(fd, (uint64_t) mib * MIB);
}

/* On a disk with 64 MiB left, after @prepare; the job that fails. False: no such disk. */
static bool fails_on_full_disk(struct job_record (*prepare)(void), struct job_record *ret_ended)
{
	for (unsigned i = 0; i < FILL_DISK_TRIES; i++) {
		struct job_record wanted = prepare();

		if (!leave_free(64))
			return false;
		*ret_ended = run(&wanted);
		if (ret_ended->state != OFFLOAD_STATE_COMPLETE)
			break;
	}
	ck_assert_msg(ret_ended->status == OFFLOAD_ERR_NO_SPACE, "%d: %s", (int) ret_ended->status,
	              ret_ended->text);
	return true;
}

static struct job_record needs_96_mib(void)
{
	char path[TEMP_PATH_BYTES * 2];
	struct job_record wanted;

	if (exists("b"))
		ck_assert_int_eq(unlink(in_root(path, "b")), 0);
	make_file("a", 96 * MIB, 0, 96);
	wanted = clone_of("a", "b", 0);
	if (!shares())
		return wanted;
	run(&wanted); /* what is shared has to be copied for the promise */
	return job_on(OFFLOAD_KIND_RESERVE, "b", 0);
}

START_TEST(a_full_disk_is_said_and_nothing_is_left)
{
	struct job_record ended;

	if (!fails_on_full_disk(needs_96_mib, &ended))
		return;
	ck_assert_int_eq(exists("b"), shares());
	ck_assert(!shares() || same_content("a", "b"));
}
END_TEST

static struct job_record grows_by_94_mib(void)
{
	make_file("a", 96 * MIB, 0, 1);
	make_file("b", 2 * MIB, 0, 2);
	return clone_of("a", "b", 0);
}

START_TEST(a_thick_destination_that_cannot_grow_stays_as_it_is)
{
	struct job_record ended;
	struct stat before, after;
	AUTO(close_fd) int as_b = -EBADF;
	AUTO(close_fd) int fd = -EBADF;

	make_file("as-b", 2 * MIB, 0, 2);
	as_b = open_in("as-b", O_RDONLY);
	ck_assert_int_eq(fstat(as_b, &before), 0);
	if (!fails_on_full_disk(grows_by_94_mib, &ended))
		return;
	ck_assert(same_content("b", "as-b"));
	fd = open_in("b", O_RDONLY);
	ck_assert_int_eq(fstat(fd, &after), 0);
	ck_assert_int_eq(after.st_size, before.st_size);
	ck_assert_int_le(after.st_blocks, before.st_blocks);
}
END_TEST

/* "b", thick with @mib, becomes a clone of 96 MiB with a MiB of data at @data_mib, and stays thick,
 * though no more than @left_mib are free. (Btrfs writes anew, and says early that it is full.) */
static void clones_into_thick(unsigned mib, unsigned data_mib, unsigned left_mib)
{
	struct job_record wanted, ended;
	struct vfs_usage usage;
	AUTO(close_fd) int fd = -EBADF;

	make_file("a", 96 * MIB, data_mib, 1);
	make_file("b", (off_t) mib * MIB, 0, mib);
	fd = open_in("b", O_RDWR);
	if (is_btrfs() || !leave_free(left_mib))
		return;
	wanted = clone_of("a", "b", 0);
	ended = run(&wanted);
	ck_assert_msg(ended.state == OFFLOAD_STATE_COMPLETE, "%s", ended.text);
	ck_assert(same_content("a", "b"));
	ck_assert_int_eq(vfs_usage(fd, &usage), 0);
	ck_assert_uint_ge(usage.allocated_bytes, 96 * MIB);
}

/* Nothing is left, but all of it is there already. */
START_TEST(a_thick_destination_needs_no_other_space)
{
	clones_into_thick(96, 7, 8);
}
END_TEST

/* Room for the growth is enough: what is reserved is not asked for once more. */
START_TEST(a_thick_destination_that_can_just_grow_does)
{
	clones_into_thick(2, 0, 110);
}
END_TEST

/* Takes all space there is, again and again. */
static atomic_bool greedy_stop;

static void *greedy(void *arg)
{
	int fd = *(int *) arg;
	off_t at = 0;

	while (!atomic_load(&greedy_stop))
		if (fallocate(fd, 0, at, MIB) == 0)
			at += MIB;
	return NULL;
}

START_TEST(a_thick_destination_that_is_put_back_never_gives_its_space_away)
{
	AUTO(close_fd) int greedy_fd = open_in("greedy", O_RDWR | O_CREAT);
	AUTO(close_fd) int fd = -EBADF;
	struct job_record ended;
	struct vfs_usage usage;
	pthread_t thread;
	uint64_t id;

	/* XFS punches and allocates anew when it is told to zero, Btrfs writes anew */
	if (shares())
		return;
	make_file("a", 64 * MIB, 0, 64);
	make_file("b", 64 * MIB, 0, 64);
	fd = open_in("b", O_RDWR);
	ck_assert_int_eq(fsync(fd), 0);
	if (!leave_free(16))
		return;
	id = begin_slow_copy("a", "b");
	atomic_store(&greedy_stop, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, greedy, &greedy_fd), 0);
	ck_assert_int_eq(jobs_cancel(jobs, id), 0);
	ended = wait_for(id);
	atomic_store(&greedy_stop, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(ended.state, OFFLOAD_STATE_CANCELLED);
	ck_assert_int_eq(vfs_usage(fd, &usage), 0);
	ck_assert_uint_eq(usage.total_bytes, 64 * MIB);
	ck_assert_uint_ge(usage.allocated_bytes, 64 * MIB);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("full");
	TCase *tcase = tcase_create("full");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_full_disk_is_said_and_nothing_is_left);
	tcase_add_test(tcase, a_thick_destination_that_cannot_grow_stays_as_it_is);
	tcase_add_test(tcase, a_thick_destination_needs_no_other_space);
	tcase_add_test(tcase, a_thick_destination_that_can_just_grow_does);
	tcase_add_test(tcase, a_thick_destination_that_is_put_back_never_gives_its_space_away);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
