/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window of bulk data: step by step, then with chance as the guide.
 */
#include "vfs/bulk_window.h"

#include <string.h>

#include "support/check_main.h"
#include "support/random.h"
#include "vfs/base/cleanup.h"

enum {
	WINDOW_BYTES = 100,
	WRITES = 32,
	MODEL_STEPS = 200000,
};

static struct bulk_window window;
static struct bulk_waiter waiters[WRITES];

static void setup(void)
{
	window = (struct bulk_window){ .bytes_max = WINDOW_BYTES };
	memset(waiters, 0xa5, sizeof waiters);
}

static bool enter(unsigned i, uint32_t bytes)
{
	waiters[i].bytes = bytes;
	return bulk_window_enter(&window, &waiters[i]);
}

START_TEST(who_finds_it_full_waits_and_nobody_overtakes)
{
	struct bulk_waiter *let_in;

	ck_assert(enter(0, 60));
	ck_assert(enter(1, 40));
	ck_assert(!enter(2, 70));
	ck_assert(!enter(3, 1));
	ck_assert(!enter(4, 1));
	ck_assert_ptr_null(bulk_window_leave(&window, 40));
	let_in = bulk_window_leave(&window, 60);
	ck_assert_ptr_eq(let_in, &waiters[2]);
	ck_assert_ptr_eq(let_in->next, &waiters[3]);
	ck_assert_ptr_eq(let_in->next->next, &waiters[4]);
	ck_assert_ptr_null(let_in->next->next->next);
	ck_assert_uint_eq(window.inside_bytes, 72);
}
END_TEST

START_TEST(what_is_larger_than_the_window_goes_alone)
{
	ck_assert(enter(0, 1));
	ck_assert(!enter(1, WINDOW_BYTES + 1));
	ck_assert_ptr_eq(bulk_window_leave(&window, 1), &waiters[1]);
	ck_assert(!enter(2, 1));
	ck_assert_ptr_eq(bulk_window_leave(&window, WINDOW_BYTES + 1), &waiters[2]);
	ck_assert_ptr_null(bulk_window_leave(&window, 1));
	ck_assert_uint_eq(window.inside_bytes, 0);
}
END_TEST

START_TEST(sums_do_not_wrap)
{
	window.bytes_max = UINT64_MAX;
	for (unsigned i = 0; i < WRITES; i++)
		ck_assert(enter(i, UINT32_MAX));
	ck_assert_uint_eq(window.inside_bytes, (uint64_t) WRITES * UINT32_MAX);
}
END_TEST

/* ---- against a model: who is where, and since when ---- */

enum place {
	AWAY,
	WAITING,
	INSIDE,
};

struct model {
	enum place places[WRITES];
	unsigned came[WRITES], now, waits;
};

static uint64_t model_inside_bytes(const struct model *model, unsigned *ret_count)
{
	uint64_t bytes = 0;

	*ret_count = 0;
	for (unsigned i = 0; i < WRITES; i++)
		if (model->places[i] == INSIDE) {
			bytes += waiters[i].bytes;
			(*ret_count)++;
		}
	return bytes;
}

/* Those that still wait came later: nobody was overtaken. */
static void model_let_in(struct model *model, unsigned i)
{
	MUST(model->places[i] == WAITING);
	for (unsigned other = 0; other < WRITES; other++)
		MUST(model->places[other] != WAITING || model->came[other] >= model->came[i]);
	model->places[i] = INSIDE;
}

static void model_step(struct model *model, struct random *random)
{
	unsigned i = random_below(random, WRITES);
	struct bulk_waiter *let_in;

	if (model->places[i] == AWAY) {
		bool inside = enter(i, random_below(random, WINDOW_BYTES + 20) + 1);

		model->places[i] = inside ? INSIDE : WAITING;
		model->came[i] = ++model->now;
		model->waits += !inside;
	} else if (model->places[i] == INSIDE) {
		model->places[i] = AWAY;
		let_in = bulk_window_leave(&window, waiters[i].bytes);
		for (; let_in; let_in = let_in->next)
			model_let_in(model, (unsigned) (let_in - waiters));
	}
}

START_TEST(never_more_than_the_window_and_everybody_gets_in)
{
	struct random random = random_new();
	struct model model = { 0 };
	unsigned count;
	uint64_t bytes;

	for (unsigned step = 0; step < MODEL_STEPS; step++) {
		model_step(&model, &random);
		bytes = model_inside_bytes(&model, &count);
		MUST(window.inside_bytes == bytes);
		MUST(bytes <= WINDOW_BYTES || count == 1);
		MUST(bytes > 0 || !window.waiting);
	}
	ck_assert_uint_gt(model.waits, MODEL_STEPS / 100);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bulk_window");
	TCase *tcase = tcase_create("bulk_window");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, who_finds_it_full_waits_and_nobody_overtakes);
	tcase_add_test(tcase, what_is_larger_than_the_window_goes_alone);
	tcase_add_test(tcase, sums_do_not_wrap);
	tcase_add_test(tcase, never_more_than_the_window_and_everybody_gets_in);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
