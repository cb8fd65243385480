/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What procedure 22 asks in both dialects, packed by hand. test_vaai_results.c has the answers.
 */
#include "rpcgen/vaai.h"

#include <errno.h>
#include <string.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

static uint8_t message[4 * NFS3_NAME_BYTES_MAX];
static struct xdr_out out;
static struct vaai_call call;

static void begin(void)
{
	out = xdr_out(message, sizeof message);
	memset(&call, 0xa5, sizeof call);
}

static int decode(void)
{
	ck_assert(!out.failed);
	return vaai_decode(message, (size_t) (out.at - message), &call);
}

static void put_text(const char *text)
{
	xdr_put_opaque(&out, text, (uint32_t) strlen(text));
}

static void must_be(const struct xdr_view *view, const char *text)
{
	ck_assert_uint_eq(view->count, strlen(text));
	ck_assert(view->count == 0 || memcmp(view->bytes, text, view->count) == 0);
}

/* ---- dialect O ---- */

static uint8_t command[VAAI_COMMAND_BYTES];

static void little(size_t at, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		command[at + i] = (uint8_t) (value >> 8 * i);
}

static void command_of(uint32_t number, const char *path)
{
	memset(command, 0, sizeof command);
	little(0, 1, 8);
	little(8, number, 4);
	little(12, 0xdeadbeef, 4); /* padding: may hold anything */
	little(16, 3, 4);
	if (path) {
		little(20, strlen(path) + 1, 4);
		memcpy(command + 24, path, strlen(path) + 1);
	}
}

/* @source: NULL for none. */
static int decode_o(const char *target, uint32_t kind, const char *source, size_t command_bytes)
{
	begin();
	put_text(target);
	xdr_put_u32(&out, kind);
	if (source)
		put_text(source);
	xdr_put_opaque(&out, command, (uint32_t) command_bytes);
	return decode();
}

START_TEST(a_clone_of_dialect_o_is_read)
{
	command_of(1, "vm/vm-flat.vmdk");
	ck_assert_int_eq(decode_o("the target", 0, "the source", sizeof command), 0);
	ck_assert_int_eq(call.dialect, VAAI_DIALECT_O);
	ck_assert_int_eq(call.ask, VAAI_CLONE);
	ck_assert_uint_eq(call.command, 1);
	ck_assert_int_eq(call.refusal, NFS3_OK);
	must_be(&call.file, "the target");
	must_be(&call.source, "the source");
	must_be(&call.file_name, "vm/vm-flat.vmdk");
	must_be(&call.source_name, "");
	ck_assert(!call.keep_thin);
}
END_TEST

START_TEST(a_clone_into_a_file_needs_no_path)
{
	command_of(1, NULL);
	ck_assert_int_eq(decode_o("the target", 0, "s", sizeof command), 0);
	ck_assert_int_eq(call.refusal, NFS3_OK);
	must_be(&call.file_name, "");
	command_of(1, "");
	ck_assert_int_eq(decode_o("the target", 0, "s", sizeof command), 0);
	ck_assert_int_eq(call.refusal, NFS3_OK);
	must_be(&call.file_name, "");
}
END_TEST

static const struct {
	uint32_t number;
	enum vaai_ask ask;
	uint32_t primitives;
} o_commands[] = {
	{ 2, VAAI_RESERVE, 0 },
	{ 3, VAAI_STAT, 0 },
	{ 4, VAAI_PROGRESS, 0 },
	{ 5, VAAI_ABORT, 0 },
	{ 6, VAAI_SUPPORT, VAAI_CAN_CLONE },
	{ 7, VAAI_SUPPORT, VAAI_CAN_RESERVE },
	{ 8, VAAI_SUPPORT, VAAI_CAN_STAT },
};

START_TEST(the_other_commands_of_dialect_o_are_read)
{
	command_of(o_commands[_i].number, NULL);
	memset(command + 24, 'x', 256); /* what they have no use for is not looked at */
	little(20, 4711, 4);
	ck_assert_int_eq(decode_o("the target", 1, NULL, sizeof command), 0);
	ck_assert_int_eq(call.ask, o_commands[_i].ask);
	ck_assert_uint_eq(call.primitives, o_commands[_i].primitives);
	ck_assert_uint_eq(call.command, o_commands[_i].number);
	ck_assert_int_eq(call.refusal, NFS3_OK);
	ck_assert_uint_eq(call.reserve_bytes, 0);
	must_be(&call.file, "the target");
	must_be(&call.file_name, "");
	must_be(&call.source, "");
	ck_assert_int_eq(decode_o("the target", 0xffffffff, NULL, sizeof command), 0);
	ck_assert_int_eq(decode_o("the target", 0, "unused", sizeof command), 0);
	ck_assert_int_eq(call.refusal, NFS3_OK);
}
END_TEST

