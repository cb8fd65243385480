/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs from their acceptance to their end, on the file system that $TMPDIR lies on.
 */
#include "offload/jobs_fixture.h"
#include "offload/jobs_internal.h"
#include "offload/slow_copy.h"
#include "offload/status.h"
#include "vfs/base/clock.h"

START_TEST(a_clone_makes_a_new_file)
{
	struct job_record wanted, ended;
	char path[TEMP_PATH_BYTES * 2];
	struct stat stat_now;

	make_file("a", 32 * MIB + 5, 3, 9);
	wanted = clone_of("a", "b", 0);
	ended = run(&wanted);
	ck_assert_msg(ended.state == OFFLOAD_STATE_COMPLETE, "%s", ended.text);
	ck_assert_str_eq(ended.engine, shares() ? "reflink" : "copy");
	ck_assert_uint_eq(ended.bytes_done, 32 * MIB + 5);
	ck_assert_uint_eq(ended.bytes_total, 32 * MIB + 5);
	ck_assert(same_content("a", "b"));
	ck_assert_int_eq(stat(in_root(path, "b"), &stat_now), 0);
	ck_assert_uint_eq(stat_now.st_mode & 07777, 0640);
}
END_TEST

START_TEST(a_clone_fills_an_existing_file)
{
	struct job_record wanted, ended;

	make_file("a", 16 * MIB, 3, 9);
	make_file("b", 48 * MIB, 0, 48);
	wanted = clone_of("a", "b", OFFLOAD_CLONE_VERIFY);
	settings.thick_share = true;
	ended = run(&wanted);
	ck_assert_msg(ended.state == OFFLOAD_STATE_COMPLETE, "%s", ended.text);
	ck_assert(same_content("a", "b"));
	ck_assert(ended.has_checksum);
}
END_TEST

START_TEST(thick_stays_thick)
{
	struct job_record wanted, ended;
	struct vfs_usage usage;
	AUTO(close_fd) int fd = -EBADF;

	make_file("a", 24 * MIB, 3, 9);
	fd = open_in("b", O_RDWR | O_CREAT);
	ck_assert_int_eq(fallocate(fd, 0, 0, 24 * MIB), 0);
	wanted = clone_of("a", "b", 0);
	ended = run(&wanted);
	ck_assert_msg(ended.state == OFFLOAD_STATE_COMPLETE, "%s", ended.text);
	ck_assert_str_eq(ended.engine, "copy");
	ck_assert(same_content("a", "b"));
	ck_assert_int_eq(vfs_usage(fd, &usage), 0);
	ck_assert_uint_ge(usage.unique_bytes, 24 * MIB);
}
END_TEST

START_TEST(a_fast_clone_shares_or_is_refused)
{
	struct job_record wanted, ended;

	make_file("a", 8 * MIB, 3, 4);
	wanted = clone_of("a", "b", OFFLOAD_CLONE_FAST);
	ended = run(&wanted);
	if (shares()) {
		ck_assert_str_eq(ended.engine, "reflink");
		ck_assert(same_content("a", "b"));
	} else {
		ck_assert_int_eq(ended.status, OFFLOAD_ERR_UNSUPPORTED);
		ck_assert(!exists("b"));
		make_file("b", MIB, 0, 1);
		make_file("c", MIB, 0, 1);
		wanted = clone_of("a", "b", OFFLOAD_CLONE_FAST);
		ended = run(&wanted);
		ck_assert_int_eq(ended.status, OFFLOAD_ERR_UNSUPPORTED);
		ck_assert(same_content("b", "c")); /* as it was */
	}
}
END_TEST

START_TEST(the_same_call_again_joins)
{
	struct job_record wanted, ended;
	uint64_t one, two;

	settings.copy_rate = 40 * MIB;
	jobs = jobs_close(jobs);
	ck_assert_int_eq(jobs_open(vfs, &settings, &jobs), 0);
	make_file("a", 32 * MIB, 0, 32);
	wanted = clone_of("a", "b", OFFLOAD_CLONE_VERIFY);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &one), 0);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &two), 0);
	ck_assert_uint_eq(one, two);
	ended = wait_for(one);
	ck_assert_msg(ended.state == OFFLOAD_STATE_COMPLETE, "%s", ended.text);
	wanted = clone_of("a", "b", OFFLOAD_CLONE_VERIFY); /* it is there by now */
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &two), 0);
	ck_assert_uint_eq(one, two);
	wanted = clone_of("a", "b", OFFLOAD_CLONE_NEW);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &two), -EEXIST);
	make_file("b", MIB, 0, 1); /* changed: not the result of that job any more */
	wanted = clone_of("a", "b", OFFLOAD_CLONE_VERIFY);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &two), 0);
	ck_assert_uint_ne(one, two);
	wait_for(two);
}
END_TEST

