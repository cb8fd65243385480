/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - one worker thread's event loop: its ring, a letter box that other threads post to, work
 * to do at the end of a turn, timers, and a tick.
 *
 * All functions but loop_post() and loop_stop() are for the loop's own thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vfs/base/list.h"
#include "vfs/io/ring.h"

struct loop;

/* Embedded in what is posted; may be freed or posted again inside run(). */
struct loop_task {
	void (*run)(struct loop_task *task);
	struct loop_task *next;
};

/* Embedded in who waits, its node initialised; may be freed or set again inside run(). */
struct loop_timer {
	void (*run)(struct loop_timer *timer);
	uint64_t due_ms;
	struct list_node node; /* in the loop's list while set */
};

enum {
	LOOP_TICK_MS = 250
};

/* @tick is called about every LOOP_TICK_MS. Errors and @reterr_hint as of ring_open(). */
int loop_open(void (*tick)(void *context), void *context, struct loop **ret_loop,
              const char **reterr_hint);

/* Runs what was posted and not run. Nobody may post any more, nor be inside loop_post(). */
struct loop *loop_close(struct loop *loop);

struct ring *loop_ring(struct loop *loop);

/* Thread-safe, never blocks: run @task on the loop's thread, in the order of posting. */
void loop_post(struct loop *loop, struct loop_task *task);

/* Run @task when this turn's completions have all been handled: what several of them want (one
 * flush, one send) is then done once. */
void loop_turn_end(struct loop *loop, struct loop_task *task);

/* Run @timer once, as soon as loop_now_ms() is @due_ms. It is not set now. Costs time for each that
 * is due later. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t due_ms);

/* Not any more; it may not have been set. */
void loop_timer_clear(struct loop_timer *timer);

/* Run until loop_stop(); returns 0, or a negative errno from the kernel. */
int loop_run(struct loop *loop);

/* Thread-safe. loop_run() returns after the present turn. */
void loop_stop(struct loop *loop);

/* Milliseconds of CLOCK_MONOTONIC, taken at the start of the turn. */
uint64_t loop_now_ms(const struct loop *loop);