static const struct {
	const char *what;
	size_t at, bytes;
	uint64_t value;
	nfsstat3 refusal;
} o_mistakes[] = {
	{ "version 0", 0, 8, 0, NFS3ERR_INVAL },
	{ "version 2", 0, 8, 2, NFS3ERR_INVAL },
	{ "a version that is 1 in its low half", 0, 8, UINT64_C(1) << 32 | 1, NFS3ERR_INVAL },
	{ "command 0", 8, 4, 0, NFS3ERR_NOTSUPP },
	{ "command 9", 8, 4, 9, NFS3ERR_NOTSUPP },
	{ "command 2^32-1", 8, 4, 0xffffffff, NFS3ERR_NOTSUPP },
	{ "a path that is not terminated", 20, 4, 2, NFS3ERR_INVAL },
	{ "a path that is terminated early", 20, 4, 5, NFS3ERR_INVAL },
	{ "256 bytes, terminated early", 20, 4, 256, NFS3ERR_INVAL },
	{ "257 bytes", 20, 4, 257, NFS3ERR_NAMETOOLONG },
	{ "2^32-1 bytes", 20, 4, 0xffffffff, NFS3ERR_NAMETOOLONG },
};

START_TEST(a_wrong_command_of_dialect_o_is_refused)
{
	command_of(1, "abc");
	little(o_mistakes[_i].at, o_mistakes[_i].value, o_mistakes[_i].bytes);
	ck_assert_int_eq(decode_o("the target", 0, "s", sizeof command), 0);
	ck_assert_msg(call.refusal == o_mistakes[_i].refusal, "%s", o_mistakes[_i].what);
}
END_TEST

START_TEST(a_command_of_another_length_is_refused)
{
	static const size_t lengths[] = { 0, 1, 295, 297, 1024 };
	static const uint8_t zeros[1025];

	for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
		begin();
		put_text("the target");
		xdr_put_u32(&out, 1);
		xdr_put_opaque(&out, zeros, (uint32_t) lengths[i]);
		ck_assert_int_eq(decode(), 0);
		ck_assert_int_eq(call.refusal, NFS3ERR_INVAL);
		ck_assert_int_eq(call.dialect, VAAI_DIALECT_O);
	}
	begin();
	put_text("the target");
	xdr_put_u32(&out, 1);
	xdr_put_opaque(&out, zeros, 1025);
	ck_assert_int_eq(decode(), -EBADMSG);
}
END_TEST

START_TEST(a_clone_without_source_is_refused)
{
	command_of(1, "abc");
	ck_assert_int_eq(decode_o("the target", 1, NULL, sizeof command), 0);
	ck_assert_int_eq(call.refusal, NFS3ERR_INVAL);
}
END_TEST

START_TEST(the_longest_path_is_taken)
{
	char path[VAAI_PATH_BYTES_MAX + 1];

	memset(path, 'p', VAAI_PATH_BYTES_MAX);
	path[VAAI_PATH_BYTES_MAX - 1] = '\0';
	command_of(1, path);
	ck_assert_int_eq(decode_o("the target", 0, "s", sizeof command), 0);
	ck_assert_int_eq(call.refusal, NFS3_OK);
	ck_assert_uint_eq(call.file_name.count, 255);
	command[24 + 255] = 'p'; /* not terminated */
	ck_assert_int_eq(decode_o("the target", 0, "s", sizeof command), 0);
	ck_assert_int_eq(call.refusal, NFS3ERR_INVAL);
}
END_TEST

/* ---- dialect Q ---- */

static void begin_q(uint32_t operation)
{
	begin();
	xdr_put_u32(&out, operation);
}

START_TEST(both_magics_register)
{
	static const struct {
		uint64_t magic;
		nfsstat3 refusal;
	} rows[] = {
		{ 0x8068269529234103, NFS3_OK },
		{ 0x8068269529234111, NFS3_OK },
		{ 0x8068269529234104, NFS3ERR_INVAL },
		{ 0x0341232995266880, NFS3ERR_INVAL },
		{ 0, NFS3ERR_INVAL },
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		begin_q(0);
		xdr_put_u64(&out, rows[i].magic);
		ck_assert_int_eq(decode(), 0);
		ck_assert_int_eq(call.dialect, VAAI_DIALECT_Q);
		ck_assert_int_eq(call.ask, VAAI_SUPPORT);
		ck_assert_uint_eq(call.primitives, 7);
		ck_assert_uint_eq(call.command, 0);
		ck_assert_int_eq(call.refusal, rows[i].refusal);
	}
}
END_TEST

