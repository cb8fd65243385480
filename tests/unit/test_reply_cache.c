/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/reply_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "support/check_main.h"

enum {
	REPLY_BYTES_MAX = 64,
	LIFETIME_S = 100,
	THREADS = 4,
};

static struct reply_cache *cache;
static uint8_t known[REPLY_BYTES_MAX];
static uint32_t known_bytes;
static struct reply_entry *entry;

static void setup(void)
{
	static const struct reply_cache_limits limits = {
		.entries = { [REPLY_CLASS_NAMESPACE] = 3, [REPLY_CLASS_WRITE] = 2 },
		.reply_bytes_max = { REPLY_BYTES_MAX, REPLY_BYTES_MAX / 2 },
		.lifetime_s = LIFETIME_S,
	};

	cache = reply_cache_new(&limits);
	ck_assert_ptr_nonnull(cache);
	known_bytes = UINT32_MAX;
}

static void teardown(void)
{
	cache = reply_cache_free(cache);
	ck_assert_ptr_null(cache);
}

static struct reply_key key(uint32_t xid)
{
	return (struct reply_key){ .address = { 10, 0, 0, 1 }, .xid = xid, .program = 100003 };
}

static enum reply_verdict begin_from(enum reply_class class, uint32_t xid, uint32_t connection,
                                     uint64_t now_s)
{
	struct reply_key call = key(xid);
	struct reply_target target = { .worker = 1,
		                       .connection = connection,
		                       .generation = connection };

	return reply_cache_begin(cache, class, &call, &target, now_s, &entry, known, &known_bytes);
}

static enum reply_verdict begin(uint32_t xid)
{
	return begin_from(REPLY_CLASS_NAMESPACE, xid, xid, 0);
}

static void finish(struct reply_entry *of, const char *reply, bool keep, uint64_t now_s)
{
	(void) reply_cache_finish(cache, of, (const uint8_t *) reply, (uint32_t) strlen(reply),
	                          keep, now_s);
}

/* A call that begins and ends at once. */
static void run(uint32_t xid, const char *reply, uint64_t now_s)
{
	ck_assert_int_eq(begin_from(REPLY_CLASS_NAMESPACE, xid, xid, now_s), REPLY_NEW);
	finish(entry, reply, true, now_s);
}

static uint32_t used(enum reply_class class)
{
	struct reply_cache_stats stats;

	reply_cache_stats(cache, &stats);
	return stats.entries_used[class];
}

START_TEST(a_call_resent_after_its_reply_gets_the_same_reply)
{
	run(1, "done", 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(begin(1), REPLY_KNOWN);
		ck_assert_uint_eq(known_bytes, 4);
		ck_assert_mem_eq(known, "done", 4);
	}
	ck_assert_uint_eq(used(REPLY_CLASS_NAMESPACE), 1);
}
END_TEST

START_TEST(a_call_resent_while_it_runs_moves_the_reply_to_the_newest)
{
	struct reply_target target;
	struct reply_entry *running;

	ck_assert_int_eq(begin_from(REPLY_CLASS_WRITE, 1, 10, 0), REPLY_NEW);
	running = entry;
	ck_assert_int_eq(begin_from(REPLY_CLASS_WRITE, 1, 11, 0), REPLY_RUNNING);
	ck_assert_int_eq(begin_from(REPLY_CLASS_WRITE, 1, 12, 0), REPLY_RUNNING);
	target = reply_cache_finish(cache, running, (const uint8_t *) "x", 1, true, 0);
	ck_assert_uint_eq(target.worker, 1);
	ck_assert_uint_eq(target.connection, 12);
	ck_assert_uint_eq(target.generation, 12);
	ck_assert_int_eq(begin_from(REPLY_CLASS_WRITE, 1, 13, 0), REPLY_KNOWN);
}
END_TEST

/* The client gave connection 10 up and sent the call again on 11; what it had sent on 10 was read
 * later, by another worker. */
START_TEST(a_copy_from_an_older_connection_does_not_take_the_reply)
{
	struct reply_target target;
	struct reply_entry *running;

	ck_assert_int_eq(begin_from(REPLY_CLASS_WRITE, 1, 11, 0), REPLY_NEW);
	running = entry;
	ck_assert_int_eq(begin_from(REPLY_CLASS_WRITE, 1, 10, 0), REPLY_RUNNING);
	target = reply_cache_finish(cache, running, (const uint8_t *) "x", 1, true, 0);
	ck_assert_uint_eq(target.connection, 11);
}
END_TEST

