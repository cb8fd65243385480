/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's record: how it may go on, what is the same and what is in the way, as text and back.
 */
#include "offload/job.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "offload/answer.h"
#include "offload/rate.h"
#include "offload/status.h"
#include "rpcgen/offload_text.h"
#include "support/check_main.h"
#include "vfs/base/cleanup.h"

static struct job_file file(unsigned number, const char *name)
{
	struct job_file made = { .handle = { .count = 36 }, .dir = { .count = 36 } };

	memset(made.handle.bytes, (int) number, 36);
	memset(made.dir.bytes, 200, 36);
	snprintf(made.name, sizeof made.name, "%s", name);
	snprintf(made.shown, sizeof made.shown, "/srv/%s", name);
	return made;
}

/* Its place is known, but there is nothing there yet. */
static struct job_file place(const char *name)
{
	struct job_file made = file(0, name);

	made.handle.count = 0;
	return made;
}

static struct job_record clone(struct job_file source, struct job_file destination)
{
	return (struct job_record){
		.id = 7,
		.kind = OFFLOAD_KIND_CLONE,
		.source = source,
		.destination = destination,
	};
}

static struct job_record on(offload_kind kind, struct job_file source)
{
	return (struct job_record){ .id = 8, .kind = kind, .source = source };
}

START_TEST(a_new_destination_goes_its_way)
{
	struct job_record record = clone(file(1, "a"), place("b"));

	ck_assert(!job_is_into_existing(&record));
	job_start(&record, 1000);
	ck_assert_int_eq(record.state, OFFLOAD_STATE_RUNNING);
	job_enter(&record, JOB_FILLING);
	record.destination.handle.count = 36;
	job_enter(&record, JOB_PLACING);
	ck_assert(!job_is_into_existing(&record));
	ck_assert(job_is_live(&record));
	job_enter(&record, JOB_ACCEPTED); /* a crash */
	job_start(&record, 2000);
	ck_assert_uint_eq(record.started_ms, 1000);
	job_enter(&record, JOB_PLACING);
	job_end(&record, OFFLOAD_OK, 3000);
	ck_assert_int_eq(record.state, OFFLOAD_STATE_COMPLETE);
	ck_assert(!job_is_live(&record));
}
END_TEST

START_TEST(what_copies_is_slow)
{
	struct job_record record = clone(file(1, "a"), place("b"));

	ck_assert(!job_is_slow(&record)); /* nobody knows yet */
	job_start(&record, 1000);
	ck_assert(!job_is_slow(&record));
	record.state = OFFLOAD_STATE_QUEUED; /* once more: for those that copy */
	ck_assert(job_is_slow(&record));
	job_start(&record, 1001);
	snprintf(record.engine, sizeof record.engine, "copy");
	ck_assert(job_is_slow(&record));
	snprintf(record.engine, sizeof record.engine, "kernel");
	ck_assert(job_is_slow(&record));
	snprintf(record.engine, sizeof record.engine, "reflink");
	ck_assert(!job_is_slow(&record));
}
END_TEST

START_TEST(an_existing_destination_is_put_back_when_it_fails)
{
	struct job_record record = clone(file(1, "a"), file(2, "b"));

	ck_assert(job_is_into_existing(&record));
	job_enter(&record, JOB_FILLING);
	job_enter(&record, JOB_FILLING);
	job_enter(&record, JOB_EMPTYING);
	job_enter(&record, JOB_EMPTYING);
	job_end(&record, OFFLOAD_ERR_NO_SPACE, 3000);
	ck_assert_int_eq(record.state, OFFLOAD_STATE_FAILED);
}
END_TEST

START_TEST(cancelled_is_a_state_of_its_own)
{
	struct job_record record = clone(file(1, "a"), file(2, "b"));

	job_end(&record, OFFLOAD_ERR_CANCELLED, 1);
	ck_assert_int_eq(record.state, OFFLOAD_STATE_CANCELLED);
}
END_TEST

static const struct {
	enum job_phase from, to;
} forbidden[] = {
	{ JOB_ENDED, JOB_ENDED },       { JOB_ENDED, JOB_FILLING },
	{ JOB_EMPTYING, JOB_FILLING },  { JOB_EMPTYING, JOB_PLACING },
	{ JOB_FILLING, JOB_ACCEPTED },  { JOB_PLACING, JOB_EMPTYING },
	{ JOB_ACCEPTED, JOB_EMPTYING },
};

START_TEST(other_ways_are_bugs)
{
	struct job_record record = { .phase = forbidden[_i].from };

	job_enter(&record, forbidden[_i].to); /* SIGABRT */
}
END_TEST

