/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/metrics.h"
#include "nfsd/prometheus.h"
#include "rpcgen/offload_text.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	/* Bounds of the histograms: 2^n microseconds. What tally.h tells apart below and above is
	 * counted into the first, and into +Inf. */
	BOUND_FIRST = 2,
	BOUND_LAST = TALLY_BUCKETS - 2,
	BOUND_TEXT_BYTES = 32,
	US_PER_S = 1000000,
	NS_PER_MS = 1000000,
};

struct metrics {
	struct prometheus out;
	const struct snapshot *snapshot;
};

static void put_one(struct metrics *metrics, const char *type, const char *name, const char *help,
                    uint64_t value)
{
	prometheus_family(&metrics->out, type, name, help);
	prometheus_u64(&metrics->out, "", NULL, value);
}

/* Sums over workers lack what those count that do not answer, and one that falls is taken for a
 * restart: then they are left out. */
static bool sums_are_whole(const struct metrics *metrics)
{
	return metrics->snapshot->summary->silent == 0;
}

/* ---- the server ---- */

static void put_server(struct metrics *metrics)
{
	const struct snapshot *snapshot = metrics->snapshot;
	const struct status_times *times = &snapshot->times;

	prometheus_family(&metrics->out, "gauge", "lodestore_build_info", "Which program this is.");
	prometheus_u64(&metrics->out, "", LABELS({ "version", LODESTORE_VERSION }), 1);
	prometheus_family(&metrics->out, "gauge", "lodestore_start_time_seconds",
	                  "When the server started, since 1970.");
	prometheus_ns(&metrics->out, "", NULL, times->started_ms * NS_PER_MS);
	prometheus_family(&metrics->out, "gauge", "lodestore_uptime_seconds",
	                  "For how long the server has run.");
	prometheus_ns(&metrics->out, "", NULL, times->uptime_ms * NS_PER_MS);
	put_one(metrics, "gauge", "lodestore_healthy",
	        "1 if nothing is wrong; /healthz says what is.", !snapshot_trouble(snapshot)[0]);
	put_one(metrics, "gauge", "lodestore_workers", "Threads that serve connections.",
	        snapshot->summary->workers);
	put_one(metrics, "gauge", "lodestore_workers_silent",
	        "Of them, those that do not answer; what they count is missing.",
	        snapshot->summary->silent);
}

static void put_load(struct metrics *metrics)
{
	const struct snapshot *snapshot = metrics->snapshot;
	const struct summary *summary = snapshot->summary;

	put_one(metrics, "gauge", "lodestore_connections", "Connections there are.",
	        summary->connections);
	put_one(metrics, "gauge", "lodestore_connections_limit", "Connections there may be.",
	        snapshot->connections_limit);
	if (sums_are_whole(metrics))
		put_one(metrics, "counter", "lodestore_connections_accepted_total",
		        "Connections there have been.", summary->accepted);
	put_one(metrics, "gauge", "lodestore_calls_in_flight",
	        "Calls that are worked on or wait for their turn.", summary->calls);
	if (sums_are_whole(metrics))
		put_one(metrics, "counter", "lodestore_calls_delayed_total",
		        "Calls that waited because of the limits of their export.",
		        summary->delayed);
	put_one(metrics, "gauge", "lodestore_buffers_used_bytes",
	        "Memory in use for calls and replies.", snapshot->buffers_used_bytes);
	put_one(metrics, "gauge", "lodestore_buffers_limit_bytes",
	        "Memory there may be in use for them.", snapshot->buffers_limit_bytes);
}

