/* SPDX-License-Identifier: Apache-2.0 */
/* The places that loads go to, and the latencies that are kept of them. */
#include <stdbool.h>
#include <stdint.h>

#include "support/check_main.h"
#include "tests/bench/histogram.h"
#include "tests/bench/pattern.h"
#include "tests/bench/tool.h"

enum {
	CALLS = 20000,
	BLOCK_BYTES = 4096,
};

START_TEST(random_places_are_whole_blocks_all_over_the_file)
{
	struct pattern pattern = { .kind = PATTERN_RANDOM,
		                   .file_bytes = 16 * BLOCK_BYTES + 100,
		                   .block_bytes = BLOCK_BYTES,
		                   .random = random_seed(1) };
	bool seen[16] = { false };
	uint64_t offset;
	uint32_t bytes;

	for (int i = 0; i < CALLS; i++) {
		pattern_next(&pattern, &offset, &bytes);
		ck_assert_uint_eq(bytes, BLOCK_BYTES);
		ck_assert_uint_eq(offset % BLOCK_BYTES, 0);
		ck_assert_uint_lt(offset / BLOCK_BYTES, 16);
		seen[offset / BLOCK_BYTES] = true;
	}
	for (int i = 0; i < 16; i++)
		ck_assert(seen[i]);
}
END_TEST

START_TEST(a_sequence_visits_each_block_and_begins_again)
{
	struct pattern pattern = { .kind = PATTERN_SEQUENTIAL,
		                   .file_bytes = 3 * BLOCK_BYTES + 1,
		                   .block_bytes = BLOCK_BYTES,
		                   .random = 1,
		                   .next_offset = 7 * BLOCK_BYTES };
	const uint64_t blocks[] = { 1, 2, 0, 1, 2, 0 };
	uint64_t offset;
	uint32_t bytes;

	for (int i = 0; i < 6; i++) {
		pattern_next(&pattern, &offset, &bytes);
		ck_assert_uint_eq(offset, blocks[i] * BLOCK_BYTES);
	}
}
END_TEST

START_TEST(a_boot_reads_pieces_of_4_to_64_KiB_in_runs_with_jumps)
{
	struct pattern pattern = { .kind = PATTERN_BOOT,
		                   .file_bytes = 1 << 20,
		                   .block_bytes = BLOCK_BYTES,
		                   .random = random_seed(3) };
	uint64_t offset, expected = 0;
	unsigned smallest = 0, largest = 0, jumps = 0;
	uint32_t bytes;

	for (int i = 0; i < CALLS; i++) {
		pattern_next(&pattern, &offset, &bytes);
		ck_assert_uint_ge(bytes, PATTERN_BOOT_BYTES_MIN);
		ck_assert_uint_le(bytes, PATTERN_BOOT_BYTES_MAX);
		ck_assert_uint_eq(offset % PATTERN_BOOT_BYTES_MIN, 0);
		ck_assert_uint_le(offset + bytes, pattern.file_bytes);
		smallest += bytes == PATTERN_BOOT_BYTES_MIN;
		largest += bytes == PATTERN_BOOT_BYTES_MAX;
		jumps += offset != expected;
		expected = offset + bytes;
	}
	ck_assert_uint_gt(smallest, CALLS * 4 / 10);
	ck_assert_uint_lt(smallest, CALLS * 6 / 10);
	ck_assert_uint_gt(largest, CALLS / 16);
	ck_assert_uint_gt(jumps, CALLS / 32);
	ck_assert_uint_lt(jumps, CALLS / 4);
}
END_TEST

START_TEST(a_boot_of_the_smallest_file_stays_inside_it)
{
	struct pattern pattern = { .kind = PATTERN_BOOT,
		                   .file_bytes = PATTERN_BOOT_BYTES_MAX,
		                   .block_bytes = BLOCK_BYTES,
		                   .random = random_seed(4) };
	uint64_t offset;
	uint32_t bytes;

	for (int i = 0; i < CALLS; i++) {
		pattern_next(&pattern, &offset, &bytes);
		ck_assert_uint_le(offset + bytes, PATTERN_BOOT_BYTES_MAX);
	}
}
END_TEST

START_TEST(quantiles_are_right_to_two_percent)
{
	static struct histogram histogram, other;

	for (uint64_t ns = 1; ns <= 1000; ns++)
		histogram_add(&histogram, ns * 1000);
	ck_assert_uint_eq(histogram.count, 1000);
	ck_assert_double_eq_tol((double) histogram_quantile(&histogram, 0.5), 500e3, 10e3);
	ck_assert_double_eq_tol((double) histogram_quantile(&histogram, 0.99), 990e3, 20e3);
	ck_assert_double_eq_tol((double) histogram_quantile(&histogram, 1), 1000e3, 20e3);
	histogram_add(&other, 5);
	histogram_merge(&other, &histogram);
	ck_assert_uint_eq(other.count, 1001);
	ck_assert_uint_eq(histogram_quantile(&other, 0.0001), 5);
}
END_TEST

START_TEST(an_empty_histogram_and_an_endless_latency_are_answered)
{
	static struct histogram histogram;

	ck_assert_uint_eq(histogram_quantile(&histogram, 0.5), 0);
	histogram_add(&histogram, UINT64_MAX);
	histogram_add(&histogram, 0);
	ck_assert_uint_eq(histogram_quantile(&histogram, 0.1), 0);
	ck_assert_uint_gt(histogram_quantile(&histogram, 1), UINT64_C(1) << 38);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench_pattern");
	TCase *tcase = tcase_create("bench_pattern");

	tcase_add_test(tcase, random_places_are_whole_blocks_all_over_the_file);
	tcase_add_test(tcase, a_sequence_visits_each_block_and_begins_again);
	tcase_add_test(tcase, a_boot_reads_pieces_of_4_to_64_KiB_in_runs_with_jumps);
	tcase_add_test(tcase, a_boot_of_the_smallest_file_stays_inside_it);
	tcase_add_test(tcase, quantiles_are_right_to_two_percent);
	tcase_add_test(tcase, an_empty_histogram_and_an_endless_latency_are_answered);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
