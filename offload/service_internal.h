/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_internal.h - between service.c, which has the connections, and those that serve calls:
 * procedures.c (offload.x) and vaai.c (what plug-ins ask).
 */
#pragma once

#include <rpc/rpc.h>

#include "offload/measure.h"
#include "offload/service.h"
#include "offload/target.h"
#include "rpcgen/vaai.h"

union procedure_args {
	offload_file file;
	offload_clone_args clone;
	offload_reserve_args reserve;
	offload_checksum_args checksum;
	offload_punch_args punch;
	offload_which which;
	offload_wait_args wait;
	offload_jobs_args jobs;
	offload_vaai vaai;
};

/* One call. */
struct request {
	SVCXPRT *connection;
	const struct service_settings *settings;
	struct caller caller;
	const char *asked; /* what for, in a word */
	union procedure_args args;
	struct job_record record; /* of the job that is asked for, begun or answered with */
};

struct procedure {
	const char *name;
	xdrproc_t decode; /* NULL: no such procedure */
	void (*serve)(struct request *request);
	bool relay_only; /* nfsd asks for it, and nobody else */
};

enum {
	PROCEDURES = OFFLOAD_RELAY_TOTALS + 1
};
extern const struct procedure procedures[PROCEDURES];

/* vaai.c */
void serve_vaai(struct request *request);

/* ---- service.c: answers ---- */

void service_send(struct request *request, xdrproc_t encode, void *result);

/* It is refused: counted and told. @what: which part of it, or "". */
void service_refused(const struct request *request, const char *what, int error);

/* An answer that waits for a job. */
struct service_wait {
	uint64_t job_id;
	uint32_t wait_ms;
	uint32_t quick_ms; /* as much again if it has not turned out that it must copy */
	bool must_end;     /* after wait_ms it is cancelled, and its end waited for a little more */
	/* @record: the job as it is now; NULL: its result has expired. */
	void (*answer)(SVCXPRT *connection, const struct service_wait *wait,
	               struct job_record *record);
	struct vaai_call vaai; /* without what it points to */
};
void service_wait(struct request *request, const struct service_wait *wait);

/* An answer that waits for what a file uses. */
struct service_measure {
	struct measure measure;
	void (*answer)(SVCXPRT *connection, const struct service_measure *done);
	struct vaai_call vaai; /* without what it points to */
};

/* 0: it will be answered. @vaai: kept for the answer; NULL. */
int service_measure(struct request *request, const offload_file *named,
                    void (*answer)(SVCXPRT *connection, const struct service_measure *done),
                    const struct vaai_call *vaai);

/* ---- procedures.c: steps that both have ---- */

/* A handle, or (@name) what has that name below it. Views stay the caller's. */
offload_file service_file(const struct xdr_view *handle, const struct xdr_view *name);

/* The file, into @ret_file: 0 or what target_resolve() says. */
int service_take(struct request *request, const offload_file *named, enum target_use use,
                 struct job_file *ret_file);

/* Begin the job that request->record says, or join it: 0 or what jobs_begin() says. */
int service_begin(struct request *request, uint64_t *ret_id);

/* The latest job of these kinds for the file, if the caller may know of it (@write: stop it), into
 * request->record. */
int service_find(struct request *request, const offload_file *named, unsigned kinds, bool write);
