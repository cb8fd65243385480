/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks of ranges: by example, then against a model that keeps every byte's owners in an array,
 * with chance as its guide.
 */
#include "nfsd/lock_table.h"

#include <errno.h>
#include <string.h>

#include "nfsd/lock_shares.h"
#include "support/alloc_fail.h"
#include "support/check_main.h"
#include "support/random.h"
#include "vfs/base/cleanup.h"

enum {
	OWNERS = 6,
	FILES = 2,
	BYTES = 48, /* the model's: half of them the last that there are */
	MODEL_STEPS = 60000,
	MANY = 10000,
};

static struct lock_table *table;
static struct lock_file *file;
static struct lock_owner_key keys[OWNERS];
static const uint8_t names[OWNERS] = "abcabc";

static void setup(void)
{
	static const struct lock_limits limits = { 4 * MANY, 3 * MANY, 200, 100, 100 };

	table = lock_table_new(&limits);
	ck_assert_int_eq(
		lock_file_get(table, (struct lock_opaque){ (const uint8_t *) "file", 4 }, &file),
		0);
	for (unsigned i = 0; i < OWNERS; i++) {
		keys[i] = (struct lock_owner_key){ .opaque = { &names[i], i == 5 ? 0 : 1 },
			                           .svid = i == 4 ? -1 : 7 };
		keys[i].client.bytes[15] = i >= 3;
	}
}

static void teardown(void)
{
	table = lock_table_free(table);
}

static int set(unsigned owner, uint64_t first, uint64_t last, bool exclusive)
{
	const struct range range = { first, last };

	if (lock_conflict(table, file, &keys[owner], &range, exclusive))
		return -EAGAIN;
	return lock_set(table, file, &keys[owner], &range, exclusive);
}

static int clear(unsigned owner, uint64_t first, uint64_t last)
{
	return lock_clear(table, file, &keys[owner], &(struct range){ first, last });
}

static bool holds(unsigned owner, uint64_t first, uint64_t last, bool exclusive)
{
	return lock_is_held(table, file, &keys[owner], &(struct range){ first, last }, exclusive);
}

static unsigned lock_count(void)
{
	struct lock_counts counts;

	lock_counts(table, &counts);
	ck_assert_uint_eq(counts.locks, file->lock_count);
	return counts.locks;
}

START_TEST(ranges_of_the_wire)
{
	struct range range;

	ck_assert_int_eq(lock_range(5, 1, &range), 0);
	ck_assert(range.first == 5 && range.last == 5);
	ck_assert_int_eq(lock_range(5, 0, &range), 0);
	ck_assert(range.first == 5 && range.last == UINT64_MAX);
	ck_assert_int_eq(lock_range(UINT64_MAX, 1, &range), 0);
	ck_assert(range.first == UINT64_MAX && range.last == UINT64_MAX);
	ck_assert_int_eq(lock_range(UINT64_MAX, 2, &range), -EFBIG);
	ck_assert_int_eq(lock_range(1, UINT64_MAX, &range), 0);
	ck_assert_int_eq(lock_range(2, UINT64_MAX, &range), -EFBIG);
}
END_TEST

START_TEST(shared_ones_share_and_exclusive_ones_exclude)
{
	ck_assert_int_eq(set(0, 0, 9, false), 0);
	ck_assert_int_eq(set(1, 5, 14, false), 0);
	ck_assert_int_eq(set(2, 9, 9, true), -EAGAIN);
	ck_assert_int_eq(set(2, 15, 20, true), 0);
	ck_assert_int_eq(set(0, 10, 15, false), -EAGAIN);
	ck_assert_int_eq(set(0, 10, 14, false), 0);
	ck_assert_uint_eq(lock_count(), 3);
}
END_TEST

