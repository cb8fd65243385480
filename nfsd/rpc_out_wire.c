/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/rpc_out_wire.h"

#include <assert.h>
#include <errno.h>
#include <rpc/rpc.h>
#include <stdlib.h>
#include <string.h>

#include "rpcgen/portmap.h"
#include "rpcgen/rpc_call.h"

enum {
	MACHINE_NAME_BYTES = 9,
	/* stamp, the name, uid, gid, no groups */
	CREDENTIAL_BYTES = 4 + 4 + 12 + 4 + 4 + 4,
	BYTE_MAX = 255,
};

/* AUTH_SYS as root: lock managers and status monitors want to see one. */
static void put_head(struct xdr_out *out, uint32_t xid, uint32_t program, uint32_t version,
                     uint32_t procedure)
{
	xdr_put_u32(out, xid);
	xdr_put_u32(out, CALL);
	xdr_put_u32(out, RPC_VERSION);
	xdr_put_u32(out, program);
	xdr_put_u32(out, version);
	xdr_put_u32(out, procedure);
	xdr_put_u32(out, AUTH_SYS);
	xdr_put_u32(out, CREDENTIAL_BYTES);
	xdr_put_u32(out, 0);
	xdr_put_opaque(out, "lodestore", MACHINE_NAME_BYTES);
	for (int i = 0; i < 3; i++)
		xdr_put_u32(out, 0);
	xdr_put_u32(out, AUTH_NONE);
	xdr_put_u32(out, 0);
}

uint32_t rpc_out_message(const struct rpc_out_call *call, uint8_t to[RPC_OUT_MESSAGE_BYTES_MAX])
{
	struct xdr_out out = xdr_out(to, RPC_OUT_MESSAGE_BYTES_MAX);

	put_head(&out, call->xid, call->program, call->version, call->procedure);
	xdr_put_fixed(&out, call->args, call->args_bytes);
	assert(!out.failed);
	return (uint32_t) (out.at - to);
}

uint32_t rpc_out_question(const struct rpc_out_call *call, bool over_tcp,
                          uint8_t to[RPC_OUT_MESSAGE_BYTES_MAX])
{
	struct xdr_out out = xdr_out(to, RPC_OUT_MESSAGE_BYTES_MAX);
	bool is_v4 = export_address_is_ipv4(&call->to);

	put_head(&out, call->xid, PORTMAP_PROGRAM, is_v4 ? PORTMAP_V2 : RPCBIND_V3,
	         is_v4 ? PORTMAP_GETPORT : RPCBIND_GETADDR);
	xdr_put_u32(&out, call->program);
	xdr_put_u32(&out, call->version);
	if (is_v4) {
		xdr_put_u32(&out, over_tcp ? PORTMAP_TCP : PORTMAP_UDP);
		xdr_put_u32(&out, 0);
	} else {
		xdr_put_opaque(&out, over_tcp ? "tcp6" : "udp6", 4);
		xdr_put_u32(&out, 0);
		xdr_put_u32(&out, 0);
	}
	return (uint32_t) (out.at - to);
}

int rpc_out_xid(const uint8_t *bytes, size_t bytes_count, uint32_t *ret_xid)
{
	struct xdr_in in = xdr_in(bytes, bytes_count);
	uint32_t xid = xdr_get_u32(&in);

	if (xdr_get_u32(&in) != REPLY || in.failed)
		return -EBADMSG;
	*ret_xid = xid;
	return 0;
}

int rpc_out_results(const uint8_t *bytes, size_t bytes_count, struct xdr_view *ret_results)
{
	struct rpc_answer answer;

	if (rpc_answer_decode(bytes, bytes_count, &answer) < 0 || answer.denied ||
	    answer.accept_stat != SUCCESS)
		return -EPROTO;
	*ret_results = (struct xdr_view){ answer.results, answer.results_bytes };
	return 0;
}

/* The port at the end of "ADDRESS.high.low" (RFC 5665 section 5.2.3.3); 0: there is none. */
static int universal_port(struct xdr_view address, uint16_t *ret_port)
{
	char text[RPCBIND_STRING_BYTES_MAX + 1];
	unsigned long numbers[2];
	char *dot, *end;

	memcpy(text, address.count ? address.bytes : (const uint8_t *) "", address.count);
	text[address.count] = '\0';
	*ret_port = 0;
	if (address.count == 0)
		return 0;
	for (int i = 1; i >= 0; i--) {
		dot = strrchr(text, '.');
		if (!dot)
			return -EPROTO;
		numbers[i] = strtoul(dot + 1, &end, 10);
		if (end == dot + 1 || *end || numbers[i] > BYTE_MAX)
			return -EPROTO;
		*dot = '\0';
	}
	*ret_port = (uint16_t) (numbers[0] << 8 | numbers[1]);
	return 0;
}

int rpc_out_answer(const struct rpc_out_call *call, struct xdr_view results, uint16_t *ret_port)
{
	struct xdr_in in = xdr_in(results.bytes, results.count);
	struct xdr_view address;
	uint32_t port;

	if (!export_address_is_ipv4(&call->to)) {
		address = xdr_get_opaque(&in, RPCBIND_STRING_BYTES_MAX);
		return xdr_in_done(&in) ? universal_port(address, ret_port) : -EPROTO;
	}
	port = xdr_get_u32(&in);
	if (!xdr_in_done(&in) || port > UINT16_MAX)
		return -EPROTO;
	*ret_port = (uint16_t) port;
	return 0;
}
