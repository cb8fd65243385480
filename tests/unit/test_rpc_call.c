/* SPDX-License-Identifier: Apache-2.0 */
#include "rpcgen/rpc_call.h"

#include <errno.h>
#include <rpc/rpc.h>
#include <string.h>

#include "rpcgen/xdr_cursor.h"
#include "support/check_main.h"

enum {
	XID = 0x01020304,
	RPCSEC_GSS_FLAVOR = 6,
	AUTH_TLS_FLAVOR = 7, /* RFC 9289 */
};

static uint8_t message[2048];
static struct xdr_out out;

static void begin_call(void)
{
	out = xdr_out(message, sizeof message);
	xdr_put_u32(&out, XID);
	xdr_put_u32(&out, CALL);
	xdr_put_u32(&out, 2);
	xdr_put_u32(&out, 100003);
	xdr_put_u32(&out, 3);
	xdr_put_u32(&out, 1);
}

static void put_auth(uint32_t flavor, const void *body, uint32_t body_bytes)
{
	xdr_put_u32(&out, flavor);
	xdr_put_opaque(&out, body, body_bytes);
}

/* AUTH_SYS of uid 1000, gid 100, a name of @name_bytes, @group_count groups: 1, 2, 3 ... */
static void put_auth_sys(uint32_t name_bytes, uint32_t group_count, uint32_t extra_bytes)
{
	static const uint8_t name[512] = "host";
	uint8_t body[1024];
	struct xdr_out parms = xdr_out(body, sizeof body);

	xdr_put_u32(&parms, 12345);
	xdr_put_opaque(&parms, name, name_bytes);
	xdr_put_u32(&parms, 1000);
	xdr_put_u32(&parms, 100);
	xdr_put_u32(&parms, group_count);
	for (uint32_t i = 1; i <= group_count; i++)
		xdr_put_u32(&parms, i);
	xdr_put_fixed(&parms, name, extra_bytes);
	put_auth(AUTH_SYS, body, (uint32_t) (parms.at - body));
}

static enum rpc_verdict decode(struct rpc_call *ret_call, struct rpc_reply *ret_reply)
{
	ck_assert(!out.failed);
	return rpc_call_decode(message, (size_t) (out.at - message), ret_call, ret_reply);
}

/* The reply is these words, and no more. */
static void check_words(const uint8_t *bytes, uint32_t bytes_count, const uint32_t *words,
                        uint32_t word_count)
{
	struct xdr_in in = xdr_in(bytes, bytes_count);

	for (uint32_t i = 0; i < word_count; i++)
		ck_assert_uint_eq(xdr_get_u32(&in), words[i]);
	ck_assert(xdr_in_done(&in));
}

