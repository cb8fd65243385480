/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c - see loop.h.
 *
 * The letter box is a stack that posters push to with one compare-and-swap; the loop takes it whole
 * and turns it round. The eventfd is written only while the loop may be asleep: `asleep` is set
 * before the box is looked at for the last time, and a poster looks at it after pushing, so no
 * letter is missed.
 */
#include "vfs/io/loop.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"

enum {
	LOOP_RING_ENTRIES = 512
};

struct loop {
	struct ring *ring;
	int wake_fd;
	struct ring_op wake_op;
	uint64_t wake_count;
	_Atomic(struct loop_task *) posted;
	atomic_bool asleep;
	atomic_bool stop;
	atomic_uint callers; /* other threads inside loop_post() or loop_stop() */
	struct loop_task *turn_end, **turn_end_last;
	struct list_node timers; /* the next due first */
	uint64_t now_ms, tick_at_ms;
	void (*tick)(void *context);
	void *context;
};

static void loop_woken(struct ring_op *op, int result)
{
	struct loop *loop = container_of(op, struct loop, wake_op);

	(void) result;
	if (!atomic_load(&loop->stop))
		ring_read(loop->ring, &loop->wake_op, loop->wake_fd, &loop->wake_count,
		          sizeof loop->wake_count);
}

int loop_open(void (*tick)(void *context), void *context, struct loop **ret_loop,
              const char **reterr_hint)
{
	struct loop *loop = calloc(1, sizeof *loop);
	int r;

	*reterr_hint = "";
	if (!loop)
		return -ENOMEM;
	loop->tick = tick;
	loop->context = context;
	loop->turn_end_last = &loop->turn_end;
	list_init(&loop->timers);
	loop->wake_op.done = loop_woken;
	loop->wake_fd = eventfd(0, EFD_CLOEXEC);
	r = loop->wake_fd < 0 ? -errno : ring_open(LOOP_RING_ENTRIES, &loop->ring, reterr_hint);
	if (r < 0) {
		loop_close(loop);
		return r;
	}
	loop->now_ms = clock_ms(CLOCK_MONOTONIC);
	ring_read(loop->ring, &loop->wake_op, loop->wake_fd, &loop->wake_count,
	          sizeof loop->wake_count);
	*ret_loop = loop;
	return 0;
}

static void loop_run_posted(struct loop *loop)
{
	struct loop_task *task = atomic_exchange(&loop->posted, NULL);
	struct loop_task *in_order = NULL;

	while (task) { /* the newest lies on top: turn the stack round */
		struct loop_task *next = task->next;

		task->next = in_order;
		in_order = task;
		task = next;
	}
	while (in_order) {
		struct loop_task *next = in_order->next;

		in_order->run(in_order);
		in_order = next;
	}
}

struct loop *loop_close(struct loop *loop)
{
	if (!loop)
		return NULL;
	assert(list_empty(&loop->timers));
	atomic_store(&loop->stop, true);
	if (loop->ring)
		loop_run_posted(loop); /* what was posted is run, at the latest now */
	if (loop->ring && loop->wake_op.in_flight) {
		ring_cancel(loop->ring, &loop->wake_op);
		while (ring_in_flight(loop->ring) > 0 && ring_run(loop->ring, 100) >= 0)
			;
	}
	/* Who posted the letter that led to this end may not have left loop_post() yet. */
	while (atomic_load(&loop->callers) > 0)
		sched_yield();
	loop->ring = ring_close(loop->ring);
	close_fd(&loop->wake_fd);
	free(loop);
	return NULL;
}

struct ring *loop_ring(struct loop *loop)
{
	return loop->ring;
}

uint64_t loop_now_ms(const struct loop *loop)
{
	return loop->now_ms;
}

static void loop_wake(struct loop *loop)
{
	static const uint64_t one = 1;

	if (atomic_exchange(&loop->asleep, false))
		(void) !write(loop->wake_fd, &one, sizeof one);
}

void loop_post(struct loop *loop, struct loop_task *task)
{
	struct loop_task *head;

	assert(task->run);
	atomic_fetch_add(&loop->callers, 1);
	head = atomic_load(&loop->posted);
	do {
		task->next = head;
	} while (!atomic_compare_exchange_weak(&loop->posted, &head, task));
	loop_wake(loop);
	atomic_fetch_sub(&loop->callers, 1);
}

void loop_stop(struct loop *loop)
{
	atomic_fetch_add(&loop->callers, 1);
	atomic_store(&loop->stop, true);
	loop_wake(loop);
	atomic_fetch_sub(&loop->callers, 1);
}

void loop_turn_end(struct loop *loop, struct loop_task *task)
{
	assert(task->run);
	task->next = NULL;
	*loop->turn_end_last = task;
	loop->turn_end_last = &task->next;
}

/* Tasks may add further ones; they still belong to this turn. */
static void loop_run_turn_end(struct loop *loop)
{
	while (loop->turn_end) {
		struct loop_task *task = loop->turn_end;

		loop->turn_end = task->next;
		if (!loop->turn_end)
			loop->turn_end_last = &loop->turn_end;
		task->run(task);
	}
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t due_ms)
{
	struct list_node *before = loop->timers.prev;

	assert(timer->run && !list_linked(&timer->node));
	while (before != &loop->timers &&
	       container_of(before, struct loop_timer, node)->due_ms > due_ms)
		before = before->prev;
	timer->due_ms = due_ms;
	list_insert_between(&timer->node, before, before->next);
}

void loop_timer_clear(struct loop_timer *timer)
{
	if (list_linked(&timer->node))
		list_remove(&timer->node);
}

/* When the first timer is due, or the tick. */
static uint64_t loop_due_ms(const struct loop *loop)
{
	const struct list_node *first = list_first(&loop->timers);
	uint64_t timer_ms = first ? container_of(first, struct loop_timer, node)->due_ms
	                          : UINT64_MAX;

	return timer_ms < loop->tick_at_ms ? timer_ms : loop->tick_at_ms;
}

/* Those that are set meanwhile and due at once wait for the next turn. */
static void loop_run_timers(struct loop *loop)
{
	struct list_node due = LIST_INIT(due), *node;

	while ((node = list_first(&loop->timers)) &&
	       container_of(node, struct loop_timer, node)->due_ms <= loop->now_ms) {
		list_remove(node);
		list_add_tail(&due, node);
	}
	while ((node = list_pop(&due))) {
		struct loop_timer *timer = container_of(node, struct loop_timer, node);

		timer->run(timer); /* timer may be gone */
	}
}

static unsigned loop_wait_ms(struct loop *loop)
{
	uint64_t due_ms = loop_due_ms(loop);

	atomic_store(&loop->asleep, true);
	if (atomic_load(&loop->posted) || atomic_load(&loop->stop))
		return 0;
	return due_ms > loop->now_ms ? (unsigned) (due_ms - loop->now_ms) : 0;
}

int loop_run(struct loop *loop)
{
	int r = 0;

	while (r >= 0 && !atomic_load(&loop->stop)) {
		r = ring_run(loop->ring, loop_wait_ms(loop));
		atomic_store(&loop->asleep, false);
		loop->now_ms = clock_ms(CLOCK_MONOTONIC);
		loop_run_posted(loop);
		loop_run_timers(loop);
		if (loop->now_ms >= loop->tick_at_ms) {
			loop->tick_at_ms = loop->now_ms + LOOP_TICK_MS;
			loop->tick(loop->context);
		}
		loop_run_turn_end(loop);
	}
	return r < 0 ? r : 0;
}
