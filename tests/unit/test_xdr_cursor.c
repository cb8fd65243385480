/* SPDX-License-Identifier: Apache-2.0 */
#include "rpcgen/xdr_cursor.h"

#include "support/check_main.h"

START_TEST(integers_are_big_endian)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 0x80, 0, 0, 0, 0, 0, 0, 9 };
	struct xdr_in in = xdr_in(bytes, sizeof bytes);

	ck_assert_uint_eq(xdr_get_u32(&in), 0x01020304);
	ck_assert(!xdr_in_done(&in));
	ck_assert_uint_eq(xdr_get_u64(&in), UINT64_C(0x8000000000000009));
	ck_assert(xdr_in_done(&in));
}
END_TEST

START_TEST(reading_past_the_end_fails_for_good)
{
	static const uint8_t bytes[] = { 0, 0, 0, 1, 0, 0, 7 };
	struct xdr_in in = xdr_in(bytes, sizeof bytes);

	ck_assert_uint_eq(xdr_get_u32(&in), 1);
	ck_assert_uint_eq(xdr_get_u32(&in), 0);
	ck_assert(in.failed);
	ck_assert_uint_eq(xdr_in_left(&in), 3);
	ck_assert_uint_eq(xdr_get_u64(&in), 0);
	ck_assert(!xdr_get_bool(&in));
	ck_assert_uint_eq(xdr_get_opaque(&in, 8).count, 0);
	ck_assert_ptr_null(xdr_get_fixed(&in, 1));
	ck_assert(!xdr_in_done(&in));
}
END_TEST

START_TEST(nothing_at_all_can_be_read)
{
	struct xdr_in in = xdr_in(NULL, 0);

	ck_assert(xdr_in_done(&in));
	ck_assert_uint_eq(xdr_get_u32(&in), 0);
	ck_assert(in.failed);
}
END_TEST

START_TEST(a_bool_is_0_or_1)
{
	static const uint8_t bytes[] = { 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2 };
	struct xdr_in in = xdr_in(bytes, sizeof bytes);

	ck_assert(!xdr_get_bool(&in));
	ck_assert(xdr_get_bool(&in));
	ck_assert(!in.failed);
	ck_assert(!xdr_get_bool(&in));
	ck_assert(in.failed);
}
END_TEST

START_TEST(an_opaque_is_a_view_with_its_padding_skipped)
{
	static const uint8_t bytes[] = { 0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o', 9, 9, 9, 0, 0, 0, 7 };
	struct xdr_in in = xdr_in(bytes, sizeof bytes);
	struct xdr_view view = xdr_get_opaque(&in, 5);

	ck_assert_uint_eq(view.count, 5);
	ck_assert_ptr_eq(view.bytes, bytes + 4);
	ck_assert_uint_eq(xdr_get_u32(&in), 7);
	ck_assert(xdr_in_done(&in));
}
END_TEST

START_TEST(an_empty_opaque_is_no_failure)
{
	static const uint8_t bytes[] = { 0, 0, 0, 0 };
	struct xdr_in in = xdr_in(bytes, sizeof bytes);

	ck_assert_uint_eq(xdr_get_opaque(&in, 0).count, 0);
	ck_assert(xdr_in_done(&in));
}
END_TEST

/* The length, then one word. */
static const struct {
	const char *what;
	uint32_t count, count_max;
} bad_opaques[] = {
	/* clang-format off */
	{ "over its bound",               4, 3 },
	{ "longer than what is there",    5, UINT32_MAX },
	{ "padding would wrap, 2^32-1",   UINT32_MAX, UINT32_MAX },
	{ "padding would wrap, 2^32-3",   UINT32_MAX - 2, UINT32_MAX },
	{ "half of everything",           INT32_MAX, UINT32_MAX },
	/* clang-format on */
};

START_TEST(a_bad_length_fails)
{
	uint8_t bytes[8] = { 0 };
	struct xdr_out out = xdr_out(bytes, sizeof bytes);
	struct xdr_in in = xdr_in(bytes, sizeof bytes);
	struct xdr_view view;

	xdr_put_u32(&out, bad_opaques[_i].count);
	view = xdr_get_opaque(&in, bad_opaques[_i].count_max);
	ck_assert_msg(in.failed, "%s", bad_opaques[_i].what);
	ck_assert_ptr_null(view.bytes);
	ck_assert_uint_eq(view.count, 0);
}
END_TEST

START_TEST(missing_padding_fails)
{
	static const uint8_t bytes[] = { 0, 0, 0, 1, 'x', 0, 0 };
	struct xdr_in in = xdr_in(bytes, sizeof bytes);

	ck_assert_uint_eq(xdr_get_opaque(&in, 9).count, 0);
	ck_assert(in.failed);
}
END_TEST

START_TEST(what_was_put_is_read_back)
{
	uint8_t bytes[64];
	struct xdr_out out = xdr_out(bytes, sizeof bytes);
	struct xdr_in in;
	struct xdr_view view;

	memset(bytes, 0xff, sizeof bytes);
	xdr_put_u32(&out, 7);
	xdr_put_u64(&out, UINT64_C(1) << 63 | 3);
	xdr_put_opaque(&out, "abcde", 5);
	xdr_put_opaque(&out, NULL, 0);
	xdr_put_fixed(&out, "12345678", 8);
	ck_assert(!out.failed);

	in = xdr_in(bytes, (size_t) (out.at - bytes));
	ck_assert_uint_eq(xdr_get_u32(&in), 7);
	ck_assert_uint_eq(xdr_get_u64(&in), UINT64_C(1) << 63 | 3);
	view = xdr_get_opaque(&in, 5);
	ck_assert_mem_eq(view.bytes, "abcde\0\0", 8);
	ck_assert_uint_eq(xdr_get_opaque(&in, 0).count, 0);
	ck_assert_mem_eq(xdr_get_fixed(&in, 8), "12345678", 8);
	ck_assert(xdr_in_done(&in));
}
END_TEST

START_TEST(what_does_not_fit_is_not_written)
{
	uint8_t bytes[10];
	struct xdr_out out = xdr_out(bytes, 7);

	memset(bytes, 0xee, sizeof bytes);
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, 0);
	ck_assert(out.failed);
	ck_assert_mem_eq(bytes, "\0\0\0\0\xee\xee\xee\xee\xee\xee", 10);

	out = xdr_out(bytes, 7);
	xdr_put_fixed(&out, "abcde", 5); /* fits, its padding does not */
	ck_assert(out.failed);
	xdr_put_u32(&out, 1);
	ck_assert_ptr_eq(out.at, bytes);
	ck_assert_mem_eq(bytes, "\0\0\0\0\xee\xee\xee\xee\xee\xee", 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("xdr_cursor");
	TCase *tcase = tcase_create("xdr_cursor");

	tcase_add_test(tcase, integers_are_big_endian);
	tcase_add_test(tcase, reading_past_the_end_fails_for_good);
	tcase_add_test(tcase, nothing_at_all_can_be_read);
	tcase_add_test(tcase, a_bool_is_0_or_1);
	tcase_add_test(tcase, an_opaque_is_a_view_with_its_padding_skipped);
	tcase_add_test(tcase, an_empty_opaque_is_no_failure);
	tcase_add_loop_test(tcase, a_bad_length_fails, 0,
	                    (int) (sizeof bad_opaques / sizeof bad_opaques[0]));
	tcase_add_test(tcase, missing_padding_fails);
	tcase_add_test(tcase, what_was_put_is_read_back);
	tcase_add_test(tcase, what_does_not_fit_is_not_written);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
