/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The duplicate request cache.
 *
 * Everything is allocated at the start: entries, buckets, and for each entry room for the longest
 * reply of its class. The key's hash picks a shard, which has a mutex, a hash table and, for each
 * class, a pool of entries. An entry is in one of three states, and where it is linked follows:
 *
 *     FREE     pool's free list
 *     RUNNING  bucket                  whoever began it holds a pointer, and ends it
 *     DONE     bucket, pool's done list (by the time it was done, oldest first)
 *
 * So only a reply can be evicted or grow too old, never a running call. A look-up by a resent call
 * does not move a reply to the end of the list: how long it is kept counts from the answer.
 */
#include "nfsd/reply_cache.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/list.h"

enum {
	SHARDS_MAX = 16,
	SHARD_ENTRIES_MIN = 64, /* of each class: or the fewer shards */
	EXPIRE_PER_CALL = 2,    /* more than one comes in, so that old ones do not pile up */
	KEY_WORDS = sizeof(struct reply_key) / sizeof(uint32_t),
};

static_assert(sizeof(struct reply_key) == 40, "no padding: keys are hashed and compared as bytes");

enum reply_state {
	REPLY_STATE_FREE,
	REPLY_STATE_RUNNING,
	REPLY_STATE_DONE,
};

struct reply_entry {
	struct list_node pool_node, bucket_node;
	struct reply_shard *shard;
	enum reply_class class;
	enum reply_state state;
	struct reply_key key;
	struct reply_target target; /* RUNNING: who asked last */
	uint64_t done_s;            /* DONE: when */
	uint32_t reply_bytes;
	uint8_t *reply; /* room for the class's reply_bytes_max */
};

struct reply_pool {
	struct list_node free, done;
	uint32_t used; /* entries that are not free */
};

struct reply_shard {
	_Alignas(64) pthread_mutex_t mutex; /* guards all below, and the entries that are of it */
	struct reply_pool pools[REPLY_CLASS_COUNT];
	struct list_node *buckets;
	uint32_t bucket_mask;
	uint64_t inserted, joined, replayed, uncached;
};

struct reply_cache {
	struct reply_cache_limits limits;
	uint64_t hash_keys[KEY_WORDS + 1]; /* random */
	uint32_t shard_count;              /* a power of two */
	struct reply_shard *shards;
	struct list_node *buckets;
	struct reply_entry *entries;
	uint8_t *replies[REPLY_CLASS_COUNT];
};

/*
 * Multilinear hashing, k + k1 * w1 + k2 * w2 + ..., is universal for random keys: nobody who does
 * not know them can make calls that all land in one bucket. But xids come in sequence, and a sum
 * with one word that counts up is evenly spaced: for some keys most of it would fall into a few
 * shards. So the sum is mixed before a part of it is used.
 */
static uint32_t key_hash(const struct reply_cache *cache, const struct reply_key *key)
{
	uint64_t sum = cache->hash_keys[KEY_WORDS];
	uint32_t words[KEY_WORDS];

	memcpy(words, key, sizeof words);
	for (size_t i = 0; i < KEY_WORDS; i++)
		sum += cache->hash_keys[i] * words[i];
	for (int round = 0; round < 2; round++)
		sum = (sum ^ sum >> 32) *
		      UINT64_C(0x9e3779b97f4a7c15); /* odd: 2^64 / golden ratio */
	return (uint32_t) (sum >> 32);
}

static uint32_t shard_count_for(const struct reply_cache_limits *limits)
{
	uint32_t count = SHARDS_MAX;

	for (int k = 0; k < REPLY_CLASS_COUNT; k++)
		while (count > 1 && limits->entries[k] / count < SHARD_ENTRIES_MIN)
			count /= 2;
	return count;
}

/* A power of two, at least half as many as there are entries a shard. */
static uint32_t bucket_count_for(const struct reply_cache *cache)
{
	uint64_t entries = 0;
	uint32_t count = 16;

	for (int k = 0; k < REPLY_CLASS_COUNT; k++)
		entries += cache->limits.entries[k] / cache->shard_count + 1;
	while (count < entries / 2)
		count *= 2;
	return count;
}

static void shard_lock(struct reply_shard *shard)
{
	int r = pthread_mutex_lock(&shard->mutex);

	assert(r == 0);
	(void) r;
}

static void shard_unlock(struct reply_shard *shard)
{
	int r = pthread_mutex_unlock(&shard->mutex);

	assert(r == 0);
	(void) r;
}

static void *allocate(size_t count, size_t each_bytes)
{
	return calloc(count ? count : 1, each_bytes ? each_bytes : 1);
}