static void put_files(struct metrics *metrics)
{
	const struct snapshot *snapshot = metrics->snapshot;
	const struct vfs_counts *files = &snapshot->files;

	put_one(metrics, "gauge", "lodestore_open_files", "Files kept open.", files->open_files);
	put_one(metrics, "gauge", "lodestore_open_files_limit", "Files that may be kept open.",
	        files->open_files_max);
	put_one(metrics, "counter", "lodestore_files_opened_total", "Files opened by their handle.",
	        files->opened);
	put_one(metrics, "counter", "lodestore_files_found_open_total",
	        "Calls that found their file open.", files->hits);
	put_one(metrics, "counter", "lodestore_flushes_total",
	        "Flushes of files for WRITE and COMMIT.", files->flushes);
	put_one(metrics, "counter", "lodestore_flush_calls_total",
	        "WRITE and COMMIT calls that those flushes answered: over the flushes, how many"
	        " share one.",
	        files->flush_waiters);
	put_one(metrics, "counter", "lodestore_flush_failures_total", "Flushes that failed.",
	        snapshot->flush_failures);
	put_one(metrics, "gauge", "lodestore_locks", "Locks that clients hold (NLM).",
	        snapshot->locks.locks);
	put_one(metrics, "gauge", "lodestore_locks_waiting", "Calls that wait for a lock.",
	        snapshot->locks.waiters);
	put_one(metrics, "gauge", "lodestore_locks_clients", "Clients that hold or wait for one.",
	        snapshot->locks.clients);
}

static void put_replies(struct metrics *metrics)
{
	const struct reply_cache_stats *stats = &metrics->snapshot->replies;
	struct prometheus *out = &metrics->out;

	put_one(metrics, "counter", "lodestore_reply_cache_kept_total",
	        "Replies kept for calls that are sent again.", stats->inserted);
	prometheus_family(out, "counter", "lodestore_reply_cache_hits_total",
	                  "Calls that came again: answered with the kept reply (replayed), or with"
	                  " the one that the first was still to get (joined).");
	prometheus_u64(out, "", LABELS({ "how", "replayed" }), stats->replayed);
	prometheus_u64(out, "", LABELS({ "how", "joined" }), stats->joined);
	put_one(metrics, "counter", "lodestore_reply_cache_full_total",
	        "Calls whose reply found no place.", stats->uncached);
}

static void put_closed(struct metrics *metrics)
{
	const struct summary *summary = metrics->snapshot->summary;

	prometheus_family(&metrics->out, "counter", "lodestore_connections_closed_total",
	                  "Connections that a limit closed, by limit.");
	for (unsigned i = 0; i < CLOSED_REASONS; i++)
		prometheus_u64(&metrics->out, "", LABELS({ "limit", counters_closed_names[i] }),
		               summary->closed[i]);
}

static void put_refusals(struct metrics *metrics)
{
	const struct summary *summary = metrics->snapshot->summary;

	prometheus_family(&metrics->out, "counter", "lodestore_refusals_total",
	                  "Connections and calls that were turned away.");
	for (unsigned i = REFUSED_NOT + 1; i < REFUSALS; i++)
		prometheus_u64(&metrics->out, "", LABELS({ "reason", counters_refusal_names[i] }),
		               summary->refusals[i]);
	prometheus_family(&metrics->out, "counter", "lodestore_errors_total",
	                  "NFS calls that were answered with an error (RFC 1813 section 2.6).");
	for (unsigned i = 0; i < COUNTERS_STATUSES; i++)
		prometheus_u64(&metrics->out, "", LABELS({ "status", counters_status_name(i) }),
		               summary->statuses[i]);
}

/* ---- procedures ---- */

struct procedure_row {
	const char *program, *procedure;
	const struct tally *tally;
};

/* A bucket also has those of all smaller ones. */
static void put_histogram(struct prometheus *out, const struct procedure_row *row)
{
	const struct prometheus_labels *names = LABELS({ "program", row->program },
	                                               { "procedure", row->procedure });
	char bound[BOUND_TEXT_BYTES];
	uint64_t count = 0;

	for (unsigned i = 0; i <= BOUND_LAST; i++) {
		uint64_t us = 1ull << i;

		count += row->tally->latency[i];
		if (i < BOUND_FIRST)
			continue;
		snprintf(bound, sizeof bound, "%" PRIu64 ".%06" PRIu64, us / US_PER_S,
		         us % US_PER_S);
		prometheus_u64(out, "_bucket",
		               LABELS({ "program", row->program }, { "procedure", row->procedure },
		                      { "le", bound }),
		               count);
	}
	prometheus_u64(out, "_bucket",
	               LABELS({ "program", row->program }, { "procedure", row->procedure },
	                      { "le", "+Inf" }),
	               row->tally->calls);
	prometheus_ns(out, "_sum", names, row->tally->latency_ns);
	prometheus_u64(out, "_count", names, row->tally->calls);
}

