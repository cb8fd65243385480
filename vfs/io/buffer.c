/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/io/buffer.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>

#include "vfs/base/cleanup.h"

/* What replies and receives need, each with room for headers: a reply without data; a block of 4
 * KiB; 64 KiB; 256 KiB; the largest. */
static const uint32_t buffer_class_bytes[] = {
	1 << 10, 8 << 10, (64 << 10) + (8 << 10), (256 << 10) + (16 << 10), BUFFER_BYTES_MAX,
};
enum {
	BUFFER_CLASSES = ARRAY_COUNT(buffer_class_bytes)
};

struct buffer_pool {
	struct buffer_budget *budget;
	struct buffer *free[BUFFER_CLASSES];
	uint32_t free_count[BUFFER_CLASSES];
	uint32_t free_low[BUFFER_CLASSES]; /* fewest lying unused since the last trim */
	uint32_t out_count;                /* buffers in somebody's hands */
};

struct buffer_pool *buffer_pool_new(struct buffer_budget *budget)
{
	struct buffer_pool *pool = calloc(1, sizeof *pool);

	if (pool)
		pool->budget = budget;
	return pool;
}

static uint32_t buffer_class(size_t bytes_min)
{
	uint32_t class = 0;

	assert(bytes_min <= BUFFER_BYTES_MAX);
	while (buffer_class_bytes[class] < bytes_min)
		class ++;
	return class;
}

static bool buffer_budget_take(struct buffer_budget *budget, size_t bytes)
{
	size_t used = atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);

	do {
		if (bytes >
		    budget->limit_bytes - (used < budget->limit_bytes ? used : budget->limit_bytes))
			return false;
	} while (!atomic_compare_exchange_weak(&budget->used_bytes, &used, used + bytes));
	return true;
}

unsigned buffer_budget_percent(const struct buffer_budget *budget)
{
	size_t used = atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);

	return (unsigned) (used * 100 / budget->limit_bytes);
}

bool buffer_budget_has_room(const struct buffer_budget *budget)
{
	size_t used = atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);

	return used + BUFFER_BYTES_MAX <= budget->limit_bytes;
}

static struct buffer *buffer_new(struct buffer_pool *pool, uint32_t class)
{
	uint32_t bytes = buffer_class_bytes[class];
	struct buffer *buffer;

	if (!buffer_budget_take(pool->budget, bytes))
		return NULL;
	buffer = calloc(1, sizeof *buffer);
	if (buffer)
		buffer->bytes = bytes < BUFFER_ALIGN_BYTES
		                        ? malloc(bytes)
		                        : aligned_alloc(BUFFER_ALIGN_BYTES, bytes);
	if (!buffer || !buffer->bytes) {
		atomic_fetch_sub(&pool->budget->used_bytes, bytes);
		free(buffer);
		return NULL;
	}
	buffer->capacity_bytes = bytes;
	buffer->class = class;
	buffer->pool = pool;
	return buffer;
}

static void buffer_release(struct buffer *buffer)
{
	atomic_fetch_sub(&buffer->pool->budget->used_bytes, buffer->capacity_bytes);
	free(buffer->bytes);
	free(buffer);
}

static struct buffer *buffer_take_free(struct buffer_pool *pool, uint32_t class)
{
	struct buffer *buffer = pool->free[class];

	if (!buffer)
		return NULL;
	pool->free[class] = buffer->next;
	pool->free_count[class]--;
	if (pool->free_count[class] < pool->free_low[class])
		pool->free_low[class] = pool->free_count[class];
	return buffer;
}

struct buffer *buffer_get(struct buffer_pool *pool, size_t bytes_min)
{
	uint32_t class = buffer_class(bytes_min);
	struct buffer *buffer = buffer_take_free(pool, class);

	if (!buffer) {
		pool->free_low[class] = 0;
		buffer = buffer_new(pool, class);
	}
	if (!buffer)
		return NULL;
	assert(buffer->refs == 0);
	buffer->refs = 1;
	pool->out_count++;
	return buffer;
}

struct buffer *buffer_ref(struct buffer *buffer)
{
	assert(buffer->refs > 0);
	buffer->refs++;
	return buffer;
}

struct buffer *buffer_unref(struct buffer *buffer)
{
	struct buffer_pool *pool;

	if (!buffer)
		return NULL;
	assert(buffer->refs > 0);
	if (--buffer->refs > 0)
		return NULL;
	pool = buffer->pool;
	pool->out_count--;
	buffer->next = pool->free[buffer->class];
	pool->free[buffer->class] = buffer;
	pool->free_count[buffer->class]++;
	return NULL;
}

static void buffer_pool_drop(struct buffer_pool *pool, uint32_t class, uint32_t count)
{
	while (count-- > 0 && pool->free[class])
		buffer_release(buffer_take_free(pool, class));
}

/* What nobody needed since the last time goes by halves, so a load that breathes keeps its
 * buffers. */
void buffer_pool_trim(struct buffer_pool *pool)
{
	for (uint32_t class = 0; class < BUFFER_CLASSES; class ++) {
		buffer_pool_drop(pool, class, (pool->free_low[class] + 1) / 2);
		pool->free_low[class] = pool->free_count[class];
	}
}

struct buffer_pool *buffer_pool_free(struct buffer_pool *pool)
{
	if (!pool)
		return NULL;
	assert(pool->out_count == 0);
	for (uint32_t class = 0; class < BUFFER_CLASSES; class ++)
		buffer_pool_drop(pool, class, UINT32_MAX);
	free(pool);
	return NULL;
}
