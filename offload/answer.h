/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.h - from a job's record to the results of offload.x. Pure.
 *
 * Texts and names are views into the record: it must outlive the encoding.
 */
#pragma once

#include "offload/job.h"

void answer_job(struct job_record *record, uint64_t now_ms, offload_job *ret_job);

/* A refusal: its status, and "@what: why", or only why. @text: room for it. */
void answer_refusal(int error, const char *what, char text[JOB_TEXT_BYTES],
                    offload_status *ret_status, offload_text *ret_text);