static void put_errors(struct prometheus *out, const struct procedure_row *row)
{
	prometheus_u64(out, "",
	               LABELS({ "program", row->program }, { "procedure", row->procedure }),
	               row->tally->errors);
}

/* NFS's are there from the start, so that no first call is missed; others when they are called. */
static void each_procedure(struct metrics *metrics,
                           void (*put)(struct prometheus *out, const struct procedure_row *row))
{
	for (unsigned i = 0; i < COUNTERS_PROGRAMS; i++) {
		for (unsigned j = 0; j < COUNTERS_PROCEDURES_MAX; j++) {
			struct procedure_row row = {
				.program = counters_program_names[i],
				.procedure = counters_procedure_name(i, j),
				.tally = &metrics->snapshot->summary->procedures[i][j],
			};

			if (row.procedure[0] && (i == COUNTERS_NFS || row.tally->calls > 0))
				put(&metrics->out, &row);
		}
	}
}

static void put_procedures(struct metrics *metrics)
{
	prometheus_family(&metrics->out, "histogram", "lodestore_call_duration_seconds",
	                  "How long calls took, from their last byte's arrival to the reply.");
	each_procedure(metrics, put_histogram);
	prometheus_family(&metrics->out, "counter", "lodestore_call_errors_total",
	                  "Calls that were answered with an error.");
	each_procedure(metrics, put_errors);
}

/* ---- rows of exports and clients ---- */

struct row {
	const char *label; /* "other": all without a row of their own */
	struct tally tally;
	unsigned connections;
};

struct rows {
	struct prometheus *out;
	const char *key; /* the label's name */
	const struct row *rows;
	unsigned count;
};

static uint64_t row_calls(const struct row *row)
{
	return row->tally.calls;
}
static uint64_t row_errors(const struct row *row)
{
	return row->tally.errors;
}
static uint64_t row_read(const struct row *row)
{
	return row->tally.read_bytes;
}
static uint64_t row_written(const struct row *row)
{
	return row->tally.written_bytes;
}
static uint64_t row_connections(const struct row *row)
{
	return row->connections;
}

static void put_rows(const struct rows *rows, const char *type, const char *name, const char *help,
                     uint64_t (*value)(const struct row *row))
{
	prometheus_family(rows->out, type, name, help);
	for (unsigned i = 0; i < rows->count; i++)
		prometheus_u64(rows->out, "", LABELS({ rows->key, rows->rows[i].label }),
		               value(&rows->rows[i]));
}

static void put_rows_time(const struct rows *rows, const char *name, const char *help)
{
	prometheus_family(rows->out, "counter", name, help);
	for (unsigned i = 0; i < rows->count; i++)
		prometheus_ns(rows->out, "", LABELS({ rows->key, rows->rows[i].label }),
		              rows->rows[i].tally.latency_ns);
}

/* What is not @shown is of the others. */
static void add_others(struct row *others, const struct tally_row *from)
{
	tally_add(&others->tally, &from->tally);
	others->connections += from->users;
}

/* ---- exports ---- */

static bool is_listed(const struct snapshot *snapshot, const struct tally_row *row)
{
	uint8_t key[TALLY_KEY_BYTES];

	for (unsigned i = 0; row->used && i < snapshot->export_count; i++) {
		counters_export_key(snapshot->exports[i].id, key);
		if (memcmp(key, row->key, sizeof key) == 0)
			return true;
	}
	return false;
}

static unsigned export_rows(const struct snapshot *snapshot, struct row *rows)
{
	const struct summary *summary = snapshot->summary;
	struct row *others = &rows[snapshot->export_count];

	for (unsigned i = 0; i < snapshot->export_count; i++) {
		const struct tally_row *found;
		uint8_t key[TALLY_KEY_BYTES];

		counters_export_key(snapshot->exports[i].id, key);
		found = tally_rows_find(summary->exports, summary->export_count, key);
		rows[i] = (struct row){ .label = snapshot->exports[i].path };
		if (found)
			rows[i].tally = found->tally;
	}
	*others = (struct row){ .label = "other" };
	for (unsigned i = 0; i < summary->export_count; i++)
		if (!is_listed(snapshot, &summary->exports[i]))
			add_others(others, &summary->exports[i]);
	return snapshot->export_count + 1;
}

