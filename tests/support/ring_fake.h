/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_fake.h - vfs/io/ring.h in memory, put in ring.c's place at link time.
 *
 * The test says how each operation ends, whenever it likes: ring_run() asks about every operation
 * that is in flight, in the order of starting, and calls back those that have an answer. As with
 * the real one, nothing is called back from inside a submission, and what a callback starts is for
 * the next run. For one thread.
 */
#pragma once

#include <limits.h>

#include "vfs/io/ring.h"

enum ring_fake_kind {
	RING_FAKE_RECV,
	RING_FAKE_RECVMSG,
	RING_FAKE_SENDMSG,
	RING_FAKE_ACCEPT,
	RING_FAKE_POLL,
	RING_FAKE_READ,
	RING_FAKE_PREAD,
	RING_FAKE_PWRITE,
	RING_FAKE_PWRITE_DURABLE,
	RING_FAKE_FDATASYNC,
};

enum {
	RING_FAKE_LATER = INT_MIN, /* no answer yet: ask again in the next run */
};

struct ring_fake_call {
	enum ring_fake_kind kind;
	struct ring_op *op;
	int fd;
	void *bytes; /* where to (RECV, READ, PREAD) or what (PWRITE...) */
	size_t count;
	uint64_t offset;
	const struct msghdr *message; /* RECVMSG, SENDMSG */
	bool cancelled;
	struct ring_fake_call *next;
};

struct ring_fake_behaviour {
	/* The result, or RING_FAKE_LATER. */
	int (*answer)(void *context, const struct ring_fake_call *call);
	/* Nothing had an answer in this run; may be NULL. */
	void (*idle)(void *context);
	void *context;
};

/* For all rings from now on. */
void ring_fake_behave(const struct ring_fake_behaviour *behaviour);
