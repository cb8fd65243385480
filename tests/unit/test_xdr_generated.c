/* SPDX-License-Identifier: Apache-2.0 */
#include "rpcgen/xdr_generated.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "rpcgen/mount3.h"
#include "rpcgen/nfs3.h"
#include "rpcgen/portmap.h"
#include "support/check_main.h"

static uint8_t bytes[2048];

START_TEST(a_result_is_encoded_if_it_fits)
{
	GETATTR3res res = { .status = NFS3ERR_STALE };

	ck_assert_int_eq(xdr_result_encode((xdrproc_t) xdr_GETATTR3res, &res, bytes, 4), 4);
	ck_assert_mem_eq(bytes, "\0\0\0\x46", 4);
	for (size_t room = 0; room < 4; room++)
		ck_assert_int_eq(xdr_result_encode((xdrproc_t) xdr_GETATTR3res, &res, bytes, room),
		                 -EMSGSIZE);
}
END_TEST

START_TEST(nothing_is_written_behind_the_room)
{
	GETATTR3res res = { .status = NFS3_OK };

	memset(bytes, 0xa5, sizeof bytes);
	for (size_t room = 0; room < 88; room++) {
		ck_assert_int_eq(xdr_result_encode((xdrproc_t) xdr_GETATTR3res, &res, bytes, room),
		                 -EMSGSIZE);
		ck_assert_uint_eq(bytes[room], 0xa5);
	}
	ck_assert_int_eq(xdr_result_encode((xdrproc_t) xdr_GETATTR3res, &res, bytes, 88), 88);
}
END_TEST

START_TEST(arguments_are_decoded_exactly)
{
	static const uint8_t wire[] = { 0, 0, 0, 3, '/', 0, 'b', 0, 0, 0, 0, 0 };
	dirpath path;

	ck_assert_int_eq(xdr_args_decode((xdrproc_t) xdr_dirpath, &path, sizeof path, wire, 8), 0);
	ck_assert_uint_eq(path.dirpath_len, 3); /* the embedded NUL is not lost */
	ck_assert_mem_eq(path.dirpath_val, "/\0b", 3);
	xdr_free((xdrproc_t) xdr_dirpath, &path);

	for (size_t count = 0; count <= sizeof wire; count++) {
		if (count == 8)
			continue;
		memset(&path, 0xa5, sizeof path);
		ck_assert_int_eq(
			xdr_args_decode((xdrproc_t) xdr_dirpath, &path, sizeof path, wire, count),
			-EBADMSG);
		ck_assert_ptr_null(path.dirpath_val);
	}
}
END_TEST

START_TEST(bounds_are_the_files)
{
	dirpath path;

	memset(bytes, 0, sizeof bytes);
	bytes[2] = MNTPATHLEN >> 8;
	ck_assert_int_eq(
		xdr_args_decode((xdrproc_t) xdr_dirpath, &path, sizeof path, bytes, 4 + MNTPATHLEN),
		0);
	xdr_free((xdrproc_t) xdr_dirpath, &path);
	bytes[3] = 1;
	ck_assert_int_eq(xdr_args_decode((xdrproc_t) xdr_dirpath, &path, sizeof path, bytes,
	                                 4 + MNTPATHLEN + 4),
	                 -EBADMSG);
}
END_TEST

START_TEST(what_was_allocated_before_a_failure_is_freed)
{
	/* Two good strings, then one that is cut: a leak would be AddressSanitizer's to find. */
	static const uint8_t wire[] = { 0, 0, 0, 1, 0, 0,   0, 2, 0, 0, 0, 1, 'a', 0,  0,
		                        0, 0, 0, 0, 1, 'b', 0, 0, 0, 0, 0, 0, 9,   'c' };
	rpcbind_mapping mapping;

	ck_assert_int_eq(xdr_args_decode((xdrproc_t) xdr_rpcbind_mapping, &mapping, sizeof mapping,
	                                 wire, sizeof wire),
	                 -EBADMSG);
	ck_assert_ptr_null(mapping.netid.rpcbind_string_val);
	ck_assert_uint_eq(mapping.program_number, 0);
}
END_TEST

START_TEST(more_than_the_library_counts_is_refused)
{
	dirpath path;

	ck_assert_int_eq(xdr_args_decode((xdrproc_t) xdr_dirpath, &path, sizeof path, bytes,
	                                 (size_t) INT_MAX + 1),
	                 -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("xdr_generated");
	TCase *tcase = tcase_create("xdr_generated");

	tcase_add_test(tcase, a_result_is_encoded_if_it_fits);
	tcase_add_test(tcase, nothing_is_written_behind_the_room);
	tcase_add_test(tcase, arguments_are_decoded_exactly);
	tcase_add_test(tcase, bounds_are_the_files);
	tcase_add_test(tcase, what_was_allocated_before_a_failure_is_freed);
	tcase_add_test(tcase, more_than_the_library_counts_is_refused);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