static void put_space(struct metrics *metrics, const char *name, const char *help, bool available)
{
	const struct snapshot *snapshot = metrics->snapshot;

	prometheus_family(&metrics->out, "gauge", name, help);
	for (unsigned i = 0; i < snapshot->export_count; i++) {
		const struct space_seen *space = &snapshot->exports[i].space;

		if (space->known)
			prometheus_u64(&metrics->out, "",
			               LABELS({ "export", snapshot->exports[i].path }),
			               available ? space->available_bytes : space->total_bytes);
	}
}

static void put_exports(struct metrics *metrics)
{
	const struct snapshot *snapshot = metrics->snapshot;
	AUTO(free_ptr) struct row *rows = calloc(snapshot->export_count + 1, sizeof *rows);
	struct rows exports = { &metrics->out, "export", rows, 0 };

	put_one(metrics, "gauge", "lodestore_exports", "Exports that are served.",
	        snapshot->exports_served);
	put_one(metrics, "gauge", "lodestore_exports_unserved",
	        "Exports of the exports file that cannot be served.", snapshot->exports_unserved);
	put_space(metrics, "lodestore_export_size_bytes", "How large the export's file system is.",
	          false);
	put_space(metrics, "lodestore_export_available_bytes",
	          "How much may still be written to it.", true);
	if (!rows || !sums_are_whole(metrics))
		return;
	exports.count = export_rows(snapshot, rows);
	put_rows(&exports, "counter", "lodestore_export_calls_total",
	         "Calls for files of an export.", row_calls);
	put_rows(&exports, "counter", "lodestore_export_errors_total",
	         "Of them, those that were answered with an error.", row_errors);
	put_rows(&exports, "counter", "lodestore_export_read_bytes_total", "Data of READ.",
	         row_read);
	put_rows(&exports, "counter", "lodestore_export_written_bytes_total", "Data of WRITE.",
	         row_written);
	put_rows_time(&exports, "lodestore_export_call_seconds_total",
	              "How long all calls together took.");
}

/* ---- clients ---- */

/* The place of its series; series->count: it has none. */
static unsigned series_find(const struct metrics_series *series, const uint8_t *key)
{
	unsigned i = 0;

	while (i < series->count && memcmp(series->keys[i], key, TALLY_KEY_BYTES) != 0)
		i++;
	return i;
}

static void series_add(struct metrics_series *series, const struct tally_row *client)
{
	if (!client->used || series->count == series->max ||
	    series_find(series, client->key) < series->count)
		return;
	memcpy(series->keys[series->count++], client->key, TALLY_KEY_BYTES);
}

struct client_texts {
	char texts[METRICS_CLIENTS_MAX][EXPORT_ADDRESS_TEXT_BYTES];
};

static unsigned client_rows(const struct summary *summary, struct metrics_series *series,
                            struct row *rows, struct client_texts *texts)
{
	struct row others = { .label = "other" };
	unsigned count = 0;

	for (unsigned i = 0; i < summary->client_count; i++) {
		const struct tally_row *client = &summary->clients[i];
		struct export_address address;

		series_add(series, client);
		if (!client->used || series_find(series, client->key) == series->count) {
			add_others(&others, client);
			continue;
		}
		memcpy(address.bytes, client->key, sizeof address.bytes);
		rows[count] = (struct row){
			.label = export_address_print(&address, texts->texts[count]),
			.tally = client->tally,
			.connections = client->users,
		};
		count++;
	}
	rows[count++] = others;
	return count;
}

