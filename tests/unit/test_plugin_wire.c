/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/plugin/plugin_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/check_main.h"

static const struct plugin_handle target = { 5, { 1, 2, 3, 4, 5 } };
static const struct plugin_handle source = { 8, { 9, 8, 7, 6, 5, 4, 3, 2 } };

/* Bytes by hand, from the description: what a plug-in sends may not depend on our code. */
START_TEST(a_clone_of_dialect_o_has_these_bytes)
{
	static const uint8_t head[] = {
		0,   0,   0,   5,   1, 2, 3, 4, 5, 0, 0, 0, /* target, padded */
		0,   0,   0,   0,                           /* with a source */
		0,   0,   0,   8,   9, 8, 7, 6, 5, 4, 3, 2, /* source */
		0,   0,   1,   40,                          /* 296 */
		1,   0,   0,   0,   0, 0, 0, 0,             /* version */
		1,   0,   0,   0,   0, 0, 0, 0,             /* command, padding */
		7,   0,   0,   0,                           /* flags */
		5,   0,   0,   0,                           /* "vm/a" and its NUL */
		'v', 'm', '/', 'a', 0,
	};
	const struct plugin_o_call call = { PLUGIN_O_CLONE, &target, &source, 7, "vm/a" };
	uint8_t bytes[PLUGIN_ARGS_BYTES_MAX];
	int count = plugin_o_encode(&call, bytes);

	ck_assert_int_eq(count, 12 + 4 + 12 + 4 + 296);
	ck_assert_mem_eq(bytes, head, sizeof head);
	for (int i = (int) sizeof head; i < count; i++)
		ck_assert_uint_eq(bytes[i], 0);
}
END_TEST

START_TEST(without_a_source_the_union_is_1)
{
	const struct plugin_o_call call = { PLUGIN_O_PROGRESS, &target, NULL, 0, "" };
	uint8_t bytes[PLUGIN_ARGS_BYTES_MAX];

	ck_assert_int_eq(plugin_o_encode(&call, bytes), 12 + 4 + 4 + 296);
	ck_assert_uint_eq(bytes[15], 1);
	ck_assert_uint_eq(bytes[20 + 8], PLUGIN_O_PROGRESS);
	ck_assert_uint_eq(bytes[20 + 20], 1); /* the NUL alone */
}
END_TEST

START_TEST(a_path_of_dialect_o_has_at_most_255_bytes)
{
	char path[PLUGIN_O_PATH_BYTES + 1];
	struct plugin_o_call call = { PLUGIN_O_CLONE, &target, &source, 0, path };
	uint8_t bytes[PLUGIN_ARGS_BYTES_MAX];

	memset(path, 'a', sizeof path);
	path[PLUGIN_O_PATH_BYTES] = '\0';
	ck_assert_int_eq(plugin_o_encode(&call, bytes), -EMSGSIZE);
	path[PLUGIN_O_PATH_BYTES - 1] = '\0';
	ck_assert_int_gt(plugin_o_encode(&call, bytes), 0);
}
END_TEST

/* A reply to "progress": copying, 3 of 2^40 + 5 bytes. */
static const uint8_t o_progress[] = {
	0, 0, 0, 0, 0, 0, 0, 80,             /* status, length */
	1, 0, 0, 0, 0, 0, 0, 0,  4, 0, 0, 0, /* version, command */
	0, 0, 0, 0, 5, 0, 0, 0,  0, 1, 0, 0, /* result, total */
	9, 0, 0, 0, 0, 0, 0, 0,  8, 0, 0, 0, /* allocated, unique ... */
	0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0, /* ... reserved */
	1, 0, 0, 0, 0, 0, 0, 0,  3, 0, 0, 0, /* state, done ... */
	0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0, /* ... reserved */
	0, 0, 0, 0, 0, 0, 0, 0,
};

