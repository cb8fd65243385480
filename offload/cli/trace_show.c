/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/trace_show.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "offload/cli/text.h"
#include "vfs/base/cleanup.h"

enum {
	CLOCK_BYTES = 16,
	STATUS_BYTES = 16,
	MS_PER_S = 1000,
};

/* RFC 1813 section 2.6, without NFS3ERR_. */
static const struct {
	uint64_t status;
	const char *name;
} statuses[] = {
	{ 0, "OK" },
	{ 1, "PERM" },
	{ 2, "NOENT" },
	{ 5, "IO" },
	{ 6, "NXIO" },
	{ 13, "ACCES" },
	{ 17, "EXIST" },
	{ 18, "XDEV" },
	{ 19, "NODEV" },
	{ 20, "NOTDIR" },
	{ 21, "ISDIR" },
	{ 22, "INVAL" },
	{ 27, "FBIG" },
	{ 28, "NOSPC" },
	{ 30, "ROFS" },
	{ 31, "MLINK" },
	{ 63, "NAMETOOLONG" },
	{ 66, "NOTEMPTY" },
	{ 69, "DQUOT" },
	{ 70, "STALE" },
	{ 71, "REMOTE" },
	{ 10001, "BADHANDLE" },
	{ 10002, "NOT_SYNC" },
	{ 10003, "BAD_COOKIE" },
	{ 10004, "NOTSUPP" },
	{ 10005, "TOOSMALL" },
	{ 10006, "SERVERFAULT" },
	{ 10007, "BADTYPE" },
	{ 10008, "JUKEBOX" },
};

static void status_text(const struct json_value *status, char to[STATUS_BYTES])
{
	if (!status || status->kind != JSON_NUMBER) {
		snprintf(to, STATUS_BYTES, "refused");
		return;
	}
	for (size_t i = 0; i < ARRAY_COUNT(statuses); i++) {
		if (statuses[i].status != status->number)
			continue;
		snprintf(to, STATUS_BYTES, "%s", statuses[i].name);
		return;
	}
	snprintf(to, STATUS_BYTES, "%" PRIu64, status->number);
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
	status_text(json_find(event, "status"), status);
	fprintf(to, "%s.%03u  %-12s  %-11s  %6" PRIu64 ".%03u", clock,
	        (unsigned) (at_ms % MS_PER_S), json_find_text(event, "procedure"), status,
	        took_us / MS_PER_S, (unsigned) (took_us % MS_PER_S));
	show_files(to, json_find(event, "files"));
	if (json_find(event, "offset"))
		fprintf(to, "  %" PRIu64 "+%" PRIu64, json_find_number(event, "offset"),
		        json_find_number(event, "count"));
	fputc('\n', to);
}
