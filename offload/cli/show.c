/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/show.h"

#include <inttypes.h>
#include <string.h>

#include "rpcgen/offload_text.h"
#include "vfs/base/cleanup.h"

enum {
	BAR_CELLS_MAX = 40,
	BAR_CELLS_MIN = 8,
	CHECKSUM_TEXT_BYTES = 2 * OFFLOAD_CHECKSUM_BYTES + 1,
};

static const struct {
	offload_kind kind;
	unsigned flag;
	const char *name;
} flag_names[] = {
	{ OFFLOAD_KIND_CLONE, OFFLOAD_CLONE_FAST, "fast" },
	{ OFFLOAD_KIND_CLONE, OFFLOAD_CLONE_VERIFY, "verify" },
	{ OFFLOAD_KIND_CLONE, OFFLOAD_CLONE_NEW, "new" },
	{ OFFLOAD_KIND_PUNCH, OFFLOAD_PUNCH_DRY_RUN, "dry_run" },
};

static const struct {
	unsigned bit;
	const char *name;
} can_names[] = {
	{ OFFLOAD_CAN_CLONE, "clone" },     { OFFLOAD_CAN_FAST_CLONE, "fast_clone" },
	{ OFFLOAD_CAN_RESERVE, "reserve" }, { OFFLOAD_CAN_STAT_UNIQUE, "stat_unique" },
	{ OFFLOAD_CAN_PUNCH, "punch" },
};

bool show_is_live(const offload_job *job)
{
	return job->state == OFFLOAD_STATE_QUEUED || job->state == OFFLOAD_STATE_RUNNING;
}

static uint64_t duration_ms(uint64_t from_ms, uint64_t to_ms)
{
	return to_ms > from_ms ? to_ms - from_ms : 0;
}

static void checksum_text(const offload_job *job, char to[CHECKSUM_TEXT_BYTES])
{
	for (unsigned i = 0; i < OFFLOAD_CHECKSUM_BYTES; i++)
		snprintf(to + 2 * i, 3, "%02x", (uint8_t) job->checksum[i]);
}

static void put_path(FILE *to, const char *prefix, const offload_path *path)
{
	fputs(prefix, to);
	text_put(to, path->offload_path_val, path->offload_path_len);
}

/* ---- JSON ---- */

static void flags_json(struct json *json, const offload_job *job)
{
	json_begin(json, "flags", '[');
	for (size_t i = 0; i < ARRAY_COUNT(flag_names); i++)
		if (flag_names[i].kind == job->kind && (job->flags & flag_names[i].flag))
			json_word(json, NULL, flag_names[i].name);
	json_end(json, ']');
}

void show_job_json(struct json *json, const char *key, const offload_job *job)
{
	char checksum[CHECKSUM_TEXT_BYTES];

	json_begin(json, key, '{');
	json_u64(json, "id", job->id);
	json_word(json, "kind", offload_kind_name(job->kind));
	json_word(json, "state", offload_state_name(job->state));
	json_word(json, "status", offload_status_name(job->status));
	flags_json(json, job);
	json_text(json, "engine", job->engine.offload_engine_val, job->engine.offload_engine_len);
	json_u64(json, "bytes_done", job->bytes_done);
	json_u64(json, "bytes_total", job->bytes_total);
	json_u64(json, "bytes_moved", job->bytes_moved);
	json_u64(json, "rate", job->rate);
	json_u64(json, "created_ms", job->created_ms);
	json_u64(json, "started_ms", job->started_ms);
	json_u64(json, "finished_ms", job->finished_ms);
	checksum_text(job, checksum);
	if (job->has_checksum)
		json_word(json, "checksum", checksum);
	else
		json_null(json, "checksum");
	json_text(json, "text", job->text.offload_text_val, job->text.offload_text_len);
	json_text(json, "source", job->source.offload_path_val, job->source.offload_path_len);
	if (job->kind == OFFLOAD_KIND_CLONE)
		json_text(json, "destination", job->destination.offload_path_val,
		          job->destination.offload_path_len);
	else
		json_null(json, "destination");
	json_end(json, '}');
}

