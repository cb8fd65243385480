/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/status_show.h"

#include <inttypes.h>
#include <string.h>

#include "offload/cli/text.h"

enum {
	MS_PER_S = 1000,
	US_PER_MS = 1000,
	LONGEST_US = 1 << 25, /* the last bucket has no end */
	PERMILLE_MEDIAN = 500,
	PERMILLE_SLOW = 990,
};

/* ---- two documents ---- */

struct status_pair status_pair(const struct json_value *before, const struct json_value *now)
{
	uint64_t was_ms = json_find_number(before, "uptime_ms");
	uint64_t is_ms = json_find_number(now, "uptime_ms");
	bool same = json_find_number(before, "pid") == json_find_number(now, "pid") &&
	            is_ms > was_ms;
	uint64_t apart_ms = same ? is_ms - was_ms : is_ms;

	return (struct status_pair){ same ? before : NULL, now, apart_ms ? apart_ms : 1 };
}

static uint64_t grown(const struct json_value *before, const struct json_value *now,
                      const char *key)
{
	uint64_t was = json_find_number(before, key), is = json_find_number(now, key);

	return is > was ? is - was : 0;
}

uint64_t status_rate(const struct status_pair *pair, const struct json_value *before,
                     const struct json_value *now, const char *key)
{
	return (uint64_t) ((__uint128_t) grown(before, now, key) * MS_PER_S / pair->apart_ms);
}

/* Elements of the two lists side by side; the later one is the longer. */
static uint64_t latency_grown(const struct json_value **before, const struct json_value *now)
{
	uint64_t was = *before ? (*before)->number : 0;

	if (*before)
		*before = (*before)->next;
	return now->number > was ? now->number - was : 0;
}

uint64_t status_latency_us(const struct json_value *before, const struct json_value *now,
                           unsigned permille)
{
	const struct json_value *was = json_find(before, "latency"),
				*is = json_find(now, "latency");
	const struct json_value *at = was ? was->first : NULL;
	uint64_t all = 0, sum = 0;
	unsigned bucket = 0;

	if (!is)
		return 0;
	for (const struct json_value *n = is->first; n; n = n->next)
		all += latency_grown(&at, n);
	at = was ? was->first : NULL;
	for (const struct json_value *n = is->first; n && all; n = n->next, bucket++) {
		sum += latency_grown(&at, n);
		if ((__uint128_t) sum * 1000 >= (__uint128_t) all * permille)
			return UINT64_C(1) << (bucket < 63 ? bucket : 63);
	}
	return 0;
}

/* ---- rows ---- */

/* The row of the same export or client; NULL. */
static const struct json_value *row_before(const struct status_pair *pair, const char *list,
                                           const char *key, const struct json_value *row)
{
	const struct json_value *rows = json_find(pair->before, list);
	const char *name = json_find_text(row, key);

	for (const struct json_value *r = rows ? rows->first : NULL; r; r = r->next)
		if (strcmp(json_find_text(r, key), name) == 0)
			return r;
	return NULL;
}

static bool is_exports(const char *list)
{
	return strcmp(list, "exports") == 0;
}

const char *status_text_us(uint64_t us, char to[TEXT_SHORT_BYTES])
{
	if (us == 0)
		snprintf(to, TEXT_SHORT_BYTES, "-");
	else if (us < US_PER_MS)
		snprintf(to, TEXT_SHORT_BYTES, "<%" PRIu64 "us", us);
	else if (us < MS_PER_S * US_PER_MS)
		snprintf(to, TEXT_SHORT_BYTES, "<%" PRIu64 "ms", us / US_PER_MS);
	else if (us < LONGEST_US)
		snprintf(to, TEXT_SHORT_BYTES, "<%us", (unsigned) us / US_PER_MS / MS_PER_S);
	else
		snprintf(to, TEXT_SHORT_BYTES, ">%us", LONGEST_US / 2 / US_PER_MS / MS_PER_S);
	return to;
}

