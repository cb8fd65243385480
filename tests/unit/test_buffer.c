/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers: sizes, references, and a budget that is never exceeded and always given back.
 */
#include "vfs/io/buffer.h"

#include <string.h>

#include "support/check_main.h"
#include "support/random.h"

enum {
	BUDGET_BYTES = 8 << 20,
	OUT_MAX = 64,
};

static struct buffer_budget budget;
static struct buffer_pool *pool;

static void setup(void)
{
	atomic_store(&budget.used_bytes, 0);
	budget.limit_bytes = BUDGET_BYTES;
	pool = buffer_pool_new(&budget);
	ck_assert_ptr_nonnull(pool);
}

static void teardown(void)
{
	pool = buffer_pool_free(pool);
	ck_assert_ptr_null(pool);
	ck_assert_uint_eq(atomic_load(&budget.used_bytes), 0);
}

static size_t used(void)
{
	return atomic_load(&budget.used_bytes);
}

/* Sizes around every class's border, and the borders themselves found by asking. */
START_TEST(a_buffer_has_the_room_that_was_asked_for)
{
	for (size_t bytes = 0; bytes <= BUFFER_BYTES_MAX;
	     bytes = bytes < 64 ? bytes + 1 : bytes + 997) {
		struct buffer *buffer = buffer_get(pool, bytes), *more;

		ck_assert_ptr_nonnull(buffer);
		ck_assert_uint_ge(buffer->capacity_bytes, bytes);
		ck_assert_uint_eq(buffer->refs, 1);
		if (buffer->capacity_bytes >= BUFFER_ALIGN_BYTES)
			ck_assert_uint_eq((uintptr_t) buffer->bytes % BUFFER_ALIGN_BYTES, 0);
		memset(buffer->bytes, 0xff, buffer->capacity_bytes);
		more = buffer_get(pool, buffer->capacity_bytes); /* exactly full: the same class */
		ck_assert_ptr_nonnull(more);
		ck_assert_uint_eq(more->capacity_bytes, buffer->capacity_bytes);
		buffer_unref(more);
		buffer_unref(buffer);
	}
}
END_TEST

START_TEST(the_largest_holds_the_largest_call)
{
	struct buffer *buffer = buffer_get(pool, BUFFER_BYTES_MAX);

	ck_assert_ptr_nonnull(buffer);
	ck_assert_uint_eq(buffer->capacity_bytes, BUFFER_BYTES_MAX);
	buffer_unref(buffer);
}
END_TEST

START_TEST(the_last_reference_gives_it_back)
{
	struct buffer *buffer = buffer_get(pool, 100), *other;

	ck_assert_ptr_eq(buffer_ref(buffer), buffer);
	ck_assert_uint_eq(buffer->refs, 2);
	ck_assert_ptr_null(buffer_unref(buffer));
	other = buffer_get(pool, 100);
	ck_assert_ptr_ne(other, buffer); /* still in somebody's hands */
	buffer_unref(buffer);
	ck_assert_ptr_eq(buffer_get(pool, 100), buffer); /* used again */
	buffer_unref(buffer);
	buffer_unref(other);
	ck_assert_ptr_null(buffer_unref(NULL));
	ck_assert_ptr_null(buffer_pool_free(NULL));
}
END_TEST

START_TEST(a_spent_budget_is_told_and_recovers)
{
	struct buffer *out[OUT_MAX];
	size_t count = 0;

	ck_assert_int_eq(buffer_budget_has_room(&budget), 1);
	while ((out[count] = buffer_get(pool, BUFFER_BYTES_MAX)))
		ck_assert_uint_lt(++count, OUT_MAX);
	ck_assert_uint_eq(count, BUDGET_BYTES / BUFFER_BYTES_MAX);
	ck_assert_uint_le(used(), budget.limit_bytes);
	ck_assert_int_eq(buffer_budget_has_room(&budget), 0);
	out[count] = buffer_get(pool, 100); /* a small one may still fit */
	ck_assert_ptr_nonnull(out[count]);
	buffer_unref(out[count]);
	while (count > 0)
		buffer_unref(out[--count]);
	ck_assert_ptr_nonnull(out[0] = buffer_get(pool, BUFFER_BYTES_MAX));
	buffer_unref(out[0]);
}
END_TEST

START_TEST(a_budget_that_was_lowered_is_spent)
{
	struct buffer *buffer = buffer_get(pool, BUFFER_BYTES_MAX);

	budget.limit_bytes = 1;
	ck_assert_ptr_null(buffer_get(pool, 1));
	ck_assert_int_eq(buffer_budget_has_room(&budget), 0);
	buffer_unref(buffer);
}
END_TEST

