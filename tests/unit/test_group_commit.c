/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group commit: the state machine step by step, then against a model with chance as its guide.
 */
#include "vfs/group_commit.h"

#include <stdint.h>
#include <string.h>

#include "support/check_main.h"
#include "support/random.h"
#include "vfs/base/cleanup.h"

enum {
	WAITERS = 64,
	MODEL_STEPS = 200000,
};

static struct group_commit gate;
static struct group_commit_waiter waiters[WAITERS];

static void setup(void)
{
	memset(&gate, 0, sizeof gate);
	memset(waiters, 0xa5, sizeof waiters); /* join() needs nothing of them */
}

/* The list that flush_ends() gave, against indexes into waiters[]. */
static void check_covered(const struct group_commit_waiter *first, const unsigned *want,
                          size_t want_count)
{
	for (size_t i = 0; i < want_count; i++) {
		ck_assert_ptr_eq(first, &waiters[want[i]]);
		first = first->next;
	}
	ck_assert_ptr_null(first);
}

START_TEST(the_first_to_join_begins_a_flush)
{
	bool again = true;

	ck_assert(!group_commit_busy(&gate));
	ck_assert(group_commit_join(&gate, &waiters[0]));
	ck_assert(group_commit_busy(&gate));
	group_commit_flush_begins(&gate);
	ck_assert(group_commit_busy(&gate));
	check_covered(group_commit_flush_ends(&gate, &again), (unsigned[]){ 0 }, 1);
	ck_assert(!again);
	ck_assert(!group_commit_busy(&gate));
}
END_TEST

START_TEST(who_joins_before_the_flush_begins_shares_it)
{
	bool again = true;

	ck_assert(group_commit_join(&gate, &waiters[2]));
	ck_assert(!group_commit_join(&gate, &waiters[0]));
	ck_assert(!group_commit_join(&gate, &waiters[1]));
	group_commit_flush_begins(&gate);
	check_covered(group_commit_flush_ends(&gate, &again), (unsigned[]){ 2, 0, 1 }, 3);
	ck_assert(!again);
}
END_TEST

START_TEST(who_joins_while_a_flush_runs_waits_for_the_next)
{
	bool again = false;

	ck_assert(group_commit_join(&gate, &waiters[0]));
	group_commit_flush_begins(&gate);
	ck_assert(!group_commit_join(&gate, &waiters[1]));
	ck_assert(!group_commit_join(&gate, &waiters[2]));
	check_covered(group_commit_flush_ends(&gate, &again), (unsigned[]){ 0 }, 1);
	ck_assert(again);
	ck_assert(group_commit_busy(&gate));
	/* Who ended the flush begins the next: nobody else is asked to. */
	ck_assert(!group_commit_join(&gate, &waiters[3]));
	group_commit_flush_begins(&gate);
	check_covered(group_commit_flush_ends(&gate, &again), (unsigned[]){ 1, 2, 3 }, 3);
	ck_assert(!again);
}
END_TEST

START_TEST(a_waiter_may_come_again_as_soon_as_it_was_answered)
{
	bool again;

	for (int i = 0; i < 1000; i++) {
		ck_assert(group_commit_join(&gate, &waiters[0]));
		group_commit_flush_begins(&gate);
		check_covered(group_commit_flush_ends(&gate, &again), (unsigned[]){ 0 }, 1);
		ck_assert(!again);
	}
}
END_TEST

/*
 * The model keeps for each waiter when it joined, and counts flushes. It knows nothing of lists: a
 * waiter is answered by the first flush that begins after its joining, once.
 */
struct model {
	struct random random;
	uint64_t time, flush_began;
	uint64_t joined[WAITERS]; /* 0: does not wait */
	unsigned waiting_count, answered_count, flush_count;
	bool promised, in_flight; /* somebody was told to begin one; one is running */
};

static void model_join(struct model *model)
{
	unsigned i = random_below(&model->random, WAITERS);
	bool begin;

	if (model->joined[i])
		return;
	begin = group_commit_join(&gate, &waiters[i]);
	MUST(begin == (!model->promised && !model->in_flight));
	model->promised |= begin;
	model->joined[i] = ++model->time;
	model->waiting_count++;
}

static void model_begin(struct model *model)
{
	if (!model->promised)
		return;
	MUST(!model->in_flight); /* never two at a time */
	group_commit_flush_begins(&gate);
	model->promised = false;
	model->in_flight = true;
	model->flush_began = ++model->time;
	model->flush_count++;
}

static void model_end(struct model *model)
{
	struct group_commit_waiter *waiter;
	uint64_t last = 0;
	bool again;

	if (!model->in_flight)
		return;
	for (waiter = group_commit_flush_ends(&gate, &again); waiter; waiter = waiter->next) {
		size_t i = (size_t) (waiter - waiters);

		MUST(i < WAITERS);
		ck_assert_uint_ne(model->joined[i], 0);                  /* once */
		ck_assert_uint_lt(model->joined[i], model->flush_began); /* began after it joined */
		ck_assert_uint_gt(model->joined[i], last);               /* in order */
		last = model->joined[i];
		model->joined[i] = 0;
		model->waiting_count--;
		model->answered_count++;
	}
	model->in_flight = false;
	/* All that waited when the flush began are answered: who is left came later. */
	for (size_t i = 0; i < WAITERS; i++)
		MUST(model->joined[i] == 0 || model->joined[i] > model->flush_began);
	MUST(again == (model->waiting_count > 0));
	model->promised = again;
}

START_TEST(everybody_is_answered_once_by_a_flush_that_began_later)
{
	struct model model = { .random = random_new() };

	for (unsigned step = 0; step < MODEL_STEPS; step++) {
		switch (random_below(&model.random, 4)) {
		case 0:
			model_begin(&model);
			break;
		case 1:
			model_end(&model);
			break;
		default:
			model_join(&model);
			break;
		}
		MUST(group_commit_busy(&gate) == (model.promised || model.in_flight));
	}
	while (model.promised || model.in_flight) {
		model_begin(&model);
		model_end(&model);
	}
	ck_assert_uint_eq(model.waiting_count, 0);
	ck_assert_uint_gt(model.flush_count, MODEL_STEPS / 100);
	ck_assert_uint_gt(model.answered_count, model.flush_count); /* they did share */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("group_commit");
	TCase *tcase = tcase_create("group_commit");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, the_first_to_join_begins_a_flush);
	tcase_add_test(tcase, who_joins_before_the_flush_begins_shares_it);
	tcase_add_test(tcase, who_joins_while_a_flush_runs_waits_for_the_next);
	tcase_add_test(tcase, a_waiter_may_come_again_as_soon_as_it_was_answered);
	tcase_add_test(tcase, everybody_is_answered_once_by_a_flush_that_began_later);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