static void show_row(FILE *to, const struct status_pair *pair, const char *list,
                     const struct json_value *row)
{
	const char *key = is_exports(list) ? "path" : "address";
	const struct json_value *before = row_before(pair, list, key, row);
	const char *name = json_find_text(row, key);
	char read[TEXT_SHORT_BYTES], written[TEXT_SHORT_BYTES];
	char median[TEXT_SHORT_BYTES], slow[TEXT_SHORT_BYTES];

	fprintf(to, "%8" PRIu64 " %8s %8s %8s %8s %8" PRIu64 "  ",
	        status_rate(pair, before, row, "calls"),
	        text_size(status_rate(pair, before, row, "read_bytes"), read),
	        text_size(status_rate(pair, before, row, "written_bytes"), written),
	        status_text_us(status_latency_us(before, row, PERMILLE_MEDIAN), median),
	        status_text_us(status_latency_us(before, row, PERMILLE_SLOW), slow),
	        json_find_number(row, "errors"));
	if (!is_exports(list))
		fprintf(to, "%5" PRIu64 "  ", json_find_number(row, "connections"));
	text_put(to, name[0] ? name : "(others)", name[0] ? strlen(name) : strlen("(others)"));
	fputc('\n', to);
}

void status_show_rows(FILE *to, const struct status_pair *pair, const char *list)
{
	const struct json_value *rows = json_find(pair->now, list);

	fprintf(to, "%8s %8s %8s %8s %8s %8s  %s\n", "CALLS/S", "READ/S", "WRITE/S", "P50", "P99",
	        "ERRORS", is_exports(list) ? "EXPORT" : "CONNS  CLIENT");
	for (const struct json_value *row = rows ? rows->first : NULL; row; row = row->next)
		show_row(to, pair, list, row);
}

static void row_json(struct json *json, const struct status_pair *pair, const char *list,
                     const struct json_value *row)
{
	static const char *const counts[] = { "calls", "errors", "read_bytes", "written_bytes",
		                              "latency_us" };
	const char *key = is_exports(list) ? "path" : "address";
	const char *other = is_exports(list) ? "id" : "connections";
	const struct json_value *name = json_find(row, key);
	const struct json_value *before = row_before(pair, list, key, row);

	json_begin(json, NULL, '{');
	if (name && name->kind == JSON_TEXT)
		json_text(json, key, name->text, name->text_bytes);
	else
		json_null(json, key);
	json_u64(json, other, json_find_number(row, other));
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
		json_u64(json, counts[i], json_find_number(row, counts[i]));
	json_u64(json, "calls_s", status_rate(pair, before, row, "calls"));
	json_u64(json, "read_bytes_s", status_rate(pair, before, row, "read_bytes"));
	json_u64(json, "written_bytes_s", status_rate(pair, before, row, "written_bytes"));
	json_u64(json, "p50_us", status_latency_us(before, row, PERMILLE_MEDIAN));
	json_u64(json, "p99_us", status_latency_us(before, row, PERMILLE_SLOW));
	json_end(json, '}');
}

void status_put_rows(struct json *json, const struct status_pair *pair, const char *list)
{
	const struct json_value *rows = json_find(pair->now, list);

	json_begin(json, list, '[');
	for (const struct json_value *row = rows ? rows->first : NULL; row; row = row->next)
		row_json(json, pair, list, row);
	json_end(json, ']');
}

void status_rows_json(FILE *to, const struct status_pair *pair, const char *list)
{
	struct json json = { to };

	json_begin(&json, NULL, '{');
	status_put_rows(&json, pair, list);
	json_end(&json, '}');
	fputc('\n', to);
}

/* ---- the server ---- */

uint64_t status_rate_of_all(const struct status_pair *pair, const char *key)
{
	const struct json_value *now = json_find(pair->now, "procedures");
	const struct json_value *before = json_find(pair->before, "procedures");
	uint64_t was = 0, is = 0;

	for (const struct json_value *row = now ? now->first : NULL; row; row = row->next)
		is += json_find_number(row, key);
	for (const struct json_value *row = before ? before->first : NULL; row; row = row->next)
		was += json_find_number(row, key);
	return is > was ? (uint64_t) ((__uint128_t) (is - was) * MS_PER_S / pair->apart_ms) : 0;
}