START_TEST(files_of_dialect_q_are_read)
{
	static const enum vaai_ask asks[] = {
		[2] = VAAI_STAT, [4] = VAAI_PROGRESS, [5] = VAAI_ABORT
	};

	begin_q((uint32_t) _i);
	put_text("the handle");
	ck_assert_int_eq(decode(), 0);
	ck_assert_int_eq(call.dialect, VAAI_DIALECT_Q);
	ck_assert_int_eq(call.ask, asks[_i]);
	ck_assert_uint_eq(call.command, (uint32_t) _i);
	ck_assert_int_eq(call.refusal, NFS3_OK);
	must_be(&call.file, "the handle");
}
END_TEST

START_TEST(a_reservation_of_dialect_q_is_read)
{
	begin_q(1);
	put_text("the handle");
	xdr_put_u64(&out, UINT64_C(1) << 40);
	ck_assert_int_eq(decode(), 0);
	ck_assert_int_eq(call.ask, VAAI_RESERVE);
	ck_assert_uint_eq(call.reserve_bytes, UINT64_C(1) << 40);
	must_be(&call.file, "the handle");
}
END_TEST

static int decode_q_clone(uint32_t flags, const char *to, const char *from)
{
	begin_q(3);
	put_text("the source");
	put_text("the destination");
	xdr_put_u32(&out, flags);
	if (to)
		put_text(to);
	if (from)
		put_text(from);
	return decode();
}

START_TEST(a_full_clone_of_dialect_q_is_read)
{
	static const uint32_t flags[] = { 0, 1, 2, 0x10, 0x13, 0xffffffff };

	for (size_t i = 0; i < ARRAY_COUNT(flags); i++) {
		ck_assert_int_eq(decode_q_clone(flags[i], NULL, NULL), 0);
		ck_assert_int_eq(call.ask, VAAI_CLONE);
		ck_assert_int_eq(call.keep_thin, (flags[i] & 0x10) != 0);
		must_be(&call.source, "the source");
		must_be(&call.file, "the destination");
		must_be(&call.file_name, "");
		must_be(&call.source_name, "");
		ck_assert_int_eq(decode_q_clone(flags[i], "to", "from"), -EBADMSG);
	}
}
END_TEST

START_TEST(a_fast_clone_of_dialect_q_is_read)
{
	ck_assert_int_eq(decode_q_clone(3, "to", "from"), 0);
	ck_assert_int_eq(call.refusal, NFS3_OK);
	must_be(&call.file_name, "to");
	must_be(&call.source_name, "from");
	ck_assert(!call.keep_thin);
	ck_assert_int_eq(decode_q_clone(3, NULL, NULL), -EBADMSG);
	ck_assert_int_eq(decode_q_clone(3, "to", NULL), -EBADMSG);
}
END_TEST

START_TEST(names_of_dialect_q_are_names)
{
	static const char *const wrong[] = { "", ".", "..", "/", "a/b", "/a", "a/" };
	char longest[VAAI_NAME_BYTES_MAX + 2];

	for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
		ck_assert_int_eq(decode_q_clone(3, wrong[i], "from"), 0);
		ck_assert_int_eq(call.refusal, NFS3ERR_INVAL);
		ck_assert_int_eq(decode_q_clone(3, "to", wrong[i]), 0);
		ck_assert_int_eq(call.refusal, NFS3ERR_INVAL);
	}
	memset(longest, 'n', sizeof longest);
	longest[VAAI_NAME_BYTES_MAX + 1] = '\0';
	ck_assert_int_eq(decode_q_clone(3, longest, "from"), 0);
	ck_assert_int_eq(call.refusal, NFS3ERR_NAMETOOLONG);
	longest[VAAI_NAME_BYTES_MAX] = '\0';
	ck_assert_int_eq(decode_q_clone(3, longest, longest), 0);
	ck_assert_int_eq(call.refusal, NFS3_OK);
	ck_assert_int_eq(decode_q_clone(3, "...", ".a"), 0);
	ck_assert_int_eq(call.refusal, NFS3_OK);

	begin_q(3);
	put_text("the source");
	put_text("the destination");
	xdr_put_u32(&out, 3);
	xdr_put_opaque(&out, "a\0b", 3);
	put_text("from");
	ck_assert_int_eq(decode(), 0);
	ck_assert_int_eq(call.refusal, NFS3ERR_INVAL);
}
END_TEST

/* ---- what is neither ---- */