START_TEST(an_owner_is_address_bytes_and_number)
{
	ck_assert_int_eq(set(0, 0, 9, true), 0);
	for (unsigned i = 1; i < OWNERS; i++) {
		ck_assert(!lock_key_equal(&keys[0], &keys[i]));
		ck_assert_int_eq(set(i, 3, 3, false), -EAGAIN);
		ck_assert_int_eq(clear(i, 0, 9), 0);
	}
	ck_assert(lock_key_equal(&keys[0], &keys[0]));
	ck_assert(holds(0, 0, 9, true));
}
END_TEST

START_TEST(ranges_split_and_merge)
{
	ck_assert_int_eq(set(0, 0, 99, true), 0);
	ck_assert_int_eq(clear(0, 40, 59), 0);
	ck_assert_uint_eq(lock_count(), 2);
	ck_assert(holds(0, 0, 39, true) && holds(0, 60, 99, true) && !holds(0, 39, 40, true));
	ck_assert_int_eq(set(0, 40, 59, true), 0);
	ck_assert_uint_eq(lock_count(), 1);
	ck_assert_int_eq(set(0, 10, 19, false), 0); /* part of it is shared now */
	ck_assert_uint_eq(lock_count(), 3);
	ck_assert(holds(0, 10, 19, false) && !holds(0, 10, 19, true));
	ck_assert_int_eq(set(1, 12, 13, false), 0);
	ck_assert_int_eq(set(0, 0, 99, true), -EAGAIN);
	ck_assert_int_eq(clear(1, 0, UINT64_MAX), 0);
	ck_assert_int_eq(set(0, 0, UINT64_MAX, true), 0);
	ck_assert_uint_eq(lock_count(), 1);
}
END_TEST

START_TEST(a_client_has_so_many_locks_and_no_more)
{
	static const struct lock_limits limits = { 4, 3, 3, 2, 1 };
	struct lock_table *small = lock_table_new(&limits);
	struct lock_file *one, *two;
	struct lock_waiter waiters[5];

	ck_assert_int_eq(
		lock_file_get(small, (struct lock_opaque){ (const uint8_t *) "1", 1 }, &one), 0);
	ck_assert_int_eq(
		lock_file_get(small, (struct lock_opaque){ (const uint8_t *) "2", 1 }, &two),
		-ENOLCK);
	for (uint64_t at = 0; at < 6; at += 2)
		ck_assert_int_eq(lock_set(small, one, &keys[0], &(struct range){ at, at }, true),
		                 0);
	ck_assert_int_eq(lock_set(small, one, &keys[0], &(struct range){ 9, 9 }, true), -ENOLCK);
	ck_assert_int_eq(lock_set(small, one, &keys[0], &(struct range){ 0, 0 }, false), 0);
	ck_assert_int_eq(lock_set(small, one, &keys[0], &(struct range){ 3, 3 }, true),
	                 0); /* joins */
	ck_assert_int_eq(lock_set(small, one, &keys[3], &(struct range){ 9, 9 }, true), 0);
	ck_assert_int_eq(lock_set(small, one, &keys[3], &(struct range){ 20, 20 }, true), 0);
	ck_assert_int_eq(lock_set(small, one, &keys[3], &(struct range){ 30, 30 }, true), -ENOLCK);
	for (unsigned i = 0; i < 3; i++) {
		waiters[i] = (struct lock_waiter){ .key = keys[0], .range = { 9, 9 } };
		ck_assert_int_eq(lock_wait(small, one, &waiters[i]), i < 2 ? 0 : -ENOLCK);
	}
	ck_assert_ptr_eq(list_first(&one->waiters), &waiters[0].in_file);
	for (unsigned i = 3; i < 5; i++) {
		waiters[i] = (struct lock_waiter){ .key = keys[3], .range = { 0, 0 } };
		ck_assert_int_eq(lock_wait(small, one, &waiters[i]), i < 4 ? 0 : -ENOLCK);
	}
	lock_wait_end(small, &waiters[0]);
	lock_wait_end(small, &waiters[1]);
	lock_wait_end(small, &waiters[3]);
	lock_table_free(small);
}
END_TEST