static void shards_init(struct reply_cache *cache, uint32_t bucket_count)
{
	for (uint32_t i = 0; i < cache->shard_count; i++) {
		struct reply_shard *shard = &cache->shards[i];

		*shard = (struct reply_shard){ .mutex = PTHREAD_MUTEX_INITIALIZER };
		shard->buckets = cache->buckets + (size_t) i * bucket_count;
		shard->bucket_mask = bucket_count - 1;
		for (uint32_t bucket = 0; bucket < bucket_count; bucket++)
			list_init(&shard->buckets[bucket]);
		for (int k = 0; k < REPLY_CLASS_COUNT; k++) {
			list_init(&shard->pools[k].free);
			list_init(&shard->pools[k].done);
		}
	}
}

/* Deals the entries of each class out to the shards. */
static void entries_init(struct reply_cache *cache)
{
	struct reply_entry *entry = cache->entries;

	for (int k = 0; k < REPLY_CLASS_COUNT; k++) {
		size_t reply_bytes_max = cache->limits.reply_bytes_max[k];

		for (uint32_t i = 0; i < cache->limits.entries[k]; i++, entry++) {
			entry->class = (enum reply_class) k;
			entry->shard = &cache->shards[i & (cache->shard_count - 1)];
			entry->reply = cache->replies[k] + i * reply_bytes_max;
			list_node_init(&entry->bucket_node);
			list_node_init(&entry->pool_node);
			list_add_tail(&entry->shard->pools[k].free, &entry->pool_node);
		}
	}
}

struct reply_cache *reply_cache_new(const struct reply_cache_limits *limits)
{
	struct reply_cache *cache = calloc(1, sizeof *cache);
	size_t entry_count = 0;
	uint32_t bucket_count;
	bool complete;

	if (!cache)
		return NULL;
	cache->limits = *limits;
	cache->shard_count = shard_count_for(limits);
	complete = getrandom(cache->hash_keys, sizeof cache->hash_keys, GRND_INSECURE) ==
	           sizeof cache->hash_keys; /* up to 256 bytes it is all or nothing */

	for (int k = 0; k < REPLY_CLASS_COUNT; k++) {
		entry_count += limits->entries[k];
		cache->replies[k] = allocate(limits->entries[k], limits->reply_bytes_max[k]);
		complete = complete && cache->replies[k];
	}
	bucket_count = bucket_count_for(cache);
	cache->entries = allocate(entry_count, sizeof *cache->entries);
	cache->buckets = allocate((size_t) cache->shard_count * bucket_count,
	                          sizeof *cache->buckets);
	cache->shards = aligned_alloc(_Alignof(struct reply_shard),
	                              cache->shard_count * sizeof *cache->shards);
	if (cache->shards) /* all zero is a mutex that may be destroyed */
		memset(cache->shards, 0, cache->shard_count * sizeof *cache->shards);
	if (!complete || !cache->entries || !cache->buckets || !cache->shards)
		return reply_cache_free(cache);

	shards_init(cache, bucket_count);
	entries_init(cache);
	return cache;
}

struct reply_cache *reply_cache_free(struct reply_cache *cache)
{
	if (!cache)
		return NULL;
	for (uint32_t i = 0; cache->shards && i < cache->shard_count; i++)
		pthread_mutex_destroy(&cache->shards[i].mutex);
	for (int k = 0; k < REPLY_CLASS_COUNT; k++)
		free(cache->replies[k]);
	free(cache->entries);
	free(cache->buckets);
	free(cache->shards);
	free(cache);
	return NULL;
}

static void entry_forget(struct reply_entry *entry)
{
	struct reply_pool *pool = &entry->shard->pools[entry->class];

	assert(entry->state != REPLY_STATE_FREE);
	assert(pool->used > 0);
	list_remove(&entry->bucket_node);
	list_remove(&entry->pool_node);
	list_add_head(&pool->free, &entry->pool_node); /* the one whose memory is warm goes first */
	entry->state = REPLY_STATE_FREE;
	pool->used--;
}

static bool entry_expired(const struct reply_cache *cache, const struct reply_entry *entry,
                          uint64_t now_s)
{
	return entry->state == REPLY_STATE_DONE && now_s > entry->done_s &&
	       now_s - entry->done_s > cache->limits.lifetime_s;
}

static struct reply_entry *pool_oldest(const struct reply_pool *pool)
{
	struct list_node *node = list_first(&pool->done);

	return node ? container_of(node, struct reply_entry, pool_node) : NULL;
}

static struct reply_entry *bucket_find(const struct list_node *bucket, const struct reply_key *key)
{
	list_for_each (node, bucket) {
		struct reply_entry *entry = container_of(node, struct reply_entry, bucket_node);

		if (memcmp(&entry->key, key, sizeof *key) == 0)
			return entry;
	}
	return NULL;
}

