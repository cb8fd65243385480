/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token bucket beside a model of it that counts tokens; and that, whatever is taken when, no
 * stretch of time gives more than its rate and one burst.
 */
#include "nfsd/bucket.h"

#include "support/check_main.h"
#include "support/random.h"

#define S UINT64_C(1000000000)

enum {
	STEPS = 20000,
	AMOUNT_MAX = 1 << 20,
};

START_TEST(a_new_bucket_gives_a_burst_and_then_its_rate)
{
	struct bucket bucket = { 0 };
	uint64_t now = 1000 * S;

	/* 100 a second: a burst is 10, and the next may go when the account is even. */
	for (unsigned i = 0; i <= 10; i++)
		ck_assert_uint_eq(bucket_take(&bucket, 100, 1, now), 0);
	ck_assert_uint_eq(bucket_take(&bucket, 100, 1, now), S / 100);
	ck_assert_uint_eq(bucket_take(&bucket, 100, 1, now), 2 * S / 100);
	ck_assert_uint_eq(bucket_take(&bucket, 100, 1, now + 10 * S), 0);
}
END_TEST

START_TEST(rest_saves_no_more_than_a_burst)
{
	struct bucket bucket = { 0 };

	(void) bucket_take(&bucket, 100, 1, 1000 * S);
	for (unsigned i = 0; i <= 10; i++)
		ck_assert_uint_eq(bucket_take(&bucket, 100, 1, 2000 * S), 0);
	ck_assert_uint_gt(bucket_take(&bucket, 100, 1, 2000 * S), 0);
}
END_TEST

START_TEST(what_is_larger_than_a_second_goes_and_the_next_pays)
{
	struct bucket bucket = { 0 };

	ck_assert_uint_eq(bucket_take(&bucket, 1000, 5000, 100 * S), 0);
	ck_assert_uint_eq(bucket_take(&bucket, 1000, 1, 100 * S), 5 * S - BUCKET_BURST_NS);
}
END_TEST

START_TEST(what_is_given_back_was_never_taken)
{
	struct bucket bucket = { 0 }, other = { 0 };
	uint64_t now = 7 * S;

	for (unsigned i = 0; i < 20; i++) {
		(void) bucket_take(&bucket, 30, 1, now);
		(void) bucket_take(&other, 30, 1, now);
	}
	(void) bucket_take(&bucket, 30, 100, now);
	bucket_give_back(&bucket, 30, 100);
	ck_assert_uint_eq(bucket.paid_ns, other.paid_ns);
	bucket_give_back(&bucket, 1, UINT32_MAX); /* more than was taken: full, not less */
	ck_assert(bucket_is_full(&bucket, now));
}
END_TEST

START_TEST(it_is_full_again_after_a_burst_s_time)
{
	struct bucket bucket = { 0 };

	ck_assert(bucket_is_full(&bucket, 0));
	(void) bucket_take(&bucket, 10, 1, 50 * S);
	ck_assert(!bucket_is_full(&bucket, 50 * S));
	ck_assert(bucket_is_full(&bucket, 50 * S + S / 10));
}
END_TEST

/* Counts tokens, in billionths. */
struct model {
	__int128 tokens, most;
	uint64_t at_ns;
};

static uint64_t model_take(struct model *model, uint64_t rate, uint32_t count, uint64_t now_ns)
{
	uint64_t wait_ns;

	model->tokens += (__int128) (now_ns - model->at_ns) * rate;
	model->at_ns = now_ns;
	if (model->tokens > model->most)
		model->tokens = model->most;
	wait_ns = model->tokens < 0 ? (uint64_t) ((-model->tokens + rate - 1) / rate) : 0;
	model->tokens -= (__int128) count * (int64_t) S;
	return wait_ns;
}

/* Rounding is at most a nanosecond for each amount taken since it was full. */
static void compare(struct random *random, uint64_t rate)
{
	struct bucket bucket = { 0 };
	uint64_t now_ns = 1000 * S, used = 0, start_ns = now_ns;
	struct model model = { .most = (__int128) BUCKET_BURST_NS * rate, .at_ns = now_ns };

	model.tokens = model.most;
	for (unsigned i = 0; i < STEPS; i++) {
		uint32_t count = 1 + random_below(random, random_below(random, 2) ? 8 : AMOUNT_MAX);
		uint64_t wait_ns = bucket_take(&bucket, rate, count, now_ns);
		uint64_t model_ns = model_take(&model, rate, count, now_ns);

		MUST(wait_ns >= model_ns && wait_ns - model_ns <= i + 1);
		now_ns += wait_ns; /* it is used then, and never too early */
		MUST((__int128) used * (int64_t) S <=
		     (__int128) (now_ns - start_ns + BUCKET_BURST_NS) * rate);
		used += count;
		now_ns += random_below(random, 3) ? 0 : random_below(random, 300000000);
	}
}

START_TEST(it_does_as_the_model_does)
{
	static const uint64_t rates[] = { 1, 7, 100, 10000000, 1 << 20, 100000ull << 20 };
	struct random random = random_new();

	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
		compare(&random, rates[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bucket");
	TCase *tcase = tcase_create("bucket");

	tcase_add_test(tcase, a_new_bucket_gives_a_burst_and_then_its_rate);
	tcase_add_test(tcase, rest_saves_no_more_than_a_burst);
	tcase_add_test(tcase, what_is_larger_than_a_second_goes_and_the_next_pays);
	tcase_add_test(tcase, what_is_given_back_was_never_taken);
	tcase_add_test(tcase, it_is_full_again_after_a_burst_s_time);
	tcase_add_test(tcase, it_does_as_the_model_does);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
