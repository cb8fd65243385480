/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_text.c - the status document: lodestore-nfsd(8) describes it. What is added to it leaves
 * STATUS_FORMAT as it is; what changes or goes away raises it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nfsd/locks.h"
#include "nfsd/reload.h"
#include "nfsd/server.h"
#include "nfsd/status.h"
#include "vfs/base/json.h"
#include "vfs/base/log.h"
#include "vfs/counts.h"

enum {
	STATUS_FORMAT = 1
};

static void put_tally(struct json *json, const struct tally *tally)
{
	unsigned count = TALLY_BUCKETS;

	while (count > 0 && tally->latency[count - 1] == 0)
		count--;
	json_u64(json, "calls", tally->calls);
	json_u64(json, "errors", tally->errors);
	json_u64(json, "read_bytes", tally->read_bytes);
	json_u64(json, "written_bytes", tally->written_bytes);
	json_u64(json, "latency_us", tally->latency_ns / 1000);
	json_begin(json, "latency", '[');
	for (unsigned i = 0; i < count; i++)
		json_u64(json, NULL, tally->latency[i]);
	json_end(json, ']');
}

/* ---- procedures ---- */

static void put_procedures(struct json *json, const struct summary *summary)
{
	json_begin(json, "procedures", '[');
	for (unsigned i = 0; i < COUNTERS_PROGRAMS; i++) {
		for (unsigned j = 0; j < COUNTERS_PROCEDURES_MAX; j++) {
			if (summary->procedures[i][j].calls == 0)
				continue;
			json_begin(json, NULL, '{');
			json_word(json, "program", counters_program_names[i]);
			json_word(json, "procedure", counters_procedure_name(i, j));
			put_tally(json, &summary->procedures[i][j]);
			json_end(json, '}');
		}
	}
	json_end(json, ']');
}

/* ---- clients and exports ---- */

static void put_clients(struct json *json, const struct summary *summary)
{
	json_begin(json, "clients", '[');
	for (unsigned i = 0; i < summary->client_count; i++) {
		const struct tally_row *row = &summary->clients[i];
		char text[EXPORT_ADDRESS_TEXT_BYTES];
		struct export_address address;

		memcpy(address.bytes, row->key, sizeof address.bytes);
		json_begin(json, NULL, '{');
		if (row->used)
			json_word(json, "address", export_address_print(&address, text));
		else
			json_null(json, "address");
		json_u64(json, "connections", row->users);
		put_tally(json, &row->tally);
		json_end(json, '}');
	}
	json_end(json, ']');
}

struct export_list {
	struct json *json;
	const struct summary *summary;
};

static const struct tally *export_tally(const struct summary *summary, uint32_t id)
{
	static const struct tally none;
	const struct tally_row *row;
	uint8_t key[TALLY_KEY_BYTES];

	counters_export_key(id, key);
	row = tally_rows_find(summary->exports, summary->export_count, key);
	return row ? &row->tally : &none;
}

static void put_export(void *context, uint32_t id, const struct export_spec *spec)
{
	struct export_list *list = context;

	json_begin(list->json, NULL, '{');
	json_word(list->json, "path", spec->path);
	json_u64(list->json, "id", id);
	put_tally(list->json, export_tally(list->summary, id));
	json_end(list->json, '}');
}

static void put_unserved(void *context, const struct export_spec *spec)
{
	json_word(context, NULL, spec->path);
}

static void put_exports(struct json *json, struct server *server, const struct summary *summary)
{
	struct export_list list = { json, summary };

	json_begin(json, "exports", '[');
	vfs_counts_exports(server->vfs, put_export, &list);
	json_end(json, ']');
	json_begin(json, "exports_unserved", '[');
	vfs_counts_unserved(server->vfs, put_unserved, json);
	json_end(json, ']');
}

/* ---- the server ---- */

