/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_commit.h - stable writes share flushes: the state machine, free of I/O and of threads.
 *
 * One gate per open file. A waiter has written its data; it is answered once a flush that began
 * afterwards has ended. There is one flush in flight at a time: who comes while it runs waits for
 * the next, and that one covers all of them.
 *
 *     join   -> true: start a flush (group_commit_flush_begins() just before it is handed over)
 *     ends   -> the covered waiters, to be answered with the flush's result; true: start another
 *
 * A flush that failed answers everybody it covered, once, with the error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct group_commit_waiter {
	struct group_commit_waiter *next;
};

/* Zeroed: nothing in flight, nobody waits. */
struct group_commit {
	struct group_commit_waiter *waiting, **waiting_last; /* the next flush covers them */
	struct group_commit_waiter *covered;                 /* the flush in flight covers them */
	bool scheduled;                                      /* somebody will begin a flush */
	bool flushing;
};

/* Wait for a flush that begins from now on. True: the caller must begin one, soon. */
bool group_commit_join(struct group_commit *gate, struct group_commit_waiter *waiter);

/* The flush is handed to the kernel now; it covers everybody who has joined. */
void group_commit_flush_begins(struct group_commit *gate);

/* The flush has ended: returns whom it covered, in the order of joining. *ret_again: others have
 * joined meanwhile and the caller must begin another flush. */
struct group_commit_waiter *group_commit_flush_ends(struct group_commit *gate, bool *ret_again);

/* Is a flush in flight or promised? */
bool group_commit_busy(const struct group_commit *gate);
