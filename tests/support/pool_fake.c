/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_fake.c - vfs/io/pool.h without threads, put in pool.c's place at link time: a job is done
 * by its own loop, in the next turn. So tests go the same way each time.
 */
#include "vfs/io/pool.h"

#undef NDEBUG
#include <assert.h>

#include "vfs/base/cleanup.h"

int pool_open(unsigned thread_count, void (*thread_start)(void), struct pool **ret_pool)
{
	(void) thread_count;
	(void) thread_start;
	*ret_pool = NULL;
	return 0;
}

struct pool *pool_close(struct pool *pool)
{
	return pool;
}

static void pool_fake_run(struct loop_task *task)
{
	struct pool_job *job = container_of(task, struct pool_job, task);

	job->work(job);
	job->done(job); /* job may be gone */
}

void pool_submit(struct pool *pool, struct pool_job *job)
{
	(void) pool;
	assert(job->work && job->done && job->loop);
	job->task.run = pool_fake_run;
	loop_post(job->loop, &job->task);
}
