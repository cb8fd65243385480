/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_event.h - one call as `lodestore trace` shows it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpcgen/nfs3_args.h"

enum {
	TRACE_NAME_BYTES = 96 /* of a longer name the first are kept */
};

struct trace_file {
	bool has_handle;
	uint32_t handle; /* a hash of it: the same file has the same */
	uint16_t name_bytes;
	char name[TRACE_NAME_BYTES];
};

struct trace_event {
	uint64_t at_ms; /* since 1970 */
	uint64_t latency_us;
	const char *program, *procedure; /* constants */
	struct trace_file files[2];      /* RENAME and LINK have two */
	bool has_range;
	uint64_t offset;
	uint32_t count;
	bool answered;   /* status is the procedure's; else RPC refused it */
	uint32_t status; /* in its program's numbers; 0 of procedures that have none */
};

/* Files and range of a call of NFS. */
void trace_event_args(struct trace_event *event, uint32_t procedure, const union nfs3_args *args);

/* The status in an answer's results, where a procedure's begin with one. */
void trace_event_results(struct trace_event *event, uint32_t program, uint32_t procedure,
                         const uint8_t *results, size_t bytes);

/* One JSON object in a line. */
void trace_event_json(FILE *to, const struct trace_event *event);