START_TEST(the_same_work_is_known)
{
	struct job_record record = clone(file(1, "a"), place("b"));
	struct job_record wanted = record;

	ck_assert(job_is_same(&record, &wanted));
	wanted.flags = OFFLOAD_CLONE_FAST;
	ck_assert(!job_is_same(&record, &wanted));
	wanted = clone(file(1, "other name, same file"), place("b"));
	ck_assert(job_is_same(&record, &wanted));
	wanted = clone(file(2, "a"), place("b"));
	ck_assert(!job_is_same(&record, &wanted));
	wanted = clone(file(1, "a"), place("c"));
	ck_assert(!job_is_same(&record, &wanted));
	wanted = on(OFFLOAD_KIND_CHECKSUM, file(1, "a"));
	ck_assert(!job_is_same(&record, &wanted));
	record = wanted;
	ck_assert(job_is_same(&record, &wanted));
	wanted.reserve_bytes = 5;
	ck_assert(!job_is_same(&record, &wanted));
}
END_TEST

START_TEST(who_writes_is_in_the_way_of_who_reads)
{
	struct job_record copy = clone(file(1, "a"), file(2, "b"));
	struct job_record wanted = clone(file(1, "a"), file(3, "c"));

	ck_assert(!job_conflicts(&copy, &wanted)); /* two may read */
	wanted = clone(file(3, "c"), file(2, "b"));
	ck_assert(job_conflicts(&copy, &wanted));
	wanted = clone(file(2, "b"), file(3, "c"));
	ck_assert(job_conflicts(&copy, &wanted));
	wanted = clone(file(3, "c"), file(1, "a"));
	ck_assert(job_conflicts(&copy, &wanted));
	wanted = on(OFFLOAD_KIND_CHECKSUM, file(1, "a"));
	ck_assert(!job_conflicts(&copy, &wanted));
	wanted = on(OFFLOAD_KIND_CHECKSUM, file(2, "b"));
	ck_assert(job_conflicts(&copy, &wanted));
	wanted = on(OFFLOAD_KIND_PUNCH, file(1, "a"));
	ck_assert(job_conflicts(&copy, &wanted));
	wanted = on(OFFLOAD_KIND_RESERVE, file(3, "c"));
	ck_assert(!job_conflicts(&copy, &wanted));
	wanted = clone(file(3, "c"), file(2, "b"));
	job_end(&copy, OFFLOAD_OK, 1);
	ck_assert(!job_conflicts(&copy, &wanted)); /* it is over */
}
END_TEST

/* As the file is named by another export: another id, and so another signature. */
static struct job_file through_another_export(struct job_file named)
{
	memset(named.handle.bytes + 4, 99, 4);
	memset(named.handle.bytes + 28, 98, 8);
	memset(named.dir.bytes + 4, 99, 4);
	memset(named.dir.bytes + 28, 98, 8);
	return named;
}

START_TEST(a_file_is_the_same_through_another_export)
{
	struct job_record copy = clone(file(1, "a"), file(2, "b")), wanted;

	wanted = clone(file(1, "a"), through_another_export(file(1, "a")));
	ck_assert(job_is_onto_itself(&wanted));
	ck_assert(!job_is_onto_itself(&copy));
	wanted = clone(file(3, "c"), through_another_export(file(2, "b")));
	ck_assert(job_conflicts(&copy, &wanted));
	wanted = clone(file(3, "c"), through_another_export(file(1, "a")));
	ck_assert(job_conflicts(&copy, &wanted));
	wanted = clone(through_another_export(file(1, "a")), through_another_export(file(2, "b")));
	ck_assert(job_is_same(&copy, &wanted));
	copy = clone(file(1, "a"), place("b"));
	wanted = clone(file(3, "c"), through_another_export(place("b")));
	ck_assert(job_conflicts(&copy, &wanted));
}
END_TEST

START_TEST(a_job_is_found_by_its_destination_or_only_file)
{
	struct job_record record = clone(file(1, "a"), place("b"));
	struct job_file asked = place("b");

	ck_assert(job_is_for(&record, &asked));
	asked = file(1, "a");
	ck_assert(!job_is_for(&record, &asked));
	record = on(OFFLOAD_KIND_PUNCH, file(1, "a"));
	ck_assert(job_is_for(&record, &asked));
}
END_TEST

START_TEST(results_are_fresh_for_a_minute_and_kept_for_a_day)
{
	struct job_record record = on(OFFLOAD_KIND_PUNCH, file(1, "a"));

	ck_assert(!job_is_expired(&record, UINT64_MAX / 2));
	ck_assert(!job_is_fresh(&record, 0));
	job_end(&record, OFFLOAD_OK, 5000);
	ck_assert(job_is_fresh(&record, 64999));
	ck_assert(!job_is_fresh(&record, 65000));
	ck_assert(!job_is_expired(&record, 5000 + 86400000 - 1));
	ck_assert(job_is_expired(&record, 5000 + 86400000));
	record.state = OFFLOAD_STATE_FAILED;
	ck_assert(!job_is_fresh(&record, 6000));
}
END_TEST