const char *status_trouble(const struct json_value *now)
{
	const struct json_value *connections = json_find(now, "connections");
	const struct json_value *buffers = json_find(now, "buffers");
	uint64_t limit_bytes = json_find_number(buffers, "limit_bytes");

	if (json_find_number(json_find(now, "workers"), "silent") > 0)
		return "a worker does not answer: see journalctl -u lodestore-nfsd";
	if (json_find_number(connections, "open") >= json_find_number(connections, "limit"))
		return "no further connection is accepted: raise limits.connections";
	if (json_find_number(buffers, "used_bytes") / 10 >= limit_bytes / 11)
		return "the memory for calls is used up, clients wait: raise limits.buffer_bytes";
	if (!json_find(now, "exports") || !json_find(now, "exports")->first)
		return "nothing is exported: see lodestore-exports(5)";
	return "";
}

static void show_flushes(FILE *to, const struct status_pair *pair)
{
	const struct json_value *now = json_find(pair->now, "flushes");
	uint64_t count = json_find_number(now, "count"), calls = json_find_number(now, "calls");

	fprintf(to, "flushes      %" PRIu64 "/s",
	        status_rate(pair, json_find(pair->before, "flushes"), now, "count"));
	if (count > 0)
		fprintf(to, ", each for %" PRIu64 ".%" PRIu64 " calls since the start",
		        calls / count, calls * 10 / count % 10);
	fputc('\n', to);
}

static void show_refusals(FILE *to, const struct json_value *now)
{
	const struct json_value *refusals = json_find(now, "refusals");
	const char *before = "refused      ";

	for (const struct json_value *r = refusals ? refusals->first : NULL; r; r = r->next) {
		if (r->number == 0 || !r->key)
			continue;
		fputs(before, to);
		text_put(to, r->key, strlen(r->key));
		fprintf(to, " %" PRIu64, r->number);
		before = ", ";
	}
	fputs(before[0] == ',' ? " since the start\n" : "refused      nothing\n", to);
}

static void show_limits(FILE *to, const struct json_value *now)
{
	const struct json_value *connections = json_find(now, "connections");
	const struct json_value *buffers = json_find(now, "buffers");
	const struct json_value *files = json_find(now, "files");
	char used[TEXT_SHORT_BYTES], limit[TEXT_SHORT_BYTES];

	fprintf(to,
	        "connections  %" PRIu64 " of %" PRIu64 ", calls in flight %" PRIu64
	        ", delayed by limits %" PRIu64 "\n",
	        json_find_number(connections, "open"), json_find_number(connections, "limit"),
	        json_find_number(now, "calls_in_flight"), json_find_number(now, "calls_delayed"));
	fprintf(to, "memory       %s of %s, files open %" PRIu64 " of %" PRIu64 "\n",
	        text_size(json_find_number(buffers, "used_bytes"), used),
	        text_size(json_find_number(buffers, "limit_bytes"), limit),
	        json_find_number(files, "open"), json_find_number(files, "limit"));
}

void status_show_server(FILE *to, const struct status_pair *pair)
{
	const struct json_value *now = pair->now;
	const char *trouble = status_trouble(now);
	char one[TEXT_SHORT_BYTES], other[TEXT_SHORT_BYTES];

	fprintf(to, "server       ");
	text_put(to, json_find_text(now, "program"), strlen(json_find_text(now, "program")));
	fputc(' ', to);
	text_put(to, json_find_text(now, "version"), strlen(json_find_text(now, "version")));
	fprintf(to, ", port %" PRIu64 ", up %s\n", json_find_number(now, "port"),
	        text_duration(json_find_number(now, "uptime_ms"), one));
	fprintf(to, "health       %s\n", trouble[0] ? trouble : "good");
	fprintf(to, "calls        %" PRIu64 "/s, read %s/s, written %s/s\n",
	        status_rate_of_all(pair, "calls"),
	        text_size(status_rate_of_all(pair, "read_bytes"), one),
	        text_size(status_rate_of_all(pair, "written_bytes"), other));
	show_flushes(to, pair);
	show_limits(to, now);
	show_refusals(to, now);
}
