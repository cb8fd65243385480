/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rpcgen's encoders write, our decoders read; and cut, stretched or out of range, they refuse.
 */
#include "rpcgen/nfs3_args.h"

#include <errno.h>
#include <string.h>

#include "support/check_main.h"
#include "support/nfs3_generated.h"

/* rpcgen's structures lie deep in each other; all braces would hide what is in them. */
#pragma GCC diagnostic ignored "-Wmissing-braces"

#define HANDLE(text)                                                                           \
	{                                                                                      \
		.data = {.data_len = sizeof(text) - 1, .data_val = (char *) (uintptr_t) text } \
	}
#define NAME(text)                                                                            \
	{                                                                                     \
		.filename3_len = sizeof(text) - 1, .filename3_val = (char *) (uintptr_t) text \
	}
#define DIROP(handle, text)                               \
	{                                                 \
		.dir = HANDLE(handle), .name = NAME(text) \
	}
#define SATTR_NONE \
	{          \
		0  \
	}
#define SATTR_ALL                                                                                 \
	{                                                                                         \
		.mode = { 1, { 0644 } }, .uid = { 1, { 10 } }, .gid = { 1, { 20 } },              \
		.size = { 1, { UINT64_C(1) << 40 } }, .atime = { SET_TO_SERVER_TIME, { { 0 } } }, \
		.mtime = { SET_TO_CLIENT_TIME, { { 1700000000, 999999999 } } },                   \
	}

static uint8_t bytes[3 * NFS3_NAME_BYTES_MAX];

static const struct {
	const char *what;
	uint32_t procedure;
	union nfs3_generated args;
} examples[] = {
	{ "getattr", NFSPROC3_GETATTR, { .getattr = { HANDLE("handle") } } },
	{ "getattr, empty handle", NFSPROC3_GETATTR, { .getattr = { HANDLE("") } } },
	{ "setattr, nothing", NFSPROC3_SETATTR, { .setattr = { HANDLE("h"), SATTR_NONE, { 0 } } } },
	{ "setattr, all, guarded",
	  NFSPROC3_SETATTR,
	  { .setattr = { HANDLE("h"), SATTR_ALL, { 1, { { 7, 8 } } } } } },
	{ "lookup", NFSPROC3_LOOKUP, { .lookup = { DIROP("dir", "name") } } },
	{ "lookup with a NUL", NFSPROC3_LOOKUP, { .lookup = { DIROP("dir", "na\0me") } } },
	{ "lookup of nothing", NFSPROC3_LOOKUP, { .lookup = { DIROP("dir", "") } } },
	{ "access",
	  NFSPROC3_ACCESS,
	  { .access = { HANDLE("h"), ACCESS3_READ | ACCESS3_EXECUTE } } },
	{ "readlink", NFSPROC3_READLINK, { .getattr = { HANDLE("link") } } },
	{ "read", NFSPROC3_READ, { .read = { HANDLE("h"), UINT64_MAX, UINT32_MAX } } },
	{ "write",
	  NFSPROC3_WRITE,
	  { .write = { HANDLE("h"), 1, 3, DATA_SYNC, { 3, (char *) (uintptr_t) "abc" } } } },
	{ "write of nothing", NFSPROC3_WRITE, { .write = { HANDLE("h"), 1, 9, UNSTABLE, { 0 } } } },
	{ "create unchecked",
	  NFSPROC3_CREATE,
	  { .create = { DIROP("d", "n"), { UNCHECKED, { SATTR_ALL } } } } },
	{ "create guarded",
	  NFSPROC3_CREATE,
	  { .create = { DIROP("d", "n"), { GUARDED, { SATTR_NONE } } } } },
	{ "create exclusive",
	  NFSPROC3_CREATE,
	  { .create = { DIROP("d", "n"), { EXCLUSIVE, { .verf = "1234567" } } } } },
	{ "mkdir", NFSPROC3_MKDIR, { .mkdir = { DIROP("d", "n"), SATTR_ALL } } },
	{ "symlink",
	  NFSPROC3_SYMLINK,
	  { .symlink = { DIROP("d", "n"), { SATTR_ALL, { 6, (char *) (uintptr_t) "target" } } } } },
	{ "mknod of a character device",
	  NFSPROC3_MKNOD,
	  { .mknod = { DIROP("d", "n"), { NF3CHR, { { SATTR_ALL, { 5, 6 } } } } } } },
	{ "mknod of a block device",
	  NFSPROC3_MKNOD,
	  { .mknod = { DIROP("d", "n"), { NF3BLK, { { SATTR_ALL, { 7, 8 } } } } } } },
	{ "mknod of a socket",
	  NFSPROC3_MKNOD,
	  { .mknod = { DIROP("d", "n"), { NF3SOCK, { .pipe_attributes = SATTR_ALL } } } } },
	{ "mknod of a pipe",
	  NFSPROC3_MKNOD,
	  { .mknod = { DIROP("d", "n"), { NF3FIFO, { .pipe_attributes = SATTR_NONE } } } } },
	{ "mknod of a file", NFSPROC3_MKNOD, { .mknod = { DIROP("d", "n"), { NF3REG } } } },
	{ "mknod of a directory", NFSPROC3_MKNOD, { .mknod = { DIROP("d", "n"), { NF3DIR } } } },
	{ "mknod of a link", NFSPROC3_MKNOD, { .mknod = { DIROP("d", "n"), { NF3LNK } } } },
	{ "remove", NFSPROC3_REMOVE, { .lookup = { DIROP("dir", "name") } } },
	{ "rmdir", NFSPROC3_RMDIR, { .lookup = { DIROP("dir", "name") } } },
	{ "rename", NFSPROC3_RENAME, { .rename = { DIROP("d", "from"), DIROP("e", "to") } } },
	{ "link", NFSPROC3_LINK, { .link = { HANDLE("file"), DIROP("d", "name") } } },
	{ "readdir", NFSPROC3_READDIR, { .readdir = { HANDLE("d"), 1, "verifie", 4096 } } },
	{ "readdirplus",
	  NFSPROC3_READDIRPLUS,
	  { .readdirplus = { HANDLE("d"), UINT64_MAX, "verifie", 4096, 32768 } } },
	{ "fsstat", NFSPROC3_FSSTAT, { .getattr = { HANDLE("root") } } },
	{ "fsinfo", NFSPROC3_FSINFO, { .getattr = { HANDLE("root") } } },
	{ "pathconf", NFSPROC3_PATHCONF, { .getattr = { HANDLE("root") } } },
	{ "commit", NFSPROC3_COMMIT, { .commit = { HANDLE("h"), 1, 2 } } },
};