static uint64_t tick_ns(void)
{
	return clock_ns(CLOCK_REALTIME_COARSE);
}

/* So that a write that follows is seen by its time, however soon it comes. */
START_TEST(the_tick_of_a_change_is_over_when_it_has_been_noted)
{
	struct stat stat_;
	char path[TEMP_PATH_BYTES * 2];
	uint64_t now;

	for (unsigned i = 0; i < 20; i++) {
		now = tick_ns();
		run_settle(now);
		ck_assert_uint_gt(tick_ns(), now);
	}
	now = tick_ns();
	run_settle(now + 3600000000000u); /* the clock was set back since */
	ck_assert_uint_lt(tick_ns() - now, 50000000u);
	for (unsigned i = 0; i < 5; i++) {
		struct job_record wanted, ended;

		make_file("a", MIB, 0, 1);
		(void) unlink(in_root(path, "b"));
		wanted = clone_of("a", "b", 0);
		ended = run(&wanted);
		ck_assert_int_eq(ended.state, OFFLOAD_STATE_COMPLETE);
		ck_assert_int_eq(stat(in_root(path, "b"), &stat_), 0);
		ck_assert_uint_gt(tick_ns(), run_ctime_ns(&stat_));
	}
}
END_TEST

START_TEST(overlapping_jobs_are_refused)
{
	struct job_record wanted;
	uint64_t one, two;

	settings.copy_rate = 20 * MIB;
	jobs = jobs_close(jobs);
	ck_assert_int_eq(jobs_open(vfs, &settings, &jobs), 0);
	make_file("a", 24 * MIB, 0, 24);
	make_file("c", 24 * MIB, 0, 24);
	make_file("b", 0, 0, 0);
	wanted = clone_of("a", "b", OFFLOAD_CLONE_VERIFY);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &one), 0);
	wanted = clone_of("c", "b", 0);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &two), -EBUSY);
	wanted = clone_of("b", "d", 0);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &two), -EBUSY);
	wanted = clone_of("c", "a", 0);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &two), -EBUSY);
	wanted = job_on(OFFLOAD_KIND_PUNCH, "a", 0);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &two), -EBUSY);
	wanted = clone_of("a", "a", 0);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &two), -OFFLOAD_ESAME);
	wait_for(one);
}
END_TEST

START_TEST(cancelling_takes_a_new_file_away_and_empties_an_existing_one)
{
	bool existing = _i == 1;
	struct job_record ended;
	char path[TEMP_PATH_BYTES * 2];
	struct stat now;
	uint64_t id;

	make_file("a", 64 * MIB, 0, 64);
	if (existing)
		make_file("b", 64 * MIB, 0, 0);
	id = begin_slow_copy("a", "b");
	ck_assert_int_eq(jobs_cancel(jobs, id), 0);
	ended = wait_for(id);
	ck_assert_int_eq(ended.state, OFFLOAD_STATE_CANCELLED);
	ck_assert_int_eq(ended.status, OFFLOAD_ERR_CANCELLED);
	ck_assert_int_eq(exists("b"), existing);
	if (existing) {
		ck_assert_int_eq(stat(in_root(path, "b"), &now), 0);
		ck_assert_int_eq(now.st_size, 64 * MIB);
		ck_assert_int_lt(now.st_blocks, 64);
	}
	ck_assert_int_eq(jobs_cancel(jobs, id), 0); /* no matter */
	ck_assert_int_eq(jobs_cancel(jobs, 4711), -OFFLOAD_ENOJOB);
}
END_TEST

START_TEST(a_source_that_changes_fails_the_copy)
{
	struct job_record ended;
	uint64_t id;

	AUTO(close_fd) int fd = -EBADF;

	make_file("a", 16 * MIB, 0, 16);
	id = begin_slow_copy("a", "b");
	fd = open_in("a", O_RDWR);
	ck_assert_int_eq(pwrite(fd, "x", 1, 12345), 1);
	ended = wait_for(id);
	ck_assert_int_eq(ended.status, OFFLOAD_ERR_CHANGED);
	ck_assert(!exists("b"));
}
END_TEST

START_TEST(a_destination_that_is_removed_fails_the_clone)
{
	char path[TEMP_PATH_BYTES * 2];
	struct job_record ended;
	uint64_t id;

	make_file("a", 16 * MIB, 0, 16);
	make_file("b", 16 * MIB, 0, 0);
	id = begin_slow_copy("a", "b");
	ck_assert_int_eq(unlink(in_root(path, "b")), 0);
	ended = wait_for(id);
	ck_assert_int_eq(ended.status, OFFLOAD_ERR_GONE);
	ck_assert(!exists("b"));
}
END_TEST

