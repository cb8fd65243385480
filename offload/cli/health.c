/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/health.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "offload/cli/text.h"

enum {
	FLUSH_RECENT_MS = 3600 * 1000,
	FINDINGS_BYTES = 2048,
	PERCENT = 100,
};

/* What was found of one severity, as sentences; what does not fit is cut. */
struct findings {
	char text[FINDINGS_BYTES];
	size_t bytes;
};

struct judging {
	const struct health_seen *seen;
	struct findings found[HEALTH_CRITICAL + 1];
};

static const char *const names[] = {
	[HEALTH_GOOD] = "OK",
	[HEALTH_WARNING] = "WARNING",
	[HEALTH_CRITICAL] = "CRITICAL",
	[HEALTH_UNKNOWN] = "UNKNOWN",
};

__attribute__((format(printf, 3, 4))) static void find(struct judging *judging, enum health health,
                                                       const char *format, ...)
{
	struct findings *found = &judging->found[health];
	size_t room = sizeof found->text - found->bytes;
	va_list args;
	int bytes;

	if (found->bytes > 0 && room > 2)
		bytes = snprintf(found->text + found->bytes, room, "; ");
	else
		bytes = 0;
	found->bytes += (size_t) bytes;
	va_start(args, format);
	bytes = vsnprintf(found->text + found->bytes, sizeof found->text - found->bytes, format,
	                  args);
	va_end(args);
	if (bytes > 0)
		found->bytes += (size_t) bytes;
	if (found->bytes >= sizeof found->text)
		found->bytes = sizeof found->text - 1;
}

/* ---- what is judged ---- */

static void judge_server(struct judging *judging)
{
	const struct json_value *now = judging->seen->pair.now;
	const struct json_value *exports = json_find(now, "exports");
	const char *trouble = status_trouble(now);
	bool stuck = json_find_number(json_find(now, "workers"), "silent") > 0;
	bool empty = !exports || !exports->first;

	if (trouble[0])
		find(judging, stuck || empty ? HEALTH_CRITICAL : HEALTH_WARNING, "%s", trouble);
	if (!judging->seen->offload_answers)
		find(judging, HEALTH_WARNING,
		     "the offload service does not answer, hosts copy for themselves: systemctl"
		     " status lodestore-offloadd");
}

static void judge_exports(struct judging *judging)
{
	const struct json_value *unserved = json_find(judging->seen->pair.now, "exports_unserved");

	for (const struct json_value *path = unserved ? unserved->first : NULL; path;
	     path = path->next)
		find(judging, HEALTH_CRITICAL,
		     "%s is in the exports file and not served: journalctl -u lodestore-nfsd says"
		     " why",
		     path->kind == JSON_TEXT ? path->text : "");
}

static void judge_flushes(struct judging *judging)
{
	const struct json_value *now = judging->seen->pair.now;
	const struct json_value *flushes = json_find(now, "flushes");
	uint64_t failed = json_find_number(flushes, "failed");
	uint64_t last_ms = json_find_number(flushes, "failed_last_ms");
	uint64_t now_ms = json_find_number(now, "started_ms") + json_find_number(now, "uptime_ms");
	char ago[TEXT_SHORT_BYTES];

	if (failed == 0)
		return;
	find(judging, now_ms < last_ms + FLUSH_RECENT_MS ? HEALTH_CRITICAL : HEALTH_WARNING,
	     "%" PRIu64 " flushes failed since the start, the last one %s ago: look at the disk"
	     " (dmesg), then restart lodestore-nfsd",
	     failed, text_duration(now_ms > last_ms ? now_ms - last_ms : 0, ago));
}

/* Of clients that were turned away in the second between. */
static uint64_t refused(const struct status_pair *pair, struct judging *judging)
{
	const struct json_value *now = json_find(pair->now, "refusals");
	const struct json_value *before = json_find(pair->before, "refusals");
	uint64_t all = 0;

	for (const struct json_value *row = now ? now->first : NULL; row; row = row->next) {
		uint64_t was = pair->before ? json_find_number(before, row->key) : 0;

		all += row->number;
		if (row->number > was && pair->before)
			find(judging, HEALTH_WARNING,
			     "%" PRIu64
			     " just refused (%s): journalctl -u lodestore-nfsd says whom",
			     row->number - was, row->key);
	}
	return all;
}

/* Whole per cent, rounded down: 100 of nothing. */
static unsigned percent(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned) ((__uint128_t) part * PERCENT / whole) : PERCENT;
}

static unsigned space_percent(const struct space *space)
{
	unsigned bytes = percent(space->free_bytes, space->total_bytes);
	unsigned files = percent(space->free_files, space->total_files);

	return files < bytes ? files : bytes;
}