START_TEST(what_waits_without_locks_is_a_client_too)
{
	struct lock_waiter waiter = { .key = keys[3], .range = { 0, 0 } };
	struct list_node touched = LIST_INIT(touched);
	struct lock_counts counts;

	ck_assert_int_eq(set(0, 0, 0, true), 0);
	ck_assert_int_eq(lock_wait(table, file, &waiter), 0);
	ck_assert_uint_eq(lock_client_find(table, &keys[3].client)->waiter_count, 1);
	ck_assert_uint_eq(lock_client_drop(table, &keys[3].client, &touched), 0);
	ck_assert(list_empty(&touched));
	lock_wait_end(table, &waiter);
	lock_counts(table, &counts);
	ck_assert_uint_eq(counts.waiters, 0);
	ck_assert_uint_eq(counts.clients, 1);
}
END_TEST

START_TEST(a_client_that_is_dropped_leaves_nothing)
{
	struct list_node touched = LIST_INIT(touched);
	struct lock_file *other;

	ck_assert_int_eq(
		lock_file_get(table, (struct lock_opaque){ (const uint8_t *) "2", 1 }, &other), 0);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(set(i, 10 * i, 10 * i + 2, i & 1), 0);
	ck_assert_int_eq(set(3, 100, 100, true), 0);
	ck_assert_int_eq(lock_set(table, other, &keys[0], &(struct range){ 1, 1 }, true), 0);
	ck_assert_uint_eq(lock_client_drop(table, &keys[0].client, &touched), 4);
	ck_assert_ptr_nonnull(list_pop(&touched));
	ck_assert_ptr_nonnull(list_pop(&touched));
	ck_assert(list_empty(&touched));
	ck_assert_ptr_null(lock_client_find(table, &keys[0].client));
	ck_assert(lock_file_is_idle(other));
	lock_file_release(table, other);
	ck_assert_ptr_null(lock_file_find(table, (struct lock_opaque){ (const uint8_t *) "2", 1 }));
	ck_assert_uint_eq(lock_count(), 1);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
	bool failed;
	int r;

	ck_assert_int_eq(set(0, 0, 99, true), 0);
	for (unsigned n = 1; alloc_fail_begin(n); n++) {
		r = set(0, 40, 59, false);
		failed = alloc_fail_end();
		if (!failed)
			break;
		ck_assert_int_eq(r, -ENOMEM);
		ck_assert(holds(0, 0, 99, true));
	}
	for (unsigned n = 1; alloc_fail_begin(n); n++) {
		r = clear(0, 50, 50);
		failed = alloc_fail_end();
		if (!failed)
			break;
		ck_assert_int_eq(r, -ENOMEM);
	}
	for (unsigned n = 1; alloc_fail_begin(n); n++) {
		r = set(3, 200, 200, true);
		failed = alloc_fail_end();
		if (!failed)
			break;
		ck_assert_int_eq(r, -ENOMEM);
		ck_assert_ptr_null(lock_client_find(table, &keys[3].client));
	}
}
END_TEST

/* A tree that leans to one side would take a second for each thousand. */
START_TEST(ten_thousand_of_one_owner_and_ten_thousand_owners)
{
	uint8_t name[4];
	const struct range all = { 0, UINT64_MAX };

	for (uint64_t i = 0; i < MANY; i++)
		ck_assert_int_eq(set(0, 2 * i, 2 * i, true), 0);
	ck_assert_uint_eq(lock_count(), MANY);
	ck_assert_int_eq(clear(0, 0, UINT64_MAX), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		memcpy(name, &i, sizeof name);
		keys[0].opaque = (struct lock_opaque){ name, sizeof name };
		MUST(!lock_conflict(table, file, &keys[0], &all, false));
		MUST(lock_set(table, file, &keys[0], &all, false) == 0);
		MUST(lock_conflict(table, file, &keys[3], &all, true));
	}
	ck_assert_uint_eq(lock_count(), MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		memcpy(name, &i, sizeof name);
		MUST(lock_clear(table, file, &keys[0], &all) == 0);
	}
	ck_assert_uint_eq(lock_count(), 0);
	ck_assert_ptr_null(lock_client_find(table, &keys[0].client));
}
END_TEST