START_TEST(a_name_that_is_taken_meanwhile_is_not_replaced)
{
	struct job_record ended;
	uint64_t id;

	make_file("a", 8 * MIB, 0, 8);
	id = begin_slow_copy("a", "b");
	make_file("b", MIB, 0, 1);
	make_file("c", MIB, 0, 1);
	ended = wait_for(id);
	ck_assert_int_eq(ended.status, OFFLOAD_ERR_EXISTS);
	ck_assert(same_content("b", "c"));
}
END_TEST

START_TEST(an_export_that_is_taken_away_fails_the_clone)
{
	struct exports none = { 0 };
	struct job_record ended;
	size_t usable;
	uint64_t id;

	make_file("a", 8 * MIB, 0, 8);
	make_file("b", 8 * MIB, 0, 0);
	id = begin_slow_copy("a", "b");
	ck_assert_int_eq(vfs_exports_set(vfs, &none, report, NULL, &usable), 0);
	ended = wait_for(id);
	ck_assert_int_eq(ended.status, OFFLOAD_ERR_STALE);
}
END_TEST

START_TEST(stopping_and_starting_goes_on_where_it_was)
{
	struct job_record ended;
	uint64_t id;

	make_file("a", 48 * MIB, 0, 48);
	make_file("b", 48 * MIB, 0, 48); /* thick: copied in place, on every file system */
	id = begin_slow_copy("a", "b");
	usleep(2500000); /* over a checkpoint */
	jobs = jobs_close(jobs);
	settings.copy_rate = 0;
	ck_assert_int_eq(jobs_open(vfs, &settings, &jobs), 0);
	ended = wait_for(id);
	ck_assert_msg(ended.state == OFFLOAD_STATE_COMPLETE, "%s", ended.text);
	ck_assert_uint_gt(ended.durable_bytes, 0);
	ck_assert(same_content("a", "b"));
}
END_TEST

START_TEST(reserve_checksum_and_punch_are_jobs)
{
	struct job_record wanted, ended;
	struct vfs_usage usage;
	AUTO(close_fd) int fd = -EBADF;
	AUTO(free_ptr) void *zeros = calloc(1, 2 * MIB);
	uint8_t checksum[OFFLOAD_CHECKSUM_BYTES];

	make_file("a", 24 * MIB, 2, 8);
	wanted = job_on(OFFLOAD_KIND_CHECKSUM, "a", 0);
	ended = run(&wanted);
	ck_assert_msg(ended.has_checksum, "%s", ended.text);
	memcpy(checksum, ended.checksum, sizeof checksum);
	wanted = job_on(OFFLOAD_KIND_RESERVE, "a", 0);
	ended = run(&wanted);
	ck_assert_msg(ended.state == OFFLOAD_STATE_COMPLETE, "%s", ended.text);
	fd = open_in("a", O_RDWR);
	ck_assert_int_eq(vfs_usage(fd, &usage), 0);
	ck_assert_uint_ge(usage.unique_bytes, 24 * MIB);

	ck_assert_int_eq(pwrite(fd, zeros, 2 * MIB, 4 * MIB), 2 * MIB);
	wanted = job_on(OFFLOAD_KIND_PUNCH, "a", OFFLOAD_PUNCH_DRY_RUN);
	ended = run(&wanted);
	ck_assert_uint_eq(ended.bytes_moved, 2 * MIB);
	wanted = job_on(OFFLOAD_KIND_PUNCH, "a", 0);
	ended = run(&wanted);
	ck_assert_msg(ended.state == OFFLOAD_STATE_COMPLETE, "%s", ended.text);
	ck_assert_uint_eq(ended.bytes_moved, 2 * MIB);
	wanted = job_on(OFFLOAD_KIND_CHECKSUM, "a", 0);
	ended = run(&wanted);
	ck_assert(memcmp(checksum, ended.checksum, sizeof checksum) != 0);
}
END_TEST

