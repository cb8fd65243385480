/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data_gate.h - writes through the page cache and writes past it do not overlap in time: the state
 * machine, free of I/O and of threads.
 *
 * The kernel writes back and drops cached pages around a direct write. But it does not keep a page
 * clean meanwhile: a cached write of some other bytes of the page, begun while the direct one is
 * with the disk, would later put the page's old content over what was written directly. So there is
 * one gate per file, with any number of writes of one kind inside at once.
 *
 * Who comes while the other kind is inside, or behind somebody who waits, waits; when the last one
 * leaves, the next run of one kind is let in. So neither kind can keep the other out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct data_gate_waiter {
	struct data_gate_waiter *next;
	bool direct;
};

/* Zeroed: nobody inside. */
struct data_gate {
	unsigned inside;
	bool direct; /* those inside are */
	struct data_gate_waiter *waiting, **waiting_last;
};

/* True: inside. False: let in by a later data_gate_leave(). */
bool data_gate_enter(struct data_gate *gate, bool direct, struct data_gate_waiter *waiter);

/* Returns those who are inside from now on, in the order they came. */
struct data_gate_waiter *data_gate_leave(struct data_gate *gate);
