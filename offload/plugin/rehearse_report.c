/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearse_report.c - what a rehearsal shows: a line a task while it goes on and a table in the
 * end, or JSON in the end.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "offload/plugin/rehearse.h"
#include "vfs/base/cleanup.h"

enum {
	WHAT_BYTES = 2 * SCENARIO_PATH_BYTES + 32,
	ENGINES_MAX = 8,
	REASONS_MAX = 8, /* shown of a step; there may be more */
};

static const char *const kind_names[] = {
	[SCENARIO_SUPPORT] = "support",
	[SCENARIO_CLONE] = "clone",
	[SCENARIO_RESERVE] = "reserve",
	[SCENARIO_STAT] = "stat",
};
static const char *const disk_names[] = {
	[SCENARIO_THIN] = "thin",
	[SCENARIO_THICK] = "thick",
	[SCENARIO_FAST] = "fast",
};

static const struct scenario_step *step_of(const struct rehearsal *rehearsal,
                                           const struct rehearse_result *result)
{
	return &rehearsal->scenario->steps[result->step];
}

static double seconds(uint64_t ms)
{
	return (double) ms / 1000;
}

void rehearse_report_task(struct rehearsal *rehearsal, const struct rehearse_result *result)
{
	const struct scenario_step *step = step_of(rehearsal, result);
	char path[SCENARIO_PATH_BYTES] = "";

	if (rehearsal->json)
		return;
	if (step->file)
		(void) scenario_path(step->file, result->number, path);
	fprintf(rehearsal->to, "host %-2u  %-7s  %-36s %8.3f s  %s%s%s%s%s\n", result->host,
	        kind_names[step->kind], path, seconds(result->ms), result->good ? "ok" : "FAILED",
	        result->engine[0] ? "  " : "", result->engine, result->note[0] ? "  " : "",
	        result->note);
	fflush(rehearsal->to);
}

/* ---- the table ---- */

struct count {
	const char *text;
	unsigned count;
};

/* How often each text was there; what finds no room is not counted. */
static void count_text(struct count *counts, size_t counts_max, const char *text)
{
	for (size_t i = 0; i < counts_max; i++) {
		if (!counts[i].text || strcmp(counts[i].text, text) == 0) {
			counts[i].text = text;
			counts[i].count++;
			return;
		}
	}
}

struct summary {
	unsigned good, failed;
	uint64_t min_ms, median_ms, max_ms; /* of the good ones */
	struct count engines[ENGINES_MAX], reasons[REASONS_MAX];
};

static int by_ms(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static void summary_times(struct summary *summary, uint64_t *times)
{
	if (summary->good == 0)
		return;
	qsort(times, summary->good, sizeof *times, by_ms);
	summary->min_ms = times[0];
	summary->median_ms = times[summary->good / 2];
	summary->max_ms = times[summary->good - 1];
}

/* @times: room for all results. */
static struct summary summary_of(const struct rehearsal *rehearsal, unsigned step, uint64_t *times)
{
	struct summary summary = { 0 };

	for (size_t i = 0; i < rehearsal->result_count; i++) {
		const struct rehearse_result *result = &rehearsal->results[i];

		if (result->step != step)
			continue;
		if (!result->good) {
			summary.failed++;
			count_text(summary.reasons, REASONS_MAX, result->note);
			continue;
		}
		times[summary.good++] = result->ms;
		if (result->engine[0])
			count_text(summary.engines, ENGINES_MAX, result->engine);
	}
	summary_times(&summary, times);
	return summary;
}

static void step_text(const struct scenario_step *step, char text[WHAT_BYTES])
{
	if (step->kind == SCENARIO_CLONE)
		snprintf(text, WHAT_BYTES, "clone %s to %s %s", step->source, step->file,
		         disk_names[step->disk]);
	else
		snprintf(text, WHAT_BYTES, "%s%s%s", kind_names[step->kind], step->file ? " " : "",
		         step->file ? step->file : "");
}

static void table_row(const struct rehearsal *rehearsal, unsigned step, uint64_t *times)
{
	const struct scenario_step *what = &rehearsal->scenario->steps[step];
	const struct summary summary = summary_of(rehearsal, step, times);
	FILE *to = rehearsal->to;
	char text[WHAT_BYTES];

	step_text(what, text);
	fprintf(to, "%4u  %5u  %6u  %8.3f  %8.3f  %8.3f  %s", what->line, summary.good,
	        summary.failed, seconds(summary.min_ms), seconds(summary.median_ms),
	        seconds(summary.max_ms), text);
	for (size_t i = 0; i < ENGINES_MAX && summary.engines[i].text; i++)
		fprintf(to, "%s%s %u", i == 0 ? "  (" : ", ", summary.engines[i].text,
		        summary.engines[i].count);
	fputs(summary.engines[0].text ? ")\n" : "\n", to);
	for (size_t i = 0; i < REASONS_MAX && summary.reasons[i].text; i++)
		fprintf(to, "      %u x %s\n", summary.reasons[i].count, summary.reasons[i].text);
}

/* ---- JSON ---- */

static void json_text(FILE *to, const char *name, const char *text)
{
	fprintf(to, "\"%s\": \"", name);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(to, "\\%c", *text);
		else if ((unsigned char) *text < 0x20)
			fprintf(to, "\\u%04x", (unsigned) *text);
		else
			fputc(*text, to);
	}
	fputc('"', to);
}