START_TEST(a_call_that_differs_in_anything_is_another)
{
	struct reply_key first = key(1), others[8];
	struct reply_target target = { 0 };
	struct reply_cache_limits limits = { { 16, 0 }, { 8, 8 }, 10 };
	struct reply_cache *larger = reply_cache_new(&limits);

	for (int i = 0; i < 8; i++)
		others[i] = first;
	others[1].address[15] = 1;
	others[2].xid++;
	others[3].program++;
	others[4].procedure++;
	others[5].message_bytes++;
	others[6].checksum++;
	others[7].checksum += UINT64_C(1) << 63;
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(reply_cache_begin(larger, REPLY_CLASS_NAMESPACE, &others[i],
		                                   &target, 0, &entry, known, &known_bytes),
		                 REPLY_NEW);
	ck_assert_int_eq(reply_cache_begin(larger, REPLY_CLASS_NAMESPACE, &first, &target, 0,
	                                   &entry, known, &known_bytes),
	                 REPLY_RUNNING);
	reply_cache_free(larger);
}
END_TEST

START_TEST(a_reply_not_kept_lets_the_call_run_again)
{
	ck_assert_int_eq(begin(1), REPLY_NEW);
	finish(entry, "jukebox", false, 0);
	ck_assert_uint_eq(used(REPLY_CLASS_NAMESPACE), 0);
	ck_assert_int_eq(begin(1), REPLY_NEW);
}
END_TEST

START_TEST(a_reply_over_its_limit_is_not_kept)
{
	static const uint8_t zeros[REPLY_BYTES_MAX + 1];

	ck_assert_int_eq(begin(1), REPLY_NEW);
	(void) reply_cache_finish(cache, entry, zeros, REPLY_BYTES_MAX + 1, true, 0);
	ck_assert_int_eq(begin(1), REPLY_NEW);
	(void) reply_cache_finish(cache, entry, zeros, REPLY_BYTES_MAX, true, 0);
	ck_assert_int_eq(begin(1), REPLY_KNOWN);
	ck_assert_uint_eq(known_bytes, REPLY_BYTES_MAX);
}
END_TEST

START_TEST(the_oldest_reply_makes_room)
{
	run(1, "a", 0);
	run(2, "b", 0);
	run(3, "c", 0);
	ck_assert_int_eq(begin(1), REPLY_KNOWN); /* being asked for does not make it younger */
	run(4, "d", 0);
	ck_assert_int_eq(begin(2), REPLY_KNOWN);
	ck_assert_int_eq(begin(3), REPLY_KNOWN);
	ck_assert_int_eq(begin(4), REPLY_KNOWN);
	ck_assert_int_eq(begin(1), REPLY_NEW);
}
END_TEST

START_TEST(a_running_call_is_never_evicted)
{
	struct reply_entry *running[3];
	struct reply_cache_stats stats;

	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_int_eq(begin(i), REPLY_NEW);
		running[i] = entry;
	}
	ck_assert_int_eq(begin_from(REPLY_CLASS_NAMESPACE, 7, 7, 1000000), REPLY_UNCACHED);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(begin_from(REPLY_CLASS_NAMESPACE, i, i, 1000000), REPLY_RUNNING);
	finish(running[1], "x", true, 1000000);
	ck_assert_int_eq(begin_from(REPLY_CLASS_NAMESPACE, 7, 7, 1000000), REPLY_NEW);
	reply_cache_stats(cache, &stats);
	ck_assert_uint_eq(stats.inserted, 4);
	ck_assert_uint_eq(stats.joined, 3);
	ck_assert_uint_eq(stats.replayed, 0);
	ck_assert_uint_eq(stats.uncached, 1);
}
END_TEST

START_TEST(a_flood_of_writes_leaves_namespace_replies_alone)
{
	run(1, "removed", 0);
	for (uint32_t i = 0; i < 100; i++) {
		ck_assert_int_eq(begin_from(REPLY_CLASS_WRITE, 1000 + i, 1, 0), REPLY_NEW);
		finish(entry, "written", true, 0);
	}
	ck_assert_int_eq(begin(1), REPLY_KNOWN);
	ck_assert_mem_eq(known, "removed", 7);
	ck_assert_uint_eq(used(REPLY_CLASS_WRITE), 2);
}
END_TEST