START_TEST(a_live_lock_forbids_punching_and_a_stale_one_does_not)
{
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char path[TEMP_PATH_BYTES * 2], name[64];
	struct job_record wanted, ended;
	struct vfs_file *file;
	struct vfs_attr attr;
	struct job_file at;

	make_file("a", 4 * MIB, 0, 2);
	at = file_at("a");
	ck_assert_int_eq(vfs_file_open(vfs, at.handle.bytes, at.handle.count, &file), 0);
	ck_assert_int_eq(vfs_file_attr(file, &attr), 0);
	vfs_file_put(file);
	snprintf(name, sizeof name, ".lck-");
	for (unsigned i = 0; i < 8; i++)
		snprintf(name + 5 + 2 * i, 3, "%02x", (unsigned) (attr.fileid >> (8 * i)) & 0xff);
	make_file(name, 84, 0, 0);
	wanted = job_on(OFFLOAD_KIND_PUNCH, "a", 0);
	ended = run(&wanted);
	ck_assert_int_eq(ended.status, OFFLOAD_ERR_LOCKED);
	ck_assert_int_eq(utimensat(AT_FDCWD, in_root(path, name), old, 0), 0);
	ended = run(&wanted);
	ck_assert_msg(ended.state == OFFLOAD_STATE_COMPLETE, "%s", ended.text);
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
	char path[TEMP_PATH_BYTES * 2];
	struct job_record wanted, ended;

	ck_assert_int_eq(mkdir(in_root(path, "d"), 0755), 0);
	ck_assert_int_eq(mkfifo(in_root(path, "f"), 0644), 0);
	make_file("a", MIB, 0, 1);
	wanted = clone_of("d", "x", 0);
	ended = run(&wanted);
	ck_assert_int_eq(ended.status, OFFLOAD_ERR_NOT_FILE);
	wanted = clone_of("f", "x", 0);
	ended = run(&wanted);
	ck_assert_int_eq(ended.status, OFFLOAD_ERR_NOT_FILE);
	wanted = clone_of("a", "d", 0);
	ended = run(&wanted);
	ck_assert_int_eq(ended.status, OFFLOAD_ERR_NOT_FILE);
	ck_assert(!exists("x"));
}
END_TEST

START_TEST(results_can_be_asked_for_and_listed)
{
	struct job_record wanted, ended, next;
	struct job_file at;

	make_file("a", MIB, 0, 1);
	wanted = clone_of("a", "b", 0);
	ended = run(&wanted);
	jobs = jobs_close(jobs);
	ck_assert_int_eq(jobs_open(vfs, &settings, &jobs), 0); /* also after a restart */
	at = file_at("b");
	ck_assert_int_eq(jobs_find(jobs, &at, JOBS_ALL_KINDS, &next), 0);
	ck_assert_uint_eq(next.id, ended.id);
	ck_assert_int_eq(jobs_next(jobs, 0, &next), 0);
	ck_assert_uint_eq(next.id, ended.id);
	ck_assert_int_eq(jobs_next(jobs, ended.id, &next), -OFFLOAD_ENOJOB);
	ck_assert_int_eq(jobs_get(jobs, 1, &next), -OFFLOAD_ENOJOB);
	jobs_tick(jobs);
	ck_assert_int_eq(jobs_get(jobs, ended.id, &next), 0);
}
END_TEST

/* To go over that many zeros takes long. */
START_TEST(a_checksum_of_little_but_holes_can_be_cancelled)
{
	struct job_record wanted, ended;
	uint64_t id, begun_ms = jobs_now_ms();

	make_file("a", (off_t) 15 << 40, 0, 1);
	wanted = job_on(OFFLOAD_KIND_CHECKSUM, "a", 0);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &id), 0);
	do {
		usleep(2000);
		ck_assert_int_eq(jobs_get(jobs, id, &ended), 0);
	} while (ended.bytes_done < MIB);
	ck_assert_int_eq(jobs_cancel(jobs, id), 0);
	ended = wait_for(id);
	ck_assert_int_eq(ended.state, OFFLOAD_STATE_CANCELLED);
	ck_assert_uint_lt(jobs_now_ms() - begun_ms, 20000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("jobs");
	TCase *tcase = tcase_create("jobs");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_clone_makes_a_new_file);
	tcase_add_test(tcase, a_clone_fills_an_existing_file);
	tcase_add_test(tcase, thick_stays_thick);
	tcase_add_test(tcase, a_fast_clone_shares_or_is_refused);
	tcase_add_test(tcase, the_same_call_again_joins);
	tcase_add_test(tcase, the_tick_of_a_change_is_over_when_it_has_been_noted);
	tcase_add_test(tcase, overlapping_jobs_are_refused);
	tcase_add_loop_test(tcase, cancelling_takes_a_new_file_away_and_empties_an_existing_one, 0,
	                    2);
	tcase_add_test(tcase, a_source_that_changes_fails_the_copy);
	tcase_add_test(tcase, a_destination_that_is_removed_fails_the_clone);
	tcase_add_test(tcase, a_name_that_is_taken_meanwhile_is_not_replaced);
	tcase_add_test(tcase, an_export_that_is_taken_away_fails_the_clone);
	tcase_add_test(tcase, stopping_and_starting_goes_on_where_it_was);
	tcase_add_test(tcase, reserve_checksum_and_punch_are_jobs);
	tcase_add_test(tcase, a_live_lock_forbids_punching_and_a_stale_one_does_not);
	tcase_add_test(tcase, what_is_no_file_is_refused);
	tcase_add_test(tcase, results_can_be_asked_for_and_listed);
	tcase_add_test(tcase, a_checksum_of_little_but_holes_can_be_cancelled);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
