/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What procedure 22 is answered in each dialect, byte by byte.
 */
#include "rpcgen/vaai.h"

#include <string.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

static uint8_t message[VAAI_RESULT_BYTES_MAX];
static struct xdr_out out;
static struct vaai_call call;

static uint64_t little_at(size_t at, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t) message[8 + at + i] << 8 * i;
	return value;
}

static void put_result(enum vaai_dialect dialect, enum vaai_ask ask, uint32_t number,
                       const struct vaai_result *result)
{
	call = (struct vaai_call){
		.dialect = dialect, .ask = ask, .command = number, .primitives = VAAI_CAN_CLONE
	};
	memset(message, 0xa5, VAAI_RESULT_BYTES_MAX);
	out = xdr_out(message, VAAI_RESULT_BYTES_MAX);
	vaai_put_result(&out, &call, result);
	ck_assert(!out.failed);
}

static uint32_t word(size_t at)
{
	struct xdr_in in = xdr_in(message + 4 * at, 4);

	return xdr_get_u32(&in);
}

START_TEST(a_result_of_dialect_o_has_these_bytes)
{
	const struct vaai_result result = {
		.total_bytes = 0x1122334455667788,
		.allocated_bytes = 2,
		.unique_bytes = 3,
		.done_bytes = 4,
		.state = VAAI_STATE_FINISHED,
	};

	put_result(VAAI_DIALECT_O, VAAI_PROGRESS, 4, &result);
	ck_assert_int_eq(out.at - message, 88);
	ck_assert_uint_eq(word(0), NFS3_OK);
	ck_assert_uint_eq(word(1), 80);
	ck_assert_uint_eq(little_at(0, 8), 1);
	ck_assert_uint_eq(little_at(8, 4), 4);
	ck_assert_uint_eq(little_at(12, 4), 0);
	ck_assert_uint_eq(little_at(16, 8), 0x1122334455667788);
	ck_assert_uint_eq(little_at(24, 8), 2);
	ck_assert_uint_eq(little_at(32, 8), 3);
	ck_assert_uint_eq(little_at(40, 8), 0);
	ck_assert_uint_eq(little_at(48, 8), 2);
	ck_assert_uint_eq(little_at(56, 8), 4);
	ck_assert_uint_eq(little_at(64, 8) | little_at(72, 8), 0);
}
END_TEST

START_TEST(states_of_dialect_o)
{
	static const uint64_t states[] = { 0, 1, 2, 0, 0 };

	for (unsigned i = 0; i < ARRAY_COUNT(states); i++) {
		put_result(VAAI_DIALECT_O, VAAI_PROGRESS, 4,
		           &(struct vaai_result){ .state = (enum vaai_state) i });
		ck_assert_uint_eq(little_at(48, 8), states[i]);
	}
}
END_TEST

START_TEST(failures_of_dialect_o)
{
	static const struct {
		nfsstat3 status;
		uint32_t result;
	} rows[] = {
		{ NFS3ERR_NOSPC, 1004 }, { NFS3ERR_DQUOT, 1004 }, { NFS3ERR_JUKEBOX, 1003 },
		{ NFS3ERR_ROFS, 0 },     { NFS3ERR_NOTSUPP, 0 },
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		put_result(VAAI_DIALECT_O, VAAI_CLONE, 1,
		           &(struct vaai_result){ .status = rows[i].status,
		                                  .total_bytes = 7,
		                                  .state = VAAI_STATE_FINISHED });
		ck_assert_int_eq(out.at - message, 88);
		ck_assert_uint_eq(word(0), rows[i].status);
		ck_assert_uint_eq(little_at(0, 8), 1);
		ck_assert_uint_eq(little_at(8, 4), 1);
		ck_assert_uint_eq(little_at(12, 4), rows[i].result);
		for (size_t at = 16; at < 80; at++)
			ck_assert_uint_eq(little_at(at, 1), 0);
	}
}
END_TEST

START_TEST(support_in_dialect_o)
{
	put_result(VAAI_DIALECT_O, VAAI_SUPPORT, 6,
	           &(struct vaai_result){ .primitives = VAAI_CAN_CLONE | VAAI_CAN_STAT });
	ck_assert_uint_eq(little_at(12, 4), 0);
	put_result(VAAI_DIALECT_O, VAAI_SUPPORT, 6,
	           &(struct vaai_result){ .primitives = VAAI_CAN_STAT | VAAI_CAN_RESERVE });
	ck_assert_uint_eq(word(0), NFS3_OK);
	ck_assert_uint_eq(little_at(12, 4), 1);
}
END_TEST

static const struct {
	uint32_t number;
	size_t words;
	uint32_t expected[8];
} q_results[] = {
	{ 0, 3, { 0, 0, 5 } },
	{ 1, 2, { 0, 1 } },
	{ 2, 8, { 0, 2, 0x11223344, 0x55667788, 0, 2, 0, 3 } },
	{ 3, 2, { 0, 3 } },
	{ 4, 5, { 0, 4, 3, 1, 4 } },
	{ 5, 3, { 0, 5, 3 } },
};

START_TEST(results_of_dialect_q_have_these_words)
{
	const struct vaai_result result = {
		.primitives = 5,
		.total_bytes = 0x1122334455667788,
		.allocated_bytes = 2,
		.unique_bytes = 3,
		.done_bytes = UINT64_C(1) << 32 | 4,
		.state = VAAI_STATE_FAILED,
	};

	put_result(VAAI_DIALECT_Q, VAAI_STAT, q_results[_i].number, &result);
	ck_assert_int_eq(out.at - message, (ptrdiff_t) (4 * q_results[_i].words));
	for (size_t i = 0; i < q_results[_i].words; i++)
		ck_assert_uint_eq(word(i), q_results[_i].expected[i]);
	put_result(VAAI_DIALECT_Q, VAAI_STAT, q_results[_i].number,
	           &(struct vaai_result){ .status = NFS3ERR_NOSPC, .total_bytes = 7 });
	ck_assert_int_eq(out.at - message, 4);
	ck_assert_uint_eq(word(0), NFS3ERR_NOSPC);
}
END_TEST

START_TEST(without_offload_support_is_no_and_the_rest_not_supported)
{
	for (int ask = VAAI_SUPPORT; ask <= VAAI_ABORT; ask++) {
		struct vaai_call asked = { .ask = (enum vaai_ask) ask };
		struct vaai_result result = vaai_unavailable(&asked);

		ck_assert_int_eq(result.status, ask == VAAI_SUPPORT ? NFS3_OK : NFS3ERR_NOTSUPP);
		ck_assert_uint_eq(result.primitives, 0);
		ck_assert_uint_ge(strlen(vaai_ask_name((enum vaai_ask) ask)), 4);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vaai_results");
	TCase *tcase = tcase_create("vaai_results");

	tcase_add_test(tcase, a_result_of_dialect_o_has_these_bytes);
	tcase_add_test(tcase, states_of_dialect_o);
	tcase_add_test(tcase, failures_of_dialect_o);
	tcase_add_test(tcase, support_in_dialect_o);
	tcase_add_loop_test(tcase, results_of_dialect_q_have_these_words, 0,
	                    ARRAY_COUNT(q_results));
	tcase_add_test(tcase, without_offload_support_is_no_and_the_rest_not_supported);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
