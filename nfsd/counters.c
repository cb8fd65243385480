/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/counters.h"

#include <assert.h>
#include <string.h>

#include "nfsd/conn.h"
#include "nfsd/portmap.h"
#include "nfsd/worker.h"
#include "rpcgen/mount3.h"
#include "rpcgen/nfs3.h"
#include "rpcgen/nlm4_args.h"
#include "vfs/base/clock.h"

const char *const counters_refusal_names[REFUSALS] = {
	[REFUSED_NOT] = "",
	[REFUSED_CONNECTIONS] = "connections",
	[REFUSED_CONNECTIONS_ADDRESS] = "connections_per_address",
	[REFUSED_PROGRAM] = "program",
	[REFUSED_PROCEDURE] = "procedure",
	[REFUSED_CREDENTIAL] = "credential",
	[REFUSED_ARGUMENTS] = "arguments",
	[REFUSED_HOST] = "host",
	[REFUSED_PORT] = "port",
	[REFUSED_MOUNT] = "mount",
	[REFUSED_READ_ONLY] = "read_only",
};

const char *counters_status_name(unsigned place)
{
	return place < NFS3_ERRORS ? nfs3_errors[place].name : "other";
}

static unsigned status_place(nfsstat3 status)
{
	unsigned place = 0;

	while (place < NFS3_ERRORS && nfs3_errors[place].status != status)
		place++;
	return place;
}

const char *const counters_closed_names[CLOSED_REASONS] = {
	[CLOSED_FIRST_CALL] = "first_call_timeout", [CLOSED_RECORD] = "record_timeout",
	[CLOSED_REPLY] = "reply_timeout",           [CLOSED_IDLE] = "idle_timeout",
	[CLOSED_REAPED] = "idle_while_full",        [CLOSED_TOO_LONG] = "record_length",
};

void counters_client_key(const struct export_address *client, uint8_t key[TALLY_KEY_BYTES])
{
	static_assert(sizeof client->bytes == TALLY_KEY_BYTES, "an address is a key");
	memcpy(key, client->bytes, TALLY_KEY_BYTES);
}

void counters_export_key(uint32_t export_id, uint8_t key[TALLY_KEY_BYTES])
{
	memset(key, 0, TALLY_KEY_BYTES);
	memcpy(key, &export_id, sizeof export_id);
}

enum counters_program counters_program_of(uint32_t program_number)
{
	switch (program_number) {
	case NFS_PROGRAM:
		return COUNTERS_NFS;
	case MOUNT_PROGRAM:
		return COUNTERS_MOUNT;
	case NLM4_PROGRAM:
		return COUNTERS_NLM;
	case NSM_PROGRAM:
		return COUNTERS_NSM;
	case PORTMAP_PROGRAM:
		return COUNTERS_PORTMAP;
	default:
		return COUNTERS_OFFLOAD;
	}
}

uint64_t counters_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static struct tally_event event_of(const struct call *call)
{
	struct tally_event event = {
		.failed = call->failed || call->accept_stat != 0,
		.latency_ns = counters_now_ns() - call->begun_ns,
	};

	if (event.failed || call->program->number != NFS_PROGRAM)
		return event;
	if (call->rpc.procedure == NFSPROC3_READ)
		event.read_bytes = call->io_bytes;
	else if (call->rpc.procedure == NFSPROC3_WRITE)
		event.written_bytes = call->io_bytes;
	return event;
}

void counters_call(const struct call *call)
{
	struct counters *counters = &call->worker->counters;
	struct tally_event event = event_of(call);
	uint8_t key[TALLY_KEY_BYTES];

	assert(call->rpc.procedure < COUNTERS_PROCEDURES_MAX);
	tally_count(&counters->procedures[counters_program_of(call->program->number)]
	                                 [call->rpc.procedure],
	            &event);
	if (call->conn)
		tally_count(conn_tally(call->conn), &event);
	if (call->authorised) {
		counters_export_key(vfs_export_id(vfs_file_export(call->file)), key);
		tally_count(&tally_table_get(&counters->exports, key)->tally, &event);
	}
	if (call->status)
		counters->statuses[status_place(call->status)]++;
	if (call->refusal)
		counters_refuse(call->worker, call->refusal);
}

void counters_refuse(struct worker *worker, enum counters_refusal refusal)
{
	worker->counters.refusals[refusal]++;
}

void counters_done(struct counters *counters)
{
	tally_table_done(&counters->clients);
	tally_table_done(&counters->exports);
}
