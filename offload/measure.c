/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/measure.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"

enum {
	THREADS = 2
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct list_node queue;
	bool stop;
	pthread_t threads[THREADS];
	unsigned thread_count;
	int event_fd;
} measures = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.more = PTHREAD_COND_INITIALIZER,
	.queue = LIST_INIT(measures.queue),
};

static void measure_end(struct measure *measure, int error)
{
	uint64_t one = 1;

	measure->error = error;
	atomic_store(&measure->done, true); /* measure is gone */
	(void) !write(measures.event_fd, &one, sizeof one);
}

/* The next one; NULL: the end. */
static struct measure *measure_next(bool *ret_stop)
{
	struct list_node *node;

	pthread_mutex_lock(&measures.lock);
	while (!measures.stop && list_empty(&measures.queue))
		pthread_cond_wait(&measures.more, &measures.lock);
	node = list_pop(&measures.queue);
	*ret_stop = measures.stop;
	pthread_mutex_unlock(&measures.lock);
	return node ? container_of(node, struct measure, node) : NULL;
}

static void *measure_run(void *arg)
{
	struct measure *measure;
	bool stop;

	pthread_setname_np(pthread_self(), "measure");
	while ((measure = measure_next(&stop)))
		measure_end(measure, stop ? -ECANCELED
		                          : vfs_usage(vfs_file_fd(measure->file), &measure->usage));
	return NULL;
}

int measure_open(int event_fd)
{
	int r = 0;

	measures.event_fd = event_fd;
	while (r == 0 && measures.thread_count < THREADS) {
		r = -pthread_create(&measures.threads[measures.thread_count], NULL, measure_run,
		                    NULL);
		if (r == 0)
			measures.thread_count++;
	}
	return r;
}

void measure_begin(struct measure *measure)
{
	list_node_init(&measure->node);
	pthread_mutex_lock(&measures.lock);
	list_add_tail(&measures.queue, &measure->node);
	pthread_cond_signal(&measures.more);
	pthread_mutex_unlock(&measures.lock);
}

void measure_close(void)
{
	pthread_mutex_lock(&measures.lock);
	measures.stop = true;
	pthread_cond_broadcast(&measures.more);
	pthread_mutex_unlock(&measures.lock);
	while (measures.thread_count > 0)
		pthread_join(measures.threads[--measures.thread_count], NULL);
}
