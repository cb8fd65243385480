/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/rates.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "support/check_main.h"

#define S UINT64_C(1000000000)

enum {
	THREADS = 4,
	CALLS = 5000,
	CLIENTS = 20000,
};

static struct rates *rates;

static void setup(void)
{
	rates = rates_new();
	ck_assert_ptr_nonnull(rates);
}

static void teardown(void)
{
	rates = rates_free(rates);
	ck_assert_ptr_null(rates);
	ck_assert_ptr_null(rates_free(NULL));
}

static struct rates_call call_of(uint32_t export_id, uint32_t client)
{
	struct rates_call call = { .export_id = export_id, .bytes = 1 << 20 };

	call.client.bytes[15] = 1;
	memcpy(call.client.bytes, &client, sizeof client);
	return call;
}

/* How many of @call go at once. */
static unsigned at_once(const struct rates_call *call, uint64_t now_ns)
{
	unsigned count = 0;

	while (rates_take(rates, call, now_ns) == 0)
		count++;
	return count;
}

START_TEST(each_client_and_each_export_has_an_account)
{
	struct rates_call a = call_of(1, 1), b = call_of(1, 2), other = call_of(2, 1);

	a.each.iops = b.each.iops = other.each.iops = 50;
	ck_assert_uint_eq(at_once(&a, S), 6);
	ck_assert_uint_eq(at_once(&b, S), 6);
	ck_assert_uint_eq(at_once(&other, S), 6);
	ck_assert_uint_eq(at_once(&a, S), 0);
}
END_TEST

START_TEST(the_export_s_account_is_everybody_s)
{
	struct rates_call a = call_of(1, 1), b = call_of(1, 2);

	a.total.iops = b.total.iops = 50;
	ck_assert_uint_eq(at_once(&a, S), 6);
	ck_assert_uint_eq(at_once(&b, S), 0);
	a.total.iops = 0;
	ck_assert_uint_eq(rates_take(rates, &a, S), 0); /* no limit any more */
}
END_TEST

START_TEST(the_tighter_of_all_limits_counts)
{
	struct rates_call call = call_of(1, 1);

	call.each = (struct export_rate){ .iops = 1000, .mbps = 20 };
	call.total = (struct export_rate){ .iops = 500, .mbps = 1000 };
	ck_assert_uint_eq(at_once(&call, S), 3); /* 20 MB a second: 2 in a burst, and one */
	call.bytes = 0;
	ck_assert_uint_eq(rates_take(rates, &call, S), 0); /* a call without data */
}
END_TEST

START_TEST(what_is_given_back_can_be_taken)
{
	struct rates_call call = call_of(1, 1);

	call.each.mbps = call.total.mbps = 10;
	rates_give_back(rates, &call); /* there is no account yet: nothing happens */
	ck_assert_uint_eq(at_once(&call, S), 2);
	ck_assert_uint_eq(at_once(&call, S), 0);
	rates_give_back(rates, &call);
	rates_give_back(rates, &call);
	rates_give_back(rates, &call);
	ck_assert_uint_eq(at_once(&call, S), 1);
}
END_TEST

START_TEST(many_clients_come_and_go)
{
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct rates_call call = call_of(1, i);

		call.each.iops = 10;
		MUST(rates_take(rates, &call, S + i * (S / 100)) == 0);
	}
}
END_TEST

static void *take_many(void *arg)
{
	struct rates_call call = call_of(1, 1);
	uint64_t *last_ns = arg, wait_ns;

	call.each.iops = 1000;
	for (unsigned i = 0; i < CALLS; i++) {
		wait_ns = rates_take(rates, &call, S);
		*last_ns = wait_ns > *last_ns ? wait_ns : *last_ns;
	}
	return NULL;
}

START_TEST(threads_share_an_account)
{
	pthread_t threads[THREADS];
	uint64_t last_ns[THREADS] = { 0 }, most_ns = 0;

	for (size_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, take_many, &last_ns[i]), 0);
	for (size_t i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		most_ns = last_ns[i] > most_ns ? last_ns[i] : most_ns;
	}
	/* Each was counted once: the last waits for all before it, but for the burst. */
	ck_assert_uint_eq(most_ns, (THREADS * CALLS - 1) * (S / 1000) - S / 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rates");
	TCase *tcase = tcase_create("rates");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, each_client_and_each_export_has_an_account);
	tcase_add_test(tcase, the_export_s_account_is_everybody_s);
	tcase_add_test(tcase, the_tighter_of_all_limits_counts);
	tcase_add_test(tcase, what_is_given_back_can_be_taken);
	tcase_add_test(tcase, many_clients_come_and_go);
	tcase_add_test(tcase, threads_share_an_account);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
