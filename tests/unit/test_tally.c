/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tallies add up, whoever counts; a table of them is bounded, and loses no call.
 */
#include "nfsd/tally.h"

#include <string.h>

#include "support/check_main.h"

enum {
	MANY = 5000
};

static void key_of(uint32_t number, uint8_t key[TALLY_KEY_BYTES])
{
	memset(key, 0, TALLY_KEY_BYTES);
	memcpy(key, &number, sizeof number);
}

static struct tally_row *row_of(struct tally_table *table, uint32_t number)
{
	uint8_t key[TALLY_KEY_BYTES];

	key_of(number, key);
	return tally_table_get(table, key);
}

static uint64_t calls_of(const struct tally_table *table)
{
	uint64_t calls = table->others.tally.calls;

	for (unsigned i = 0; i < table->used_count; i++)
		calls += table->rows[table->used[i]].tally.calls;
	return calls;
}

START_TEST(a_bucket_ends_at_its_power_of_two_microseconds)
{
	ck_assert_uint_eq(tally_bucket(0), 0);
	ck_assert_uint_eq(tally_bucket(999), 0);
	ck_assert_uint_eq(tally_bucket(1000), 1);
	for (unsigned n = 1; n < TALLY_BUCKETS - 1; n++) {
		ck_assert_uint_eq(tally_bucket((UINT64_C(1000) << n) - 1), n);
		ck_assert_uint_eq(tally_bucket(UINT64_C(1000) << n), n + 1);
	}
	ck_assert_uint_eq(tally_bucket(UINT64_MAX), TALLY_BUCKETS - 1);
}
END_TEST

START_TEST(tallies_of_several_threads_add_up)
{
	struct tally one = { 0 }, other = { 0 }, sum = { 0 };
	const struct tally_event read = { .read_bytes = 4096, .latency_ns = 5000 };
	const struct tally_event failed = { .failed = true, .latency_ns = 5000000 };
	const struct tally_event write = { .written_bytes = UINT32_MAX, .latency_ns = 6000 };

	tally_count(&one, &read);
	tally_count(&one, &failed);
	tally_count(&other, &write);
	tally_count(&other, &write);
	tally_add(&sum, &one);
	tally_add(&sum, &other);
	ck_assert_uint_eq(sum.calls, 4);
	ck_assert_uint_eq(sum.errors, 1);
	ck_assert_uint_eq(sum.read_bytes, 4096);
	ck_assert_uint_eq(sum.written_bytes, 2 * (uint64_t) UINT32_MAX);
	ck_assert_uint_eq(sum.latency_ns, 5017000);
	ck_assert_uint_eq(sum.latency[3], 3);
	ck_assert_uint_eq(sum.latency[13], 1);
}
END_TEST

START_TEST(a_key_finds_its_row_again)
{
	struct tally_table table = { 0 };
	struct tally_row *row = row_of(&table, 7);

	row->tally.calls = 3;
	ck_assert_ptr_ne(row_of(&table, 8), row);
	ck_assert_ptr_eq(row_of(&table, 7), row);
	ck_assert_uint_eq(row->tally.calls, 3);
	ck_assert_uint_eq(table.used_count, 2);
	tally_table_done(&table);
}
END_TEST

START_TEST(a_full_table_forgets_names_but_no_call)
{
	struct tally_table table = { 0 };

	for (uint32_t i = 0; i < MANY; i++)
		row_of(&table, i)->tally.calls++;
	ck_assert_uint_le(table.used_count, TALLY_PLACES);
	ck_assert_uint_gt(table.others.tally.calls, 0);
	ck_assert_uint_eq(calls_of(&table), MANY);
	ck_assert_uint_eq(row_of(&table, MANY - 1)->tally.calls, 1); /* the latest is there */
	tally_table_done(&table);
}
END_TEST

START_TEST(a_row_with_users_keeps_its_place)
{
	struct tally_table table = { 0 };
	struct tally_row *kept = row_of(&table, 0);

	kept->users = 1;
	kept->tally.calls = 1;
	for (uint32_t i = 1; i < MANY; i++)
		row_of(&table, i)->tally.calls++;
	ck_assert_ptr_eq(row_of(&table, 0), kept);
	ck_assert_uint_eq(kept->tally.calls, 1);
	tally_table_done(&table);
}
END_TEST

START_TEST(who_finds_no_place_is_counted_with_others)
{
	struct tally_table table = { 0 };

	for (uint32_t i = 0; i < MANY; i++) {
		struct tally_row *row = row_of(&table, i);

		row->users++;
		row->tally.calls++;
	}
	ck_assert_uint_eq(table.used_count, TALLY_PLACES);
	ck_assert_uint_eq(table.others.users, MANY - TALLY_PLACES);
	ck_assert_uint_eq(calls_of(&table), MANY);
	tally_table_done(&table);
}
END_TEST

START_TEST(rows_of_several_tables_are_added_up_by_key)
{
	static struct tally_row rows[3 * TALLY_ROWS_MAX];
	struct tally_table tables[3] = { 0 };
	uint8_t key[TALLY_KEY_BYTES];
	unsigned count = 0;

	for (uint32_t t = 0; t < 3; t++) {
		for (uint32_t i = t; i < 10; i++) {
			struct tally_row *row = row_of(&tables[t], i);

			row->users = 1;
			row->tally.calls = 1 + i;
		}
		tables[t].others.tally.calls = 100;
		count += tally_table_copy(&tables[t], rows + count);
		tally_table_done(&tables[t]);
	}
	ck_assert_uint_eq(count, 10 + 9 + 8 + 3);
	count = tally_rows_merge(rows, count);
	ck_assert_uint_eq(count, 10 + 1);
	for (uint32_t i = 0; i < 10; i++) {
		unsigned tables_of = i < 2 ? i + 1 : 3;

		ck_assert(rows[i].used);
		ck_assert_uint_eq(rows[i].key[0], i);
		ck_assert_uint_eq(rows[i].users, tables_of);
		ck_assert_uint_eq(rows[i].tally.calls, tables_of * (1 + i));
	}
	ck_assert(!rows[10].used);
	ck_assert_uint_eq(rows[10].tally.calls, 300);
	ck_assert_ptr_eq(tally_rows_find(rows, count, rows[3].key), &rows[3]);
	key_of(10, key);
	ck_assert_ptr_null(tally_rows_find(rows, count, key));
	ck_assert_ptr_null(tally_rows_find(rows, 0, rows[3].key));
	ck_assert_uint_eq(tally_rows_merge(rows, 0), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tally");
	TCase *tcase = tcase_create("tally");

	tcase_add_test(tcase, a_bucket_ends_at_its_power_of_two_microseconds);
	tcase_add_test(tcase, tallies_of_several_threads_add_up);
	tcase_add_test(tcase, a_key_finds_its_row_again);
	tcase_add_test(tcase, a_full_table_forgets_names_but_no_call);
	tcase_add_test(tcase, a_row_with_users_keeps_its_place);
	tcase_add_test(tcase, who_finds_no_place_is_counted_with_others);
	tcase_add_test(tcase, rows_of_several_tables_are_added_up_by_key);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