void show_support_json(struct json *json, const char *key, const offload_support *support)
{
	json_begin(json, key, '{');
	json_begin(json, "can", '[');
	for (size_t i = 0; i < ARRAY_COUNT(can_names); i++)
		if (support->can & can_names[i].bit)
			json_word(json, NULL, can_names[i].name);
	json_end(json, ']');
	json_text(json, "file_system", support->file_system.offload_text_val,
	          support->file_system.offload_text_len);
	json_text(json, "server_version", support->server_version.offload_text_val,
	          support->server_version.offload_text_len);
	json_end(json, '}');
}

void show_stat_json(struct json *json, const char *key, const offload_stat *stat)
{
	json_begin(json, key, '{');
	json_u64(json, "total_bytes", stat->total_bytes);
	json_u64(json, "allocated_bytes", stat->allocated_bytes);
	json_u64(json, "unique_bytes", stat->unique_bytes);
	json_u64(json, "extents", stat->extents);
	json_bool(json, "knows_shared", stat->knows_shared);
	json_end(json, '}');
}

/* ---- for people ---- */

void show_task(FILE *to, const offload_job *job, const char *prefix)
{
	fprintf(to, "%s of ", offload_kind_name(job->kind));
	put_path(to, prefix, &job->source);
	if (job->kind == OFFLOAD_KIND_CLONE) {
		fputs(" to ", to);
		put_path(to, prefix, &job->destination);
	}
}

void show_jobs_head(FILE *to)
{
	fprintf(to, "%-16s  %-8s  %-9s  %-8s  %15s  %8s  %6s  %s\n", "JOB", "KIND", "STATE",
	        "ENGINE", "DONE/TOTAL", "RATE", "AGE", "FILES");
}

void show_jobs_row(FILE *to, const offload_job *job, uint64_t now_ms)
{
	char done[TEXT_SHORT_BYTES], total[TEXT_SHORT_BYTES], rate[TEXT_SHORT_BYTES];
	char age[TEXT_SHORT_BYTES], amount[2 * TEXT_SHORT_BYTES];

	snprintf(amount, sizeof amount, "%s/%s", text_size(job->bytes_done, done),
	         text_size(job->bytes_total, total));
	fprintf(to, "%-16" PRIu64 "  %-8s  %-9s  ", (uint64_t) job->id,
	        offload_kind_name(job->kind), offload_state_name(job->state));
	text_put(to, job->engine.offload_engine_val, job->engine.offload_engine_len);
	fprintf(to, "%*s  %15s  %6s/s  %6s  ",
	        job->engine.offload_engine_len < 8 ? 8 - (int) job->engine.offload_engine_len : 0,
	        "", amount, text_size(job->rate, rate),
	        text_duration(duration_ms(job->created_ms, now_ms), age));
	put_path(to, "", &job->source);
	if (job->kind == OFFLOAD_KIND_CLONE) {
		fputs(" -> ", to);
		put_path(to, "", &job->destination);
	}
	fputc('\n', to);
}

static void put_amount(FILE *to, const char *name, uint64_t bytes)
{
	char size[TEXT_SHORT_BYTES];

	fprintf(to, "%-13s%s (%" PRIu64 " bytes)\n", name, text_size(bytes, size), bytes);
}

/* How long it has worked, or had; waiting for other jobs not counted. */
static uint64_t work_ms(const offload_job *job, uint64_t now_ms)
{
	uint64_t end_ms = job->finished_ms ? job->finished_ms : now_ms;

	return job->started_ms ? duration_ms(job->started_ms, end_ms) : 0;
}