START_TEST(the_rate_is_of_its_running_time)
{
	struct job_record record = on(OFFLOAD_KIND_PUNCH, file(1, "a"));

	record.bytes_done = 3000;
	ck_assert_uint_eq(job_rate(&record, 100), 0);
	job_start(&record, 1000);
	ck_assert_uint_eq(job_rate(&record, 1000), 0);
	ck_assert_uint_eq(job_rate(&record, 4000), 1000);
	record.bytes_done = UINT64_MAX / 2;
	ck_assert_uint_eq(job_rate(&record, 2000), UINT64_MAX / 2);
	record.bytes_done = 3000;
	job_end(&record, OFFLOAD_OK, 1000);
	ck_assert_uint_eq(job_rate(&record, 9000), 3000000); /* quicker than the clock */
}
END_TEST

/* ---- text ---- */

static struct job_record full(void)
{
	struct job_record record = clone(file(1, "a b%c\n"), file(2, "\xff"));

	record.cred = (struct vfs_cred){ .uid = 5, .gid = 6, .group_count = 2, .groups = { 1, 2 } };
	record.bytes_total = UINT64_MAX;
	record.has_checksum = true;
	memset(record.checksum, 0xab, sizeof record.checksum);
	record.thick = true;
	snprintf(record.engine, sizeof record.engine, "copy");
	snprintf(record.text, sizeof record.text, "why: not");
	return record;
}

START_TEST(a_record_survives_being_text)
{
	char one[JOB_RECORD_TEXT_BYTES], two[JOB_RECORD_TEXT_BYTES];
	struct job_record record = full(), back;
	size_t bytes = job_print(&record, one);

	ck_assert_int_eq(job_parse(one, bytes, &back), 0);
	ck_assert_uint_eq(job_print(&back, two), bytes);
	ck_assert_str_eq(one, two);
	ck_assert_str_eq(back.source.name, "a b%c\n");
	ck_assert_str_eq(back.destination.name, "\xff");
	ck_assert_uint_eq(back.bytes_total, UINT64_MAX);
	ck_assert_uint_eq(back.cred.groups[1], 2);
}
END_TEST

START_TEST(the_longest_record_fits)
{
	char text[JOB_RECORD_TEXT_BYTES];
	struct job_record record, back;
	size_t bytes;

	memset(&record, 0xff, sizeof record);
	record.kind = OFFLOAD_KIND_CLONE;
	record.state = OFFLOAD_STATE_FAILED;
	record.status = OFFLOAD_ERR_INTERNAL;
	record.phase = JOB_EMPTYING;
	record.cred.group_count = VFS_GROUPS_MAX;
	record.thick = record.cancel = record.has_checksum = true;
	for (struct job_file *one = &record.source; one;
	     one = one == &record.source ? &record.destination : NULL) {
		one->handle.count = one->dir.count = VFS_HANDLE_BYTES_MAX;
		one->name[sizeof one->name - 1] = '\0';
		one->shown[sizeof one->shown - 1] = '\0';
	}
	record.engine[sizeof record.engine - 1] = '\0';
	record.text[sizeof record.text - 1] = '\0';
	bytes = job_print(&record, text);
	ck_assert_uint_lt(bytes, sizeof text);
	ck_assert_int_eq(job_parse(text, bytes, &back), 0);
	ck_assert_uint_eq(strlen(back.destination.shown), OFFLOAD_PATH_BYTES_MAX);
}
END_TEST

START_TEST(any_changed_byte_and_any_cut_is_noticed)
{
	char text[JOB_RECORD_TEXT_BYTES];
	struct job_record record = full(), back;
	size_t bytes = job_print(&record, text);

	for (size_t i = 0; i < bytes; i++) {
		text[i] ^= 1;
		MUST(job_parse(text, bytes, &back) == -EBADMSG);
		text[i] ^= 1;
		MUST(job_parse(text, i, &back) == -EBADMSG);
	}
	ck_assert_int_eq(job_parse(text, bytes, &back), 0);
}
END_TEST

START_TEST(numbers_that_mean_nothing_are_refused)
{
	char text[JOB_RECORD_TEXT_BYTES];
	struct job_record record = full(), back;

	record.kind = 77;
	ck_assert_int_eq(job_parse(text, job_print(&record, text), &back), -EBADMSG);
	record = full();
	record.phase = 77;
	ck_assert_int_eq(job_parse(text, job_print(&record, text), &back), -EBADMSG);
	record = full();
	record.cred.group_count = VFS_GROUPS_MAX + 1;
	ck_assert_int_eq(job_parse(text, job_print(&record, text), &back), -EBADMSG);
}
END_TEST

