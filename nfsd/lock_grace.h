/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_grace.h - after a restart: who may lock, and what the numbers of NSM say. Pure.
 *
 * While the grace period lasts only locks that were held before may be taken again (RECLAIM);
 * afterwards only new ones. READ, WRITE and all else know nothing of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lock_grace {
	uint64_t until_ms; /* 0: there is none */
};

/* Somebody held locks when the last server ended (@hosts of them): wait @grace_ms. Nobody did:
 * there is nothing to wait for. */
void lock_grace_begin(struct lock_grace *grace, unsigned hosts, uint64_t now_ms, uint64_t grace_ms);

bool lock_grace_lasts(const struct lock_grace *grace, uint64_t now_ms);

/* May a lock be taken now? @reclaim: one that was held before. */
bool lock_grace_admits(const struct lock_grace *grace, uint64_t now_ms, bool reclaim);

/* NSM's state numbers (Open Group C702, chapter 11): odd while a host is up, even while it is down,
 * larger with each change; they may wrap. */
int32_t lock_state_after(int32_t state); /* that of the next start */

/* Has a host restarted between these two? 0, which clients send that are not monitored yet, tells
 * nothing. */
bool lock_state_is_newer(int32_t known, int32_t told);
