/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply_cache.h - calls that must not run twice (the duplicate request cache).
 *
 * A client that lost its connection sends the same call again, on a new connection, to whichever
 * worker. If the first is still running, the new one is not run: the reply goes to the connection
 * that asked last. If it has ended, the stored reply is sent. A call is "the same" if address, xid,
 * program, procedure, length and a checksum of the whole message (credential included) are equal,
 * so no client ever sees another's reply.
 *
 * Free of I/O and of clocks: the caller says what time it is. Thread-safe: calls of any worker, a
 * mutex a shard; no function allocates after reply_cache_new() or holds a mutex for longer than a
 * look-up and a copy of one reply.
 *
 * Two classes, each bounded in entries, bytes and time, so that a flood of WRITEs does not push out
 * the reply to a REMOVE. The oldest reply makes room for a new call; a running call never does.
 * Entries are divided among shards, so size a class well above the calls that can run at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum reply_class {
	REPLY_CLASS_NAMESPACE, /* CREATE, REMOVE, RENAME, SETATTR, ... */
	REPLY_CLASS_WRITE,     /* short replies, many of them */
	REPLY_CLASS_COUNT,
};

struct reply_cache_limits {
	uint32_t entries[REPLY_CLASS_COUNT];
	uint32_t reply_bytes_max[REPLY_CLASS_COUNT]; /* longer replies are not kept */
	uint32_t lifetime_s;                         /* a reply older than this is forgotten */
};

struct reply_key {
	uint8_t address[16]; /* the client's, without port: ports change with connections */
	uint32_t xid, program, procedure, message_bytes;
	uint64_t checksum; /* XXH3 of the message behind its xid */
};

/* Who waits for a reply: a connection's number on its worker, and how late it was accepted: a call
 * may still arrive on a connection that the client has given up, after it was sent again on a
 * newer. */
struct reply_target {
	uint32_t worker, connection;
	uint64_t generation;
};

enum reply_verdict {
	REPLY_NEW,      /* run it, then reply_cache_finish() */
	REPLY_RUNNING,  /* drop it: when the first ends its reply goes to @target */
	REPLY_KNOWN,    /* the reply was copied out: send it */
	REPLY_UNCACHED, /* run it; nothing to finish (every entry belongs to a running call) */
};

struct reply_cache;
struct reply_entry;

/* NULL if memory is short (or the kernel has no random numbers for the hash). */
struct reply_cache *reply_cache_new(const struct reply_cache_limits *limits);
struct reply_cache *reply_cache_free(struct reply_cache *cache);

/**
 * reply_cache_begin() - a call that must not run twice has arrived
 * @target:      where its reply goes
 * @now_s:       seconds of a monotonic clock
 * @ret_entry:   set for REPLY_NEW
 * @ret_reply, @ret_reply_bytes: REPLY_KNOWN: the reply; room for the class's reply_bytes_max
 */
enum reply_verdict reply_cache_begin(struct reply_cache *cache, enum reply_class class,
                                     const struct reply_key *key, const struct reply_target *target,
                                     uint64_t now_s, struct reply_entry **ret_entry,
                                     uint8_t *ret_reply, uint32_t *ret_reply_bytes);

/**
 * reply_cache_finish() - the call has ended
 * @reply, @reply_bytes: what is answered
 * @keep: false forgets the entry (NFS3ERR_JUKEBOX: the client shall try again and run)
 *
 * Return: where the reply goes: the newest that asked.
 */
struct reply_target reply_cache_finish(struct reply_cache *cache, struct reply_entry *entry,
                                       const uint8_t *reply, uint32_t reply_bytes, bool keep,
                                       uint64_t now_s);

struct reply_cache_stats {
	uint64_t inserted, joined, replayed, uncached;
	uint32_t entries_used[REPLY_CLASS_COUNT];
};
void reply_cache_stats(struct reply_cache *cache, struct reply_cache_stats *ret_stats);
