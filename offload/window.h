/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h - how many bytes copies may have in flight on a disk. Pure; the callers' lock.
 *
 * Who else has work on the disk is seen by its flushes: a lock's refresh, a stable write, a guest's
 * own flush each are one, and on a disk that serves machines none of them is away for long. Beside
 * others there is little in flight, so that their calls wait for little; alone as much as keeps the
 * disk busy.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	WINDOW_BYTES_MIN = 512 << 10,
	WINDOW_BYTES_UNKNOWN = 2 << 20, /* it cannot be told who flushes */
	WINDOW_BYTES_MAX = 8 << 20,
	WINDOW_PIECE_BYTES_MIN = 64 << 10, /* of a copy among many */
	/* ESXi refreshes a lock every 10 s. */
	WINDOW_QUIET_MS = 12000,
	WINDOW_GROW_MS = 20, /* then twice as much */
};

struct window {
	uint64_t flushes; /* of the disk, at the last look */
	bool known;       /* there was one */
	bool blurred;     /* we flushed since: what was counted may be ours */
	uint64_t busy_ns; /* when another's flush was seen; 0: never */
	uint64_t grown_ns;
	uint32_t bytes; /* 0: begin small */
};

/* How many flushes a disk has had: @stat is what /sys/block/DISK/stat says. -EPROTO. */
int window_flushes(const char *stat, uint64_t *ret_flushes);

/* @flushes: the disk's count. @ours: we are flushing it right now. @now_ns: a steady clock's. */
void window_look(struct window *window, uint64_t flushes, bool ours, uint64_t now_ns);

/* What one of @copies may have in flight, in whole pieces of WINDOW_PIECE_BYTES_MIN. */
uint32_t window_share(const struct window *window, unsigned copies);
