/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/trace_show.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "offload/cli/text.h"
#include "rpcgen/offload_text.h"
#include "rpcgen/status_text.h"

enum {
	CLOCK_BYTES = 16,
	STATUS_BYTES = 24,
	MS_PER_S = 1000,
};

/* "NOENT" from "NFS3ERR_NOENT". */
static const char *without_prefix(const char *name)
{
	return name ? strchr(name, '_') + 1 : NULL;
}

/* In the words of its program. */
static void status_text(const struct json_value *event, char to[STATUS_BYTES])
{
	const struct json_value *status = json_find(event, "status");
	const char *program = json_find_text(event, "program"), *name;
	uint32_t number;

	if (!status || status->kind != JSON_NUMBER) {
		snprintf(to, STATUS_BYTES, "refused");
		return;
	}
	number = (uint32_t) status->number;
	if (strcmp(program, "offload") == 0)
		name = offload_status_name((offload_status) number);
	else if (strcmp(program, "nlm") == 0)
		name = without_prefix(nlm4_status_name(number));
	else
		name = without_prefix(nfs3_status_name(number));
	if (name)
		snprintf(to, STATUS_BYTES, "%s", name);
	else
		snprintf(to, STATUS_BYTES, "%" PRIu32, number);
}

static void show_files(FILE *to, const struct json_value *files)
{
	const char *between = "  ";

	for (const struct json_value *file = files ? files->first : NULL; file; file = file->next) {
		const struct json_value *name = json_find(file, "name");

		fprintf(to, "%s#%08" PRIx32, between, (uint32_t) json_find_number(file, "handle"));
		if (name && name->text_bytes > 0) {
			fputc('/', to);
			text_put(to, name->text, name->text_bytes);
		}
		between = " -> ";
	}
}

void trace_show_head(FILE *to)
{
	fprintf(to, "%-12s  %-12s  %-11s  %10s  %s\n", "TIME", "CALL", "STATUS", "TOOK ms",
	        "FILE  OFFSET+COUNT");
}

void trace_show(FILE *to, const struct json_value *event)
{
	uint64_t at_ms = json_find_number(event, "at_ms");
	uint64_t took_us = json_find_number(event, "latency_us");
	time_t seconds = (time_t) (at_ms / MS_PER_S);
	char clock[CLOCK_BYTES], status[STATUS_BYTES];
	struct tm local;

	if (json_find(event, "dropped")) {
		fprintf(to, "... %" PRIu64 " calls left out: they came faster than they are read\n",
		        json_find_number(event, "dropped"));
		return;
	}
	strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&seconds, &local));
	status_text(event, status);
	fprintf(to, "%s.%03u  %-12s  %-11s  %6" PRIu64 ".%03u", clock,
	        (unsigned) (at_ms % MS_PER_S), json_find_text(event, "procedure"), status,
	        took_us / MS_PER_S, (unsigned) (took_us % MS_PER_S));
	show_files(to, json_find(event, "files"));
	if (json_find(event, "offset"))
		fprintf(to, "  %" PRIu64 "+%" PRIu64, json_find_number(event, "offset"),
		        json_find_number(event, "count"));
	fputc('\n', to);
}
