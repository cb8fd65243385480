/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - threads for what may wait for a disk: plain functions, written top to bottom.
 *
 * A job is embedded in who asks for it. work() runs on one of the pool's threads, then done() on
 * the loop that submitted it. The queue is as long as the calls in flight are many: whoever submits
 * bounds those.
 *
 * Threads are shared out by group (share.h): the file system that a job may wait for.
 */
#pragma once

#include "vfs/io/loop.h"
#include "vfs/io/share.h"

struct pool;

struct pool_job {
	void (*work)(struct pool_job *job);
	void (*done)(struct pool_job *job); /* may free the job's owner */
	struct loop *loop;
	uint64_t group;
	struct loop_task task;  /* the pool's */
	struct share_node node; /* the pool's */
};

/* @thread_start is called first on every thread. 0, -ENOMEM or -EAGAIN. */
int pool_open(unsigned thread_count, void (*thread_start)(void), struct pool **ret_pool);

/* Waits for the jobs that were submitted. Takes NULL. */
struct pool *pool_close(struct pool *pool);

/* Thread-safe. work, done, loop and group are set; the job is the pool's until done(). */
void pool_submit(struct pool *pool, struct pool_job *job);