#define CHECK_WORDS(bytes, bytes_count, ...)                               \
	check_words(bytes, bytes_count, (const uint32_t[]){ __VA_ARGS__ }, \
	            sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void check_refused(enum auth_stat stat)
{
	struct rpc_call call;
	struct rpc_reply reply;

	ck_assert_int_eq(decode(&call, &reply), RPC_REFUSE);
	CHECK_WORDS(reply.bytes, reply.bytes_count, XID, REPLY, MSG_DENIED, AUTH_ERROR, stat);
}

START_TEST(auth_none_has_no_identity)
{
	struct rpc_call call;
	struct rpc_reply reply;

	begin_call();
	put_auth(AUTH_NONE, NULL, 0);
	put_auth(AUTH_NONE, NULL, 0);
	ck_assert_int_eq(decode(&call, &reply), RPC_CALL);
	ck_assert_uint_eq(call.xid, XID);
	ck_assert_uint_eq(call.program, 100003);
	ck_assert_uint_eq(call.version, 3);
	ck_assert_uint_eq(call.procedure, 1);
	ck_assert_uint_eq(call.cred.has_identity, 0);
	ck_assert_uint_eq(call.cred.group_count, 0);
	ck_assert_uint_eq(call.args_bytes, 0);
}
END_TEST

START_TEST(auth_none_may_have_a_body)
{
	struct rpc_call call;
	struct rpc_reply reply;

	begin_call();
	put_auth(AUTH_NONE, "abc", 3);
	put_auth(AUTH_NONE, "defgh", 5);
	xdr_put_u32(&out, 77);
	ck_assert_int_eq(decode(&call, &reply), RPC_CALL);
	ck_assert_uint_eq(call.args_bytes, 4);
	ck_assert_ptr_eq(call.args, out.at - 4);
}
END_TEST

START_TEST(auth_sys_is_the_caller)
{
	struct rpc_call call;
	struct rpc_reply reply;

	begin_call();
	put_auth_sys(4, 16, 0);
	put_auth(AUTH_NONE, NULL, 0);
	ck_assert_int_eq(decode(&call, &reply), RPC_CALL);
	ck_assert_uint_eq(call.cred.has_identity, 1);
	ck_assert_uint_eq(call.cred.uid, 1000);
	ck_assert_uint_eq(call.cred.gid, 100);
	ck_assert_uint_eq(call.cred.group_count, 16);
	for (uint32_t i = 0; i < 16; i++)
		ck_assert_uint_eq(call.cred.groups[i], i + 1);
}
END_TEST

static const struct {
	const char *what;
	uint32_t name_bytes, group_count, extra_bytes;
	bool good;
} auth_sys[] = {
	/* clang-format off */
	{ "no name, no groups",          0,   0,  0, true },
	{ "the longest name",            255, 16, 0, true },
	{ "a name too long",             256, 0,  0, false },
	{ "a group too many",            4,   17, 0, false },
	{ "bytes left over",             4,   2,  4, false },
	{ "a body over 400 bytes",       4,   16, 400, false },
	/* clang-format on */
};

START_TEST(auth_sys_is_held_to_its_limits)
{
	struct rpc_call call;
	struct rpc_reply reply;

	begin_call();
	put_auth_sys(auth_sys[_i].name_bytes, auth_sys[_i].group_count, auth_sys[_i].extra_bytes);
	put_auth(AUTH_NONE, NULL, 0);
	if (!auth_sys[_i].good)
		return check_refused(AUTH_BADCRED);
	ck_assert_msg(decode(&call, &reply) == RPC_CALL, "%s", auth_sys[_i].what);
	ck_assert_uint_eq(call.cred.group_count, auth_sys[_i].group_count);
}
END_TEST

START_TEST(auth_sys_cut_short_inside_its_body_is_badcred)
{
	for (uint32_t body_bytes = 0; body_bytes < 24; body_bytes++) {
		static const uint8_t body[24] = { [7] = 4, [23] = 0 };

		begin_call();
		put_auth(AUTH_SYS, body, body_bytes);
		put_auth(AUTH_NONE, NULL, 0);
		check_refused(AUTH_BADCRED);
	}
}
END_TEST

START_TEST(a_group_count_that_would_wrap_is_badcred)
{
	static const uint8_t body[20] = { [16] = 0x40 }; /* 2^30 groups: 2^32 bytes */

	begin_call();
	put_auth(AUTH_SYS, body, sizeof body);
	put_auth(AUTH_NONE, NULL, 0);
	check_refused(AUTH_BADCRED);
}
END_TEST

static const struct {
	uint32_t flavor;
	enum auth_stat stat;
} flavors[] = {
	{ AUTH_SHORT, AUTH_REJECTEDCRED },   { AUTH_DH, AUTH_BADCRED },
	{ RPCSEC_GSS_FLAVOR, AUTH_BADCRED }, { AUTH_TLS_FLAVOR, AUTH_BADCRED },
	{ UINT32_MAX, AUTH_BADCRED },
};

START_TEST(other_flavours_get_a_clean_answer)
{
	begin_call();
	put_auth(flavors[_i].flavor, "abcd", 4);
	put_auth(AUTH_NONE, NULL, 0);
	check_refused(flavors[_i].stat);
}
END_TEST

START_TEST(lengths_over_400_name_whose_they_are)
{
	static const uint32_t lengths[] = { 401, 0x7fffffff, 0xfffffffd, 0xffffffff };

	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		begin_call();
		xdr_put_u32(&out, AUTH_SYS);
		xdr_put_u32(&out, lengths[i]);
		check_refused(AUTH_BADCRED);

		begin_call();
		put_auth_sys(4, 0, 0);
		xdr_put_u32(&out, AUTH_NONE);
		xdr_put_u32(&out, lengths[i]);
		check_refused(AUTH_BADVERF);
	}
}
END_TEST

START_TEST(a_body_of_400_bytes_is_taken)
{
	static const uint8_t body[400];
	struct rpc_call call;
	struct rpc_reply reply;

	begin_call();
	put_auth(AUTH_NONE, body, sizeof body);
	put_auth(AUTH_NONE, body, sizeof body);
	ck_assert_int_eq(decode(&call, &reply), RPC_CALL);
}
END_TEST

