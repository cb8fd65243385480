/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is encoded in place is what rpcgen's decoders read.
 */
#include "rpcgen/nfs3_results.h"

#include <string.h>

#include "rpcgen/xdr_generated.h"
#include "support/check_main.h"

static const fattr3 attr = {
	.type = NF3REG,
	.mode = 0644,
	.nlink = 2,
	.uid = 3,
	.gid = 4,
	.size = UINT64_C(5) << 40,
	.used = UINT64_C(6) << 33,
	.rdev = { 7, 8 },
	.fsid = UINT64_C(9) << 50,
	.fileid = UINT64_MAX,
	.atime = { 10, 11 },
	.mtime = { 12, 13 },
	.ctime = { 14, 15 },
};

static uint8_t bytes[4096];
static struct xdr_out out;

static void setup(void)
{
	memset(bytes, 0xa5, sizeof bytes);
	out = xdr_out(bytes, sizeof bytes);
}

static uint32_t written_bytes(void)
{
	ck_assert(!out.failed);
	return (uint32_t) (out.at - bytes);
}

START_TEST(fattr_is_84_bytes_that_rpcgen_encodes_the_same)
{
	uint8_t want[128];

	nfs3_put_fattr(&out, &attr);
	ck_assert_uint_eq(written_bytes(), NFS3_FATTR_BYTES);
	ck_assert_int_eq(xdr_result_encode((xdrproc_t) xdr_fattr3, &attr, want, sizeof want),
	                 NFS3_FATTR_BYTES);
	ck_assert_mem_eq(bytes, want, NFS3_FATTR_BYTES);
}
END_TEST

START_TEST(post_op_attr_may_be_absent)
{
	post_op_attr post;

	nfs3_put_post_op_attr(&out, NULL);
	ck_assert_uint_eq(written_bytes(), 4);
	ck_assert_int_eq(
		xdr_args_decode((xdrproc_t) xdr_post_op_attr, &post, sizeof post, bytes, 4), 0);
	ck_assert(!post.attributes_follow);

	setup();
	nfs3_put_post_op_attr(&out, &attr);
	ck_assert_uint_eq(written_bytes(), NFS3_POST_OP_ATTR_BYTES);
	ck_assert_int_eq(xdr_args_decode((xdrproc_t) xdr_post_op_attr, &post, sizeof post, bytes,
	                                 NFS3_POST_OP_ATTR_BYTES),
	                 0);
	ck_assert(post.attributes_follow);
	ck_assert_mem_eq(&post.post_op_attr_u.attributes, &attr, sizeof attr);
}
END_TEST

START_TEST(wcc_has_no_before)
{
	wcc_data wcc;

	nfs3_put_wcc(&out, &attr);
	ck_assert_int_eq(
		xdr_args_decode((xdrproc_t) xdr_wcc_data, &wcc, sizeof wcc, bytes, written_bytes()),
		0);
	ck_assert(!wcc.before.attributes_follow);
	ck_assert(wcc.after.attributes_follow);
	ck_assert_uint_eq(wcc.after.post_op_attr_u.attributes.fileid, UINT64_MAX);
}
END_TEST

START_TEST(read_ok_is_the_head_of_a_READ3res)
{
	uint8_t head[NFS3_READ_OK_BYTES + 8];
	READ3res res;

	nfs3_put_read_ok(head, &attr, 5, true);
	memcpy(head + NFS3_READ_OK_BYTES, "hello\0\0", 8);
	ck_assert_int_eq(
		xdr_args_decode((xdrproc_t) xdr_READ3res, &res, sizeof res, head, sizeof head), 0);
	ck_assert_int_eq(res.status, NFS3_OK);
	ck_assert(res.READ3res_u.resok.file_attributes.attributes_follow);
	ck_assert_uint_eq(res.READ3res_u.resok.count, 5);
	ck_assert(res.READ3res_u.resok.eof);
	ck_assert_uint_eq(res.READ3res_u.resok.data.data_len, 5);
	ck_assert_mem_eq(res.READ3res_u.resok.data.data_val, "hello", 5);
	xdr_free((xdrproc_t) xdr_READ3res, &res);
}
END_TEST

