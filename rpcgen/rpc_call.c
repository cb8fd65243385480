/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RPC messages - RFC 5531 sections 8 and 9, appendix A.
 *
 * A call, all words big-endian:
 *
 *     xid, CALL, 2, program, version, procedure, credential, verifier, arguments
 *
 * with credential and verifier each a flavour and an opaque body of at most 400 bytes.
 */
#include "rpcgen/rpc_call.h"

#include <assert.h>
#include <errno.h>
#include <rpc/rpc.h>

#include "rpcgen/xdr_cursor.h"

enum {
	GROUP_BYTES = 4,
};

static_assert(RPC_AUTH_BODY_BYTES_MAX == MAX_AUTH_BYTES, "RFC 5531 section 8.2");

/* Fixed fields of xid, REPLY and reply_stat, then what belongs to the kind of reply. */
static struct xdr_out reply_begin(uint8_t *to, uint32_t xid, enum reply_stat stat)
{
	struct xdr_out out = xdr_out(to, RPC_REPLY_HEADER_BYTES_MAX);

	xdr_put_u32(&out, xid);
	xdr_put_u32(&out, REPLY);
	xdr_put_u32(&out, stat);
	return out;
}

static uint32_t reply_end(const struct xdr_out *out, const uint8_t *to)
{
	assert(!out->failed);
	return (uint32_t) (out->at - to);
}

uint32_t rpc_reply_accepted(uint8_t *to, uint32_t xid, uint32_t accept_stat)
{
	struct xdr_out out = reply_begin(to, xid, MSG_ACCEPTED);

	xdr_put_u32(&out, AUTH_NONE);
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, accept_stat);
	return reply_end(&out, to);
}

uint32_t rpc_reply_program_mismatch(uint8_t *to, uint32_t xid, uint32_t low, uint32_t high)
{
	struct xdr_out out = reply_begin(to, xid, MSG_ACCEPTED);

	assert(low <= high);
	xdr_put_u32(&out, AUTH_NONE);
	xdr_put_u32(&out, 0);
	xdr_put_u32(&out, PROG_MISMATCH);
	xdr_put_u32(&out, low);
	xdr_put_u32(&out, high);
	return reply_end(&out, to);
}

uint32_t rpc_reply_rpc_mismatch(uint8_t *to, uint32_t xid)
{
	struct xdr_out out = reply_begin(to, xid, MSG_DENIED);

	xdr_put_u32(&out, RPC_MISMATCH);
	xdr_put_u32(&out, RPC_VERSION);
	xdr_put_u32(&out, RPC_VERSION);
	return reply_end(&out, to);
}

uint32_t rpc_reply_auth_error(uint8_t *to, uint32_t xid, uint32_t auth_stat)
{
	struct xdr_out out = reply_begin(to, xid, MSG_DENIED);

	assert(auth_stat != AUTH_OK);
	xdr_put_u32(&out, AUTH_ERROR);
	xdr_put_u32(&out, auth_stat);
	return reply_end(&out, to);
}

int rpc_answer_decode(const uint8_t *message, size_t message_bytes, struct rpc_answer *ret_answer)
{
	struct xdr_in in = xdr_in(message, message_bytes);
	struct rpc_answer answer = { .xid = xdr_get_u32(&in) };
	uint32_t type = xdr_get_u32(&in), stat = xdr_get_u32(&in);

	if (in.failed || type != REPLY || (stat != MSG_ACCEPTED && stat != MSG_DENIED))
		return -EPROTO;
	answer.denied = stat == MSG_DENIED;
	if (!answer.denied) {
		(void) xdr_get_u32(&in); /* the verifier: its flavour, its body */
		(void) xdr_get_opaque(&in, RPC_AUTH_BODY_BYTES_MAX);
		answer.accept_stat = xdr_get_u32(&in);
		answer.results = in.at;
		answer.results_bytes = (uint32_t) xdr_in_left(&in);
	}
	if (in.failed)
		return -EPROTO;
	*ret_answer = answer;
	return 0;
}

void rpc_record_mark(uint8_t to[RPC_RECORD_MARK_BYTES], uint32_t payload_bytes)
{
	struct xdr_out out = xdr_out(to, RPC_RECORD_MARK_BYTES);

	assert(payload_bytes <= INT32_MAX);
	xdr_put_u32(&out, UINT32_C(0x80000000) | payload_bytes);
}

static enum rpc_verdict refuse_garbage(uint32_t xid, struct rpc_reply *ret_reply)
{
	ret_reply->bytes_count = rpc_reply_accepted(ret_reply->bytes, xid, GARBAGE_ARGS);
	return RPC_REFUSE;
}

static enum rpc_verdict refuse_auth(uint32_t xid, enum auth_stat stat, struct rpc_reply *ret_reply)
{
	ret_reply->bytes_count = rpc_reply_auth_error(ret_reply->bytes, xid, stat);
	return RPC_REFUSE;
}

