/* SPDX-License-Identifier: Apache-2.0 */
#include "rpcgen/record.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "rpcgen/rpc_call.h"
#include "support/check_main.h"

enum {
	PAYLOAD_BYTES_MAX = 1000,
	LARGE_BYTES = 1 << 20,
};

static uint8_t stream[8 * LARGE_BYTES];
static size_t stream_bytes;

static void put_fragment(const void *payload, uint32_t payload_bytes, bool last)
{
	uint8_t *to = stream + stream_bytes;

	rpc_record_mark(to, payload_bytes);
	if (!last)
		to[0] &= 0x7f;
	if (payload_bytes)
		memcpy(to + 4, payload, payload_bytes);
	stream_bytes += 4 + payload_bytes;
}

static void setup(void)
{
	memset(stream, 0, sizeof stream);
	stream_bytes = 0;
}

START_TEST(one_fragment_is_used_where_it_lies)
{
	struct record_state state = { 0 };
	struct record record;

	put_fragment("hello", 5, true);
	record = record_next(&state, stream, stream_bytes, PAYLOAD_BYTES_MAX);
	ck_assert_int_eq(record.status, RECORD_READY);
	ck_assert_ptr_eq(record.payload, stream + 4);
	ck_assert_uint_eq(record.payload_bytes, 5);
	ck_assert_uint_eq(record.consumed_bytes, 9);
	ck_assert_uint_eq(record.have_bytes, 9);
	ck_assert_mem_eq(record.payload, "hello", 5);
}
END_TEST

START_TEST(many_records_of_one_receive_come_one_by_one)
{
	struct record_state state = { 0 };
	size_t at = 0;

	put_fragment("a", 1, true);
	put_fragment("", 0, true);
	put_fragment("b", 1, false);
	put_fragment("c", 1, true);
	put_fragment("defg", 4, true);
	for (int i = 0; i < 4; i++) {
		static const char *const want[] = { "a", "", "bc", "defg" };
		struct record record = record_next(&state, stream + at, stream_bytes - at,
		                                   PAYLOAD_BYTES_MAX);

		ck_assert_int_eq(record.status, RECORD_READY);
		ck_assert_uint_eq(record.payload_bytes, strlen(want[i]));
		ck_assert_mem_eq(record.payload, want[i], strlen(want[i]));
		at += record.consumed_bytes;
	}
	ck_assert_uint_eq(at, stream_bytes);
	ck_assert_int_eq(record_next(&state, stream + at, 0, PAYLOAD_BYTES_MAX).status,
	                 RECORD_MORE);
}
END_TEST

START_TEST(need_bytes_grows_as_marks_tell)
{
	struct record_state state = { 0 };
	struct record record;

	put_fragment("hello", 5, false);
	put_fragment("world!", 6, true);

	record = record_next(&state, stream, 0, PAYLOAD_BYTES_MAX);
	ck_assert_int_eq(record.status, RECORD_MORE);
	ck_assert_uint_eq(record.need_bytes, 4);
	record = record_next(&state, stream, 3, PAYLOAD_BYTES_MAX);
	ck_assert_int_eq(record.status, RECORD_MORE);
	ck_assert_uint_eq(record.need_bytes, 4);
	ck_assert_uint_eq(record.have_bytes, 3);
	record = record_next(&state, stream, 8, PAYLOAD_BYTES_MAX);
	ck_assert_uint_eq(record.need_bytes, 9);
	record = record_next(&state, stream, 11, PAYLOAD_BYTES_MAX);
	ck_assert_uint_eq(record.need_bytes, 13);
	ck_assert_uint_eq(record.have_bytes, 11);
	record = record_next(&state, stream, 18, PAYLOAD_BYTES_MAX);
	ck_assert_int_eq(record.status, RECORD_MORE);
	ck_assert_uint_eq(record.need_bytes, 19);
	record = record_next(&state, stream, 19, PAYLOAD_BYTES_MAX);
	ck_assert_int_eq(record.status, RECORD_READY);
	ck_assert_uint_eq(record.payload_bytes, 11);
	ck_assert_mem_eq(record.payload, "helloworld!", 11);
	ck_assert_uint_eq(record.consumed_bytes, 19);
}
END_TEST

