/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.h - answers of a server, for people and as JSON. It writes to the stream that it is given,
 * and does no other I/O.
 *
 * @prefix stands before paths: "nas:", "" on this machine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "offload/cli/text.h"
#include "rpcgen/offload.h"

enum {
	SHOW_BAR_BYTES = 512
};

bool show_is_live(const offload_job *job);

/* The object of one job; lodestore(1) describes it. */
void show_job_json(struct json *json, const char *key, const offload_job *job);

/* A table with a row a job. */
void show_jobs_head(FILE *to);
void show_jobs_row(FILE *to, const offload_job *job, uint64_t now_ms);

/* One job, with all that is known of it, a line a field. */
void show_job(FILE *to, const offload_job *job, const char *prefix, uint64_t now_ms);

/* What a job that ended well has done, in a line. */
void show_done(FILE *to, const offload_job *job, const char *prefix);

/* "clone of nas:/a to nas:/b": what a job was to do. */
void show_task(FILE *to, const offload_job *job, const char *prefix);

/* How far a live job is, in @columns - 1 at most. ASCII. */
void show_bar(char to[SHOW_BAR_BYTES], const offload_job *job, unsigned columns);

/* What the user can do about a refusal, as a sentence without a full stop; "" if nothing. */
const char *show_advice(offload_status status, bool fast);

void show_stat(FILE *to, const offload_stat *stat);
void show_support(FILE *to, const offload_support *support);
void show_support_json(struct json *json, const char *key, const offload_support *support);
void show_stat_json(struct json *json, const char *key, const offload_stat *stat);