static void judge_space(struct judging *judging, const struct space *space)
{
	const struct health_seen *seen = judging->seen;
	unsigned left = space_percent(space);
	enum health health = left < seen->crit_space_percent   ? HEALTH_CRITICAL
	                     : left < seen->warn_space_percent ? HEALTH_WARNING
	                                                       : HEALTH_GOOD;
	char bytes[TEXT_SHORT_BYTES];

	if (space->state == SPACE_SILENT)
		find(judging, HEALTH_CRITICAL, "the file system of %s does not answer",
		     space->path);
	else if (space->state == SPACE_FAILED)
		find(judging, HEALTH_CRITICAL, "%s: %s", space->path, strerror(space->error));
	else if (health != HEALTH_GOOD &&
	         space_percent(space) < percent(space->free_bytes, space->total_bytes))
		find(judging, health, "%s has only %" PRIu64 " inodes free (%u%%)", space->path,
		     space->free_files, left);
	else if (health != HEALTH_GOOD)
		find(judging, health, "%s has only %s free (%u%%)", space->path,
		     text_size(space->free_bytes, bytes), left);
}

/* ---- the line ---- */

/* Text that a stranger chose, with what has a meaning of its own there taken out of it. */
static void put_without(FILE *to, const char *text, const char *special, char instead)
{
	for (const char *end; *text; text = *end ? end + 1 : end) {
		end = text + strcspn(text, special);
		text_put(to, text, (size_t) (end - text));
		if (*end)
			fputc(instead, to);
	}
}

static void put_performance(FILE *to, const struct health_seen *seen, uint64_t refusals)
{
	const struct status_pair *pair = &seen->pair;
	const struct json_value *connections = json_find(pair->now, "connections");

	fprintf(to,
	        " | calls=%" PRIu64 " read=%" PRIu64 "B written=%" PRIu64 "B connections=%" PRIu64
	        ";;;0;%" PRIu64 " calls_in_flight=%" PRIu64 " jobs=%u refused=%" PRIu64
	        "c flushes_failed=%" PRIu64 "c",
	        status_rate_of_all(pair, "calls"), status_rate_of_all(pair, "read_bytes"),
	        status_rate_of_all(pair, "written_bytes"), json_find_number(connections, "open"),
	        json_find_number(connections, "limit"),
	        json_find_number(pair->now, "calls_in_flight"), seen->live_jobs, refusals,
	        json_find_number(json_find(pair->now, "flushes"), "failed"));
	for (size_t i = 0; i < seen->space_count; i++) {
		if (seen->spaces[i].state != SPACE_KNOWN)
			continue;
		fputs(" '", to);
		put_without(to, seen->spaces[i].path, "'=|", '_');
		fprintf(to, "'=%u%%;%u:;%u:;0;100", space_percent(&seen->spaces[i]),
		        seen->warn_space_percent, seen->crit_space_percent);
	}
}

static void put_findings(FILE *to, const struct judging *judging)
{
	const char *between = "";

	for (unsigned health = HEALTH_CRITICAL; health > HEALTH_GOOD; health--) {
		if (!judging->found[health].bytes)
			continue;
		fputs(between, to);
		put_without(to, judging->found[health].text, "|", '/');
		between = "; ";
	}
}

enum health health_judge(FILE *to, const struct health_seen *seen)
{
	struct judging judging = { .seen = seen };
	char up[TEXT_SHORT_BYTES];
	uint64_t refusals;
	enum health health;

	judge_server(&judging);
	judge_exports(&judging);
	judge_flushes(&judging);
	refusals = refused(&seen->pair, &judging);
	for (size_t i = 0; i < seen->space_count; i++)
		judge_space(&judging, &seen->spaces[i]);
	health = judging.found[HEALTH_CRITICAL].bytes  ? HEALTH_CRITICAL
	         : judging.found[HEALTH_WARNING].bytes ? HEALTH_WARNING
	                                               : HEALTH_GOOD;
	fprintf(to, "LODESTORE %s - ", names[health]);
	if (health == HEALTH_GOOD)
		fprintf(to, "%zu exports served, up %s", seen->space_count,
		        text_duration(json_find_number(seen->pair.now, "uptime_ms"), up));
	put_findings(to, &judging);
	put_performance(to, seen, refusals);
	fputc('\n', to);
	return health;
}

enum health health_tell(FILE *to, enum health health, const char *text)
{
	fprintf(to, "LODESTORE %s - ", names[health]);
	put_without(to, text, "|", '/');
	fputc('\n', to);
	return health;
}
