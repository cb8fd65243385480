/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/answer.h"

#include <stdio.h>
#include <string.h>

#include "offload/status.h"

void answer_job(struct job_record *record, uint64_t now_ms, offload_job *ret_job)
{
	offload_job job = {
		.id = record->id,
		.kind = record->kind,
		.state = record->state,
		.status = record->status,
		.flags = record->flags,
		.engine = { (u_int) strlen(record->engine), record->engine },
		.bytes_done = record->bytes_done,
		.bytes_total = record->bytes_total,
		.bytes_moved = record->bytes_moved,
		.rate = job_rate(record, now_ms),
		.created_ms = record->created_ms,
		.started_ms = record->started_ms,
		.finished_ms = record->finished_ms,
		.has_checksum = record->has_checksum,
		.text = { (u_int) strlen(record->text), record->text },
		.source = { (u_int) strlen(record->source.shown), record->source.shown },
		.destination = { (u_int) strlen(record->destination.shown),
		                 record->destination.shown },
	};

	memcpy(job.checksum, record->checksum, sizeof job.checksum);
	/* What is being put back fails, but has not failed yet. */
	if (job_is_live(record))
		job.status = OFFLOAD_OK;
	*ret_job = job;
}

void answer_refusal(int error, const char *what, char text[JOB_TEXT_BYTES],
                    offload_status *ret_status, offload_text *ret_text)
{
	*ret_status = offload_status_of(error);
	snprintf(text, JOB_TEXT_BYTES, "%s%s%s", what, what[0] ? ": " : "",
	         offload_error_text(error));
	ret_text->offload_text_val = text;
	ret_text->offload_text_len = (u_int) strlen(text);
}