/* authsys_parms of RFC 5531 appendix A, which must fill the body. */
static enum auth_stat cred_decode_sys(struct xdr_view body, struct rpc_cred *ret_cred)
{
	struct xdr_in in = xdr_in(body.bytes, body.count);
	struct rpc_cred cred = { .has_identity = 1 };

	(void) xdr_get_u32(&in); /* stamp */
	(void) xdr_get_opaque(&in, RPC_MACHINE_NAME_BYTES_MAX);
	cred.uid = xdr_get_u32(&in);
	cred.gid = xdr_get_u32(&in);
	cred.group_count = xdr_get_u32(&in);
	if (in.failed || cred.group_count > RPC_GROUPS_MAX ||
	    xdr_in_left(&in) != (size_t) cred.group_count * GROUP_BYTES)
		return AUTH_BADCRED;

	for (uint32_t i = 0; i < cred.group_count; i++)
		cred.groups[i] = xdr_get_u32(&in);
	assert(xdr_in_done(&in));
	*ret_cred = cred;
	return AUTH_OK;
}

/*
 * Flavours that are not ours get AUTH_BADCRED, as from Linux' server: a client that probes for
 * RPCSEC_GSS or AUTH_TLS (RFC 9289) has met that answer and falls back or gives up. AUTH_SHORT is
 * AUTH_REJECTEDCRED: RFC 5531 appendix A has it for a shorthand that the server no longer knows,
 * and its sender then goes back to AUTH_SYS.
 */
static enum auth_stat cred_decode(uint32_t flavor, struct xdr_view body, struct rpc_cred *ret_cred)
{
	switch (flavor) {
	case AUTH_NONE: /* the body means nothing (RFC 5531 section 10.1) */
		*ret_cred = (struct rpc_cred){ 0 };
		return AUTH_OK;
	case AUTH_SYS:
		return cred_decode_sys(body, ret_cred);
	case AUTH_SHORT:
		return AUTH_REJECTEDCRED;
	default:
		return AUTH_BADCRED;
	}
}

/* A flavour and its body. *ret_too_long: longer than 400 bytes, whether or not it is all there. */
static struct xdr_view auth_get(struct xdr_in *in, uint32_t *ret_flavor, bool *ret_too_long)
{
	struct xdr_in ahead;

	*ret_flavor = xdr_get_u32(in);
	ahead = *in;
	*ret_too_long = xdr_get_u32(&ahead) > RPC_AUTH_BODY_BYTES_MAX;
	return xdr_get_opaque(in, RPC_AUTH_BODY_BYTES_MAX);
}

enum rpc_verdict rpc_call_decode(const uint8_t *message, size_t message_bytes,
                                 struct rpc_call *ret_call, struct rpc_reply *ret_reply)
{
	struct xdr_in in = xdr_in(message, message_bytes);
	struct rpc_call call = { 0 };
	uint32_t type, rpc_version, flavor;
	enum auth_stat stat;
	struct xdr_view body;
	bool too_long;

	call.xid = xdr_get_u32(&in);
	type = xdr_get_u32(&in);
	if (in.failed || type != CALL)
		return RPC_DROP;

	rpc_version = xdr_get_u32(&in);
	if (in.failed)
		return refuse_garbage(call.xid, ret_reply);
	if (rpc_version != RPC_VERSION) {
		ret_reply->bytes_count = rpc_reply_rpc_mismatch(ret_reply->bytes, call.xid);
		return RPC_REFUSE;
	}
	call.program = xdr_get_u32(&in);
	call.version = xdr_get_u32(&in);
	call.procedure = xdr_get_u32(&in);

	body = auth_get(&in, &flavor, &too_long);
	if (too_long)
		return refuse_auth(call.xid, AUTH_BADCRED, ret_reply);
	if (in.failed)
		return refuse_garbage(call.xid, ret_reply);
	stat = cred_decode(flavor, body, &call.cred);
	if (stat != AUTH_OK)
		return refuse_auth(call.xid, stat, ret_reply);

	/* Both flavours that are left have a verifier of AUTH_NONE (RFC 5531 appendix A). */
	(void) auth_get(&in, &flavor, &too_long);
	if (too_long)
		return refuse_auth(call.xid, AUTH_BADVERF, ret_reply);
	if (in.failed)
		return refuse_garbage(call.xid, ret_reply);
	if (flavor != AUTH_NONE)
		return refuse_auth(call.xid, AUTH_BADVERF, ret_reply);

	if (xdr_in_left(&in) > UINT32_MAX)
		return refuse_garbage(call.xid, ret_reply);
	call.args = in.at;
	call.args_bytes = (uint32_t) xdr_in_left(&in);
	*ret_call = call;
	return RPC_CALL;
}