static int encode(uint32_t procedure, const void *args)
{
	int bytes_count = xdr_result_encode(nfs3_generated_proc(procedure), args, bytes,
	                                    sizeof bytes);

	ck_assert_int_gt(bytes_count, 0);
	return bytes_count;
}

START_TEST(what_rpcgen_encodes_is_read_the_same)
{
	union nfs3_args args;
	int count = encode(examples[_i].procedure, &examples[_i].args);

	memset(&args, 0xa5, sizeof args);
	ck_assert_msg(nfs3_args_decode(examples[_i].procedure, bytes, (size_t) count, &args) == 0,
	              "%s", examples[_i].what);
	ck_assert_msg(nfs3_generated_same(examples[_i].procedure, &examples[_i].args, &args), "%s",
	              examples[_i].what);
}
END_TEST

START_TEST(every_cut_and_every_extra_byte_is_refused)
{
	union nfs3_args args, untouched;
	size_t count = (size_t) encode(examples[_i].procedure, &examples[_i].args);

	memset(&args, 0xa5, sizeof args);
	untouched = args;
	for (size_t cut = 0; cut < count; cut++)
		ck_assert_int_eq(nfs3_args_decode(examples[_i].procedure, bytes, cut, &args),
		                 -EBADMSG);
	for (size_t extra = 1; extra <= 8; extra++)
		ck_assert_int_eq(
			nfs3_args_decode(examples[_i].procedure, bytes, count + extra, &args),
			-EBADMSG);
	ck_assert_mem_eq(&args, &untouched, sizeof args);
}
END_TEST

START_TEST(null_ignores_what_follows)
{
	union nfs3_args args;

	ck_assert_int_eq(nfs3_args_decode(NFSPROC3_NULL, NULL, 0, &args), 0);
	ck_assert_int_eq(nfs3_args_decode(NFSPROC3_NULL, (const uint8_t *) "abc", 3, &args), 0);
}
END_TEST

static const struct {
	const char *what;
	uint32_t procedure;
	union nfs3_generated args;
} out_of_range[] = {
	{ "stable_how 3",
	  NFSPROC3_WRITE,
	  { .write = { HANDLE("h"), 1, 0, (stable_how) 3, { 0 } } } },
	{ "ftype3 0", NFSPROC3_MKNOD, { .mknod = { DIROP("d", "n"), { (ftype3) 0 } } } },
	{ "ftype3 8", NFSPROC3_MKNOD, { .mknod = { DIROP("d", "n"), { (ftype3) 8 } } } },
	{ "time_how 3",
	  NFSPROC3_MKDIR,
	  { .mkdir = { DIROP("d", "n"), { .atime = { (time_how) 3, { { 0 } } } } } } },
	{ "time_how -1",
	  NFSPROC3_MKDIR,
	  { .mkdir = { DIROP("d", "n"), { .mtime = { (time_how) -1, { { 0 } } } } } } },
};

