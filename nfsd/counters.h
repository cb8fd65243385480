/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters.h - what a worker counts, for who looks at it (status.h).
 *
 * Each worker counts for itself, without atomics; who wants to see the counts asks its loop for a
 * copy.
 */
#pragma once

#include "nfsd/tally.h"
#include "rpcgen/status_text.h"
#include "vfs/export_address.h"

struct call;
struct worker;

enum {
	COUNTERS_PROCEDURES_MAX = 24,
	COUNTERS_STATUSES = NFS3_ERRORS + 1, /* in the order of nfs3_errors; the last: others */
};

enum counters_program {
	COUNTERS_NFS,
	COUNTERS_MOUNT,
	COUNTERS_PORTMAP,
	COUNTERS_OFFLOAD,
	COUNTERS_NLM,
	COUNTERS_NSM,
	COUNTERS_PROGRAMS,
};

/* Why a connection or a call was turned away. The names in the status document: counters.c. */
enum counters_refusal {
	REFUSED_NOT,
	REFUSED_CONNECTIONS,         /* limits.connections */
	REFUSED_CONNECTIONS_ADDRESS, /* limits.connections_per_address */
	REFUSED_PROGRAM,             /* no such program, or not in this version */
	REFUSED_PROCEDURE,
	REFUSED_CREDENTIAL, /* no AUTH_SYS where it is needed */
	REFUSED_ARGUMENTS,  /* do not decode */
	REFUSED_HOST,       /* the export does not list the client */
	REFUSED_PORT,       /* not below 1024, and the export says secure */
	REFUSED_MOUNT,      /* MNT of what is not exported, or not to this client */
	REFUSED_READ_ONLY,
	REFUSALS,
};

/* Which limit closed a connection. The names in the status document: counters.c. */
enum counters_closed {
	CLOSED_FIRST_CALL, /* limits.first_call_timeout */
	CLOSED_RECORD,     /* limits.record_timeout */
	CLOSED_REPLY,      /* limits.reply_timeout */
	CLOSED_IDLE,       /* limits.idle_timeout */
	CLOSED_REAPED,     /* idle while limits.connections was reached */
	CLOSED_TOO_LONG,   /* a record of more bytes than any call has */
	CLOSED_REASONS,
};

struct counters {
	struct tally procedures[COUNTERS_PROGRAMS][COUNTERS_PROCEDURES_MAX];
	uint64_t refusals[REFUSALS];
	uint64_t closed[CLOSED_REASONS];
	uint64_t statuses[COUNTERS_STATUSES]; /* of NFS's answers that tell an error */
	uint64_t delayed;                     /* calls that an export's limits made wait */
	struct tally_table clients;           /* by address; users: connections */
	struct tally_table exports;           /* by id */
};

extern const char *const counters_refusal_names[REFUSALS];
extern const char *const counters_closed_names[CLOSED_REASONS];
extern const char *const counters_program_names[COUNTERS_PROGRAMS];

/* "" if there is no such procedure. */
const char *counters_procedure_name(enum counters_program family, uint32_t procedure);

/* "NFS3ERR_NOENT", "other". */
const char *counters_status_name(unsigned place);

/* The keys of the two tables. */
void counters_client_key(const struct export_address *client, uint8_t key[TALLY_KEY_BYTES]);
void counters_export_key(uint32_t export_id, uint8_t key[TALLY_KEY_BYTES]);

enum counters_program counters_program_of(uint32_t program_number);

uint64_t counters_now_ns(void); /* a monotonic clock */

/* The call has ended, with call->failed or not; on its worker. */
void counters_call(const struct call *call);

void counters_refuse(struct worker *worker, enum counters_refusal refusal);

void counters_done(struct counters *counters);