START_TEST(a_reply_is_forgotten_when_too_old)
{
	run(1, "x", 50);
	ck_assert_int_eq(begin_from(REPLY_CLASS_NAMESPACE, 1, 1, 50 + LIFETIME_S), REPLY_KNOWN);
	ck_assert_int_eq(begin_from(REPLY_CLASS_NAMESPACE, 1, 1, 51 + LIFETIME_S), REPLY_NEW);
}
END_TEST

START_TEST(old_replies_go_when_others_come)
{
	run(1, "x", 0);
	run(2, "x", 0);
	run(3, "x", 1000);
	ck_assert_uint_eq(used(REPLY_CLASS_NAMESPACE), 1);
	ck_assert_int_eq(begin_from(REPLY_CLASS_NAMESPACE, 3, 3, 1000), REPLY_KNOWN);
}
END_TEST

START_TEST(a_clock_a_little_behind_does_no_harm)
{
	run(1, "x", 50); /* another worker read the clock before this one, and came later */
	ck_assert_int_eq(begin_from(REPLY_CLASS_NAMESPACE, 1, 1, 49), REPLY_KNOWN);
}
END_TEST

START_TEST(a_class_without_entries_caches_nothing)
{
	struct reply_cache_limits limits = { { 0, 0 }, { 0, 0 }, 10 };
	struct reply_cache *none = reply_cache_new(&limits);
	struct reply_key call = key(1);
	struct reply_target target = { 0 };

	ck_assert_ptr_nonnull(none);
	ck_assert_int_eq(reply_cache_begin(none, REPLY_CLASS_WRITE, &call, &target, 0, &entry,
	                                   known, &known_bytes),
	                 REPLY_UNCACHED);
	reply_cache_free(none);
}
END_TEST

START_TEST(freeing_nothing_is_no_trouble)
{
	ck_assert_ptr_null(reply_cache_free(NULL));
}
END_TEST

/* For the sanitizers too, memory that is short is an answer and not a mistake. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

START_TEST(too_large_a_cache_is_refused)
{
	struct reply_cache_limits limits = { { UINT32_MAX, UINT32_MAX },
		                             { UINT32_MAX, UINT32_MAX },
		                             10 };

	ck_assert_ptr_null(reply_cache_new(&limits));
}
END_TEST

/* Many shards: all that was put in is found, and the classes' sizes add up. */
START_TEST(a_large_cache_keeps_what_fits)
{
	struct reply_cache_limits limits = { { 4096, 4096 }, { 8, 8 }, 10 };
	struct reply_cache *large = reply_cache_new(&limits);
	struct reply_target target = { 0 };
	struct reply_cache_stats stats;

	for (uint32_t i = 0; i < 3000; i++) {
		struct reply_key call = key(i);

		ck_assert_int_eq(reply_cache_begin(large, i & 1, &call, &target, 0, &entry, known,
		                                   &known_bytes),
		                 REPLY_NEW);
		(void) reply_cache_finish(large, entry, (const uint8_t *) &i, sizeof i, true, 0);
	}
	for (uint32_t i = 0; i < 3000; i++) {
		struct reply_key call = key(i);

		ck_assert_int_eq(reply_cache_begin(large, i & 1, &call, &target, 0, &entry, known,
		                                   &known_bytes),
		                 REPLY_KNOWN);
		ck_assert_mem_eq(known, &i, sizeof i);
	}
	reply_cache_stats(large, &stats);
	ck_assert_uint_eq(stats.inserted, 3000);
	ck_assert_uint_eq(stats.replayed, 3000);
	ck_assert_uint_eq(stats.entries_used[0] + stats.entries_used[1], 3000);
	reply_cache_free(large);
}
END_TEST

/* Each cache has hash keys of its own: for none of many may xids in sequence crowd into a shard. */
START_TEST(xids_in_sequence_spread_over_the_shards)
{
	enum {
		CACHES = 300,
		CALLS = 2500, /* 156 a shard, which holds 256: eight standard deviations */
	};
	struct reply_cache_limits limits = { { 4096, 4096 }, { 8, 8 }, 10 };
	struct reply_target target = { 0 };
	struct reply_cache_stats stats;

	for (int k = 0; k < CACHES; k++) {
		struct reply_cache *large = reply_cache_new(&limits);

		for (uint32_t i = 0; i < CALLS; i++) {
			struct reply_key call = key(i << (k % 20));

			(void) reply_cache_begin(large, REPLY_CLASS_WRITE, &call, &target, 0,
			                         &entry, known, &known_bytes);
		}
		reply_cache_stats(large, &stats);
		ck_assert_uint_eq(stats.uncached, 0);
		ck_assert_uint_eq(stats.inserted, CALLS);
		reply_cache_free(large);
	}
}
END_TEST

