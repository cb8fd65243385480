/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vaai_o.c - dialect O ("EXTENDVAAI"):
 *
 *     opaque target<64>;  union switch (int kind) { case 0: opaque source<64>; default: void; };
 *     opaque command<1024>;
 *
 * command and reply are C structures as an x86-64 client lays them out in memory.
 */
#include <endian.h>

#include "rpcgen/vaai_dialects.h"

enum {
	VERSION = 1,
	OPAQUE_BYTES_MAX = 1024,
	KIND_SOURCE = 0,

	/* Offsets in the command, */
	COMMAND_VERSION = 0,
	COMMAND_NUMBER = 8,
	COMMAND_NAME_BYTES = 20,
	COMMAND_NAME = 24,

	/* and in the reply. */
	REPLY_VERSION = 0,
	REPLY_NUMBER = 8,
	REPLY_RESULT = 12,
	REPLY_TOTAL = 16,
	REPLY_ALLOCATED = 24,
	REPLY_UNIQUE = 32,
	REPLY_STATE = 48,
	REPLY_DONE = 56,

	/* The reply's result. */
	RESULT_BY_STATUS = 0,
	RESULT_NO = 1,
	RESULT_BUSY = 1003,
	RESULT_DISK_FULL = 1004,
};

static const struct {
	enum vaai_ask ask;
	uint32_t primitives;
} commands[] = {
	[1] = { VAAI_CLONE, 0 },
	[2] = { VAAI_RESERVE, 0 },
	[3] = { VAAI_STAT, 0 },
	[4] = { VAAI_PROGRESS, 0 },
	[5] = { VAAI_ABORT, 0 },
	[6] = { VAAI_SUPPORT, VAAI_CAN_CLONE },
	[7] = { VAAI_SUPPORT, VAAI_CAN_RESERVE },
	[8] = { VAAI_SUPPORT, VAAI_CAN_STAT },
};

static uint32_t get_le32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof value);
	return le32toh(value);
}

static uint64_t get_le64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof value);
	return le64toh(value);
}

static void put_le32(uint8_t *bytes, uint32_t value)
{
	value = htole32(value);
	memcpy(bytes, &value, sizeof value);
}

static void put_le64(uint8_t *bytes, uint64_t value)
{
	value = htole64(value);
	memcpy(bytes, &value, sizeof value);
}

/* Its length says where it ends, and it must end there. No path at all is fine here: a clone into
 * an existing file needs none. */
static nfsstat3 read_path(const uint8_t *command, struct xdr_view *ret_path)
{
	uint32_t bytes = get_le32(command + COMMAND_NAME_BYTES);
	const uint8_t *path = command + COMMAND_NAME;

	if (bytes > VAAI_PATH_BYTES_MAX)
		return NFS3ERR_NAMETOOLONG;
	if (bytes == 0)
		return NFS3_OK;
	if (memchr(path, '\0', bytes) != path + bytes - 1)
		return NFS3ERR_INVAL;
	*ret_path = (struct xdr_view){ path, bytes - 1 };
	return NFS3_OK;
}

static nfsstat3 read_command(const struct xdr_view *command, bool has_source,
                             struct vaai_call *call)
{
	if (command->count != VAAI_COMMAND_BYTES)
		return NFS3ERR_INVAL;
	call->command = get_le32(command->bytes + COMMAND_NUMBER);
	if (get_le64(command->bytes + COMMAND_VERSION) != VERSION)
		return NFS3ERR_INVAL;
	if (call->command == 0 || call->command >= sizeof commands / sizeof commands[0])
		return NFS3ERR_NOTSUPP;
	call->ask = commands[call->command].ask;
	call->primitives = commands[call->command].primitives;
	if (call->ask != VAAI_CLONE)
		return NFS3_OK;
	return has_source ? read_path(command->bytes, &call->file_name) : NFS3ERR_INVAL;
}

void vaai_o_read(struct xdr_in *in, struct vaai_call *call)
{
	struct xdr_view command;
	bool has_source;

	call->dialect = VAAI_DIALECT_O;
	call->file = xdr_get_opaque(in, NFS3_FHSIZE);
	has_source = xdr_get_u32(in) == KIND_SOURCE;
	if (has_source)
		call->source = xdr_get_opaque(in, NFS3_FHSIZE);
	command = xdr_get_opaque(in, OPAQUE_BYTES_MAX);
	if (!in->failed)
		call->refusal = read_command(&command, has_source, call);
}

static uint32_t result_of(const struct vaai_call *call, const struct vaai_result *result)
{
	switch (result->status) {
	case NFS3_OK:
		return call->ask == VAAI_SUPPORT && !(result->primitives & call->primitives)
		               ? RESULT_NO
		               : RESULT_BY_STATUS;
	case NFS3ERR_JUKEBOX:
		return RESULT_BUSY;
	case NFS3ERR_NOSPC:
	case NFS3ERR_DQUOT:
		return RESULT_DISK_FULL;
	default:
		return RESULT_BY_STATUS;
	}
}

/* It knows three: started, copying, complete. */
static uint64_t state_of(enum vaai_state state)
{
	return state <= VAAI_STATE_FINISHED ? (uint64_t) state : 0;
}

void vaai_o_put(struct xdr_out *out, const struct vaai_call *call, const struct vaai_result *result)
{
	uint8_t reply[VAAI_REPLY_BYTES] = { 0 };

	put_le64(reply + REPLY_VERSION, VERSION);
	put_le32(reply + REPLY_NUMBER, call->command);
	put_le32(reply + REPLY_RESULT, result_of(call, result));
	if (result->status == NFS3_OK) {
		put_le64(reply + REPLY_TOTAL, result->total_bytes);
		put_le64(reply + REPLY_ALLOCATED, result->allocated_bytes);
		put_le64(reply + REPLY_UNIQUE, result->unique_bytes);
		put_le64(reply + REPLY_STATE, state_of(result->state));
		put_le64(reply + REPLY_DONE, result->done_bytes);
	}
	xdr_put_u32(out, result->status);
	xdr_put_opaque(out, reply, sizeof reply);
}
