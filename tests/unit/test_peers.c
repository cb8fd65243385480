/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/peers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "support/check_main.h"
#include "support/random.h"

enum {
	CONNECTIONS_MAX = 10,
	PER_ADDRESS_MAX = 4,
	THREADS = 4,
};

static struct peers *peers;

static void setup(void)
{
	peers = peers_new(CONNECTIONS_MAX, PER_ADDRESS_MAX);
	ck_assert_ptr_nonnull(peers);
}

static void teardown(void)
{
	ck_assert_uint_eq(peers_count(peers), 0);
	peers = peers_free(peers);
	ck_assert_ptr_null(peers);
	ck_assert_ptr_null(peers_free(NULL));
}

static struct export_address host(uint32_t number)
{
	struct export_address address = { { [10] = 0xff, [11] = 0xff, [12] = 10 } };

	memcpy(address.bytes + 13, &number, 3);
	return address;
}

static enum peers_verdict take(uint32_t number)
{
	struct export_address address = host(number);

	return peers_take(peers, &address);
}

static void release(uint32_t number)
{
	struct export_address address = host(number);

	peers_release(peers, &address);
}

START_TEST(one_address_cannot_take_all)
{
	for (int i = 0; i < PER_ADDRESS_MAX; i++)
		ck_assert_int_eq(take(1), PEERS_TAKEN);
	ck_assert_int_eq(take(1), PEERS_ADDRESS_FULL);
	ck_assert_int_eq(take(2), PEERS_TAKEN);
	ck_assert_uint_eq(peers_count(peers), PER_ADDRESS_MAX + 1);
	release(1);
	ck_assert_int_eq(take(1), PEERS_TAKEN);
	for (int i = 0; i < PER_ADDRESS_MAX; i++)
		release(1);
	release(2);
}
END_TEST

START_TEST(all_addresses_together_are_bounded)
{
	for (uint32_t i = 0; i < CONNECTIONS_MAX; i++)
		ck_assert_int_eq(take(i), PEERS_TAKEN);
	ck_assert_int_eq(take(100), PEERS_FULL);
	ck_assert_int_eq(take(0), PEERS_FULL);
	release(3);
	ck_assert_int_eq(take(100), PEERS_TAKEN);
	ck_assert_int_eq(take(3), PEERS_FULL);
	release(100);
	for (uint32_t i = 0; i < CONNECTIONS_MAX; i++)
		if (i != 3)
			release(i);
}
END_TEST

/* Many more addresses than buckets, taken and given back in any order, against plain counters. */
START_TEST(counts_are_those_of_a_plain_model)
{
	enum {
		HOSTS = 3000,
		STEPS = 100000,
	};
	static unsigned counts[HOSTS];
	struct peers *large = peers_new(HOSTS, 3);
	struct random random = random_new();
	unsigned all = 0;

	for (int step = 0; step < STEPS; step++) {
		uint32_t i = random_below(&random, HOSTS);
		struct export_address address = host(i);

		if (random_below(&random, 2) && counts[i] > 0) {
			peers_release(large, &address);
			counts[i]--;
			all--;
		} else {
			enum peers_verdict want = all >= HOSTS     ? PEERS_FULL
			                          : counts[i] >= 3 ? PEERS_ADDRESS_FULL
			                                           : PEERS_TAKEN;

			MUST(peers_take(large, &address) == want);
			counts[i] += want == PEERS_TAKEN;
			all += want == PEERS_TAKEN;
		}
		MUST(peers_count(large) == all);
	}
	for (uint32_t i = 0; i < HOSTS; i++) {
		struct export_address address = host(i);

		while (counts[i]-- > 0)
			peers_release(large, &address);
	}
	ck_assert_uint_eq(peers_count(large), 0);
	peers_free(large);
}
END_TEST

static atomic_uint mistakes;

static void *taker(void *arg)
{
	uint32_t number = (uint32_t) (uintptr_t) arg;

	for (int i = 0; i < 20000; i++) {
		if (take(number % 2) == PEERS_TAKEN)
			release(number % 2);
		else
			atomic_fetch_add(&mistakes, 1);
	}
	return NULL;
}

START_TEST(threads_do_not_lose_count)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, taker, (void *) i), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(atomic_load(&mistakes), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("peers");
	TCase *tcase = tcase_create("peers");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, one_address_cannot_take_all);
	tcase_add_test(tcase, all_addresses_together_are_bounded);
	tcase_add_test(tcase, counts_are_those_of_a_plain_model);
	tcase_add_test(tcase, threads_do_not_lose_count);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