static void put_clients(struct metrics *metrics, struct metrics_series *series)
{
	AUTO(free_ptr) struct row *rows = calloc(series->max + 1, sizeof *rows);
	AUTO(free_ptr) struct client_texts *texts = malloc(sizeof *texts);
	struct rows clients = { &metrics->out, "client", rows, 0 };

	if (!rows || !texts)
		return;
	clients.count = client_rows(metrics->snapshot->summary, series, rows, texts);
	put_rows(&clients, "gauge", "lodestore_client_connections", "Connections of a client.",
	         row_connections);
	put_rows(&clients, "counter", "lodestore_client_calls_total", "Calls of a client.",
	         row_calls);
	put_rows(&clients, "counter", "lodestore_client_errors_total",
	         "Of them, those that were answered with an error.", row_errors);
	put_rows(&clients, "counter", "lodestore_client_read_bytes_total", "Data of READ.",
	         row_read);
	put_rows(&clients, "counter", "lodestore_client_written_bytes_total", "Data of WRITE.",
	         row_written);
	put_rows_time(&clients, "lodestore_client_call_seconds_total",
	              "How long all calls together took.");
}

/* ---- the sidecar ---- */

static uint64_t total_jobs(const offload_total *total)
{
	return total->jobs;
}
static uint64_t total_bytes(const offload_total *total)
{
	return total->bytes;
}
static uint64_t total_moved(const offload_total *total)
{
	return total->moved_bytes;
}

static void put_totals(struct metrics *metrics, const char *name, const char *help,
                       uint64_t (*value)(const offload_total *total))
{
	const offload_totals *totals = &metrics->snapshot->sidecar->totals;

	prometheus_family(&metrics->out, "counter", name, help);
	for (u_int i = 0; i < totals->ended.ended_len; i++) {
		const offload_total *total = &totals->ended.ended_val[i];
		char engine[OFFLOAD_ENGINE_BYTES_MAX + 1];

		snprintf(engine, sizeof engine, "%.*s", (int) total->engine.offload_engine_len,
		         total->engine.offload_engine_val);
		prometheus_u64(&metrics->out, "",
		               LABELS({ "kind", offload_kind_name(total->kind) },
		                      { "engine", engine[0] ? engine : "none" },
		                      { "state", offload_state_name(total->state) }),
		               value(total));
	}
}

static void put_sidecar(struct metrics *metrics)
{
	const struct sidecar_seen *sidecar = metrics->snapshot->sidecar;
	struct prometheus *out = &metrics->out;

	put_one(metrics, "gauge", "lodestore_offload_up",
	        "1 if lodestore-offloadd answers; without it hosts copy for themselves.",
	        sidecar->answers);
	if (!sidecar->answers)
		return;
	prometheus_family(out, "gauge", "lodestore_offload_jobs", "Jobs that have not ended.");
	prometheus_u64(out, "", LABELS({ "state", "queued" }), sidecar->totals.queued);
	prometheus_u64(out, "", LABELS({ "state", "running" }), sidecar->totals.running);
	put_totals(metrics, "lodestore_offload_jobs_ended_total",
	           "Jobs that have ended, since lodestore-offloadd started.", total_jobs);
	put_totals(metrics, "lodestore_offload_bytes_total",
	           "How long their files were: cloned, reserved, read.", total_bytes);
	put_totals(metrics, "lodestore_offload_moved_bytes_total",
	           "How much of that was copied, allocated, read or freed.", total_moved);
	prometheus_family(out, "counter", "lodestore_offload_refusals_total",
	                  "Requests for offloads that were refused.");
	for (unsigned i = OFFLOAD_OK + 1; i < OFFLOAD_STATUSES; i++)
		prometheus_u64(out, "", LABELS({ "reason", offload_status_name(i) }),
		               sidecar->totals.refused[i]);
}

void metrics_text(FILE *to, const struct snapshot *snapshot, struct metrics_series *series)
{
	struct metrics metrics = { { .to = to }, snapshot };

	put_server(&metrics);
	put_load(&metrics);
	put_files(&metrics);
	put_replies(&metrics);
	put_one(&metrics, "counter", "lodestore_log_lines_suppressed_total",
	        "Lines of the log that were counted instead of written.", log_suppressed_count());
	put_exports(&metrics);
	if (sums_are_whole(&metrics)) {
		put_refusals(&metrics);
		put_closed(&metrics);
		put_procedures(&metrics);
		put_clients(&metrics, series);
	}
	put_sidecar(&metrics);
}
