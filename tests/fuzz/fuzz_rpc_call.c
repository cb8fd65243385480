/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_rpc_call - any bytes as an RPC message.
 *
 * What is accepted, libtirpc's decoders accept with the same values. What is refused gets a reply
 * that libtirpc decodes, with the call's xid and nothing behind it. What is dropped is no call.
 */
#undef NDEBUG
#include <assert.h>
#include <endian.h>
#include <rpc/rpc.h>
#include <stdlib.h>
#include <string.h>

#include "rpcgen/rpc_call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t word_at(const uint8_t *data, size_t index)
{
	uint32_t word;

	memcpy(&word, data + 4 * index, 4);
	return be32toh(word);
}

static void check_sys(const struct rpc_cred *cred, const struct opaque_auth *auth)
{
	struct authunix_parms parms = { 0 };
	XDR xdrs;

	xdrmem_create(&xdrs, auth->oa_base, auth->oa_length, XDR_DECODE);
	assert(xdr_authunix_parms(&xdrs, &parms));
	assert(xdr_getpos(&xdrs) == auth->oa_length);
	assert(cred->uid == parms.aup_uid);
	assert(cred->gid == parms.aup_gid);
	assert(cred->group_count == parms.aup_len);
	for (uint32_t i = 0; i < cred->group_count; i++)
		assert(cred->groups[i] == parms.aup_gids[i]);
	xdr_free((xdrproc_t) xdr_authunix_parms, &parms);
}

static void check_call(const struct rpc_call *call, const uint8_t *data, size_t size)
{
	static char cred[MAX_AUTH_BYTES], verf[MAX_AUTH_BYTES];
	struct rpc_msg message = { 0 };
	XDR xdrs;

	message.rm_call.cb_cred.oa_base = cred;
	message.rm_call.cb_verf.oa_base = verf;
	xdrmem_create(&xdrs, (char *) (uintptr_t) data, (u_int) size, XDR_DECODE);
	assert(xdr_callmsg(&xdrs, &message));
	assert(call->xid == message.rm_xid);
	assert(call->program == message.rm_call.cb_prog);
	assert(call->version == message.rm_call.cb_vers);
	assert(call->procedure == message.rm_call.cb_proc);
	assert(call->args == data + xdr_getpos(&xdrs));
	assert(call->args + call->args_bytes == data + size);
	assert(call->cred.has_identity == (message.rm_call.cb_cred.oa_flavor == AUTH_SYS));
	if (call->cred.has_identity)
		check_sys(&call->cred, &message.rm_call.cb_cred);
}

static void check_reply(const struct rpc_reply *reply, const uint8_t *data)
{
	struct rpc_msg message = { 0 };
	XDR xdrs;

	assert(reply->bytes_count <= sizeof reply->bytes);
	message.acpted_rply.ar_results.proc = (xdrproc_t) (void (*)(void)) xdr_void;
	xdrmem_create(&xdrs, (char *) (uintptr_t) reply->bytes, reply->bytes_count, XDR_DECODE);
	assert(xdr_replymsg(&xdrs, &message));
	assert(xdr_getpos(&xdrs) == reply->bytes_count);
	assert(message.rm_xid == word_at(data, 0));
	assert(message.rm_direction == REPLY);
	if (message.rm_reply.rp_stat == MSG_ACCEPTED) {
		assert(message.acpted_rply.ar_stat == GARBAGE_ARGS);
	} else if (message.rjcted_rply.rj_stat == RPC_MISMATCH) {
		assert(message.rjcted_rply.rj_vers.low == RPC_VERSION);
		assert(message.rjcted_rply.rj_vers.high == RPC_VERSION);
		assert(word_at(data, 2) != RPC_VERSION);
	} else {
		assert(message.rjcted_rply.rj_why == AUTH_BADCRED ||
		       message.rjcted_rply.rj_why == AUTH_REJECTEDCRED ||
		       message.rjcted_rply.rj_why == AUTH_BADVERF);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rpc_call call;
	struct rpc_reply reply;

	if (size > RPC_RECORD_BYTES_MAX)
		return 0;
	switch (rpc_call_decode(data, size, &call, &reply)) {
	case RPC_CALL:
		check_call(&call, data, size);
		break;
	case RPC_REFUSE:
		assert(size >= 8 && word_at(data, 1) == CALL);
		check_reply(&reply, data);
		break;
	case RPC_DROP:
		assert(size < 8 || word_at(data, 1) != CALL);
		break;
	}
	return 0;
}
