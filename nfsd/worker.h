/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - one thread: its loop, buffers, connections and calls. Everything here belongs to it
 * alone.
 */
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include "nfsd/call.h"
#include "nfsd/server.h"
#include "vfs/base/list.h"
#include "vfs/io/loop.h"

enum {
	WORKER_CALLS_KEPT_MAX = 1024
};

struct worker {
	struct server *server;
	unsigned number;
	pthread_t thread;
	struct loop *loop;
	struct buffer_pool *buffers;

	struct call *free_calls;
	unsigned free_call_count;
	atomic_uint call_count; /* in being; written here, read by the others when they stop */

	struct conn **conns; /* by slot; NULL: free */
	unsigned conn_slots;
	atomic_uint conn_count;  /* written here, read by who hands out connections */
	uint64_t accepted_count; /* worker 0: connections of all workers, ever */
	struct counters counters;
	struct list_node starved; /* connections that wait for memory or for their own replies */

	struct list_node listeners; /* worker 0: TCP */
	struct list_node udp_sockets;

	unsigned tick_count;
	bool stopping;
	unsigned grace_ms;
	uint64_t stop_at_ms;
	struct loop_task stop_task, reap_task;
	struct loop_timer wind_down_timer; /* set while it stops */
	atomic_bool reaping;               /* reap_task is on its way */
	atomic_uint alive;                 /* grows with every tick */
	sem_t ended, may_close;
	int result; /* of loop_run() */
};

/* Starts the thread; its loop is open when this returns. Errors and hint as of ring_open(). */
int worker_start(struct server *server, unsigned number, struct worker **ret_worker,
                 const char **reterr_hint);

/* Thread-safe: no new calls, replies to those that run, then the end: at the latest after
 * @grace_ms. */
void worker_stop(struct worker *worker, unsigned grace_ms);

/* Wait until it has nothing to do any more. Its loop can still be posted to. */
void worker_wait(struct worker *worker);

/* Wait for the thread; frees it. Nobody may post to its loop any more. Returns what its loop
 * returned. */
int worker_join(struct worker *worker);

/* Thread-safe: all workers close connections that have been idle for long. */
void workers_reap_idle(struct server *server);