START_TEST(a_verifier_of_another_flavour_is_badverf)
{
	begin_call();
	put_auth_sys(4, 0, 0);
	put_auth(RPCSEC_GSS_FLAVOR, "abcd", 4);
	check_refused(AUTH_BADVERF);
}
END_TEST

START_TEST(other_rpc_versions_are_told_ours)
{
	struct rpc_call call;
	struct rpc_reply reply;

	begin_call();
	message[11] = 3;
	ck_assert_int_eq(decode(&call, &reply), RPC_REFUSE);
	CHECK_WORDS(reply.bytes, reply.bytes_count, XID, REPLY, MSG_DENIED, RPC_MISMATCH, 2, 2);
	out.at = message + 12; /* nothing behind the version need be there */
	ck_assert_int_eq(decode(&call, &reply), RPC_REFUSE);
	CHECK_WORDS(reply.bytes, reply.bytes_count, XID, REPLY, MSG_DENIED, RPC_MISMATCH, 2, 2);
}
END_TEST

START_TEST(replies_and_unknown_types_are_dropped)
{
	struct rpc_call call;
	struct rpc_reply reply;

	begin_call();
	put_auth(AUTH_NONE, NULL, 0);
	put_auth(AUTH_NONE, NULL, 0);
	message[7] = REPLY;
	ck_assert_int_eq(decode(&call, &reply), RPC_DROP);
	message[7] = 2;
	ck_assert_int_eq(decode(&call, &reply), RPC_DROP);
}
END_TEST

START_TEST(a_header_cut_short_is_garbage_once_it_is_a_call)
{
	struct rpc_call call;
	struct rpc_reply reply;
	size_t whole_bytes;

	begin_call();
	put_auth_sys(4, 2, 0);
	put_auth(AUTH_NONE, "ab", 2);
	whole_bytes = (size_t) (out.at - message);
	for (size_t bytes = 0; bytes < whole_bytes; bytes++) {
		enum rpc_verdict verdict = rpc_call_decode(message, bytes, &call, &reply);

		if (bytes < 8) {
			ck_assert_int_eq(verdict, RPC_DROP);
			continue;
		}
		ck_assert_int_eq(verdict, RPC_REFUSE);
		CHECK_WORDS(reply.bytes, reply.bytes_count, XID, REPLY, MSG_ACCEPTED, AUTH_NONE, 0,
		            GARBAGE_ARGS);
	}
	ck_assert_int_eq(rpc_call_decode(message, whole_bytes, &call, &reply), RPC_CALL);
}
END_TEST

START_TEST(more_arguments_than_a_count_holds_are_garbage)
{
	struct rpc_call call;
	struct rpc_reply reply;

	if (sizeof(size_t) <= 4)
		return;
	begin_call();
	put_auth(AUTH_NONE, NULL, 0);
	put_auth(AUTH_NONE, NULL, 0);
	/* The header is all that is read: what lies behind it need not exist. */
	ck_assert_int_eq(rpc_call_decode(message, (size_t) 1 << 33, &call, &reply), RPC_REFUSE);
	CHECK_WORDS(reply.bytes, reply.bytes_count, XID, REPLY, MSG_ACCEPTED, AUTH_NONE, 0,
	            GARBAGE_ARGS);
}
END_TEST

START_TEST(replies_are_those_of_the_rfc)
{
	uint8_t to[RPC_REPLY_HEADER_BYTES_MAX];

	ck_assert_uint_eq(rpc_reply_accepted(to, XID, SUCCESS), RPC_ACCEPTED_BYTES);
	CHECK_WORDS(to, RPC_ACCEPTED_BYTES, XID, REPLY, MSG_ACCEPTED, AUTH_NONE, 0, SUCCESS);
	ck_assert_uint_eq(rpc_reply_accepted(to, XID, PROC_UNAVAIL), RPC_ACCEPTED_BYTES);
	CHECK_WORDS(to, RPC_ACCEPTED_BYTES, XID, REPLY, MSG_ACCEPTED, AUTH_NONE, 0, PROC_UNAVAIL);
	ck_assert_uint_eq(rpc_reply_program_mismatch(to, XID, 1, 3), 32);
	CHECK_WORDS(to, 32, XID, REPLY, MSG_ACCEPTED, AUTH_NONE, 0, PROG_MISMATCH, 1, 3);
	ck_assert_uint_eq(rpc_reply_auth_error(to, XID, AUTH_TOOWEAK), 20);
	CHECK_WORDS(to, 20, XID, REPLY, MSG_DENIED, AUTH_ERROR, AUTH_TOOWEAK);
}
END_TEST

