/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sidecar has done adds up, by kind, engine and end.
 */
#include "offload/totals.h"

#include <string.h>

#include "support/check_main.h"

static struct totals totals;
static offload_total rows[OFFLOAD_TOTALS_ROWS_MAX];
static offload_totals answer;

static void setup(void)
{
	totals_init(&totals);
}

static void end(offload_kind kind, offload_state state, const char *engine, uint64_t bytes)
{
	struct job_record record = {
		.kind = kind,
		.state = state,
		.bytes_total = bytes,
		.bytes_moved = bytes / 2,
	};

	memcpy(record.engine, engine, strlen(engine) + 1);
	totals_ended(&totals, &record);
}

START_TEST(nothing_done_is_no_row)
{
	totals_answer(&totals, rows, &answer);
	ck_assert_uint_eq(answer.ended.ended_len, 0);
	for (unsigned i = 0; i < OFFLOAD_STATUSES; i++)
		ck_assert_uint_eq(answer.refused[i], 0);
}
END_TEST

START_TEST(jobs_of_one_kind_engine_and_end_are_one_row)
{
	end(OFFLOAD_KIND_CLONE, OFFLOAD_STATE_COMPLETE, "reflink", 100);
	end(OFFLOAD_KIND_CLONE, OFFLOAD_STATE_COMPLETE, "reflink", 10);
	end(OFFLOAD_KIND_CLONE, OFFLOAD_STATE_FAILED, "copy", 1);
	totals_refused(&totals, OFFLOAD_ERR_ACCESS);
	totals_refused(&totals, OFFLOAD_ERR_INTERNAL);
	totals_answer(&totals, rows, &answer);
	ck_assert_uint_eq(answer.ended.ended_len, 2);
	ck_assert_mem_eq(rows[0].engine.offload_engine_val, "reflink", 7);
	ck_assert_uint_eq(rows[0].engine.offload_engine_len, 7);
	ck_assert_uint_eq(rows[0].jobs, 2);
	ck_assert_uint_eq(rows[0].bytes, 110);
	ck_assert_uint_eq(rows[0].moved_bytes, 55);
	ck_assert_uint_eq(rows[1].state, OFFLOAD_STATE_FAILED);
	ck_assert_uint_eq(answer.refused[OFFLOAD_ERR_ACCESS], 1);
	ck_assert_uint_eq(answer.refused[OFFLOAD_ERR_INTERNAL], 1);
}
END_TEST

START_TEST(an_engine_that_is_not_known_is_none)
{
	end(OFFLOAD_KIND_PUNCH, OFFLOAD_STATE_CANCELLED, "warp", 1);
	end(OFFLOAD_KIND_PUNCH, OFFLOAD_STATE_CANCELLED, "", 1);
	totals_answer(&totals, rows, &answer);
	ck_assert_uint_eq(answer.ended.ended_len, 1);
	ck_assert_uint_eq(rows[0].engine.offload_engine_len, 0);
	ck_assert_uint_eq(rows[0].jobs, 2);
}
END_TEST

START_TEST(everything_there_can_be_has_a_row)
{
	static const char *const engines[] = {
		"reflink", "kernel", "copy", "allocate", "read", ""
	};

	for (int kind = OFFLOAD_KIND_CLONE; kind <= OFFLOAD_KIND_PUNCH; kind++)
		for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
			for (int state = OFFLOAD_STATE_COMPLETE; state <= OFFLOAD_STATE_CANCELLED;
			     state++)
				end(kind, state, engines[i], 1);
	totals_answer(&totals, rows, &answer);
	ck_assert_uint_eq(answer.ended.ended_len, 4 * 6 * 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("totals");
	TCase *tcase = tcase_create("totals");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, nothing_done_is_no_row);
	tcase_add_test(tcase, jobs_of_one_kind_engine_and_end_are_one_row);
	tcase_add_test(tcase, an_engine_that_is_not_known_is_none);
	tcase_add_test(tcase, everything_there_can_be_has_a_row);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
