/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much copies may have in flight, by the disk's count of flushes.
 */
#include "offload/window.h"

#include <errno.h>

#include "support/check_main.h"

static const uint64_t ns_per_ms = 1000000;

static struct window window;
static uint64_t now_ns, flushes;

static void setup(void)
{
	window = (struct window){ 0 };
	now_ns = 77 * ns_per_ms;
	flushes = 5000;
}

/* Look every 10 ms, as long as this. */
static void look(uint64_t ms, bool ours)
{
	for (uint64_t end_ns = now_ns + ms * ns_per_ms; now_ns < end_ns; now_ns += 10 * ns_per_ms)
		window_look(&window, flushes, ours, now_ns);
}

START_TEST(alone_the_window_opens_at_once)
{
	look(10, false);
	ck_assert_uint_eq(window_share(&window, 1), WINDOW_BYTES_MIN);
	look(30, false);
	ck_assert_uint_gt(window_share(&window, 1), WINDOW_BYTES_MIN);
	look(100, false);
	ck_assert_uint_eq(window_share(&window, 1), WINDOW_BYTES_MAX);
	look(1000, false);
	ck_assert_uint_eq(window_share(&window, 1), WINDOW_BYTES_MAX);
}
END_TEST

START_TEST(beside_a_lock_that_is_refreshed_each_10_s_it_stays_small)
{
	look(200, false);
	for (unsigned i = 0; i < 10; i++) {
		flushes++;
		look(10, false);
		ck_assert_uint_eq(window_share(&window, 1), WINDOW_BYTES_MIN);
		look(9990, false);
		ck_assert_uint_eq(window_share(&window, 1), WINDOW_BYTES_MIN);
	}
	look(WINDOW_QUIET_MS + 200, false);
	ck_assert_uint_eq(window_share(&window, 1), WINDOW_BYTES_MAX);
}
END_TEST

START_TEST(flushes_of_our_own_change_nothing)
{
	look(200, false);
	for (unsigned i = 0; i < 10; i++) {
		look(20, true);
		flushes += 3;
		look(20, true);
		flushes++; /* just before its end */
		look(2000, false);
		ck_assert_uint_eq(window_share(&window, 1), WINDOW_BYTES_MAX);
	}
	flushes++;
	look(10, false);
	ck_assert_uint_eq(window_share(&window, 1), WINDOW_BYTES_MIN);
}
END_TEST

START_TEST(who_comes_again_remembers_that_it_was_busy)
{
	look(200, false);
	flushes++;
	look(10, false);
	window.known = false; /* nobody looked for a while: others' flushes then are no news */
	flushes += 100;
	look(WINDOW_QUIET_MS - 100, false);
	ck_assert_uint_eq(window_share(&window, 1), WINDOW_BYTES_MIN);
	look(300, false);
	ck_assert_uint_eq(window_share(&window, 1), WINDOW_BYTES_MAX);
}
END_TEST

START_TEST(copies_share_it_in_whole_pieces)
{
	ck_assert_uint_eq(window_share(&window, 1), WINDOW_BYTES_UNKNOWN);
	ck_assert_uint_eq(window_share(&window, 16), WINDOW_BYTES_UNKNOWN / 16);
	look(10, false);
	ck_assert_uint_eq(window_share(&window, 2), WINDOW_BYTES_MIN / 2);
	ck_assert_uint_eq(window_share(&window, 3), 2 * WINDOW_PIECE_BYTES_MIN);
	ck_assert_uint_eq(window_share(&window, 1000), WINDOW_PIECE_BYTES_MIN);
}
END_TEST

START_TEST(flushes_are_read_from_what_the_kernel_says)
{
	static const char loop[] =
		"    1540        0   196571     2142  1361431     3889 101454321  3365188        0"
		"   643544  4005950    55423    17497 53669640   140794   716195   497826\n";
	uint64_t count = 4711;

	ck_assert_int_eq(window_flushes(loop, &count), 0);
	ck_assert_uint_eq(count, 716195);
	/* Linux 5.4 and older had fewer numbers. */
	ck_assert_int_eq(window_flushes("1 2 3 4 5 6 7 8 9 10 11", &count), -EPROTO);
	ck_assert_int_eq(window_flushes("", &count), -EPROTO);
	ck_assert_int_eq(window_flushes("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 x", &count), -EPROTO);
	ck_assert_uint_eq(count, 716195);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("window");
	TCase *tcase = tcase_create("window");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, alone_the_window_opens_at_once);
	tcase_add_test(tcase, beside_a_lock_that_is_refreshed_each_10_s_it_stays_small);
	tcase_add_test(tcase, flushes_of_our_own_change_nothing);
	tcase_add_test(tcase, who_comes_again_remembers_that_it_was_busy);
	tcase_add_test(tcase, copies_share_it_in_whole_pieces);
	tcase_add_test(tcase, flushes_are_read_from_what_the_kernel_says);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