/*
 * Threads send the same calls: each call runs once at a time and every reply is that call's. The
 * cache holds all of them, so no call runs twice. Mistakes are counted; Check's assertions are not
 * for threads.
 */
enum {
	SHARED_CALLS = 2000,
};

static struct reply_cache *shared;
static atomic_uint runs[SHARED_CALLS], mistakes;

static void shared_call(uint32_t i, uint32_t worker)
{
	struct reply_target target = { .worker = worker, .generation = i };
	struct reply_key call = key(i);
	uint8_t reply[REPLY_BYTES_MAX];
	struct reply_entry *mine;
	uint32_t reply_bytes;

	switch (reply_cache_begin(shared, i & 1, &call, &target, i, &mine, reply, &reply_bytes)) {
	case REPLY_NEW:
		if (atomic_fetch_add(&runs[i], 1) != 0)
			atomic_fetch_add(&mistakes, 1);
		target = reply_cache_finish(shared, mine, (const uint8_t *) &i, sizeof i, true, i);
		if (target.generation != i || target.worker >= THREADS)
			atomic_fetch_add(&mistakes, 1);
		break;
	case REPLY_KNOWN:
		if (reply_bytes != sizeof i || memcmp(reply, &i, sizeof i) != 0)
			atomic_fetch_add(&mistakes, 1);
		break;
	case REPLY_RUNNING:
		break;
	case REPLY_UNCACHED:
		atomic_fetch_add(&mistakes, 1);
		break;
	}
}

static void *shared_worker(void *number)
{
	uint32_t worker = (uint32_t) (uintptr_t) number;
	struct reply_cache_stats stats;

	for (uint32_t round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < SHARED_CALLS; i++)
			shared_call(worker & 1 ? i : SHARED_CALLS - 1 - i, worker);
		reply_cache_stats(shared, &stats);
	}
	return NULL;
}

START_TEST(threads_that_send_the_same_calls_run_each_once)
{
	struct reply_cache_limits limits = { { 8 * SHARED_CALLS, 8 * SHARED_CALLS },
		                             { REPLY_BYTES_MAX, REPLY_BYTES_MAX },
		                             SHARED_CALLS };
	struct reply_cache_stats stats;
	pthread_t threads[THREADS];

	shared = reply_cache_new(&limits);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, shared_worker, (void *) i), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(atomic_load(&mistakes), 0);
	reply_cache_stats(shared, &stats);
	ck_assert_uint_eq(stats.inserted, SHARED_CALLS);
	ck_assert_uint_eq(stats.joined + stats.replayed, (THREADS * 4 - 1) * SHARED_CALLS);
	shared = reply_cache_free(shared);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reply_cache");
	TCase *tcase = tcase_create("reply_cache");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_call_resent_after_its_reply_gets_the_same_reply);
	tcase_add_test(tcase, a_call_resent_while_it_runs_moves_the_reply_to_the_newest);
	tcase_add_test(tcase, a_copy_from_an_older_connection_does_not_take_the_reply);
	tcase_add_test(tcase, a_call_that_differs_in_anything_is_another);
	tcase_add_test(tcase, a_reply_not_kept_lets_the_call_run_again);
	tcase_add_test(tcase, a_reply_over_its_limit_is_not_kept);
	tcase_add_test(tcase, the_oldest_reply_makes_room);
	tcase_add_test(tcase, a_running_call_is_never_evicted);
	tcase_add_test(tcase, a_flood_of_writes_leaves_namespace_replies_alone);
	tcase_add_test(tcase, a_reply_is_forgotten_when_too_old);
	tcase_add_test(tcase, old_replies_go_when_others_come);
	tcase_add_test(tcase, a_clock_a_little_behind_does_no_harm);
	tcase_add_test(tcase, a_class_without_entries_caches_nothing);
	tcase_add_test(tcase, freeing_nothing_is_no_trouble);
	tcase_add_test(tcase, too_large_a_cache_is_refused);
	tcase_add_test(tcase, a_large_cache_keeps_what_fits);
	tcase_add_test(tcase, xids_in_sequence_spread_over_the_shards);
	tcase_add_test(tcase, threads_that_send_the_same_calls_run_each_once);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
