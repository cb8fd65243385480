/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nlm4_args.h - NLM version 4 and NSM on the wire, decoded in place: nothing is allocated, views
 * point into the message. tests/fuzz holds the decoders against those that rpcgen(1) makes of
 * nlm4.x and nsm.x.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpcgen/nlm4.h" /* generated: types and constants */
#include "rpcgen/nsm.h"
#include "rpcgen/xdr_cursor.h"

/* Of all procedures; what one has not is zero. */
struct nlm4_args {
	struct xdr_view cookie;
	struct xdr_view caller; /* the name the client gives itself */
	struct xdr_view handle;
	struct xdr_view owner;
	int32_t svid;
	uint64_t offset, bytes;
	bool block, exclusive, reclaim;
	int32_t state;
	fsh4_mode mode;
	fsh4_access access;
	nlm4_stats status;   /* the _RES procedures */
	const uint8_t *priv; /* SM_NOTIFY: NLM4_PRIV_BYTES */
};

/* The arguments of NLMPROC4_@procedure. 0; -EBADMSG: cut short, out of bounds, bytes left over;
 * -ENOSYS: no such procedure. NULL takes anything. */
int nlm4_args_decode(uint32_t procedure, const uint8_t *bytes, size_t bytes_count,
                     struct nlm4_args *ret_args);

/* A holder, for TEST's result and TEST_RES. */
struct nlm4_who {
	bool exclusive;
	int32_t svid;
	struct xdr_view owner;
	uint64_t offset, bytes;
};

/* nlm4_res; nlm4_testres (@holder counts with NLM4_DENIED only); nlm4_shareres. */
void nlm4_put_res(struct xdr_out *out, struct xdr_view cookie, nlm4_stats status);
void nlm4_put_testres(struct xdr_out *out, struct xdr_view cookie, nlm4_stats status,
                      const struct nlm4_who *holder);
void nlm4_put_shareres(struct xdr_out *out, struct xdr_view cookie, nlm4_stats status);

/* The arguments of GRANTED: cookie, exclusive, caller, handle, owner, svid, offset and bytes. */
void nlm4_put_granted(struct xdr_out *out, const struct nlm4_args *args);

struct nsm_args {
	struct xdr_view name; /* mon_name; of UNMON_ALL: my_name */
	int32_t state;
};

/* The arguments of NSMPROC_@procedure, as nlm4_args_decode(). */
int nsm_args_decode(uint32_t procedure, const uint8_t *bytes, size_t bytes_count,
                    struct nsm_args *ret_args);
