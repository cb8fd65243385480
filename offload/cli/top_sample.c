/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/top_sample.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "offload/cli/link.h"

enum {
	INTERVAL_MS = 1000
};

struct top_asker {
	const struct arguments *arguments;
	int event_fd;
	pthread_mutex_t lock;
	struct top_sample *latest; /* under lock */
};

struct top_sample *top_sample_new(const struct arguments *arguments)
{
	struct top_sample *sample = calloc(1, sizeof *sample);
	struct arguments impatient = *arguments;

	if (!sample)
		return NULL;
	impatient.timeout_s = 0;
	sample->sidecar = (struct sidecar) SIDECAR_NONE;
	sample->error = document_ask(arguments->status_socket, &sample->document);
	if (sample->error == 0)
		sidecar_ask(&sample->sidecar, &impatient);
	return sample;
}

struct top_sample *top_sample_free(struct top_sample *sample)
{
	if (!sample)
		return NULL;
	document_free(&sample->document);
	sidecar_done(&sample->sidecar);
	free(sample);
	return NULL;
}

struct top_sample *top_asker_take(struct top_asker *asker)
{
	struct top_sample *sample;

	pthread_mutex_lock(&asker->lock);
	sample = asker->latest;
	asker->latest = NULL;
	pthread_mutex_unlock(&asker->lock);
	return sample;
}

static void publish(struct top_asker *asker, struct top_sample *sample)
{
	static const uint64_t one = 1;
	struct top_sample *missed;

	pthread_mutex_lock(&asker->lock);
	missed = asker->latest;
	asker->latest = sample;
	pthread_mutex_unlock(&asker->lock);
	(void) top_sample_free(missed);
	(void) !write(asker->event_fd, &one, sizeof one);
}

static void *asker_run(void *arg)
{
	struct top_asker *asker = arg;
	uint64_t due_ms = link_now_ms();

	for (;;) {
		struct top_sample *sample = top_sample_new(asker->arguments);
		uint64_t now_ms = link_now_ms();

		if (sample)
			publish(asker, sample);
		due_ms = due_ms + INTERVAL_MS > now_ms ? due_ms + INTERVAL_MS
		                                       : now_ms + INTERVAL_MS;
		(void) link_sleep(due_ms);
	}
	return NULL;
}

int top_asker_start(const struct arguments *arguments, int event_fd, struct top_asker **ret_asker)
{
	struct top_asker *asker = calloc(1, sizeof *asker);
	pthread_t thread;
	int r;

	if (!asker)
		return -ENOMEM;
	asker->arguments = arguments;
	asker->event_fd = event_fd;
	pthread_mutex_init(&asker->lock, NULL);
	r = pthread_create(&thread, NULL, asker_run, asker);
	if (r != 0) {
		free(asker);
		return -r;
	}
	pthread_detach(thread);
	*ret_asker = asker;
	return 0;
}