static const struct nfs3_entry entries[] = {
	{ .fileid = 1, .cookie = UINT64_MAX, .name = ".", .name_bytes = 1 },
	{ .fileid = 2,
	  .cookie = 2,
	  .name = "fourfour",
	  .name_bytes = 8,
	  .attr = &attr,
	  .handle = { (const uint8_t *) "handle", 6 } },
	{ .fileid = 3, .cookie = 3, .name = "abc", .name_bytes = 3, .attr = &attr },
	{ .fileid = 4, .name = "x", .name_bytes = 1, .handle = { (const uint8_t *) "h", 1 } },
};
enum {
	ENTRY_COUNT = sizeof entries / sizeof entries[0],
};

static uint32_t put_list(uint32_t (*entry_bytes)(const struct nfs3_entry *),
                         void (*put)(struct xdr_out *, const struct nfs3_entry *), bool eof)
{
	xdr_put_u32(&out, NFS3_OK);
	nfs3_put_post_op_attr(&out, &attr);
	xdr_put_u64(&out, 0);
	ck_assert_uint_eq(written_bytes(), NFS3_READDIR_HEAD_BYTES);
	for (int i = 0; i < ENTRY_COUNT; i++) {
		uint32_t before = written_bytes();

		put(&out, &entries[i]);
		ck_assert_uint_eq(written_bytes() - before, entry_bytes(&entries[i]));
	}
	nfs3_put_entries_end(&out, eof);
	return written_bytes();
}

START_TEST(entries_are_a_READDIR3res)
{
	uint32_t count = put_list(nfs3_entry_bytes, nfs3_put_entry, true);
	READDIR3res res;
	entry3 *entry;

	ck_assert_int_eq(
		xdr_args_decode((xdrproc_t) xdr_READDIR3res, &res, sizeof res, bytes, count), 0);
	entry = res.READDIR3res_u.resok.reply.entries;
	for (int i = 0; i < ENTRY_COUNT; i++, entry = entry->nextentry) {
		ck_assert_ptr_nonnull(entry);
		ck_assert_uint_eq(entry->fileid, entries[i].fileid);
		ck_assert_uint_eq(entry->cookie, entries[i].cookie);
		ck_assert_uint_eq(entry->name.filename3_len, entries[i].name_bytes);
		ck_assert_mem_eq(entry->name.filename3_val, entries[i].name, entries[i].name_bytes);
	}
	ck_assert_ptr_null(entry);
	ck_assert(res.READDIR3res_u.resok.reply.eof);
	xdr_free((xdrproc_t) xdr_READDIR3res, &res);
}
END_TEST

START_TEST(entries_are_a_READDIRPLUS3res)
{
	uint32_t count = put_list(nfs3_entry_plus_bytes, nfs3_put_entry_plus, false);
	READDIRPLUS3res res;
	entryplus3 *entry;

	ck_assert_int_eq(
		xdr_args_decode((xdrproc_t) xdr_READDIRPLUS3res, &res, sizeof res, bytes, count),
		0);
	entry = res.READDIRPLUS3res_u.resok.reply.entries;
	for (int i = 0; i < ENTRY_COUNT; i++, entry = entry->nextentry) {
		nfs_fh3 *handle = &entry->name_handle.post_op_fh3_u.handle;

		ck_assert_uint_eq(entry->fileid, entries[i].fileid);
		ck_assert_mem_eq(entry->name.filename3_val, entries[i].name, entries[i].name_bytes);
		ck_assert_int_eq(entry->name_attributes.attributes_follow, entries[i].attr != NULL);
		ck_assert_int_eq(entry->name_handle.handle_follows, entries[i].handle.count > 0);
		if (entry->name_handle.handle_follows)
			ck_assert_mem_eq(handle->data.data_val, entries[i].handle.bytes,
			                 entries[i].handle.count);
	}
	ck_assert_ptr_null(entry);
	ck_assert(!res.READDIRPLUS3res_u.resok.reply.eof);
	xdr_free((xdrproc_t) xdr_READDIRPLUS3res, &res);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nfs3_results");
	TCase *tcase = tcase_create("nfs3_results");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, fattr_is_84_bytes_that_rpcgen_encodes_the_same);
	tcase_add_test(tcase, post_op_attr_may_be_absent);
	tcase_add_test(tcase, wcc_has_no_before);
	tcase_add_test(tcase, read_ok_is_the_head_of_a_READ3res);
	tcase_add_test(tcase, entries_are_a_READDIR3res);
	tcase_add_test(tcase, entries_are_a_READDIRPLUS3res);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
