/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_scenario - any bytes as a file for `lodestore rehearse`.
 *
 * Every report has a line that the text has; what is refused was reported; what is accepted is
 * within scenario.h's bounds, and every path of it has its numbers put in or is told to be too
 * long.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/plugin/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reports {
	unsigned count, line_count;
};

static void record(void *context, const char *file, unsigned line, const char *message)
{
	struct reports *reports = context;

	assert(strcmp(file, "fuzz") == 0);
	assert(line <= reports->line_count);
	assert(message[0] != '\0' && strlen(message) < 1024);
	reports->count++;
}

static void check_path(const char *pattern, unsigned count)
{
	char first[SCENARIO_PATH_BYTES], last[SCENARIO_PATH_BYTES];

	if (!scenario_path(pattern, count, last))
		return;
	assert(memchr(last, '\0', sizeof last) && last[0] != '\0');
	assert(scenario_path(pattern, 1, first)); /* a shorter number fits too */
	assert(strlen(first) <= strlen(last));
	if (count > 1)
		assert(!strstr(pattern, "%n") == (strcmp(first, last) == 0));
}

static void check_step(const struct scenario_step *step)
{
	assert(step->count >= 1 && step->count <= SCENARIO_COUNT_MAX);
	assert(step->abort_after_ms <= SCENARIO_ABORT_S_MAX * 1000);
	assert((step->kind == SCENARIO_CLONE) == (step->source != NULL));
	assert((step->kind == SCENARIO_SUPPORT) == (step->file == NULL));
	assert(!step->aborts || step->disk != SCENARIO_FAST);
	if (step->source)
		check_path(step->source, step->count);
	if (step->file) {
		check_path(step->file, step->count);
		assert(step->count == 1 || strstr(step->file, "%n"));
	}
}

static void check_scenario(const struct scenario *scenario)
{
	assert(scenario->server && scenario->datastore && scenario->datastore[0] == '/');
	assert(scenario->dialect != SCENARIO_DIALECT_NONE);
	assert(scenario->hosts >= 1 && scenario->hosts <= SCENARIO_HOSTS_MAX);
	assert(scenario->at_once >= 1 && scenario->at_once <= SCENARIO_AT_ONCE_MAX);
	assert(scenario->tries >= 1 && scenario->tries <= SCENARIO_TRIES_MAX);
	assert(scenario->poll_ms <= SCENARIO_POLL_S_MAX * 1000);
	assert(scenario->patience_ms <= SCENARIO_PATIENCE_S_MAX * 1000);
	assert(scenario->step_count >= 1 && scenario->step_count <= SCENARIO_STEPS_MAX);
	for (size_t i = 0; i < scenario->step_count; i++)
		check_step(&scenario->steps[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reports reports = { .line_count = 1 };
	struct scenario scenario;
	char *text = strndup((const char *) data, size);
	int r;

	assert(text);
	for (const char *c = text; *c; c++)
		reports.line_count += *c == '\n';
	r = scenario_parse(&scenario, "fuzz", text, record, &reports);
	free(text);
	assert(r == (reports.count ? -EINVAL : 0));
	if (r < 0)
		return 0;
	check_scenario(&scenario);
	scenario_done(&scenario);
	return 0;
}
