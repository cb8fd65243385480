/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_reply_cache - calls that come, come again, end and grow old, in any order.
 *
 * The first byte sizes a cache of one shard; then each pair of bytes is a step. The model is a row
 * of calls, each with what became of it and when. With it every verdict is known beforehand, so: a
 * call that runs is never run twice, a reply is the one of this very call and of its last run, it
 * goes to whoever asked last, only the oldest reply makes room, and never more than fits is kept.
 */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/reply_cache.h"
#include "vfs/base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	CALLS = 32,
	ENTRIES_MAX = 8,
	LIFETIME_S = 40,
	CLEARED_MAX = 2, /* expired replies that one new call clears away (EXPIRE_PER_CALL) */
};

enum step {
	STEP_BEGIN,
	STEP_BEGIN_ON_OLDER,
	STEP_FINISH,
	STEP_FINISH_FORGET, /* JUKEBOX: to be run again */
	STEP_TIME,
};

enum call_state {
	CALL_UNKNOWN,
	CALL_RUNNING,
	CALL_DONE,
};

struct call {
	enum call_state state;
	struct reply_entry *entry;
	uint64_t newest_generation; /* RUNNING */
	uint64_t done_s;            /* DONE */
	unsigned done_order;
	unsigned runs;
	uint32_t reply_bytes;
};

static const uint32_t reply_bytes_max[REPLY_CLASS_COUNT] = { 48, 16 };

static struct reply_cache *cache;
static struct call calls[CALLS];
static uint32_t entries[REPLY_CLASS_COUNT];
static uint64_t now_s, generation;
static unsigned done_count;
static struct reply_cache_stats expected;

static enum reply_class class_of(size_t i)
{
	return i % 2 ? REPLY_CLASS_WRITE : REPLY_CLASS_NAMESPACE;
}

/* Calls that differ from each other in one or more parts of the key. */
static struct reply_key key_of(size_t i)
{
	return (struct reply_key){
		.address = { 10, 0, 0, [15] = (uint8_t) (i >> 4 & 1) },
		.xid = (uint32_t) (i >> 3 & 1),
		.program = 100003,
		.procedure = (uint32_t) (i & 1),
		.message_bytes = (uint32_t) (i >> 1 & 1),
		.checksum = (uint64_t) (i >> 2 & 1) << 63,
	};
}

/* The reply to a run of a call: no two are alike from the second byte on. */
static void reply_make(size_t i, uint8_t *reply, uint32_t reply_bytes)
{
	for (uint32_t at = 0; at < reply_bytes; at++)
		reply[at] = (uint8_t) (at % 3 == 0 ? i : at % 3 == 1 ? calls[i].runs : at);
}

static bool expired(const struct call *call)
{
	return call->state == CALL_DONE && now_s > call->done_s &&
	       now_s - call->done_s > LIFETIME_S;
}

static void forget(size_t i)
{
	calls[i].state = CALL_UNKNOWN;
	expected.entries_used[class_of(i)]--;
}

/* The call of a class whose reply is the oldest, or CALLS. */
static size_t oldest_done(enum reply_class class)
{
	size_t oldest = CALLS;

	for (size_t i = class == REPLY_CLASS_WRITE; i < CALLS; i += 2)
		if (calls[i].state == CALL_DONE &&
		    (oldest == CALLS || calls[i].done_order < calls[oldest].done_order))
			oldest = i;
	return oldest;
}

/* What must come of a call, and what the model keeps when it has made room for it. */
static enum reply_verdict model_begin(size_t i)
{
	enum reply_class class = class_of(i);
	size_t oldest;

	if (expired(&calls[i]))
		forget(i);
	if (calls[i].state != CALL_UNKNOWN)
		return calls[i].state == CALL_RUNNING ? REPLY_RUNNING : REPLY_KNOWN;
	for (int cleared = 0; cleared < CLEARED_MAX; cleared++) {
		oldest = oldest_done(class);
		if (oldest < CALLS && expired(&calls[oldest]))
			forget(oldest);
	}
	oldest = oldest_done(class);
	if (expected.entries_used[class] == entries[class] && oldest < CALLS)
		forget(oldest);
	return expected.entries_used[class] < entries[class] ? REPLY_NEW : REPLY_UNCACHED;
}