void show_job(FILE *to, const offload_job *job, const char *prefix, uint64_t now_ms)
{
	char text[TEXT_SHORT_BYTES], checksum[CHECKSUM_TEXT_BYTES];

	fprintf(to, "%-13s%" PRIu64 ", %s, begun %s ago\n%-13s", "job:", (uint64_t) job->id,
	        offload_state_name(job->state),
	        text_duration(duration_ms(job->created_ms, now_ms), text), "task:");
	show_task(to, job, prefix);
	fprintf(to, "\n%-13s", "engine:");
	text_put(to, job->engine.offload_engine_val, job->engine.offload_engine_len);
	fputc('\n', to);
	put_amount(to, "total:", job->bytes_total);
	put_amount(to, "done:", job->bytes_done);
	put_amount(to, "moved:", job->bytes_moved);
	fprintf(to, "%-13s%s/s\n", "rate:", text_size(job->rate, text));
	fprintf(to, "%-13s%s\n", "time:", text_duration(work_ms(job, now_ms), text));
	checksum_text(job, checksum);
	if (job->has_checksum)
		fprintf(to, "%-13s%s\n", "checksum:", checksum);
	if (job->status != OFFLOAD_OK)
		fprintf(to, "%-13s%s\n", "status:", offload_status_text(job->status));
	if (job->text.offload_text_len) {
		fprintf(to, "%-13s", "text:");
		text_put(to, job->text.offload_text_val, job->text.offload_text_len);
		fputc('\n', to);
	}
}

static void done_clone(FILE *to, const offload_job *job, const char *prefix)
{
	char total[TEXT_SHORT_BYTES], time[TEXT_SHORT_BYTES], checksum[CHECKSUM_TEXT_BYTES];

	fputs("cloned ", to);
	put_path(to, prefix, &job->source);
	fputs(" to ", to);
	put_path(to, prefix, &job->destination);
	fprintf(to, ": %s by ", text_size(job->bytes_total, total));
	text_put(to, job->engine.offload_engine_val, job->engine.offload_engine_len);
	fprintf(to, " in %s", text_duration(work_ms(job, 0), time));
	checksum_text(job, checksum);
	if (job->flags & OFFLOAD_CLONE_VERIFY)
		fprintf(to, ", verified: %s", checksum);
}

void show_done(FILE *to, const offload_job *job, const char *prefix)
{
	char size[TEXT_SHORT_BYTES], checksum[CHECKSUM_TEXT_BYTES];

	switch (job->kind) {
	case OFFLOAD_KIND_CLONE:
		done_clone(to, job, prefix);
		break;
	case OFFLOAD_KIND_RESERVE:
		fprintf(to, "reserved %s of ", text_size(job->bytes_total, size));
		put_path(to, prefix, &job->source);
		fprintf(to, ": %s newly allocated", text_size(job->bytes_moved, size));
		break;
	case OFFLOAD_KIND_CHECKSUM: /* as sha256sum(1) has it */
		checksum_text(job, checksum);
		fprintf(to, "%s  ", checksum);
		put_path(to, prefix, &job->source);
		break;
	case OFFLOAD_KIND_PUNCH:
		put_path(to, prefix, &job->source);
		fprintf(to, ": %s %s", text_size(job->bytes_moved, size),
		        job->flags & OFFLOAD_PUNCH_DRY_RUN
		                ? "of zeros would become holes. Nothing was changed: --yes does it"
		                : "came back");
		break;
	}
	if (job->text.offload_text_len && job->kind != OFFLOAD_KIND_CHECKSUM) {
		fputs("; ", to);
		text_put(to, job->text.offload_text_val, job->text.offload_text_len);
	}
	fputc('\n', to);
}

void show_stat(FILE *to, const offload_stat *stat)
{
	put_amount(to, "total:", stat->total_bytes);
	put_amount(to, "allocated:", stat->allocated_bytes);
	put_amount(to, "unique:", stat->unique_bytes);
	if (!stat->knows_shared)
		fprintf(to, "%-13sit is not known here what other files share\n", "");
	fprintf(to, "%-13s%" PRIu64 "\n", "extents:", (uint64_t) stat->extents);
}

void show_support(FILE *to, const offload_support *support)
{
	const char *comma = "";

	fprintf(to, "%-13s", "file system:");
	text_put(to, support->file_system.offload_text_val, support->file_system.offload_text_len);
	fprintf(to, "\n%-13s", "can:");
	for (size_t i = 0; i < ARRAY_COUNT(can_names); i++) {
		if (!(support->can & can_names[i].bit))
			continue;
		fprintf(to, "%s%s", comma, can_names[i].name);
		comma = ", ";
	}
	fprintf(to, "\n%-13s", "server:");
	text_put(to, support->server_version.offload_text_val,
	         support->server_version.offload_text_len);
	fputc('\n', to);
}

/* ---- progress ---- */

