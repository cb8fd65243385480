/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop: letters from other threads, the end of a turn, the tick, the stop. Other threads
 * than the main one count mistakes instead of asserting.
 */
#include "vfs/io/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

enum {
	POSTERS = 4,
	LETTERS = 5000,
};

static struct loop *loop;
static unsigned tick_count;

static void tick(void *context)
{
	ck_assert_ptr_eq(context, &tick_count);
	tick_count++;
}

static void setup(void)
{
	const char *hint = NULL;

	tick_count = 0;
	ck_assert_int_eq(loop_open(tick, &tick_count, &loop, &hint), 0);
	ck_assert_ptr_nonnull(loop_ring(loop));
}

static void teardown(void)
{
	loop = loop_close(loop);
	ck_assert_ptr_null(loop);
	ck_assert_ptr_null(loop_close(NULL));
}

static uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static void stop(struct loop_task *task)
{
	(void) task;
	loop_stop(loop);
}

/* ---- letters ---- */

struct letter {
	struct loop_task task;
	unsigned poster, number;
};

static unsigned next_of[POSTERS], arrived;

static void letter_arrived(struct loop_task *task)
{
	const struct letter *letter = container_of(task, struct letter, task);

	ck_assert_uint_eq(letter->number, next_of[letter->poster]++);
	if (++arrived == POSTERS * LETTERS)
		loop_stop(loop);
}

static struct letter letters[POSTERS][LETTERS];

static void *poster(void *arg)
{
	unsigned number = (unsigned) (uintptr_t) arg;

	for (unsigned i = 0; i < LETTERS; i++) {
		letters[number][i] = (struct letter){
			.task.run = letter_arrived,
			.poster = number,
			.number = i,
		};
		loop_post(loop, &letters[number][i].task);
		if (i % 512 == 0)
			usleep(1000); /* so that the loop goes to sleep now and then */
	}
	return NULL;
}

START_TEST(letters_of_many_threads_arrive_each_once_and_in_order)
{
	pthread_t threads[POSTERS];

	for (uintptr_t i = 0; i < POSTERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, poster, (void *) i), 0);
	ck_assert_int_eq(loop_run(loop), 0);
	for (size_t i = 0; i < POSTERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(arrived, POSTERS * LETTERS);
}
END_TEST

static uint64_t late_at_ms;

static void late_arrived(struct loop_task *task)
{
	late_at_ms = clock_ms();
	loop_stop(loop);
}

static void *late_poster(void *arg)
{
	static struct loop_task late = { .run = late_arrived };
	uint64_t *posted_ms = arg;

	usleep(30 * 1000); /* the loop sleeps by now */
	*posted_ms = clock_ms();
	loop_post(loop, &late);
	return NULL;
}

START_TEST(a_letter_wakes_a_loop_that_sleeps)
{
	uint64_t posted_ms;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, late_poster, &posted_ms), 0);
	ck_assert_int_eq(loop_run(loop), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_lt(late_at_ms - posted_ms, LOOP_TICK_MS / 2); /* not by the next tick */
}
END_TEST

static unsigned posted_again;

static void post_again(struct loop_task *task)
{
	if (++posted_again == 100)
		loop_stop(loop);
	else
		loop_post(loop, task);
}

START_TEST(a_letter_may_be_posted_again_while_it_is_read)
{
	struct loop_task task = { .run = post_again };

	loop_post(loop, &task);
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_uint_eq(posted_again, 100);
}
END_TEST

static void free_letter(struct loop_task *task)
{
	free(task);
}

START_TEST(a_letter_may_be_freed_while_it_is_read)
{
	struct loop_task last = { .run = stop };

	for (int i = 0; i < 10; i++) {
		struct loop_task *task = calloc(1, sizeof *task);

		ck_assert_ptr_nonnull(task);
		task->run = free_letter;
		loop_post(loop, task);
	}
	loop_post(loop, &last);
	ck_assert_int_eq(loop_run(loop), 0);
}
END_TEST

/* ---- the end of a turn ---- */

static char trace[64];

static void trace_add(char what)
{
	size_t used = strlen(trace);

	ck_assert_uint_lt(used + 1, sizeof trace);
	trace[used] = what;
}

static void at_end_more(struct loop_task *task)
{
	trace_add('2');
}

static void at_end(struct loop_task *task)
{
	static struct loop_task more = { .run = at_end_more };

	trace_add('1');
	loop_turn_end(loop, &more); /* still of this turn */
}

static void in_turn(struct loop_task *task)
{
	static struct loop_task end = { .run = at_end };
	static bool scheduled;

	trace_add('p');
	if (!scheduled)
		loop_turn_end(loop, &end);
	scheduled = true;
}

static void next_turn(struct loop_task *task)
{
	static unsigned turns;

	trace_add('n');
	if (++turns == 2)
		loop_stop(loop);
	else
		loop_post(loop, task);
}

static void start_both(struct loop_task *task)
{
	static struct loop_task next = { .run = next_turn };

	loop_post(loop, &next); /* read in the next turn */
}

START_TEST(the_end_of_a_turn_comes_after_all_its_letters)
{
	struct loop_task a = { .run = in_turn }, b = { .run = in_turn }, c = { .run = start_both },
			 d = { .run = in_turn };

	loop_post(loop, &a);
	loop_post(loop, &b);
	loop_post(loop, &c);
	loop_post(loop, &d);
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_str_eq(trace, "ppp12nn");
}
END_TEST

