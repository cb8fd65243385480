/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc_out_wire.h - the bytes of rpc_out.c's calls, and what the answers say. Pure.
 */
#pragma once

#include <stddef.h>

#include "nfsd/rpc_out.h"

enum {
	RPC_OUT_MESSAGE_BYTES_MAX = RPC_OUT_ARGS_BYTES_MAX + 128,
};

/* The call itself, without a record mark. */
uint32_t rpc_out_message(const struct rpc_out_call *call, uint8_t to[RPC_OUT_MESSAGE_BYTES_MAX]);

/* The question for its port: of version 2 (GETPORT) over IPv4, of version 3 (GETADDR) over IPv6. */
uint32_t rpc_out_question(const struct rpc_out_call *call, bool over_tcp,
                          uint8_t to[RPC_OUT_MESSAGE_BYTES_MAX]);

/* The xid of a reply. 0, or -EBADMSG for what is none. */
int rpc_out_xid(const uint8_t *bytes, size_t bytes_count, uint32_t *ret_xid);

/* What the reply says: 0 and the results, or -EPROTO if the call was refused. */
int rpc_out_results(const uint8_t *bytes, size_t bytes_count, struct xdr_view *ret_results);

/* The port in the answer to a question; 0: it is not registered. -EPROTO: no such answer. */
int rpc_out_answer(const struct rpc_out_call *call, struct xdr_view results, uint16_t *ret_port);
