/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests/fuzz/fuzz_nlm4_args.c does not: results, and limits to the byte.
 */
#include "rpcgen/nlm4_args.h"

#include <errno.h>
#include <string.h>

#include "rpcgen/xdr_generated.h"
#include "support/check_main.h"

enum {
	BYTES_MAX = 8192
};

static uint8_t bytes[BYTES_MAX];

static const struct xdr_view cookie = { (const uint8_t *) "cook", 4 };

START_TEST(results_are_what_the_generated_decoders_read)
{
	const struct nlm4_who holder = { true, -3, { (const uint8_t *) "owner", 5 }, 7, 9 };
	struct xdr_out out = xdr_out(bytes, sizeof bytes);
	nlm4_testres test;
	nlm4_shareres share;

	nlm4_put_testres(&out, cookie, NLM4_DENIED, &holder);
	ck_assert_int_eq(xdr_args_decode((xdrproc_t) xdr_nlm4_testres, &test, sizeof test, bytes,
	                                 (size_t) (out.at - bytes)),
	                 0);
	ck_assert_int_eq(test.stat.stat, NLM4_DENIED);
	ck_assert_int_eq(test.stat.nlm4_testrply_u.holder.svid, -3);
	ck_assert_int_eq((int) test.stat.nlm4_testrply_u.holder.l_offset, 7);
	ck_assert_int_eq((int) test.stat.nlm4_testrply_u.holder.l_len, 9);
	xdr_free((xdrproc_t) xdr_nlm4_testres, &test);

	out = xdr_out(bytes, sizeof bytes);
	nlm4_put_testres(&out, cookie, NLM4_GRANTED, NULL);
	ck_assert_int_eq(out.at - bytes, 12);
	out = xdr_out(bytes, sizeof bytes);
	nlm4_put_shareres(&out, cookie, NLM4_FAILED);
	ck_assert_int_eq(xdr_args_decode((xdrproc_t) xdr_nlm4_shareres, &share, sizeof share, bytes,
	                                 (size_t) (out.at - bytes)),
	                 0);
	ck_assert_int_eq(share.stat, NLM4_FAILED);
	xdr_free((xdrproc_t) xdr_nlm4_shareres, &share);
}
END_TEST

START_TEST(what_is_told_is_what_was_asked)
{
	const struct nlm4_args asked = {
		.cookie = cookie,
		.caller = cookie,
		.handle = { (const uint8_t *) "handle", 6 },
		.owner = cookie,
		.svid = -7,
		.offset = 1,
		.bytes = UINT64_MAX,
		.exclusive = true,
	};
	const struct nlm4_who holder = { true, -3, { (const uint8_t *) "owner", 5 }, 7, 9 };
	struct xdr_out out = xdr_out(bytes, sizeof bytes);
	struct nlm4_args told;

	nlm4_put_granted(&out, &asked);
	ck_assert_int_eq(
		nlm4_args_decode(NLMPROC4_GRANTED, bytes, (size_t) (out.at - bytes), &told), 0);
	ck_assert(told.exclusive && told.svid == -7 && told.offset == 1);
	ck_assert(told.bytes == UINT64_MAX && told.handle.count == 6);
	out = xdr_out(bytes, sizeof bytes);
	nlm4_put_testres(&out, cookie, NLM4_DENIED, &holder);
	ck_assert_int_eq(
		nlm4_args_decode(NLMPROC4_TEST_RES, bytes, (size_t) (out.at - bytes), &told), 0);
	ck_assert(told.svid == -3 && told.offset == 7 && told.owner.count == 5);
}
END_TEST

static int decode_unlock(uint32_t cookie_bytes, uint32_t caller, uint32_t handle, uint32_t owner)
{
	static const uint8_t filling[2048];
	struct xdr_out out = xdr_out(bytes, sizeof bytes);
	struct nlm4_args args;

	xdr_put_opaque(&out, filling, cookie_bytes);
	xdr_put_opaque(&out, filling, caller);
	xdr_put_opaque(&out, filling, handle);
	xdr_put_opaque(&out, filling, owner);
	for (int i = 0; i < 5; i++)
		xdr_put_u32(&out, 0);
	return nlm4_args_decode(NLMPROC4_UNLOCK, bytes, (size_t) (out.at - bytes), &args);
}