static void check_known(size_t i, const uint8_t *reply, uint32_t reply_bytes)
{
	uint8_t wanted[48];

	assert(reply_bytes == calls[i].reply_bytes);
	reply_make(i, wanted, reply_bytes);
	assert(memcmp(reply, wanted, reply_bytes) == 0);
	expected.replayed++;
}

static void begin(size_t i, uint64_t on_generation)
{
	AUTO(free_ptr) uint8_t *reply = malloc(reply_bytes_max[class_of(i)]); /* not a byte more */
	struct reply_target target = { .generation = on_generation };
	struct reply_key key = key_of(i);
	enum reply_verdict wanted = model_begin(i), verdict;
	uint32_t reply_bytes = 0;

	assert(reply);
	verdict = reply_cache_begin(cache, class_of(i), &key, &target, now_s, &calls[i].entry,
	                            reply, &reply_bytes);
	assert(verdict == wanted);
	switch (wanted) {
	case REPLY_NEW:
		calls[i].state = CALL_RUNNING;
		calls[i].newest_generation = on_generation;
		calls[i].runs++;
		expected.entries_used[class_of(i)]++;
		expected.inserted++;
		break;
	case REPLY_RUNNING:
		if (on_generation > calls[i].newest_generation)
			calls[i].newest_generation = on_generation;
		expected.joined++;
		break;
	case REPLY_KNOWN:
		check_known(i, reply, reply_bytes);
		break;
	case REPLY_UNCACHED:
		expected.uncached++;
		break;
	}
}

static void finish(size_t i, uint32_t reply_bytes, bool keep)
{
	AUTO(free_ptr) uint8_t *reply = malloc(reply_bytes + 1);
	struct reply_target target;

	if (calls[i].state != CALL_RUNNING)
		return;
	assert(reply);
	reply_make(i, reply, reply_bytes);
	target = reply_cache_finish(cache, calls[i].entry, reply, reply_bytes, keep, now_s);
	assert(target.generation == calls[i].newest_generation);
	if (!keep || reply_bytes > reply_bytes_max[class_of(i)]) {
		forget(i);
		return;
	}
	calls[i].state = CALL_DONE;
	calls[i].done_s = now_s;
	calls[i].done_order = ++done_count;
	calls[i].reply_bytes = reply_bytes;
}

static void check_stats(void)
{
	struct reply_cache_stats stats;

	reply_cache_stats(cache, &stats);
	assert(stats.inserted == expected.inserted && stats.joined == expected.joined);
	assert(stats.replayed == expected.replayed && stats.uncached == expected.uncached);
	for (int k = 0; k < REPLY_CLASS_COUNT; k++) {
		assert(stats.entries_used[k] == expected.entries_used[k]);
		assert(stats.entries_used[k] <= entries[k]);
	}
}

static void step(uint8_t what, uint8_t detail)
{
	size_t i = what >> 3;

	switch ((enum step)(what & 7)) {
	case STEP_BEGIN:
		begin(i, ++generation);
		break;
	case STEP_BEGIN_ON_OLDER:
		begin(i, generation > detail ? generation - detail : 0);
		break;
	case STEP_FINISH:
		finish(i, detail % (reply_bytes_max[class_of(i)] + 2), true);
		break;
	case STEP_FINISH_FORGET:
		finish(i, detail % 8, false);
		break;
	case STEP_TIME:
		now_s += detail % 64;
		break;
	default:
		return;
	}
	check_stats();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reply_cache_limits limits = { .lifetime_s = LIFETIME_S };

	if (size == 0)
		return 0;
	for (int k = 0; k < REPLY_CLASS_COUNT; k++) {
		entries[k] = ((data[0] >> 4 * k) & 15) % (ENTRIES_MAX + 1);
		limits.entries[k] = entries[k];
		limits.reply_bytes_max[k] = reply_bytes_max[k];
	}
	cache = reply_cache_new(&limits);
	assert(cache);
	memset(calls, 0, sizeof calls);
	memset(&expected, 0, sizeof expected);
	now_s = 1000;
	generation = done_count = 0;
	for (size_t at = 1; at + 1 < size; at += 2)
		step(data[at], data[at + 1]);
	cache = reply_cache_free(cache);
	return 0;
}
