/* SPDX-License-Identifier: Apache-2.0 */
#include "rpcgen/offload_text.h"

#include <string.h>

#include "rpcgen/xdr_generated.h"
#include "support/check_main.h"

START_TEST(every_status_has_a_name_and_a_text)
{
	for (unsigned i = 0; i <= OFFLOAD_ERR_INTERNAL; i++) {
		ck_assert_str_ne(offload_status_name((offload_status) i), "unknown");
		ck_assert_uint_gt(strlen(offload_status_text((offload_status) i)), 3);
	}
	ck_assert_str_eq(offload_status_name((offload_status) 4711), "unknown");
	ck_assert_uint_gt(strlen(offload_status_text((offload_status) 4711)), 3);
}
END_TEST

START_TEST(kinds_and_states_have_names)
{
	ck_assert_str_eq(offload_kind_name(OFFLOAD_KIND_CLONE), "clone");
	ck_assert_str_eq(offload_kind_name(OFFLOAD_KIND_PUNCH), "punch");
	ck_assert_str_eq(offload_kind_name((offload_kind) 0), "unknown");
	ck_assert_str_eq(offload_kind_name((offload_kind) 99), "unknown");
	ck_assert_str_eq(offload_state_name(OFFLOAD_STATE_QUEUED), "queued");
	ck_assert_str_eq(offload_state_name(OFFLOAD_STATE_CANCELLED), "cancelled");
	ck_assert_str_eq(offload_state_name((offload_state) 99), "unknown");
}
END_TEST

/* Bytes written by hand, so that a change of offload.x is noticed: others have built on it. */
START_TEST(a_clone_call_has_these_bytes)
{
	static const uint8_t bytes[] = {
		0, 0, 0, 1, 0, 0, 0, 2, '/', 'a', 0, 0,                           /* source: path */
		0, 0, 0, 2, 0, 0, 0, 4, 1,   2,   3, 4, 0, 0, 0, 1, 'b', 0, 0, 0, /* below */
		0, 0, 0, 3, 0, 0, 0, 9,                                           /* flags, wait */
	};
	offload_clone_args args;

	ck_assert_int_eq(xdr_args_decode((xdrproc_t) xdr_offload_clone_args, &args, sizeof args,
	                                 bytes, sizeof bytes),
	                 0);
	ck_assert_int_eq(args.source.kind, OFFLOAD_FILE_PATH);
	ck_assert_uint_eq(args.source.offload_file_u.path.offload_path_len, 2);
	ck_assert_int_eq(args.destination.kind, OFFLOAD_FILE_BELOW);
	ck_assert_uint_eq(args.destination.offload_file_u.below.dir.offload_handle_len, 4);
	ck_assert_uint_eq(args.flags, OFFLOAD_CLONE_FAST | OFFLOAD_CLONE_VERIFY);
	ck_assert_uint_eq(args.wait_s, 9);
	xdr_free((xdrproc_t) xdr_offload_clone_args, (char *) &args);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("offload_text");
	TCase *tcase = tcase_create("offload_text");

	tcase_add_test(tcase, every_status_has_a_name_and_a_text);
	tcase_add_test(tcase, kinds_and_states_have_names);
	tcase_add_test(tcase, a_clone_call_has_these_bytes);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