START_TEST(names_and_opaques_up_to_their_limits)
{
	ck_assert_int_eq(decode_unlock(1024, 1024, 64, 1024), 0);
	ck_assert_int_eq(decode_unlock(0, 0, 0, 0), 0);
	ck_assert_int_eq(decode_unlock(1025, 0, 0, 0), -EBADMSG);
	ck_assert_int_eq(decode_unlock(0, 1025, 0, 0), -EBADMSG);
	ck_assert_int_eq(decode_unlock(0, 0, 65, 0), -EBADMSG);
	ck_assert_int_eq(decode_unlock(0, 0, 0, 1025), -EBADMSG);
}
END_TEST

START_TEST(no_such_procedure)
{
	struct nlm4_args args;
	struct nsm_args nsm;

	for (uint32_t procedure = 17; procedure < 20; procedure++)
		ck_assert_int_eq(nlm4_args_decode(procedure, bytes, 4, &args), -ENOSYS);
	ck_assert_int_eq(nlm4_args_decode(24, bytes, 4, &args), -ENOSYS);
	ck_assert_int_eq(nsm_args_decode(7, bytes, 4, &nsm), -ENOSYS);
}
END_TEST

/* Each procedure's own arguments are taken, and neither a byte less nor four more. */
START_TEST(all_of_it_and_no_more)
{
	static const struct {
		uint32_t procedure;
		size_t words; /* of the shortest arguments, all zeros */
	} shortest[] = {
		{ NLMPROC4_TEST, 10 },       { NLMPROC4_LOCK, 13 },        { NLMPROC4_CANCEL, 11 },
		{ NLMPROC4_UNLOCK, 9 },      { NLMPROC4_GRANTED_MSG, 10 }, { NLMPROC4_TEST_RES, 2 },
		{ NLMPROC4_GRANTED_RES, 2 }, { NLMPROC4_SM_NOTIFY, 6 },    { NLMPROC4_SHARE, 7 },
		{ NLMPROC4_NM_LOCK, 13 },    { NLMPROC4_FREE_ALL, 2 },
	};
	struct nlm4_args args;

	memset(bytes, 0, sizeof bytes);
	for (size_t i = 0; i < sizeof shortest / sizeof shortest[0]; i++)
		for (size_t words = 0; words < 20; words++)
			ck_assert_int_eq(
				nlm4_args_decode(shortest[i].procedure, bytes, 4 * words, &args),
				words == shortest[i].words ? 0 : -EBADMSG);
}
END_TEST

START_TEST(monitors_words)
{
	static const size_t words[] = {
		[NSMPROC_STAT] = 1,      [NSMPROC_MON] = 9,    [NSMPROC_UNMON] = 5,
		[NSMPROC_UNMON_ALL] = 4, [NSMPROC_NOTIFY] = 2,
	};
	struct nsm_args args;

	memset(bytes, 0, sizeof bytes);
	for (uint32_t procedure = NSMPROC_STAT; procedure <= NSMPROC_NOTIFY; procedure++)
		for (size_t count = 0; count < 12 && procedure != NSMPROC_SIMU_CRASH; count++)
			ck_assert_int_eq(nsm_args_decode(procedure, bytes, 4 * count, &args),
			                 count == words[procedure] ? 0 : -EBADMSG);
	ck_assert_int_eq(nsm_args_decode(NSMPROC_SIMU_CRASH, bytes, 0, &args), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nlm4_args");
	TCase *tcase = tcase_create("nlm4_args");

	tcase_add_test(tcase, results_are_what_the_generated_decoders_read);
	tcase_add_test(tcase, what_is_told_is_what_was_asked);
	tcase_add_test(tcase, names_and_opaques_up_to_their_limits);
	tcase_add_test(tcase, no_such_procedure);
	tcase_add_test(tcase, all_of_it_and_no_more);
	tcase_add_test(tcase, monitors_words);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