START_TEST(other_first_words_are_garbage)
{
	static const uint32_t firsts[] = { 6, 7, 65, 100, 0x7fffffff, 0xffffffff };

	for (size_t i = 0; i < ARRAY_COUNT(firsts); i++) {
		begin_q(firsts[i]);
		out.at += 512;
		ck_assert_int_eq(decode(), -EBADMSG);
	}
	ck_assert_int_eq(vaai_decode(NULL, 0, &call), -EBADMSG);
	ck_assert_int_eq(vaai_decode(message, 3, &call), -EBADMSG);
}
END_TEST

static void put_example(int which)
{
	command_of(1, "vm/disk");
	switch (which) {
	case 0:
		(void) decode_o("the target", 0, "the source", sizeof command);
		break;
	case 1:
		(void) decode_o("the target", 1, NULL, sizeof command);
		break;
	case 2:
		(void) decode_q_clone(3, "to", "from");
		break;
	case 3:
		(void) decode_q_clone(0x10, NULL, NULL);
		break;
	case 4:
		begin_q(0);
		xdr_put_u64(&out, 0x8068269529234103);
		break;
	case 5:
		begin_q(1);
		put_text("the handle");
		xdr_put_u64(&out, 0);
		break;
	default:
		begin_q(4);
		put_text("the handle");
	}
}

START_TEST(every_cut_and_every_extra_byte_is_garbage)
{
	struct vaai_call untouched;
	size_t count;

	put_example(_i);
	count = (size_t) (out.at - message);
	ck_assert_int_eq(vaai_decode(message, count, &call), 0);
	ck_assert_uint_le(count, VAAI_ARGS_BYTES_MAX);
	memset(&call, 0xa5, sizeof call);
	untouched = call;
	for (size_t cut = 0; cut < count; cut++)
		ck_assert_int_eq(vaai_decode(message, cut, &call), -EBADMSG);
	memset(message + count, 0, 8);
	for (size_t extra = 1; extra <= 8; extra++)
		ck_assert_int_eq(vaai_decode(message, count + extra, &call), -EBADMSG);
	ck_assert_mem_eq(&call, &untouched, sizeof call);
}
END_TEST

/* ---- paths ---- */

START_TEST(a_path_has_a_last_name)
{
	static const struct {
		const char *path, *name; /* NULL: refused */
	} rows[] = {
		{ "disk.vmdk", "disk.vmdk" },
		{ "vm/disk.vmdk", "disk.vmdk" },
		{ "a//b/./c", "c" },
		{ "..a/b..", "b.." },
		{ "...", "..." },
		{ "", NULL },
		{ "/", NULL },
		{ "/disk", NULL },
		{ "vm/", NULL },
		{ "..", NULL },
		{ ".", NULL },
		{ "vm/.", NULL },
		{ "vm/..", NULL },
		{ "../disk", NULL },
		{ "a/../disk", NULL },
		{ "a/b/../../disk", NULL },
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		struct xdr_view path = { (const uint8_t *) rows[i].path,
			                 (uint32_t) strlen(rows[i].path) };
		struct xdr_view name = { 0 };
		nfsstat3 status = vaai_last_name(&path, &name);

		ck_assert_msg(status == (rows[i].name ? NFS3_OK : NFS3ERR_INVAL), "%s",
		              rows[i].path);
		if (rows[i].name)
			must_be(&name, rows[i].name);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vaai");
	TCase *tcase = tcase_create("vaai");

	tcase_add_test(tcase, a_clone_of_dialect_o_is_read);
	tcase_add_test(tcase, a_clone_into_a_file_needs_no_path);
	tcase_add_loop_test(tcase, the_other_commands_of_dialect_o_are_read, 0,
	                    ARRAY_COUNT(o_commands));
	tcase_add_loop_test(tcase, a_wrong_command_of_dialect_o_is_refused, 0,
	                    ARRAY_COUNT(o_mistakes));
	tcase_add_test(tcase, a_command_of_another_length_is_refused);
	tcase_add_test(tcase, a_clone_without_source_is_refused);
	tcase_add_test(tcase, the_longest_path_is_taken);
	tcase_add_test(tcase, both_magics_register);
	tcase_add_loop_test(tcase, files_of_dialect_q_are_read, 2, 3);
	tcase_add_loop_test(tcase, files_of_dialect_q_are_read, 4, 6);
	tcase_add_test(tcase, a_reservation_of_dialect_q_is_read);
	tcase_add_test(tcase, a_full_clone_of_dialect_q_is_read);
	tcase_add_test(tcase, a_fast_clone_of_dialect_q_is_read);
	tcase_add_test(tcase, names_of_dialect_q_are_names);
	tcase_add_test(tcase, other_first_words_are_garbage);
	tcase_add_loop_test(tcase, every_cut_and_every_extra_byte_is_garbage, 0, 7);
	tcase_add_test(tcase, a_path_has_a_last_name);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