/* ---- the neighbours ---- */

START_TEST(answers_say_what_the_record_says)
{
	struct job_record record = full();
	offload_status status;
	char text[JOB_TEXT_BYTES];
	offload_text view;
	offload_job job;

	record.status = OFFLOAD_ERR_IO;
	answer_job(&record, 10, &job);
	ck_assert_uint_eq(job.id, 7);
	ck_assert_int_eq(job.status, OFFLOAD_OK); /* it still runs */
	job_end(&record, OFFLOAD_ERR_IO, 20);
	answer_job(&record, 30, &job);
	ck_assert_int_eq(job.status, OFFLOAD_ERR_IO);
	ck_assert_uint_eq(job.text.offload_text_len, strlen("why: not"));
	answer_refusal(-OFFLOAD_ELOCKED, "disk", text, &status, &view);
	ck_assert_int_eq(status, OFFLOAD_ERR_LOCKED);
	ck_assert_str_eq(text, "disk: a host has locked the file: switch its machine off");
	answer_refusal(-ENOSPC, "", text, &status, &view);
	ck_assert_str_eq(text, "No space left on device");
}
END_TEST

START_TEST(every_error_has_a_status)
{
	ck_assert_int_eq(offload_status_of(0), OFFLOAD_OK);
	ck_assert_int_eq(offload_status_of(-ENOSPC), OFFLOAD_ERR_NO_SPACE);
	ck_assert_int_eq(offload_status_of(-OFFLOAD_ECHANGED), OFFLOAD_ERR_CHANGED);
	ck_assert_int_eq(offload_status_of(-EXDEV), OFFLOAD_ERR_UNSUPPORTED);
	ck_assert_int_eq(offload_status_of(-E2BIG), OFFLOAD_ERR_INTERNAL);
	ck_assert_int_eq(offload_status_of(-OFFLOAD_EOFF), OFFLOAD_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(offload_error_text(-OFFLOAD_EOFF), "no_offload"));
	ck_assert_str_eq(offload_error_text(-OFFLOAD_EGONE), offload_status_text(OFFLOAD_ERR_GONE));
}
END_TEST

START_TEST(a_rate_lets_through_so_many_bytes_a_second)
{
	struct rate rate = { 0 }, limited = { .bytes_per_s = 1000 };
	uint64_t now_ns = 5000000000, wait_ns, passed = 0;

	ck_assert_uint_eq(rate_take(&rate, 0, UINT64_MAX), 0); /* no limit */
	for (uint64_t end_ns = now_ns + 10000000000; now_ns < end_ns;) {
		wait_ns = rate_take(&limited, now_ns, 100);
		if (wait_ns == 0)
			passed += 100;
		now_ns += wait_ns;
	}
	ck_assert_uint_ge(passed, 10000);
	ck_assert_uint_le(passed, 10400); /* and the burst */
	/* An hour of pause is not saved up. */
	ck_assert_uint_eq(rate_take(&limited, now_ns + 3600000000000, 1000), 0);
	ck_assert_uint_gt(rate_take(&limited, now_ns + 3600000000000, 1000), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("offload_job");
	TCase *tcase = tcase_create("offload_job");

	tcase_add_test(tcase, a_new_destination_goes_its_way);
	tcase_add_test(tcase, what_copies_is_slow);
	tcase_add_test(tcase, an_existing_destination_is_put_back_when_it_fails);
	tcase_add_test(tcase, cancelled_is_a_state_of_its_own);
	tcase_add_loop_test_raise_signal(tcase, other_ways_are_bugs, SIGABRT, 0,
	                                 ARRAY_COUNT(forbidden));
	tcase_add_test(tcase, the_same_work_is_known);
	tcase_add_test(tcase, who_writes_is_in_the_way_of_who_reads);
	tcase_add_test(tcase, a_file_is_the_same_through_another_export);
	tcase_add_test(tcase, a_job_is_found_by_its_destination_or_only_file);
	tcase_add_test(tcase, results_are_fresh_for_a_minute_and_kept_for_a_day);
	tcase_add_test(tcase, the_rate_is_of_its_running_time);
	tcase_add_test(tcase, a_record_survives_being_text);
	tcase_add_test(tcase, the_longest_record_fits);
	tcase_add_test(tcase, any_changed_byte_and_any_cut_is_noticed);
	tcase_add_test(tcase, numbers_that_mean_nothing_are_refused);
	tcase_add_test(tcase, answers_say_what_the_record_says);
	tcase_add_test(tcase, every_error_has_a_status);
	tcase_add_test(tcase, a_rate_lets_through_so_many_bytes_a_second);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