/* "4.5G/10G  112M/s  ETA 0.9s  copy": fits behind a bar. */
static void bar_facts(char *to, size_t to_bytes, const offload_job *job, uint64_t done)
{
	char done_text[TEXT_SHORT_BYTES], total[TEXT_SHORT_BYTES], rate[TEXT_SHORT_BYTES];
	char eta[TEXT_SHORT_BYTES] = "?", engine[OFFLOAD_ENGINE_BYTES_MAX + 1];
	u_int engine_bytes = job->engine.offload_engine_len;

	if (job->rate)
		text_duration((job->bytes_total - done) / job->rate * 1000, eta);
	for (u_int i = 0; i < engine_bytes; i++)
		engine[i] = job->engine.offload_engine_val[i] > ' ' &&
		                            job->engine.offload_engine_val[i] < 0x7f
		                    ? job->engine.offload_engine_val[i]
		                    : '?';
	engine[engine_bytes] = '\0';
	snprintf(to, to_bytes, "%s/%s  %s/s  ETA %s  %s", text_size(done, done_text),
	         text_size(job->bytes_total, total), text_size(job->rate, rate), eta, engine);
}

void show_bar(char to[SHOW_BAR_BYTES], const offload_job *job, unsigned columns)
{
	uint64_t total = job->bytes_total, done = job->bytes_done < total ? job->bytes_done : total;
	unsigned percent = total ? (unsigned) ((__uint128_t) done * 100 / total) : 0;
	unsigned cells, filled, room = columns > SHOW_BAR_BYTES ? SHOW_BAR_BYTES : columns;
	char facts[128], bar[BAR_CELLS_MAX + 1];

	if (room == 0)
		room = 1;
	if (job->state == OFFLOAD_STATE_QUEUED) {
		snprintf(to, room, "waiting for other copies to end");
		return;
	}
	if (total && done == total) {
		snprintf(to, room, "%s",
		         job->kind == OFFLOAD_KIND_CLONE && (job->flags & OFFLOAD_CLONE_VERIFY)
		                 ? "reading both to compare them"
		                 : "flushing it to the disk");
		return;
	}
	bar_facts(facts, sizeof facts, job, done);
	cells = room > strlen(facts) + 10 ? room - (unsigned) strlen(facts) - 10 : 0;
	cells = cells > BAR_CELLS_MAX ? BAR_CELLS_MAX : cells;
	filled = percent * cells / 100;
	memset(bar, '.', sizeof bar);
	memset(bar, '#', filled);
	bar[cells] = '\0';
	if (cells < BAR_CELLS_MIN)
		snprintf(to, room, "%3u%%  %s", percent, facts);
	else
		snprintf(to, room, "[%s] %3u%%  %s", bar, percent, facts);
}

/* ---- advice ---- */

const char *show_advice(offload_status status, bool fast)
{
	switch (status) {
	case OFFLOAD_ERR_NOENT:
		return "Name files as hosts mount them: the export's path and the path below it";
	case OFFLOAD_ERR_ACCESS:
		return "The server's /etc/lodestore/exports must list this machine, and"
		       " no_root_squash for root to keep its rights";
	case OFFLOAD_ERR_READ_ONLY:
		return "The server's /etc/lodestore/exports must say rw";
	case OFFLOAD_ERR_EXISTS:
		return "Without --new it would be overwritten";
	case OFFLOAD_ERR_STALE:
		return "Look for the file again";
	case OFFLOAD_ERR_BUSY:
		return "'lodestore jobs' shows which; wait for it, or cancel it";
	case OFFLOAD_ERR_UNSUPPORTED:
		return fast ? "Without --fast the file is copied" : "";
	case OFFLOAD_ERR_CHANGED:
		return "Switch its machine off first, or clone a disk that a snapshot has frozen";
	case OFFLOAD_ERR_DIFFERS:
		return "Clone it again, and look at the server's kernel log for disk errors";
	case OFFLOAD_ERR_TOO_MANY:
		return "Wait until some have ended: 'lodestore jobs' lists them";
	case OFFLOAD_ERR_IO:
		return "The server's kernel log says more (dmesg)";
	case OFFLOAD_ERR_UNAVAILABLE:
		return "On the server: systemctl status lodestore-offloadd";
	default:
		return "";
	}
}