static void put_head(struct json *json, const struct server *server,
                     const struct status_times *times)
{
	json_u64(json, "format", STATUS_FORMAT);
	json_word(json, "program", "lodestore-nfsd");
	json_word(json, "version", LODESTORE_VERSION);
	json_u64(json, "pid", (uint64_t) getpid());
	json_u64(json, "port", server->port);
	json_u64(json, "started_ms", times->started_ms);
	json_u64(json, "uptime_ms", times->uptime_ms);
}

static void put_load(struct json *json, const struct server *server, const struct summary *summary)
{
	json_begin(json, "workers", '{');
	json_u64(json, "count", summary->workers);
	json_u64(json, "silent", summary->silent);
	json_end(json, '}');
	json_begin(json, "connections", '{');
	json_u64(json, "open", summary->connections);
	json_u64(json, "accepted", summary->accepted);
	json_u64(json, "limit", server->config->connections);
	json_end(json, '}');
	json_u64(json, "calls_in_flight", summary->calls);
	json_u64(json, "calls_delayed", summary->delayed);
	json_begin(json, "buffers", '{');
	json_u64(json, "used_bytes", atomic_load(&server->budget.used_bytes));
	json_u64(json, "limit_bytes", server->budget.limit_bytes);
	json_end(json, '}');
}

static void put_files(struct json *json, struct server *server)
{
	struct vfs_counts counts;

	vfs_counts(server->vfs, &counts);
	json_begin(json, "files", '{');
	json_u64(json, "open", counts.open_files);
	json_u64(json, "limit", counts.open_files_max);
	json_u64(json, "opened", counts.opened);
	json_u64(json, "found_open", counts.hits);
	json_end(json, '}');
	json_begin(json, "flushes", '{');
	json_u64(json, "count", counts.flushes);
	json_u64(json, "calls", counts.flush_waiters);
	json_u64(json, "failed", atomic_load(&server->flush_failures));
	json_u64(json, "failed_last_ms", atomic_load(&server->flush_failed_ms));
	json_end(json, '}');
}

static void put_replies(struct json *json, const struct server *server)
{
	struct reply_cache_stats stats;

	reply_cache_stats(server->replies, &stats);
	json_begin(json, "reply_cache", '{');
	json_u64(json, "kept", stats.inserted);
	json_u64(json, "replayed", stats.replayed);
	json_u64(json, "joined", stats.joined);
	json_u64(json, "uncached", stats.uncached);
	json_end(json, '}');
}

static void put_refusals(struct json *json, const struct summary *summary)
{
	json_begin(json, "refusals", '{');
	for (unsigned i = REFUSED_NOT + 1; i < REFUSALS; i++)
		json_u64(json, counters_refusal_names[i], summary->refusals[i]);
	json_end(json, '}');
}

static void put_locks(struct json *json, const struct server *server)
{
	json_begin(json, "locks", '{');
	json_bool(json, "served", server->locks != NULL);
	if (server->locks)
		locks_put_counts(server->locks, json);
	json_end(json, '}');
}

static void put_closed(struct json *json, const struct summary *summary)
{
	json_begin(json, "connections_closed", '{');
	for (unsigned i = 0; i < CLOSED_REASONS; i++)
		json_u64(json, counters_closed_names[i], summary->closed[i]);
	json_end(json, '}');
}

void status_text(FILE *to, struct server *server, const struct status_times *times,
                 const struct summary *summary)
{
	struct json json = { to };

	json_begin(&json, NULL, '{');
	put_head(&json, server, times);
	put_load(&json, server, summary);
	put_files(&json, server);
	put_replies(&json, server);
	put_locks(&json, server);
	put_refusals(&json, summary);
	put_closed(&json, summary);
	json_u64(&json, "log_lines_suppressed", log_suppressed_count());
	put_procedures(&json, summary);
	put_exports(&json, server, summary);
	reload_put(server->reload, &json);
	put_clients(&json, summary);
	json_end(&json, '}');
	fputc('\n', to);
}
