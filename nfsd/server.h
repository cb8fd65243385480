/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - what all of lodestore-nfsd shares: configuration, files, pool, reply cache, verifier.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "nfsd/config.h"
#include "nfsd/kept.h"
#include "nfsd/reply_cache.h"
#include "vfs/io/buffer.h"
#include "vfs/io/pool.h"
#include "vfs/vfs.h"

struct worker;
struct locks;
struct relay;
struct mounts;
struct peers;
struct rates;
struct reload;
struct status;
struct locks_socket;
struct trace;
struct http;

enum {
	SERVER_WORKERS_MAX = 64
};

struct server {
	const struct config *config;
	struct vfs *vfs;
	struct pool *pool;
	struct reply_cache *replies;
	struct mounts *mounts; /* who has mounted what (MOUNT's DUMP) */
	struct peers *peers;   /* connections per address */
	struct rates *rates;   /* what was taken of the exports' limits */
	struct relay *relay;   /* to the sidecar */
	struct locks *locks;   /* of NLM; NULL: 'nlm = no' */
	struct reload *reload; /* what the last one changed */
	struct status *status; /* for who looks at it; NULL: nobody can */
	struct http *http;     /* the same */
	struct locks_socket *locks_socket;
	struct trace *trace; /* for who looks at single calls; NULL: nobody can */
	atomic_bool tracing; /* somebody does */
	size_t exports_usable;
	bool registered; /* with rpcbind */
	const struct export_names *names;
	struct kept kept; /* until everything is bound */
	struct buffer_budget budget;
	struct worker *workers[SERVER_WORKERS_MAX];
	unsigned worker_count;
	unsigned calls_per_worker;               /* its share of limits.calls */
	unsigned alive_seen[SERVER_WORKERS_MAX]; /* server_is_alive() */

	/* Same in every WRITE and COMMIT until a restart or a failed flush (RFC 1813 section
	 * 3.3.7). */
	atomic_uint_fast64_t write_verifier;

	/* Flushes that failed: how many, and when the last one did, in ms since 1970. */
	atomic_uint_fast64_t flush_failures, flush_failed_ms;

	/* Where NFS and MOUNT are served, for the portmapper; host order. */
	uint16_t port;
	bool serves_ipv4, serves_ipv6;
};
