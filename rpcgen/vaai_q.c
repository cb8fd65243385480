/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vaai_q.c - dialect Q ("VSTORAGE"): an operation, and what belongs to it, in plain XDR.
 */
#include "rpcgen/vaai_dialects.h"

enum operation {
	REGISTER = 0,
	RESERVESPACE = 1,
	EXTENDEDSTAT = 2,
	CLONEFILE = 3,
	INQUIRY = 4,
	TASKABORT = 5,
};

enum {
	FLAGS_FAST = 3, /* names follow, and the handles are their directories */
	FLAG_KEEP_THIN = 0x10,
};

static const uint64_t magic = 0x8068269529234103, magic_older = 0x8068269529234111;

static void read_clone(struct xdr_in *in, struct vaai_call *call)
{
	uint32_t flags;

	call->ask = VAAI_CLONE;
	call->source = xdr_get_opaque(in, NFS3_FHSIZE);
	call->file = xdr_get_opaque(in, NFS3_FHSIZE);
	flags = xdr_get_u32(in);
	call->keep_thin = flags & FLAG_KEEP_THIN;
	if (flags != FLAGS_FAST)
		return;
	call->file_name = xdr_get_opaque(in, NFS3_NAME_BYTES_MAX);
	call->source_name = xdr_get_opaque(in, NFS3_NAME_BYTES_MAX);
	call->refusal = vaai_check_name(&call->file_name);
	if (call->refusal == NFS3_OK)
		call->refusal = vaai_check_name(&call->source_name);
}

static void read_register(struct xdr_in *in, struct vaai_call *call)
{
	uint64_t said = xdr_get_u64(in);

	call->ask = VAAI_SUPPORT;
	call->primitives = VAAI_CAN_ALL;
	if (said != magic && said != magic_older)
		call->refusal = NFS3ERR_INVAL;
}

void vaai_q_read(struct xdr_in *in, struct vaai_call *call)
{
	call->dialect = VAAI_DIALECT_Q;
	call->command = xdr_get_u32(in);
	switch ((enum operation) call->command) {
	case REGISTER:
		return read_register(in, call);
	case CLONEFILE:
		return read_clone(in, call);
	case RESERVESPACE:
		call->ask = VAAI_RESERVE;
		call->file = xdr_get_opaque(in, NFS3_FHSIZE);
		call->reserve_bytes = xdr_get_u64(in);
		return;
	case EXTENDEDSTAT:
		call->ask = VAAI_STAT;
		break;
	case INQUIRY:
		call->ask = VAAI_PROGRESS;
		break;
	case TASKABORT:
		call->ask = VAAI_ABORT;
		break;
	}
	call->file = xdr_get_opaque(in, NFS3_FHSIZE);
}

void vaai_q_put(struct xdr_out *out, const struct vaai_call *call, const struct vaai_result *result)
{
	xdr_put_u32(out, result->status);
	if (result->status != NFS3_OK)
		return;
	xdr_put_u32(out, call->command);
	switch ((enum operation) call->command) {
	case REGISTER:
		xdr_put_u32(out, result->primitives);
		break;
	case EXTENDEDSTAT:
		xdr_put_u64(out, result->total_bytes);
		xdr_put_u64(out, result->allocated_bytes);
		xdr_put_u64(out, result->unique_bytes);
		break;
	case INQUIRY:
		xdr_put_u32(out, result->state);
		xdr_put_u64(out, result->done_bytes);
		break;
	case TASKABORT:
		xdr_put_u32(out, result->state);
		break;
	case RESERVESPACE:
	case CLONEFILE:
		break;
	}
}
