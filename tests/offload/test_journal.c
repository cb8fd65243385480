/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jobs write down and what they find: a journal that is full, in use, or holds other things.
 */
#include <stdatomic.h>
#include <sys/resource.h>

#include "offload/status.h"
#include "offload/jobs_fixture.h"

START_TEST(a_journal_that_cannot_be_written_refuses_the_job)
{
	struct job_record wanted;
	uint64_t id;

	make_file("a", MIB, 0, 1);
	wanted = clone_of("a", "b", 0);
	temp_dir_remove(state);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &id), -ENOENT);
	ck_assert(!exists("b"));
	ck_assert_int_eq(mkdir(state, 0700), 0);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &id), 0);
	wait_for(id);
	ck_assert(exists("b"));
}
END_TEST

/* ---- the end ---- */

enum {
	/* Of the three records of a copy into a file (accepted, filling, ended), the last. */
	STEP_BEFORE_END = 5,
	STEP_AFTER_END = 6,
};

static struct {
	atomic_int steps;
	atomic_bool seen_ended, refuse_end;
	rlim_t files_max;
} at_end;

static void limit_files(rlim_t count)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	at_end.files_max = limit.rlim_cur;
	limit.rlim_cur = count;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Nobody may see the end before it is written; if asked to, that is made impossible. */
static void end_step(void *context)
{
	struct job_record record;
	int step = atomic_fetch_add(&at_end.steps, 1) + 1;

	if (step < STEP_BEFORE_END)
		return;
	if (jobs_next(jobs, 0, &record) < 0 || !job_is_live(&record))
		atomic_store(&at_end.seen_ended, true);
	if (step == STEP_BEFORE_END && atomic_load(&at_end.refuse_end))
		limit_files(0);
	if (step == STEP_AFTER_END && atomic_load(&at_end.refuse_end))
		limit_files(at_end.files_max);
}

static struct job_record clone_into_with_steps(bool refuse_end)
{
	struct job_record wanted;

	jobs = jobs_close(jobs);
	settings.step = end_step;
	atomic_store(&at_end.refuse_end, refuse_end);
	ck_assert_int_eq(jobs_open(vfs, &settings, &jobs), 0);
	make_file("a", MIB, 0, 1);
	make_file("b", 0, 0, 0);
	wanted = clone_of("a", "b", 0);
	return run(&wanted);
}

START_TEST(an_end_is_seen_when_it_is_in_the_journal)
{
	struct job_record ended = clone_into_with_steps(false);

	ck_assert_msg(ended.state == OFFLOAD_STATE_COMPLETE, "%s", ended.text);
	ck_assert_int_eq(atomic_load(&at_end.steps), STEP_AFTER_END);
	ck_assert(!atomic_load(&at_end.seen_ended));
}
END_TEST

/* What is written to the clone after its end stays, whatever the next start finds. */
START_TEST(an_end_that_cannot_be_written_is_not_come_to_again)
{
	struct job_record ended = clone_into_with_steps(true);

	ck_assert_msg(ended.state == OFFLOAD_STATE_COMPLETE, "%s", ended.text);
	ck_assert_int_eq(atomic_load(&at_end.steps), STEP_AFTER_END);
	make_file("b", 2 * MIB, 1, 1);
	make_file("c", 2 * MIB, 1, 1);
	jobs = jobs_close(jobs);
	ck_assert_int_eq(jobs_open(vfs, &settings, &jobs), 0);
	ck_assert_int_eq(jobs_next(jobs, 0, &ended), -OFFLOAD_ENOJOB);
	ck_assert(same_content("b", "c"));
}
END_TEST

/* ---- opening ---- */

START_TEST(two_cannot_work_on_the_same_jobs)
{
	struct jobs *second = NULL;

	ck_assert_int_eq(jobs_open(vfs, &settings, &second), -EBUSY);
	ck_assert_ptr_null(second);
	jobs = jobs_close(jobs);
	ck_assert_int_eq(jobs_open(vfs, &settings, &jobs), 0);
}
END_TEST

static void count_bad(void *context, const char *path)
{
	++*(unsigned *) context;
}

/* A folder, a pipe, a link to nowhere, one far too long, and a record under a wrong name. */
START_TEST(what_is_no_record_keeps_no_others_away)
{
	char path[5][TEMP_PATH_BYTES * 2], from[TEMP_PATH_BYTES * 2];
	struct job_record wanted, ended;
	unsigned bad = 0;

	make_file("a", MIB, 0, 1);
	wanted = clone_of("a", "b", 0);
	ended = run(&wanted);
	jobs = jobs_close(jobs);
	for (unsigned i = 0; i < 5; i++)
		snprintf(path[i], sizeof path[i], "%s/%016x.job", state, i + 1);
	snprintf(from, sizeof from, "%s/%016llx.job", state, (unsigned long long) ended.id);
	ck_assert_int_eq(mkdir(path[0], 0700), 0);
	ck_assert_int_eq(mkfifo(path[1], 0600), 0);
	ck_assert_int_eq(symlink("/nowhere", path[2]), 0);
	ck_assert_int_eq(mknod(path[3], S_IFREG | 0600, 0), 0);
	ck_assert_int_eq(truncate(path[3], 1 << 30), 0);
	ck_assert_int_eq(link(from, path[4]), 0);
	settings.bad = count_bad;
	settings.context = &bad;
	ck_assert_int_eq(jobs_open(vfs, &settings, &jobs), 0);
	ck_assert_uint_eq(bad, 5);
	ck_assert_int_eq(jobs_next(jobs, 0, &wanted), 0);
	ck_assert_uint_eq(wanted.id, ended.id);
	ck_assert_int_eq(jobs_next(jobs, ended.id, &wanted), -OFFLOAD_ENOJOB);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("journal");
	TCase *tcase = tcase_create("journal");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_journal_that_cannot_be_written_refuses_the_job);
	tcase_add_test(tcase, an_end_is_seen_when_it_is_in_the_journal);
	tcase_add_test(tcase, an_end_that_cannot_be_written_is_not_come_to_again);
	tcase_add_test(tcase, two_cannot_work_on_the_same_jobs);
	tcase_add_test(tcase, what_is_no_record_keeps_no_others_away);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