START_TEST(enumerations_out_of_range_are_refused)
{
	union nfs3_args args;
	int count = encode(out_of_range[_i].procedure, &out_of_range[_i].args);

	ck_assert(!nfs3_generated_in_range(out_of_range[_i].procedure, &out_of_range[_i].args));
	ck_assert_msg(nfs3_args_decode(out_of_range[_i].procedure, bytes, (size_t) count, &args) ==
	                      -EBADMSG,
	              "%s", out_of_range[_i].what);
}
END_TEST

START_TEST(createmode3_3_is_refused)
{
	CREATE3args create = { DIROP("d", "n"), { GUARDED, { SATTR_NONE } } };
	union nfs3_args args;
	int count = encode(NFSPROC3_CREATE, &create);

	bytes[19] = 3; /* behind handle and name, 8 bytes each */
	ck_assert_int_eq(nfs3_args_decode(NFSPROC3_CREATE, bytes, (size_t) count, &args), -EBADMSG);
}
END_TEST

START_TEST(bools_other_than_0_and_1_are_refused)
{
	SETATTR3args setattr = { HANDLE("h"), SATTR_NONE, { 0 } };
	static const int bool_offsets[] = { 8, 12, 16, 20, 32 };
	union nfs3_args args;

	for (size_t i = 0; i < sizeof bool_offsets / sizeof bool_offsets[0]; i++) {
		int count = encode(NFSPROC3_SETATTR, &setattr);

		bytes[bool_offsets[i] + 3] = 2;
		ck_assert_int_eq(nfs3_args_decode(NFSPROC3_SETATTR, bytes, (size_t) count, &args),
		                 -EBADMSG);
	}
}
END_TEST

/* A handle of @handle_bytes, and a name of @name_bytes. */
static int decode_lookup(uint32_t handle_bytes, uint32_t name_bytes)
{
	static const uint8_t zeros[NFS3_NAME_BYTES_MAX + 4];
	struct xdr_out out = xdr_out(bytes, sizeof bytes);
	union nfs3_args args;

	xdr_put_opaque(&out, zeros, handle_bytes);
	xdr_put_opaque(&out, zeros, name_bytes);
	ck_assert(!out.failed);
	return nfs3_args_decode(NFSPROC3_LOOKUP, bytes, (size_t) (out.at - bytes), &args);
}

START_TEST(handles_and_names_have_bounds)
{
	ck_assert_int_eq(decode_lookup(NFS3_FHSIZE, NFS3_NAME_BYTES_MAX), 0);
	ck_assert_int_eq(decode_lookup(NFS3_FHSIZE + 1, 1), -EBADMSG);
	ck_assert_int_eq(decode_lookup(NFS3_FHSIZE, NFS3_NAME_BYTES_MAX + 1), -EBADMSG);
}
END_TEST

START_TEST(every_arm_begins_with_its_first_handle)
{
	union nfs3_args args;

	for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
		int count = encode(examples[i].procedure, &examples[i].args);
		uint32_t handle_bytes = examples[i].args.getattr.object.data.data_len;

		ck_assert_int_eq(
			nfs3_args_decode(examples[i].procedure, bytes, (size_t) count, &args), 0);
		ck_assert_uint_eq(args.object.count, handle_bytes);
		ck_assert_ptr_eq(args.object.bytes, bytes + 4);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nfs3_args");
	TCase *tcase = tcase_create("nfs3_args");
	int example_count = (int) (sizeof examples / sizeof examples[0]);

	tcase_add_loop_test(tcase, what_rpcgen_encodes_is_read_the_same, 0, example_count);
	tcase_add_loop_test(tcase, every_cut_and_every_extra_byte_is_refused, 0, example_count);
	tcase_add_test(tcase, null_ignores_what_follows);
	tcase_add_loop_test(tcase, enumerations_out_of_range_are_refused, 0,
	                    (int) (sizeof out_of_range / sizeof out_of_range[0]));
	tcase_add_test(tcase, createmode3_3_is_refused);
	tcase_add_test(tcase, bools_other_than_0_and_1_are_refused);
	tcase_add_test(tcase, handles_and_names_have_bounds);
	tcase_add_test(tcase, every_arm_begins_with_its_first_handle);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
