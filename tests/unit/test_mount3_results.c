/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is encoded entry by entry is what rpcgen's decoders read as a list.
 */
#include "rpcgen/mount3_results.h"

#include <string.h>

#include "rpcgen/xdr_generated.h"
#include "support/check_main.h"

#define VIEW(text) ((struct xdr_view){ (const uint8_t *) (text), sizeof(text) - 1 })

static uint8_t bytes[1024];
static struct xdr_out out;

static void setup(void)
{
	memset(bytes, 0xa5, sizeof bytes);
	out = xdr_out(bytes, sizeof bytes);
}

static size_t written_bytes(void)
{
	ck_assert(!out.failed);
	return (size_t) (out.at - bytes);
}

START_TEST(no_entries_are_an_empty_list)
{
	mountlist list;

	mount3_put_list_end(&out);
	ck_assert_uint_eq(written_bytes(), MOUNT3_LIST_END_BYTES);
	ck_assert_int_eq(xdr_args_decode((xdrproc_t) xdr_mountlist, &list, sizeof list, bytes,
	                                 written_bytes()),
	                 0);
	ck_assert_ptr_null(list);
}
END_TEST

START_TEST(mounts_are_a_mountlist)
{
	mountlist list;

	mount3_put_mount(&out, VIEW("esx1"), VIEW("/export/a"));
	ck_assert_uint_eq(written_bytes(), mount3_mount_bytes(VIEW("esx1"), VIEW("/export/a")));
	mount3_put_mount(&out, VIEW("192.0.2.7"), VIEW("/"));
	mount3_put_list_end(&out);
	ck_assert_int_eq(xdr_args_decode((xdrproc_t) xdr_mountlist, &list, sizeof list, bytes,
	                                 written_bytes()),
	                 0);
	ck_assert_uint_eq(list->ml_hostname.mountname_len, 4);
	ck_assert_mem_eq(list->ml_hostname.mountname_val, "esx1", 4);
	ck_assert_mem_eq(list->ml_directory.dirpath_val, "/export/a", 9);
	ck_assert_mem_eq(list->ml_next->ml_hostname.mountname_val, "192.0.2.7", 9);
	ck_assert_uint_eq(list->ml_next->ml_directory.dirpath_len, 1);
	ck_assert_ptr_null(list->ml_next->ml_next);
	xdr_free((xdrproc_t) xdr_mountlist, &list);
}
END_TEST

START_TEST(exports_are_an_exportlist)
{
	const struct xdr_view groups[] = { VIEW("10.0.0.0/8"), VIEW("esx1") };
	mountexports list;

	mount3_put_export(&out, VIEW("/a"), groups, 2);
	ck_assert_uint_eq(written_bytes(), mount3_export_bytes(VIEW("/a"), groups, 2));
	mount3_put_export(&out, VIEW("/everyone"), NULL, 0);
	mount3_put_list_end(&out);
	ck_assert_int_eq(xdr_args_decode((xdrproc_t) xdr_mountexports, &list, sizeof list, bytes,
	                                 written_bytes()),
	                 0);
	ck_assert_mem_eq(list->ex_dir.dirpath_val, "/a", 2);
	ck_assert_mem_eq(list->ex_groups->gr_name.mountname_val, "10.0.0.0/8", 10);
	ck_assert_mem_eq(list->ex_groups->gr_next->gr_name.mountname_val, "esx1", 4);
	ck_assert_ptr_null(list->ex_groups->gr_next->gr_next);
	ck_assert_mem_eq(list->ex_next->ex_dir.dirpath_val, "/everyone", 9);
	ck_assert_ptr_null(list->ex_next->ex_groups);
	ck_assert_ptr_null(list->ex_next->ex_next);
	xdr_free((xdrproc_t) xdr_mountexports, &list);
}
END_TEST

START_TEST(what_does_not_fit_fails)
{
	out = xdr_out(bytes, 16);
	mount3_put_mount(&out, VIEW("esx1"), VIEW("/export/a"));
	ck_assert(out.failed);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mount3_results");
	TCase *tcase = tcase_create("mount3_results");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, no_entries_are_an_empty_list);
	tcase_add_test(tcase, mounts_are_a_mountlist);
	tcase_add_test(tcase, exports_are_an_exportlist);
	tcase_add_test(tcase, what_does_not_fit_fails);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
