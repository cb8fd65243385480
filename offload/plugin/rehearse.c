/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/plugin/rehearse.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"

enum {
	MACHINE_BYTES = 32,
};

struct worker {
	struct rehearsal *rehearsal;
	unsigned host;
	pthread_t thread;
	bool started;
};

uint64_t rehearse_now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

void rehearse_sleep_ms(unsigned ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

	nanosleep(&pause, NULL);
}

/* The next task of the step, from 1; 0: none is left. */
static unsigned task_take(struct rehearsal *rehearsal)
{
	const struct scenario_step *step = &rehearsal->scenario->steps[rehearsal->step];
	unsigned number = 0;

	pthread_mutex_lock(&rehearsal->lock);
	if (!atomic_load(&rehearsal->stop) && rehearsal->next < step->count)
		number = ++rehearsal->next;
	pthread_mutex_unlock(&rehearsal->lock);
	return number;
}

static void task_report(struct rehearsal *rehearsal, const struct rehearse_result *result)
{
	pthread_mutex_lock(&rehearsal->lock);
	rehearsal->results[rehearsal->result_count++] = *result;
	rehearse_report_task(rehearsal, result);
	pthread_mutex_unlock(&rehearsal->lock);
}

static void task_do(struct rehearsal *rehearsal, unsigned host, unsigned number)
{
	const struct scenario *scenario = rehearsal->scenario;
	const struct scenario_step *step = &scenario->steps[rehearsal->step];
	char machine[MACHINE_BYTES];
	struct rehearse_task task = {
		.rehearsal = rehearsal,
		.step = step,
		.server = { scenario->server, scenario->port, scenario->from, scenario->datastore,
		            machine },
		.result = { .step = rehearsal->step, .number = number, .host = host },
	};

	snprintf(machine, sizeof machine, "rehearsal-host-%u", host);
	/* Their lengths were checked with the highest number there is. */
	if (step->source)
		(void) scenario_path(step->source, number, task.source_path);
	if (step->file)
		(void) scenario_path(step->file, number, task.path);
	rehearse_task_run(&task);
	task_report(rehearsal, &task.result);
}

static void *worker_run(void *context)
{
	struct worker *worker = context;
	unsigned number;

	while ((number = task_take(worker->rehearsal)) > 0)
		task_do(worker->rehearsal, worker->host, number);
	return NULL;
}

/* All tasks of one step. A thread that cannot be had is missed, not needed: the first one's work
 * is done here. */
static void step_run(struct rehearsal *rehearsal, struct worker *workers, unsigned count)
{
	rehearsal->next = 0;
	for (unsigned i = 1; i < count; i++)
		workers[i].started = pthread_create(&workers[i].thread, NULL, worker_run,
		                                    &workers[i]) == 0;
	worker_run(&workers[0]);
	for (unsigned i = 1; i < count; i++)
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
}

static size_t tasks_in_all(const struct scenario *scenario)
{
	size_t count = 0;

	for (size_t i = 0; i < scenario->step_count; i++)
		count += scenario->steps[i].count;
	return count;
}

static bool all_good(const struct rehearsal *rehearsal)
{
	for (size_t i = 0; i < rehearsal->result_count; i++)
		if (!rehearsal->results[i].good)
			return false;
	return rehearsal->result_count == tasks_in_all(rehearsal->scenario);
}

bool rehearse_run(struct rehearsal *rehearsal)
{
	const struct scenario *scenario = rehearsal->scenario;
	unsigned count = scenario->hosts * scenario->at_once, left_behind = 0;
	AUTO(free_ptr) struct worker *workers = calloc(count, sizeof *workers);
	bool good;

	rehearsal->results = calloc(tasks_in_all(scenario), sizeof *rehearsal->results);
	if (!workers || !rehearsal->results) {
		free(rehearsal->results);
		return false;
	}
	for (unsigned i = 0; i < count; i++)
		workers[i] = (struct worker){ .rehearsal = rehearsal,
			                      .host = i % scenario->hosts + 1 };
	pthread_mutex_init(&rehearsal->lock, NULL);
	for (size_t i = 0; i < scenario->step_count; i++) {
		rehearsal->step = (unsigned) i;
		step_run(rehearsal, workers, count);
	}
	if (rehearsal->clean)
		left_behind = rehearse_made_clean(rehearsal);
	rehearse_report_end(rehearsal, left_behind);
	good = all_good(rehearsal) && left_behind == 0;
	rehearse_made_done(rehearsal);
	pthread_mutex_destroy(&rehearsal->lock);
	free(take_ptr(rehearsal->results));
	return good;
}
