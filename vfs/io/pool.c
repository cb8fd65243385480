/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/io/pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "vfs/base/cleanup.h"

struct pool {
	pthread_mutex_t lock; /* over all but the threads */
	pthread_cond_t filled;
	struct share jobs;
	unsigned idle; /* threads that wait for a job */
	bool closing;
	void (*thread_start)(void);
	unsigned thread_count;
	pthread_t threads[];
};

static void pool_job_done(struct loop_task *task)
{
	struct pool_job *job = container_of(task, struct pool_job, task);

	job->done(job); /* job may be gone */
}

/* Under the lock. NULL: the pool closes, and nothing is left that may begin: what remains waits for
 * jobs that others do, and they take it then. */
static struct pool_job *pool_wait(struct pool *pool)
{
	struct share_node *node;

	pool->idle++;
	while (!(node = share_take(&pool->jobs)) && !pool->closing)
		pthread_cond_wait(&pool->filled, &pool->lock);
	pool->idle--;
	if (pool->idle > 0 && share_is_ready(&pool->jobs)) /* what ended made way for two */
		pthread_cond_signal(&pool->filled);
	return node ? container_of(node, struct pool_job, node) : NULL;
}

static void *pool_thread(void *arg)
{
	struct pool *pool = arg;
	struct pool_job *job;
	uint64_t group;

	pthread_setname_np(pthread_self(), "pool");
	if (pool->thread_start)
		pool->thread_start();
	pthread_mutex_lock(&pool->lock);
	while ((job = pool_wait(pool))) {
		pthread_mutex_unlock(&pool->lock);
		group = job->group;
		job->work(job);
		loop_post(job->loop, &job->task); /* job may be gone */
		pthread_mutex_lock(&pool->lock);
		share_end(&pool->jobs, group);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

int pool_open(unsigned thread_count, void (*thread_start)(void), struct pool **ret_pool)
{
	struct pool *pool = calloc(1, sizeof *pool + thread_count * sizeof pool->threads[0]);
	int r = 0;

	assert(thread_count > 0);
	if (!pool)
		return -ENOMEM;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->filled, NULL);
	share_init(&pool->jobs, thread_count);
	pool->thread_start = thread_start;
	while (r == 0 && pool->thread_count < thread_count) {
		r = -pthread_create(&pool->threads[pool->thread_count], NULL, pool_thread, pool);
		if (r == 0)
			pool->thread_count++;
	}
	if (r < 0) {
		pool_close(pool);
		return r;
	}
	*ret_pool = pool;
	return 0;
}

struct pool *pool_close(struct pool *pool)
{
	if (!pool)
		return NULL;
	pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	pthread_cond_broadcast(&pool->filled);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->thread_count; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->filled);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
	return NULL;
}

void pool_submit(struct pool *pool, struct pool_job *job)
{
	bool wake;

	assert(job->work && job->done && job->loop);
	job->task.run = pool_job_done;
	pthread_mutex_lock(&pool->lock);
	share_add(&pool->jobs, &job->node, job->group);
	wake = pool->idle > 0 && share_is_ready(&pool->jobs);
	pthread_mutex_unlock(&pool->lock);
	if (wake)
		pthread_cond_signal(&pool->filled);
}