START_TEST(marks_between_fragments_are_taken_out)
{
	struct record_state state = { 0 };
	struct record record;

	put_fragment("a", 1, false);
	put_fragment("b", 1, false);
	put_fragment("", 0, false);
	put_fragment("c", 1, false);
	record = record_next(&state, stream, stream_bytes, PAYLOAD_BYTES_MAX);
	ck_assert_int_eq(record.status, RECORD_MORE);
	ck_assert_uint_eq(record.have_bytes, 4 + 3);
	ck_assert_uint_eq(record.need_bytes, 4 + 3 + 4);
	ck_assert_mem_eq(stream + 4, "abc", 3);

	stream_bytes = record.have_bytes;
	put_fragment("de", 2, true);
	record = record_next(&state, stream, stream_bytes, PAYLOAD_BYTES_MAX);
	ck_assert_int_eq(record.status, RECORD_READY);
	ck_assert_uint_eq(record.payload_bytes, 5);
	ck_assert_mem_eq(record.payload, "abcde", 5);
}
END_TEST

START_TEST(empty_fragments_before_the_first_byte_are_taken)
{
	struct record_state state = { 0 };
	struct record record;

	put_fragment("", 0, false);
	record = record_next(&state, stream, stream_bytes, PAYLOAD_BYTES_MAX);
	ck_assert_int_eq(record.status, RECORD_MORE);
	put_fragment("", 0, false);
	put_fragment("x", 1, true);
	record = record_next(&state, stream, stream_bytes, PAYLOAD_BYTES_MAX);
	ck_assert_int_eq(record.status, RECORD_READY);
	ck_assert_uint_eq(record.payload_bytes, 1);
	ck_assert_uint_eq(record.payload[0], 'x');
	ck_assert_uint_eq(record.consumed_bytes, stream_bytes);
}
END_TEST

static const struct {
	const char *what;
	uint32_t first_bytes, second_mark;
	enum record_status status;
} limits[] = {
	/* clang-format off */
	{ "exactly the limit",         PAYLOAD_BYTES_MAX - 1, 0x80000001, RECORD_READY },
	{ "the limit and nothing",     PAYLOAD_BYTES_MAX,     0x80000000, RECORD_READY },
	{ "one over",                  PAYLOAD_BYTES_MAX,     0x80000001, RECORD_BAD },
	{ "one over, more to come",    PAYLOAD_BYTES_MAX,     0x00000001, RECORD_BAD },
	{ "the sum would wrap",        PAYLOAD_BYTES_MAX,     0xffffffff, RECORD_BAD },
	{ "at the limit, more comes",  PAYLOAD_BYTES_MAX,     0x00000000, RECORD_MORE },
	/* clang-format on */
};

START_TEST(the_sum_of_fragments_is_limited)
{
	static const uint8_t zeros[PAYLOAD_BYTES_MAX];
	struct record_state state = { 0 };
	struct record record;
	uint32_t mark = limits[_i].second_mark;

	put_fragment(zeros, limits[_i].first_bytes, false);
	for (int i = 0; i < 4; i++)
		stream[stream_bytes++] = (uint8_t) (mark >> (24 - 8 * i));
	stream_bytes++;
	record = record_next(&state, stream, stream_bytes, PAYLOAD_BYTES_MAX);
	ck_assert_msg(record.status == limits[_i].status, "%s: %d", limits[_i].what,
	              (int) record.status);
}
END_TEST

START_TEST(one_fragment_is_limited_by_its_mark_alone)
{
	static uint8_t marks[][4] = { { 0x80, 0, 0x03, 0xe9 }, { 0xff, 0xff, 0xff, 0xff } };

	for (int i = 0; i < 2; i++) {
		struct record_state state = { 0 };

		ck_assert_int_eq(record_next(&state, marks[i], 4, PAYLOAD_BYTES_MAX).status,
		                 RECORD_BAD);
	}
}
END_TEST

