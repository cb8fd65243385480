/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/io/share.h"

#include "support/check_main.h"
#include "support/random.h"
#include "vfs/base/cleanup.h"

enum {
	NODES = 400,
	GROUPS = 5,
	STEPS = 200000,
	MOST_MAX = 20,
};

struct member {
	struct share_node node;
	unsigned number; /* how manieth of its group it was added */
	bool running, waiting;
};

static struct share share;
static struct member members[NODES];

static unsigned take_all(void)
{
	unsigned count = 0;

	while (share_take(&share))
		count++;
	return count;
}

static void add(unsigned first, unsigned count, uint64_t group)
{
	for (unsigned i = first; i < first + count; i++)
		share_add(&share, &members[i].node, group);
}

START_TEST(each_group_that_is_stuck_gets_half_of_what_is_left)
{
	share_init(&share, 32);
	for (unsigned group = 0; group < 5; group++) {
		add(group * 40, 40, group);
		ck_assert_uint_eq(take_all(), 16u >> group);
	}
	ck_assert(!share_is_ready(&share));
}
END_TEST

START_TEST(one_thread_serves_everybody_in_turn)
{
	share_init(&share, 1);
	add(0, 2, 1);
	add(2, 2, 2);
	for (unsigned i = 0; i < 4; i++) {
		static const unsigned order[] = { 0, 2, 1, 3 };
		struct share_node *node = share_take(&share);

		ck_assert_ptr_eq(node, &members[order[i]].node);
		ck_assert_ptr_null(share_take(&share));
		share_end(&share, node->group);
	}
	ck_assert(!share_is_ready(&share));
}
END_TEST

START_TEST(what_ends_makes_way)
{
	share_init(&share, 8);
	add(0, 10, 3);
	ck_assert_uint_eq(take_all(), 4);
	share_end(&share, 3);
	ck_assert(share_is_ready(&share));
	ck_assert_uint_eq(take_all(), 1);
}
END_TEST

/* What is added when, begins when and ends when is chance; the rules hold all the time. */
static void try_long(struct random *random, unsigned most)
{
	unsigned added[GROUPS] = { 0 }, begun[GROUPS] = { 0 }, running[GROUPS] = { 0 }, all = 0;

	share_init(&share, most);
	for (unsigned i = 0; i < NODES; i++)
		members[i].running = members[i].waiting = false;
	for (unsigned step = 0; step < STEPS; step++) {
		struct member *member = &members[random_below(random, NODES)];
		unsigned group = random_below(random, GROUPS);
		struct share_node *node;

		if (member->running) {
			share_end(&share, member->node.group);
			running[member->node.group]--;
			all--;
			member->running = false;
		} else if (!member->waiting) {
			member->waiting = true;
			member->number = added[group]++;
			share_add(&share, &member->node, group);
		}
		MUST(share_is_ready(&share) || all > 0 || added[group] == begun[group]);
		node = share_take(&share);
		if (!node)
			continue;
		member = container_of(node, struct member, node);
		MUST(member->waiting && member->number == begun[node->group]++);
		MUST(running[node->group] < most - all);
		member->waiting = false;
		member->running = true;
		running[node->group]++;
		MUST(++all <= most);
	}
}

START_TEST(the_rules_hold_whatever_happens)
{
	struct random random = random_new();

	for (unsigned most = 1; most <= MOST_MAX; most++)
		try_long(&random, most);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("share");
	TCase *tcase = tcase_create("share");

	tcase_add_test(tcase, each_group_that_is_stuck_gets_half_of_what_is_left);
	tcase_add_test(tcase, one_thread_serves_everybody_in_turn);
	tcase_add_test(tcase, what_ends_makes_way);
	tcase_add_test(tcase, the_rules_hold_whatever_happens);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
