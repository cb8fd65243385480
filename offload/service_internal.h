/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_internal.h - between service.c, which has the connections, and procedures.c.
 */
#pragma once

#include <rpc/rpc.h>

#include "offload/service.h"
#include "offload/target.h"

union procedure_args {
	offload_file file;
	offload_clone_args clone;
	offload_reserve_args reserve;
	offload_checksum_args checksum;
	offload_punch_args punch;
	offload_which which;
	offload_wait_args wait;
	offload_jobs_args jobs;
};

/* One call. */
struct request {
	SVCXPRT *connection;
	const struct service_settings *settings;
	struct caller caller;
	union procedure_args args;
	struct job_record record; /* of the job that is asked for, begun or answered with */
};

struct procedure {
	const char *name;
	xdrproc_t decode; /* NULL: no such procedure */
	void (*serve)(struct request *request);
};

enum {
	PROCEDURES = 11
};
extern const struct procedure procedures[PROCEDURES];

/* service.c: answer with the job when it has ended, or after @wait_s. */
void service_answer_job(struct request *request, uint64_t id, uint32_t wait_s);
void service_send(struct request *request, xdrproc_t encode, void *result);