START_TEST(a_record_mark_says_last_fragment)
{
	uint8_t to[RPC_RECORD_MARK_BYTES];

	rpc_record_mark(to, 0x010203);
	ck_assert_mem_eq(to, "\x80\x01\x02\x03", 4);
}
END_TEST

START_TEST(an_accepted_answer_has_its_results)
{
	struct rpc_answer answer;

	out = xdr_out(message, sizeof message);
	xdr_put_u32(&out, XID);
	xdr_put_u32(&out, REPLY);
	xdr_put_u32(&out, MSG_ACCEPTED);
	put_auth(AUTH_NONE, "abcd", 4); /* a verifier is nobody's business */
	xdr_put_u32(&out, SUCCESS);
	xdr_put_u32(&out, 7);
	ck_assert_int_eq(rpc_answer_decode(message, (size_t) (out.at - message), &answer), 0);
	ck_assert_uint_eq(answer.xid, XID);
	ck_assert(!answer.denied);
	ck_assert_uint_eq(answer.accept_stat, SUCCESS);
	ck_assert_ptr_eq(answer.results, out.at - 4);
	ck_assert_uint_eq(answer.results_bytes, 4);
	for (size_t bytes = 0; bytes < (size_t) (out.at - message) - 4; bytes++)
		ck_assert_int_eq(rpc_answer_decode(message, bytes, &answer), -EPROTO);
}
END_TEST

START_TEST(answers_without_results_say_why)
{
	struct rpc_answer answer;
	struct rpc_reply reply;

	reply.bytes_count = rpc_reply_accepted(reply.bytes, XID, PROC_UNAVAIL);
	ck_assert_int_eq(rpc_answer_decode(reply.bytes, reply.bytes_count, &answer), 0);
	ck_assert_uint_eq(answer.accept_stat, PROC_UNAVAIL);
	ck_assert_uint_eq(answer.results_bytes, 0);
	reply.bytes_count = rpc_reply_auth_error(reply.bytes, XID, AUTH_TOOWEAK);
	ck_assert_int_eq(rpc_answer_decode(reply.bytes, reply.bytes_count, &answer), 0);
	ck_assert(answer.denied);
	ck_assert_uint_eq(answer.xid, XID);
	reply.bytes[11] = 2; /* neither accepted nor denied */
	ck_assert_int_eq(rpc_answer_decode(reply.bytes, reply.bytes_count, &answer), -EPROTO);
	begin_call(); /* no reply at all */
	ck_assert_int_eq(rpc_answer_decode(message, (size_t) (out.at - message), &answer), -EPROTO);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rpc_call");
	TCase *tcase = tcase_create("rpc_call");

	tcase_add_test(tcase, auth_none_has_no_identity);
	tcase_add_test(tcase, auth_none_may_have_a_body);
	tcase_add_test(tcase, auth_sys_is_the_caller);
	tcase_add_loop_test(tcase, auth_sys_is_held_to_its_limits, 0,
	                    (int) (sizeof auth_sys / sizeof auth_sys[0]));
	tcase_add_test(tcase, auth_sys_cut_short_inside_its_body_is_badcred);
	tcase_add_test(tcase, a_group_count_that_would_wrap_is_badcred);
	tcase_add_loop_test(tcase, other_flavours_get_a_clean_answer, 0,
	                    (int) (sizeof flavors / sizeof flavors[0]));
	tcase_add_test(tcase, lengths_over_400_name_whose_they_are);
	tcase_add_test(tcase, a_body_of_400_bytes_is_taken);
	tcase_add_test(tcase, a_verifier_of_another_flavour_is_badverf);
	tcase_add_test(tcase, other_rpc_versions_are_told_ours);
	tcase_add_test(tcase, replies_and_unknown_types_are_dropped);
	tcase_add_test(tcase, a_header_cut_short_is_garbage_once_it_is_a_call);
	tcase_add_test(tcase, more_arguments_than_a_count_holds_are_garbage);
	tcase_add_test(tcase, replies_are_those_of_the_rfc);
	tcase_add_test(tcase, an_accepted_answer_has_its_results);
	tcase_add_test(tcase, answers_without_results_say_why);
	tcase_add_test(tcase, a_record_mark_says_last_fragment);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