START_TEST(a_reply_of_dialect_o_is_read)
{
	struct plugin_o_reply reply;

	ck_assert_uint_eq(sizeof o_progress, 88);
	ck_assert_int_eq(plugin_o_decode(PLUGIN_O_PROGRESS, o_progress, sizeof o_progress, &reply),
	                 0);
	ck_assert_uint_eq(reply.status, 0);
	ck_assert_int_eq(reply.result, 0);
	ck_assert_uint_eq(reply.total_bytes, (1ull << 40) + 5);
	ck_assert_uint_eq(reply.allocated_bytes, 9);
	ck_assert_uint_eq(reply.unique_bytes, 8);
	ck_assert_uint_eq(reply.state, PLUGIN_O_COPYING);
	ck_assert_uint_eq(reply.done_bytes, 3);
}
END_TEST

START_TEST(a_refusal_of_dialect_o_has_a_reply_too)
{
	uint8_t bytes[sizeof o_progress];
	struct plugin_o_reply reply;

	memcpy(bytes, o_progress, sizeof bytes);
	bytes[3] = 28;
	bytes[8 + 12] = 0xec; /* 1004 */
	bytes[8 + 13] = 0x03;
	ck_assert_int_eq(plugin_o_decode(PLUGIN_O_PROGRESS, bytes, sizeof bytes, &reply), 0);
	ck_assert_uint_eq(reply.status, 28);
	ck_assert_int_eq(reply.result, PLUGIN_O_FULL);
}
END_TEST

START_TEST(a_reply_of_dialect_o_that_is_none_is_refused)
{
	static const struct {
		unsigned at;
		uint8_t value;
	} wrong[] = { { 7, 79 }, { 7, 81 }, { 6, 1 }, { 8, 2 }, { 15, 1 }, { 16, 5 } };
	struct plugin_o_reply reply = { .status = 4711 };

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		uint8_t bytes[sizeof o_progress];

		memcpy(bytes, o_progress, sizeof bytes);
		bytes[wrong[i].at] = wrong[i].value;
		ck_assert_int_eq(plugin_o_decode(PLUGIN_O_PROGRESS, bytes, sizeof bytes, &reply),
		                 -EBADMSG);
	}
	for (size_t cut = 0; cut < sizeof o_progress; cut++)
		ck_assert_int_eq(plugin_o_decode(PLUGIN_O_PROGRESS, o_progress, cut, &reply),
		                 -EBADMSG);
	ck_assert_uint_eq(reply.status, 4711); /* untouched */
}
END_TEST