static void json_result(const struct rehearsal *rehearsal, const struct rehearse_result *result)
{
	const struct scenario_step *step = step_of(rehearsal, result);
	char path[SCENARIO_PATH_BYTES] = "";
	FILE *to = rehearsal->to;

	if (step->file)
		(void) scenario_path(step->file, result->number, path);
	fprintf(to, "{\"line\": %u, \"host\": %u, \"number\": %u, ", step->line, result->host,
	        result->number);
	json_text(to, "kind", kind_names[step->kind]);
	fputs(", ", to);
	json_text(to, "file", path);
	fprintf(to, ", \"good\": %s, \"seconds\": %.3f, ", result->good ? "true" : "false",
	        seconds(result->ms));
	json_text(to, "engine", result->engine);
	fputs(", ", to);
	json_text(to, "note", result->note);
	fputs("}", to);
}

static void json_step(const struct rehearsal *rehearsal, unsigned step, uint64_t *times)
{
	const struct summary summary = summary_of(rehearsal, step, times);
	char text[WHAT_BYTES];

	step_text(&rehearsal->scenario->steps[step], text);
	fprintf(rehearsal->to, "{\"line\": %u, ", rehearsal->scenario->steps[step].line);
	json_text(rehearsal->to, "step", text);
	fprintf(rehearsal->to,
	        ", \"good\": %u, \"failed\": %u, \"min_seconds\": %.3f, \"median_seconds\": %.3f,"
	        " \"max_seconds\": %.3f}",
	        summary.good, summary.failed, seconds(summary.min_ms), seconds(summary.median_ms),
	        seconds(summary.max_ms));
}

static void json_all(const struct rehearsal *rehearsal, uint64_t *times, unsigned left_behind)
{
	FILE *to = rehearsal->to;

	fputs("{", to);
	json_text(to, "server", rehearsal->scenario->server);
	fputs(", ", to);
	json_text(to, "datastore", rehearsal->scenario->datastore);
	fprintf(to, ", \"left_behind\": %u,\n \"tasks\": [", left_behind);
	for (size_t i = 0; i < rehearsal->result_count; i++) {
		fputs(i == 0 ? "\n  " : ",\n  ", to);
		json_result(rehearsal, &rehearsal->results[i]);
	}
	fputs("],\n \"steps\": [", to);
	for (unsigned i = 0; i < rehearsal->scenario->step_count; i++) {
		fputs(i == 0 ? "\n  " : ",\n  ", to);
		json_step(rehearsal, i, times);
	}
	fputs("]}\n", to);
}

void rehearse_report_end(struct rehearsal *rehearsal, unsigned left_behind)
{
	AUTO(free_ptr) uint64_t *times = calloc(rehearsal->result_count + 1, sizeof *times);

	if (!times)
		return;
	if (rehearsal->json) {
		json_all(rehearsal, times, left_behind);
		return;
	}
	fputs("\nline   good  failed     min s  median s     max s  step\n", rehearsal->to);
	for (unsigned i = 0; i < rehearsal->scenario->step_count; i++)
		table_row(rehearsal, i, times);
	if (left_behind)
		fprintf(rehearsal->to, "%u files or directories could not be removed\n",
		        left_behind);
}
