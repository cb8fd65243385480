/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate between cached and direct writes: step by step, then against a model with chance as its
 * guide.
 */
#include "vfs/data_gate.h"

#include <stdint.h>
#include <string.h>

#include "support/check_main.h"
#include "support/random.h"
#include "vfs/base/cleanup.h"

enum {
	WRITES = 32,
	MODEL_STEPS = 200000,
};

static struct data_gate gate;
static struct data_gate_waiter waiters[WRITES];

static void setup(void)
{
	memset(&gate, 0, sizeof gate);
	memset(waiters, 0xa5, sizeof waiters);
}

START_TEST(any_number_of_one_kind)
{
	for (unsigned direct = 0; direct < 2; direct++) {
		ck_assert(data_gate_enter(&gate, direct, &waiters[0]));
		ck_assert(data_gate_enter(&gate, direct, &waiters[1]));
		ck_assert_ptr_null(data_gate_leave(&gate));
		ck_assert_ptr_null(data_gate_leave(&gate));
	}
}
END_TEST

START_TEST(the_other_kind_waits_for_the_last_and_nobody_overtakes)
{
	struct data_gate_waiter *let_in;

	ck_assert(data_gate_enter(&gate, true, &waiters[0]));
	ck_assert(data_gate_enter(&gate, true, &waiters[1]));
	ck_assert(!data_gate_enter(&gate, false, &waiters[2]));
	ck_assert(!data_gate_enter(&gate, false, &waiters[3]));
	ck_assert(!data_gate_enter(&gate, true, &waiters[4]));
	ck_assert(!data_gate_enter(&gate, false, &waiters[5]));
	ck_assert_ptr_null(data_gate_leave(&gate));
	let_in = data_gate_leave(&gate);
	ck_assert_ptr_eq(let_in, &waiters[2]);
	ck_assert_ptr_eq(let_in->next, &waiters[3]);
	ck_assert_ptr_null(let_in->next->next);
	ck_assert_ptr_null(data_gate_leave(&gate));
	let_in = data_gate_leave(&gate);
	ck_assert_ptr_eq(let_in, &waiters[4]);
	ck_assert_ptr_null(let_in->next);
	let_in = data_gate_leave(&gate);
	ck_assert_ptr_eq(let_in, &waiters[5]);
	ck_assert_ptr_null(data_gate_leave(&gate));
	ck_assert_uint_eq(gate.inside, 0);
}
END_TEST

/* ---- the model: where each write is ---- */

enum place {
	AWAY,
	CACHED,
	DIRECT,
	WAITING,
	PLACES,
};

struct model {
	enum place places[WRITES];
	unsigned counts[PLACES], visits[PLACES];
	unsigned came[WRITES], now; /* when */
};

static void model_move(struct model *model, unsigned i, enum place to)
{
	model->counts[model->places[i]]--;
	model->places[i] = to;
	model->counts[to]++;
	model->visits[to]++;
}

static void model_enter(struct model *model, unsigned i, bool direct)
{
	bool inside = data_gate_enter(&gate, direct, &waiters[i]);

	model->came[i] = ++model->now;
	model_move(model, i, !inside ? WAITING : direct ? DIRECT : CACHED);
}

static void model_leave(struct model *model, unsigned i)
{
	struct data_gate_waiter *let_in = data_gate_leave(&gate);
	unsigned last = 0;

	model_move(model, i, AWAY);
	for (; let_in; let_in = let_in->next) {
		i = (unsigned) (let_in - waiters);
		MUST(model->places[i] == WAITING && model->came[i] > last);
		last = model->came[i];
		model_move(model, i, let_in->direct ? DIRECT : CACHED);
	}
	for (i = 0; i < WRITES; i++)
		MUST(model->places[i] != WAITING || model->came[i] > last);
}

START_TEST(never_both_kinds_inside_and_nobody_waits_for_nobody)
{
	struct random random = random_new();
	struct model model = { .counts = { [AWAY] = WRITES } };

	for (unsigned step = 0; step < MODEL_STEPS; step++) {
		unsigned i = random_below(&random, WRITES);

		if (model.places[i] == AWAY)
			model_enter(&model, i, random_below(&random, 2));
		else if (model.places[i] != WAITING)
			model_leave(&model, i);
		MUST(model.counts[CACHED] == 0 || model.counts[DIRECT] == 0);
		MUST(model.counts[WAITING] == 0 || gate.inside > 0);
		MUST(gate.inside == model.counts[CACHED] + model.counts[DIRECT]);
	}
	for (enum place place = CACHED; place < PLACES; place++)
		ck_assert_uint_gt(model.visits[place], 1000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("data_gate");
	TCase *tcase = tcase_create("data_gate");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, any_number_of_one_kind);
	tcase_add_test(tcase, the_other_kind_waits_for_the_last_and_nobody_overtakes);
	tcase_add_test(tcase, never_both_kinds_inside_and_nobody_waits_for_nobody);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
