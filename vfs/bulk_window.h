/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk_window.h - how much bulk data is on its way to one file system at once: the state machine,
 * free of I/O and of threads.
 *
 * Whatever is flushed stands in the disk's queue, and a small write's flush stands behind it. So
 * only so many bytes are inside the window at once, from before they are written until they are
 * durable; who comes when it is full waits, in the order of coming. One that is larger than the
 * window goes alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bulk_waiter {
	struct bulk_waiter *next;
	uint32_t bytes;
};

/* Zeroed but for bytes_max: nobody inside. */
struct bulk_window {
	uint64_t bytes_max, inside_bytes;
	struct bulk_waiter *waiting, **waiting_last;
};

/* waiter->bytes is set. True: inside. False: let in by a later bulk_window_leave(). */
bool bulk_window_enter(struct bulk_window *window, struct bulk_waiter *waiter);

/* One who was inside leaves. Returns those who are inside from now on, in the order they came. */
struct bulk_waiter *bulk_window_leave(struct bulk_window *window, uint32_t bytes);