START_TEST(the_calls_of_dialect_q_have_these_bytes)
{
	static const uint8_t registers[] = { 0,    0,    0,    0,    0x80, 0x68,
		                             0x26, 0x95, 0x29, 0x23, 0x41, 0x03 };
	static const uint8_t reserves[] = { 0, 0, 0, 1, 0, 0, 0, 5, 1, 2, 3, 4,
		                            5, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3 };
	static const uint8_t inquires[] = { 0, 0, 0, 4, 0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0 };
	static const uint8_t clones[] = { 0, 0, 0, 3, 0,   0, 0, 8, 9, 8, 7, 6, 5,   4,   3, 2,
		                          0, 0, 0, 5, 1,   2, 3, 4, 5, 0, 0, 0, 0,   0,   0, 3,
		                          0, 0, 0, 1, 'd', 0, 0, 0, 0, 0, 0, 2, 's', 't', 0, 0 };
	const struct {
		struct plugin_q_call call;
		const uint8_t *bytes;
		size_t bytes_count;
	} rows[] = {
		{ { .op = PLUGIN_Q_REGISTER, .magic = PLUGIN_Q_MAGIC },
		  registers,
		  sizeof registers },
		{ { .op = PLUGIN_Q_RESERVE, .file = &target, .count = (2ull << 32) + 3 },
		  reserves,
		  sizeof reserves },
		{ { .op = PLUGIN_Q_INQUIRY, .file = &target }, inquires, sizeof inquires },
		{ { .op = PLUGIN_Q_CLONE,
		    .file = &target,
		    .source = &source,
		    .flags = PLUGIN_Q_FLAGS_FAST,
		    .name = "d",
		    .source_name = "st" },
		  clones,
		  sizeof clones },
		/* Any other flags: no names follow. */
		{ { .op = PLUGIN_Q_CLONE, .file = &target, .source = &source, .flags = 3 | 0x10 },
		  NULL,
		  4 + 12 + 12 + 4 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t bytes[PLUGIN_ARGS_BYTES_MAX];

		ck_assert_int_eq(plugin_q_encode(&rows[i].call, bytes), rows[i].bytes_count);
		if (rows[i].bytes)
			ck_assert_mem_eq(bytes, rows[i].bytes, rows[i].bytes_count);
	}
}
END_TEST

START_TEST(a_name_of_dialect_q_has_at_most_255_bytes)
{
	char name[PLUGIN_Q_NAME_BYTES_MAX + 2];
	uint8_t bytes[PLUGIN_ARGS_BYTES_MAX];
	struct plugin_q_call call = {
		.op = PLUGIN_Q_CLONE,
		.file = &target,
		.source = &source,
		.flags = PLUGIN_Q_FLAGS_FAST,
		.name = "d",
		.source_name = name,
	};

	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = '\0';
	ck_assert_int_eq(plugin_q_encode(&call, bytes), -EMSGSIZE);
	name[sizeof name - 2] = '\0';
	ck_assert_int_gt(plugin_q_encode(&call, bytes), 0);
}
END_TEST

START_TEST(the_replies_of_dialect_q_are_read)
{
	static const uint8_t refused[] = { 0, 0, 0x27, 0x14 };
	static const uint8_t can[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7 };
	static const uint8_t stat[] = { 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2,
		                        0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4 };
	static const uint8_t inquiry[] = { 0, 0, 0, 0, 0, 0, 0, 4, 0, 0,
		                           0, 1, 0, 0, 0, 0, 0, 0, 0, 6 };
	struct plugin_q_reply reply;

	ck_assert_int_eq(plugin_q_decode(PLUGIN_Q_STAT, refused, sizeof refused, &reply), 0);
	ck_assert_uint_eq(reply.status, 10004);
	ck_assert_int_eq(plugin_q_decode(PLUGIN_Q_REGISTER, can, sizeof can, &reply), 0);
	ck_assert_uint_eq(reply.primitives, 7);
	ck_assert_int_eq(plugin_q_decode(PLUGIN_Q_STAT, stat, sizeof stat, &reply), 0);
	ck_assert_uint_eq(reply.total_bytes, (1ull << 32) + 2);
	ck_assert_uint_eq(reply.allocated_bytes, 3);
	ck_assert_uint_eq(reply.unique_bytes, 4);
	ck_assert_int_eq(plugin_q_decode(PLUGIN_Q_INQUIRY, inquiry, sizeof inquiry, &reply), 0);
	ck_assert_uint_eq(reply.state, PLUGIN_Q_RUNNING);
	ck_assert_uint_eq(reply.done_bytes, 6);

	/* Another op's answer, one cut short, one with bytes left over. */
	ck_assert_int_eq(plugin_q_decode(PLUGIN_Q_ABORT, inquiry, sizeof inquiry, &reply),
	                 -EBADMSG);
	ck_assert_int_eq(plugin_q_decode(PLUGIN_Q_REGISTER, stat, sizeof stat, &reply), -EBADMSG);
	for (size_t cut = 0; cut < sizeof inquiry; cut++)
		ck_assert_int_eq(plugin_q_decode(PLUGIN_Q_INQUIRY, inquiry, cut, &reply), -EBADMSG);
	ck_assert_int_eq(plugin_q_decode(PLUGIN_Q_STAT, can, sizeof can, &reply), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plugin_wire");
	TCase *tcase = tcase_create("plugin_wire");

	tcase_add_test(tcase, a_clone_of_dialect_o_has_these_bytes);
	tcase_add_test(tcase, without_a_source_the_union_is_1);
	tcase_add_test(tcase, a_path_of_dialect_o_has_at_most_255_bytes);
	tcase_add_test(tcase, a_reply_of_dialect_o_is_read);
	tcase_add_test(tcase, a_refusal_of_dialect_o_has_a_reply_too);
	tcase_add_test(tcase, a_reply_of_dialect_o_that_is_none_is_refused);
	tcase_add_test(tcase, the_calls_of_dialect_q_have_these_bytes);
	tcase_add_test(tcase, a_name_of_dialect_q_has_at_most_255_bytes);
	tcase_add_test(tcase, the_replies_of_dialect_q_are_read);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