/* ---- the model ---- */

struct model {
	enum lock_mode modes[FILES][OWNERS][BYTES];
	struct lock_file *files[FILES];
};

/* The model's bytes are the first and the last that a file can have; one in the middle stands for
 * all between. */
static uint64_t offset_of(unsigned byte)
{
	return byte < BYTES / 2 ? byte : UINT64_MAX - (BYTES - 1) + byte;
}

static uint64_t end_of(unsigned byte)
{
	return byte + 1 < BYTES ? offset_of(byte + 1) - 1 : UINT64_MAX;
}

static enum lock_mode strongest(const struct model *model, unsigned f, unsigned byte, int but)
{
	enum lock_mode mode = LOCK_MODE_NONE;

	for (int i = 0; i < OWNERS; i++)
		if (i != but && model->modes[f][i][byte] > mode)
			mode = model->modes[f][i][byte];
	return mode;
}

struct covering {
	const struct model *model;
	unsigned f;
	unsigned byte, last;
};

static void check_piece(void *context, const struct range *piece, enum lock_mode mode)
{
	struct covering *covering = context;

	MUST(piece->first <= piece->last);
	while (covering->byte <= covering->last && offset_of(covering->byte) <= piece->last) {
		MUST(offset_of(covering->byte) >= piece->first);
		MUST(strongest(covering->model, covering->f, covering->byte, -1) == mode);
		covering->byte++;
	}
}

static void model_step(struct model *model, struct random *random)
{
	unsigned f = random_below(random, FILES), o = random_below(random, OWNERS);
	unsigned first = random_below(random, BYTES);
	unsigned last = first + random_below(random, BYTES - first);
	const struct range range = { offset_of(first), end_of(last) };
	enum lock_mode mode = random_below(random, 3);
	bool conflicts = false;
	struct covering covering = { model, f, first, last };

	for (unsigned i = first; i <= last; i++)
		conflicts |= strongest(model, f, i, (int) o) + mode > LOCK_MODE_EXCLUSIVE &&
		             strongest(model, f, i, (int) o) != LOCK_MODE_NONE;
	if (mode == LOCK_MODE_NONE) {
		MUST(lock_clear(table, model->files[f], &keys[o], &range) == 0);
	} else {
		MUST((lock_conflict(table, model->files[f], &keys[o], &range,
		                    mode == LOCK_MODE_EXCLUSIVE) != NULL) == conflicts);
		if (conflicts)
			return;
		MUST(lock_set(table, model->files[f], &keys[o], &range,
		              mode == LOCK_MODE_EXCLUSIVE) == 0);
	}
	for (unsigned i = first; i <= last; i++)
		model->modes[f][o][i] = mode;
	lock_cover(model->files[f], &range, check_piece, &covering);
	MUST(covering.byte == last + 1);
}

/* As many locks as the model has runs of one mode: neither split without need nor kept twice. */
static void check_counts(const struct model *model)
{
	struct lock_counts counts;
	unsigned runs = 0;

	for (unsigned f = 0; f < FILES; f++)
		for (unsigned o = 0; o < OWNERS; o++)
			for (unsigned i = 0; i < BYTES; i++)
				runs += model->modes[f][o][i] != LOCK_MODE_NONE &&
				        (i == 0 ||
				         model->modes[f][o][i - 1] != model->modes[f][o][i]);
	lock_counts(table, &counts);
	MUST(counts.locks == runs);
}

