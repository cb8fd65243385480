/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/page_text.h"

#include "rpcgen/offload_text.h"
#include "vfs/base/json.h"

static void put_space(struct json *json, const struct snapshot *snapshot)
{
	json_begin(json, "space", '[');
	for (unsigned i = 0; i < snapshot->export_count; i++) {
		const struct snapshot_export *export = &snapshot->exports[i];

		if (!export->space.known)
			continue;
		json_begin(json, NULL, '{');
		json_u64(json, "id", export->id);
		json_u64(json, "total_bytes", export->space.total_bytes);
		json_u64(json, "available_bytes", export->space.available_bytes);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void put_job(struct json *json, const offload_job *job)
{
	json_begin(json, NULL, '{');
	json_u64(json, "id", job->id);
	json_word(json, "kind", offload_kind_name(job->kind));
	json_word(json, "state", offload_state_name(job->state));
	json_text(json, "engine", job->engine.offload_engine_val, job->engine.offload_engine_len);
	json_text(json, "source", job->source.offload_path_val, job->source.offload_path_len);
	json_text(json, "destination", job->destination.offload_path_val,
	          job->destination.offload_path_len);
	json_u64(json, "bytes_done", job->bytes_done);
	json_u64(json, "bytes_total", job->bytes_total);
	json_u64(json, "rate", job->rate);
	json_end(json, '}');
}

static void put_offload(struct json *json, const struct sidecar_seen *sidecar)
{
	json_begin(json, "offload", '{');
	json_bool(json, "answers", sidecar->answers);
	json_u64(json, "queued", sidecar->totals.queued);
	json_u64(json, "running", sidecar->totals.running);
	json_begin(json, "jobs", '[');
	for (u_int i = 0; i < sidecar->totals.live.live_len; i++)
		put_job(json, &sidecar->totals.live.live_val[i]);
	json_end(json, ']');
	json_end(json, '}');
}

void page_text(FILE *to, struct server *server, const struct snapshot *snapshot)
{
	struct json json = { to };

	fputs("{\"status\": ", to);
	status_text(to, server, &snapshot->times, snapshot->summary);
	json.comma = true;
	json_word(&json, "trouble", snapshot_trouble(snapshot));
	put_space(&json, snapshot);
	put_offload(&json, snapshot->sidecar);
	fputs("}\n", to);
}