START_TEST(pools_share_one_budget)
{
	struct buffer_pool *other = buffer_pool_new(&budget);
	struct buffer *mine[OUT_MAX], *theirs;
	size_t count = 0;

	theirs = buffer_get(other, BUFFER_BYTES_MAX);
	ck_assert_ptr_nonnull(theirs);
	while ((mine[count] = buffer_get(pool, BUFFER_BYTES_MAX)))
		ck_assert_uint_lt(++count, OUT_MAX);
	ck_assert_uint_eq(count, BUDGET_BYTES / BUFFER_BYTES_MAX - 1);
	buffer_unref(theirs);
	ck_assert_ptr_null(buffer_get(pool, BUFFER_BYTES_MAX)); /* lies unused, but is theirs */
	buffer_pool_trim(other);
	buffer_pool_trim(other);
	ck_assert_ptr_nonnull(mine[count++] = buffer_get(pool, BUFFER_BYTES_MAX));
	while (count > 0)
		buffer_unref(mine[--count]);
	buffer_pool_free(other);
}
END_TEST

/* What lay unused goes by halves: soon all of it, and not at once. */
START_TEST(trimming_gives_back_what_lies_unused)
{
	struct buffer *out[32];
	size_t before, trims = 0;

	for (size_t i = 0; i < 32; i++)
		ck_assert_ptr_nonnull(out[i] = buffer_get(pool, 60 << 10));
	before = used();
	buffer_pool_trim(pool);
	ck_assert_uint_eq(used(), before); /* all in use */
	for (size_t i = 0; i < 32; i++)
		buffer_unref(out[i]);
	ck_assert_uint_eq(used(), before);
	buffer_pool_trim(pool); /* they were needed since the last time */
	ck_assert_uint_eq(used(), before);
	buffer_pool_trim(pool);
	ck_assert_uint_eq(used(), before / 2);
	while (used() > 0) {
		buffer_pool_trim(pool);
		ck_assert_uint_lt(trims++, 32);
	}
}
END_TEST

START_TEST(trimming_leaves_what_a_load_uses)
{
	struct buffer *first = buffer_get(pool, 4096), *second = buffer_get(pool, 4096);
	size_t both = used();

	buffer_unref(first);
	buffer_unref(second);
	for (int i = 0; i < 10; i++) {
		first = buffer_get(pool, 4096);
		second = buffer_get(pool, 4096);
		ck_assert_ptr_nonnull(second);
		buffer_unref(first);
		buffer_unref(second);
		buffer_pool_trim(pool);
		ck_assert_uint_eq(used(), both);
	}
}
END_TEST

static size_t release_one(struct buffer **out, size_t count, size_t i)
{
	const struct buffer *buffer = out[i];

	for (uint32_t at = 0; at < buffer->capacity_bytes; at += 511)
		ck_assert_uint_eq(buffer->bytes[at], (uint8_t) (uintptr_t) buffer);
	buffer_unref(out[i]);
	out[i] = out[count - 1];
	return count - 1;
}

/* No two buffers overlap, whatever is asked for, given back and trimmed in between. */
START_TEST(nobody_writes_into_anothers_buffer)
{
	struct random random = random_new();
	struct buffer *out[OUT_MAX];
	size_t count = 0;

	for (int step = 0; step < 3000; step++) {
		unsigned choice = random_below(&random, 8);

		if (choice == 0)
			buffer_pool_trim(pool);
		else if (choice < 4 && count > 0)
			count = release_one(out, count, random_below(&random, (unsigned) count));
		else if (count < OUT_MAX &&
		         (out[count] = buffer_get(pool,
		                                  random_below(&random, 1U << (1 + choice * 2))))) {
			memset(out[count]->bytes, (uint8_t) (uintptr_t) out[count],
			       out[count]->capacity_bytes);
			count++;
		}
		ck_assert_uint_le(used(), budget.limit_bytes);
	}
	while (count > 0)
		count = release_one(out, count, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("buffer");
	TCase *tcase = tcase_create("buffer");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_buffer_has_the_room_that_was_asked_for);
	tcase_add_test(tcase, the_largest_holds_the_largest_call);
	tcase_add_test(tcase, the_last_reference_gives_it_back);
	tcase_add_test(tcase, a_spent_budget_is_told_and_recovers);
	tcase_add_test(tcase, a_budget_that_was_lowered_is_spent);
	tcase_add_test(tcase, pools_share_one_budget);
	tcase_add_test(tcase, trimming_gives_back_what_lies_unused);
	tcase_add_test(tcase, trimming_leaves_what_a_load_uses);
	tcase_add_test(tcase, nobody_writes_into_anothers_buffer);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