START_TEST(agrees_with_a_model_that_keeps_every_byte)
{
	struct random random = random_new();
	struct model model = { .files = { file } };
	struct list_node touched = LIST_INIT(touched);

	ck_assert_int_eq(lock_file_get(table, (struct lock_opaque){ (const uint8_t *) "2", 1 },
	                               &model.files[1]),
	                 0);
	for (unsigned step = 0; step < MODEL_STEPS; step++) {
		model_step(&model, &random);
		check_counts(&model);
		if (random_below(&random, 500) > 0)
			continue;
		lock_client_drop(table, &keys[3].client, &touched);
		while (list_pop(&touched))
			;
		for (unsigned f = 0; f < FILES; f++)
			memset(model.modes[f][3], 0, sizeof model.modes[f][3] * 3);
	}
}
END_TEST

/* ---- shares ---- */

START_TEST(shares_deny_what_they_say_and_go_with_their_client)
{
	struct lock_shares shares;
	struct list_node touched = LIST_INIT(touched);
	struct lock_share_ask one = { keys[0].client, keys[0].opaque, LOCK_SHARE_READ,
		                      LOCK_SHARE_WRITE };
	struct lock_share_ask two = { keys[3].client, keys[0].opaque, LOCK_SHARE_READ, 0 };

	lock_shares_init(&shares);
	ck_assert_int_eq(lock_share_set(&shares, file, &one), 0);
	ck_assert_int_eq(lock_share_set(&shares, file, &two), 0);
	two.access |= LOCK_SHARE_WRITE;
	ck_assert_int_eq(lock_share_set(&shares, file, &two), -EAGAIN);
	two = (struct lock_share_ask){ two.client, two.opaque, 0, LOCK_SHARE_READ };
	ck_assert_int_eq(lock_share_set(&shares, file, &two), -EAGAIN);
	ck_assert_uint_eq(shares.count, 2);
	lock_share_drop(&shares, &keys[3].client, &touched);
	ck_assert_ptr_eq(list_pop(&touched), &file->touched);
	ck_assert_int_eq(lock_share_set(&shares, file, &two), -EAGAIN);
	lock_share_clear(&shares, file, &one);
	lock_share_clear(&shares, file, &one);
	ck_assert(lock_file_is_idle(file));
	ck_assert_int_eq(lock_share_set(&shares, file, &two), 0);
	lock_shares_done(&shares);
}
END_TEST

START_TEST(shares_are_bounded)
{
	struct lock_shares shares;
	uint16_t name = 0;
	struct lock_share_ask ask = {
		keys[0].client, { (const uint8_t *) &name, sizeof name }, LOCK_SHARE_READ, 0
	};

	lock_shares_init(&shares);
	for (; name < LOCK_SHARES_PER_CLIENT_MAX; name++)
		ck_assert_int_eq(lock_share_set(&shares, file, &ask), 0);
	ck_assert_int_eq(lock_share_set(&shares, file, &ask), -ENOLCK);
	ask.client = keys[3].client;
	ck_assert_int_eq(lock_share_set(&shares, file, &ask), 0);
	lock_shares_done(&shares);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lock_table");
	TCase *tcase = tcase_create("lock_table");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, ranges_of_the_wire);
	tcase_add_test(tcase, shared_ones_share_and_exclusive_ones_exclude);
	tcase_add_test(tcase, an_owner_is_address_bytes_and_number);
	tcase_add_test(tcase, ranges_split_and_merge);
	tcase_add_test(tcase, a_client_has_so_many_locks_and_no_more);
	tcase_add_test(tcase, what_waits_without_locks_is_a_client_too);
	tcase_add_test(tcase, a_client_that_is_dropped_leaves_nothing);
	tcase_add_test(tcase, without_memory_nothing_changes);
	tcase_add_test(tcase, ten_thousand_of_one_owner_and_ten_thousand_owners);
	tcase_add_test(tcase, agrees_with_a_model_that_keeps_every_byte);
	tcase_add_test(tcase, shares_deny_what_they_say_and_go_with_their_client);
	tcase_add_test(tcase, shares_are_bounded);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