/* A free entry, if need be the one with the oldest reply; NULL if all belong to running calls. */
static struct reply_entry *entry_take(const struct reply_cache *cache, struct reply_pool *pool,
                                      uint64_t now_s)
{
	struct reply_entry *oldest = pool_oldest(pool);
	struct list_node *node;

	for (int i = 0; i < EXPIRE_PER_CALL && oldest && entry_expired(cache, oldest, now_s); i++) {
		entry_forget(oldest);
		oldest = pool_oldest(pool);
	}
	if (list_empty(&pool->free) && oldest)
		entry_forget(oldest);

	node = list_pop(&pool->free);
	return node ? container_of(node, struct reply_entry, pool_node) : NULL;
}

/* The same call once more: tell its new connection to the running one, or copy the reply out. */
static enum reply_verdict entry_meet(struct reply_entry *entry, const struct reply_target *target,
                                     uint8_t *ret_reply, uint32_t *ret_reply_bytes)
{
	assert(entry->state != REPLY_STATE_FREE);
	if (entry->state == REPLY_STATE_RUNNING) {
		if (target->generation > entry->target.generation)
			entry->target = *target;
		entry->shard->joined++;
		return REPLY_RUNNING;
	}
	memcpy(ret_reply, entry->reply, entry->reply_bytes);
	*ret_reply_bytes = entry->reply_bytes;
	entry->shard->replayed++;
	return REPLY_KNOWN;
}

static void entry_run(struct reply_entry *entry, struct list_node *bucket,
                      const struct reply_key *key, const struct reply_target *target)
{
	assert(entry->state == REPLY_STATE_FREE);
	entry->state = REPLY_STATE_RUNNING;
	entry->key = *key;
	entry->target = *target;
	list_add_head(bucket, &entry->bucket_node);
	entry->shard->pools[entry->class].used++;
	entry->shard->inserted++;
}

enum reply_verdict reply_cache_begin(struct reply_cache *cache, enum reply_class class,
                                     const struct reply_key *key, const struct reply_target *target,
                                     uint64_t now_s, struct reply_entry **ret_entry,
                                     uint8_t *ret_reply, uint32_t *ret_reply_bytes)
{
	uint32_t hash = key_hash(cache, key);
	struct reply_shard *shard = &cache->shards[hash % cache->shard_count];
	struct list_node *bucket = &shard->buckets[hash / cache->shard_count & shard->bucket_mask];
	struct reply_entry *entry;
	enum reply_verdict verdict;

	assert(class < REPLY_CLASS_COUNT);
	shard_lock(shard);
	entry = bucket_find(bucket, key);
	if (entry && entry_expired(cache, entry, now_s)) {
		entry_forget(entry);
		entry = NULL;
	}
	if (entry) {
		verdict = entry_meet(entry, target, ret_reply, ret_reply_bytes);
	} else {
		entry = entry_take(cache, &shard->pools[class], now_s);
		if (entry) {
			entry_run(entry, bucket, key, target);
			*ret_entry = entry;
			verdict = REPLY_NEW;
		} else {
			shard->uncached++;
			verdict = REPLY_UNCACHED;
		}
	}
	shard_unlock(shard);
	return verdict;
}

struct reply_target reply_cache_finish(struct reply_cache *cache, struct reply_entry *entry,
                                       const uint8_t *reply, uint32_t reply_bytes, bool keep,
                                       uint64_t now_s)
{
	struct reply_shard *shard = entry->shard;
	struct reply_target target;

	shard_lock(shard);
	assert(entry->state == REPLY_STATE_RUNNING);
	target = entry->target;
	if (keep && reply_bytes <= cache->limits.reply_bytes_max[entry->class]) {
		memcpy(entry->reply, reply, reply_bytes);
		entry->reply_bytes = reply_bytes;
		entry->done_s = now_s;
		entry->state = REPLY_STATE_DONE;
		list_add_tail(&shard->pools[entry->class].done, &entry->pool_node);
	} else {
		entry_forget(entry);
	}
	shard_unlock(shard); /* entry is somebody else's from here on */
	return target;
}

void reply_cache_stats(struct reply_cache *cache, struct reply_cache_stats *ret_stats)
{
	struct reply_cache_stats stats = { 0 };

	for (uint32_t i = 0; i < cache->shard_count; i++) {
		struct reply_shard *shard = &cache->shards[i];

		shard_lock(shard);
		stats.inserted += shard->inserted;
		stats.joined += shard->joined;
		stats.replayed += shard->replayed;
		stats.uncached += shard->uncached;
		for (int k = 0; k < REPLY_CLASS_COUNT; k++)
			stats.entries_used[k] += shard->pools[k].used;
		shard_unlock(shard);
	}
	*ret_stats = stats;
}
