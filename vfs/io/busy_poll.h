/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy_poll.h - whether it is worth looking for what comes next for a moment before a thread goes
 * to sleep. Pure.
 *
 * Waking a thread up takes longer than a call that is answered from the page cache. A client that
 * has one call in flight sends the next a moment after it was answered; who sends now and then does
 * not. What happened the last times decides: every look that found something counts for the next
 * one, one in vain counts twice against it, and when none is trusted one wait in PROBE_EVERY tries.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	BUSY_POLL_TRUST_MAX = 8,
	BUSY_POLL_PROBE_EVERY = 32,
};

struct busy_poll {
	uint64_t span_ns; /* for how long to look at most; 0: never */
	unsigned trust, waits;
};

/* Before a wait: for how long to look, 0 for not at all. */
uint64_t busy_poll_begin(struct busy_poll *busy);

/* It was looked for so long: did something come in that time? */
void busy_poll_end(struct busy_poll *busy, bool found);