START_TEST(what_waits_may_be_copied_to_a_larger_buffer)
{
	static uint8_t larger[64];
	struct record_state state = { 0 };
	struct record record;

	put_fragment("first", 5, false);
	put_fragment("second", 6, true);
	record = record_next(&state, stream, stream_bytes - 3, PAYLOAD_BYTES_MAX);
	ck_assert_int_eq(record.status, RECORD_MORE);
	ck_assert_uint_eq(record.need_bytes, stream_bytes);
	memcpy(larger, stream, record.have_bytes);
	memcpy(larger + record.have_bytes, "ond", 3);
	record = record_next(&state, larger, stream_bytes, PAYLOAD_BYTES_MAX);
	ck_assert_int_eq(record.status, RECORD_READY);
	ck_assert_ptr_eq(record.payload, larger + 4);
	ck_assert_mem_eq(record.payload, "firstsecond", 11);
}
END_TEST

/* Receives so many bytes of the stream at a time into a buffer of its own; checks the one record in
 * it. No ck_assert() in the loop: it costs a system call. */
static void receive_in_parts(size_t part_bytes)
{
	static uint8_t buffer[sizeof stream];
	struct record_state state = { 0 };
	struct record record = { .status = RECORD_MORE, .need_bytes = 4 };
	size_t have_bytes = 0;

	for (size_t at = 0; at < stream_bytes;) {
		size_t bytes = stream_bytes - at < part_bytes ? stream_bytes - at : part_bytes;

		if (record.status != RECORD_MORE || record.need_bytes <= have_bytes)
			ck_abort_msg("status %d at %zu", (int) record.status, at);
		memcpy(buffer + have_bytes, stream + at, bytes);
		at += bytes;
		record = record_next(&state, buffer, have_bytes + bytes, LARGE_BYTES);
		have_bytes = record.have_bytes;
	}
	ck_assert_int_eq(record.status, RECORD_READY);
	ck_assert_uint_eq(record.payload_bytes, LARGE_BYTES);
	for (size_t i = 0; i < LARGE_BYTES; i++)
		if (record.payload[i] != (uint8_t) (i * 7))
			ck_abort_msg("byte %zu is wrong", i);
}

static const size_t part_sizes[] = { 1, 5, 7, 1460, 65536, sizeof stream };

/* 1 MiB in one-byte fragments. Quadratic would be minutes here; Check's time limit is 4 s. */
START_TEST(a_megabyte_of_one_byte_fragments_takes_linear_time)
{
	for (size_t i = 0; i < LARGE_BYTES; i++) {
		uint8_t byte = (uint8_t) (i * 7);

		put_fragment(&byte, 1, i == LARGE_BYTES - 1);
	}
	receive_in_parts(part_sizes[_i]);
}
END_TEST

START_TEST(two_large_fragments_in_small_receives_take_linear_time)
{
	static uint8_t payload[LARGE_BYTES];

	for (size_t i = 0; i < LARGE_BYTES; i++)
		payload[i] = (uint8_t) (i * 7);
	put_fragment(payload, 3, false);
	put_fragment(payload + 3, LARGE_BYTES - 3, true);
	receive_in_parts(part_sizes[_i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record");
	TCase *tcase = tcase_create("record");
	int part_count = (int) (sizeof part_sizes / sizeof part_sizes[0]);

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, one_fragment_is_used_where_it_lies);
	tcase_add_test(tcase, many_records_of_one_receive_come_one_by_one);
	tcase_add_test(tcase, need_bytes_grows_as_marks_tell);
	tcase_add_test(tcase, marks_between_fragments_are_taken_out);
	tcase_add_test(tcase, empty_fragments_before_the_first_byte_are_taken);
	tcase_add_loop_test(tcase, the_sum_of_fragments_is_limited, 0,
	                    (int) (sizeof limits / sizeof limits[0]));
	tcase_add_test(tcase, one_fragment_is_limited_by_its_mark_alone);
	tcase_add_test(tcase, what_waits_may_be_copied_to_a_larger_buffer);
	tcase_add_loop_test(tcase, a_megabyte_of_one_byte_fragments_takes_linear_time, 0,
	                    part_count);
	tcase_add_loop_test(tcase, two_large_fragments_in_small_receives_take_linear_time, 0,
	                    part_count);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
