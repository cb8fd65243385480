/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.h - the memory that requests and replies lie in: a few sizes, counted, bounded.
 *
 * One pool belongs to one thread, and so do its buffers' reference counts; a job on another thread
 * may use a buffer's bytes while somebody on the owner's thread holds a reference for it. All pools
 * draw on one budget; when it is spent, buffer_get() says so and the caller stops receiving.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BUFFER_ALIGN_BYTES = 4096, /* of bytes, in buffers of BUFFER_ALIGN_BYTES and more */
	/* A WRITE of 1 MiB with everything around it, and as much again of the next call. */
	BUFFER_BYTES_MAX = (1 << 20) + (128 << 10),
};

struct buffer_budget {
	atomic_size_t used_bytes;
	size_t limit_bytes;
};

struct buffer_pool;

struct buffer {
	uint8_t *bytes;
	uint32_t capacity_bytes;
	uint32_t refs;
	uint32_t class;
	struct buffer_pool *pool;
	struct buffer *next; /* the pool's, while free */
};

struct buffer_pool *buffer_pool_new(struct buffer_budget *budget);

/* All buffers have come back. Takes NULL. */
struct buffer_pool *buffer_pool_free(struct buffer_pool *pool);

/* A buffer with room for @bytes_min (at most BUFFER_BYTES_MAX) and one reference; NULL if the
 * budget is spent or memory is short. */
struct buffer *buffer_get(struct buffer_pool *pool, size_t bytes_min);

struct buffer *buffer_ref(struct buffer *buffer);

/* Takes NULL; returns NULL. */
struct buffer *buffer_unref(struct buffer *buffer);

/* Give part of what lies unused back to the system; call it now and then. */
void buffer_pool_trim(struct buffer_pool *pool);

/* How much of the budget is spent, in percent. */
unsigned buffer_budget_percent(const struct buffer_budget *budget);

/* Has the budget room for another large buffer? */
bool buffer_budget_has_room(const struct buffer_budget *budget);
