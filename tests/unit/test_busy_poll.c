/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/io/busy_poll.h"

#include "support/check_main.h"

enum {
	SPAN_NS = 100000,
	WAITS = 3200,
};

/* How many of so many waits were preceded by a look, if one in @gap (0: none) finds something. */
static unsigned looks(struct busy_poll *busy, unsigned waits, unsigned gap)
{
	unsigned count = 0;

	for (unsigned i = 0; i < waits; i++) {
		if (busy_poll_begin(busy) == 0)
			continue;
		ck_assert_uint_eq(busy->span_ns, SPAN_NS);
		count++;
		busy_poll_end(busy, gap > 0 && count % gap == 0);
	}
	return count;
}

START_TEST(who_has_one_call_in_flight_is_waited_for_awake)
{
	struct busy_poll busy = { .span_ns = SPAN_NS };

	ck_assert_uint_ge(looks(&busy, WAITS, 1), WAITS - BUSY_POLL_PROBE_EVERY);
}
END_TEST

START_TEST(who_sends_now_and_then_costs_next_to_nothing)
{
	struct busy_poll busy = { .span_ns = SPAN_NS };

	ck_assert_uint_eq(looks(&busy, WAITS, 0), WAITS / BUSY_POLL_PROBE_EVERY);
	/* So does who comes in time every second time. */
	ck_assert_uint_le(looks(&busy, WAITS, 2), WAITS / 10);
}
END_TEST

START_TEST(a_miss_among_many_hits_is_forgiven_and_an_end_is_noticed_soon)
{
	struct busy_poll busy = { .span_ns = SPAN_NS, .trust = BUSY_POLL_TRUST_MAX };

	busy_poll_end(&busy, false);
	ck_assert_uint_eq(busy_poll_begin(&busy), SPAN_NS);
	busy.trust = BUSY_POLL_TRUST_MAX;
	ck_assert_uint_eq(looks(&busy, BUSY_POLL_PROBE_EVERY - 1, 0), BUSY_POLL_TRUST_MAX / 2);
}
END_TEST

START_TEST(it_can_be_switched_off)
{
	struct busy_poll busy = { .trust = BUSY_POLL_TRUST_MAX };

	ck_assert_uint_eq(looks(&busy, WAITS, 1), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("busy_poll");
	TCase *tcase = tcase_create("busy_poll");

	tcase_add_test(tcase, who_has_one_call_in_flight_is_waited_for_awake);
	tcase_add_test(tcase, who_sends_now_and_then_costs_next_to_nothing);
	tcase_add_test(tcase, a_miss_among_many_hits_is_forgiven_and_an_end_is_noticed_soon);
	tcase_add_test(tcase, it_can_be_switched_off);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
