/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists: what is added comes out in order, and what is removed is on no list.
 */
#include <signal.h>
#include <string.h>

#include "support/check_main.h"
#include "vfs/base/list.h"

struct item {
	char name;
	struct list_node node;
};

static struct item items[] = { { .name = 'a' }, { .name = 'b' }, { .name = 'c' }, { .name = 'd' } };
static struct list_node head = LIST_INIT(head);

static void set_up(void)
{
	list_init(&head);
	for (size_t i = 0; i < ARRAY_COUNT(items); i++)
		list_node_init(&items[i].node);
}

static void add_all(void)
{
	for (size_t i = 0; i < ARRAY_COUNT(items); i++)
		list_add_tail(&head, &items[i].node);
}

/* The names in order, forwards; asserts that backwards they are the same. */
static const char *names_of(const struct list_node *list)
{
	static char names[2 * ARRAY_COUNT(items) + 1];
	size_t count = 0;

	list_for_each (node, list)
		names[count++] = container_of(node, struct item, node)->name;
	names[count] = '\0';
	for (const struct list_node *node = list->prev; node != list; node = node->prev)
		ck_assert_int_eq(container_of(node, struct item, node)->name, names[--count]);
	ck_assert_uint_eq(count, 0);
	return names;
}

START_TEST(a_new_list_is_empty)
{
	struct list_node initialised = LIST_INIT(initialised);

	ck_assert(list_empty(&head));
	ck_assert(list_empty(&initialised));
	ck_assert_ptr_null(list_first(&head));
	ck_assert_ptr_null(list_pop(&head));
	ck_assert_str_eq(names_of(&head), "");
}
END_TEST

START_TEST(tail_keeps_the_order_and_head_reverses_it)
{
	struct list_node reversed = LIST_INIT(reversed);

	add_all();
	ck_assert_str_eq(names_of(&head), "abcd");
	ck_assert_ptr_eq(list_first(&head), &items[0].node);
	for (size_t i = 0; i < ARRAY_COUNT(items); i++) {
		list_remove(&items[i].node);
		list_add_head(&reversed, &items[i].node);
	}
	ck_assert_str_eq(names_of(&reversed), "dcba");
	ck_assert(list_empty(&head));
}
END_TEST

START_TEST(a_removed_node_is_on_no_list_and_may_be_removed_again)
{
	add_all();
	ck_assert(list_linked(&items[1].node));
	list_remove(&items[1].node);
	ck_assert(!list_linked(&items[1].node));
	list_remove(&items[1].node);
	ck_assert_str_eq(names_of(&head), "acd");
}
END_TEST

START_TEST(pop_takes_the_first)
{
	add_all();
	ck_assert_ptr_eq(list_pop(&head), &items[0].node);
	ck_assert(!list_linked(&items[0].node));
	ck_assert_str_eq(names_of(&head), "bcd");
}
END_TEST

START_TEST(the_safe_loop_may_remove_what_it_stands_on)
{
	add_all();
	list_for_each_safe (node, &head) {
		if (container_of(node, struct item, node)->name != 'c')
			list_remove(node);
	}
	ck_assert_str_eq(names_of(&head), "c");
}
END_TEST

START_TEST(splice_appends_and_leaves_nothing_behind)
{
	struct list_node other = LIST_INIT(other), none = LIST_INIT(none);

	add_all();
	list_remove(&items[2].node);
	list_remove(&items[3].node);
	list_add_tail(&other, &items[2].node);
	list_add_tail(&other, &items[3].node);

	list_splice(&head, &none);
	ck_assert_str_eq(names_of(&head), "ab");
	list_splice(&head, &other);
	ck_assert_str_eq(names_of(&head), "abcd");
	ck_assert(list_empty(&other));
	list_splice(&other, &head);
	ck_assert_str_eq(names_of(&other), "abcd");
	ck_assert(list_empty(&head));
}
END_TEST

START_TEST(adding_a_node_twice_is_a_bug)
{
	list_add_tail(&head, &items[0].node);
	list_add_tail(&head, &items[0].node);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("list");
	TCase *tcase = tcase_create("list");

	tcase_add_checked_fixture(tcase, set_up, NULL);
	tcase_add_test(tcase, a_new_list_is_empty);
	tcase_add_test(tcase, tail_keeps_the_order_and_head_reverses_it);
	tcase_add_test(tcase, a_removed_node_is_on_no_list_and_may_be_removed_again);
	tcase_add_test(tcase, pop_takes_the_first);
	tcase_add_test(tcase, the_safe_loop_may_remove_what_it_stands_on);
	tcase_add_test(tcase, splice_appends_and_leaves_nothing_behind);
	tcase_add_test_raise_signal(tcase, adding_a_node_twice_is_a_bug, SIGABRT);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