static void read_done(struct ring_op *op, int result)
{
	static struct loop_task end = { .run = at_end };

	ck_assert_int_eq(result, 1);
	trace_add('r');
	if (strlen(trace) == 1)
		loop_turn_end(loop, &end);
}

START_TEST(the_end_of_a_turn_comes_after_all_its_completions)
{
	struct ring_op ops[3] = { { .done = read_done },
		                  { .done = read_done },
		                  { .done = read_done } };
	struct loop_task last = { .run = stop };
	char bytes[3];
	int fds[2];

	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(write(fds[1], "abc", 3), 3);
	for (int i = 0; i < 3; i++)
		ring_read(loop_ring(loop), &ops[i], fds[0], &bytes[i], 1);
	loop_post(loop, &last);
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_str_eq(trace, "rrr12");
	close(fds[0]);
	close(fds[1]);
}
END_TEST

/* ---- time and the end ---- */

static void *stop_later(void *arg)
{
	usleep((useconds_t) (uintptr_t) arg * 1000);
	loop_stop(loop);
	return NULL;
}

START_TEST(the_tick_comes_about_every_250_ms_and_at_once)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, stop_later, (void *) 900), 0);
	ck_assert_int_eq(loop_run(loop), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_ge(tick_count, 3);
	ck_assert_uint_le(tick_count, 5);
}
END_TEST

START_TEST(a_stop_from_another_thread_wakes_the_loop)
{
	uint64_t begin_ms = clock_ms();
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, stop_later, (void *) 30), 0);
	ck_assert_int_eq(loop_run(loop), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_lt(clock_ms() - begin_ms, LOOP_TICK_MS);
}
END_TEST

START_TEST(a_loop_that_was_stopped_before_does_not_run)
{
	loop_stop(loop);
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_uint_eq(tick_count, 0);
}
END_TEST

static uint64_t turn_ms[2];

static void read_clock(struct loop_task *task)
{
	turn_ms[0] = loop_now_ms(loop);
	usleep(20 * 1000);
	turn_ms[1] = loop_now_ms(loop);
	loop_stop(loop);
}

START_TEST(the_time_of_a_turn_stands_still)
{
	struct loop_task task = { .run = read_clock };

	loop_post(loop, &task);
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_uint_eq(turn_ms[0], turn_ms[1]);
	ck_assert_uint_le(clock_ms() - turn_ms[0], 1000);
}
END_TEST

/* ---- timers ---- */

enum {
	TIMERS = 5
};

static struct loop_timer timers[TIMERS];

static void timer_run(struct loop_timer *timer)
{
	ck_assert_uint_ge(loop_now_ms(loop), timer->due_ms);
	trace_add((char) ('0' + (timer - timers)));
	if (timer == &timers[1])
		loop_timer_clear(&timers[2]); /* due in the same turn, perhaps */
	if (timer == &timers[3])
		loop_stop(loop);
}

START_TEST(timers_run_in_the_order_in_which_they_are_due)
{
	static const unsigned due_ms[TIMERS] = { 30, 10, 11, 60, 60000 };
	uint64_t start_ms = loop_now_ms(loop);

	for (unsigned i = 0; i < TIMERS; i++) {
		timers[i].run = timer_run;
		list_node_init(&timers[i].node);
		loop_timer_set(loop, &timers[i], start_ms + due_ms[i]);
	}
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_str_eq(trace, "103");
	ck_assert_uint_ge(clock_ms() - start_ms, 60);
	loop_timer_clear(&timers[4]);
	loop_timer_clear(&timers[4]);
}
END_TEST

static void timer_again(struct loop_timer *timer)
{
	trace_add('a');
	if (strlen(trace) == 10)
		loop_stop(loop);
	else
		loop_timer_set(loop, timer, loop_now_ms(loop));
}

START_TEST(a_timer_may_be_set_again_while_it_runs)
{
	timers[0].run = timer_again;
	list_node_init(&timers[0].node);
	loop_timer_set(loop, &timers[0], 0);
	ck_assert_int_eq(loop_run(loop), 0);
	ck_assert_str_eq(trace, "aaaaaaaaaa");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loop");
	TCase *tcase = tcase_create("loop");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, letters_of_many_threads_arrive_each_once_and_in_order);
	tcase_add_test(tcase, a_letter_wakes_a_loop_that_sleeps);
	tcase_add_test(tcase, a_letter_may_be_posted_again_while_it_is_read);
	tcase_add_test(tcase, a_letter_may_be_freed_while_it_is_read);
	tcase_add_test(tcase, the_end_of_a_turn_comes_after_all_its_letters);
	tcase_add_test(tcase, the_end_of_a_turn_comes_after_all_its_completions);
	tcase_add_test(tcase, the_tick_comes_about_every_250_ms_and_at_once);
	tcase_add_test(tcase, a_stop_from_another_thread_wakes_the_loop);
	tcase_add_test(tcase, a_loop_that_was_stopped_before_does_not_run);
	tcase_add_test(tcase, the_time_of_a_turn_stands_still);
	tcase_add_test(tcase, timers_run_in_the_order_in_which_they_are_due);
	tcase_add_test(tcase, a_timer_may_be_set_again_while_it_runs);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
