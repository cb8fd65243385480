/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfs3_results.h - results that are encoded in place: those of READ and WRITE beside their data,
 * attributes, and directory lists entry by entry. All other results go through the encoders that
 * rpcgen(1) makes of nfs3.x (xdr_generated.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpcgen/nfs3.h"
#include "rpcgen/xdr_cursor.h"

enum {
	NFS3_FATTR_BYTES = 84,
	NFS3_POST_OP_ATTR_BYTES = 4 + NFS3_FATTR_BYTES,
	/* READ3resok up to its data: status, attributes, count, eof, the data's length */
	NFS3_READ_OK_BYTES = 4 + NFS3_POST_OP_ATTR_BYTES + 4 + 4 + 4,
	/* READDIR3resok around its entries: status, attributes, verifier; no more entries, eof */
	NFS3_READDIR_HEAD_BYTES = 4 + NFS3_POST_OP_ATTR_BYTES + NFS3_COOKIEVERFSIZE,
	NFS3_READDIR_TAIL_BYTES = 8,
};

void nfs3_put_fattr(struct xdr_out *out, const fattr3 *attr);

/* post_op_attr: absent if @attr is NULL. */
void nfs3_put_post_op_attr(struct xdr_out *out, const fattr3 *attr);

/* wcc_data without "before": only attributes taken atomically with the change may stand there. */
void nfs3_put_wcc(struct xdr_out *out, const fattr3 *after);

/* READ3resok's head: exactly NFS3_READ_OK_BYTES at @to, with attributes; the data follows, and the
 * caller pads it. */
void nfs3_put_read_ok(uint8_t to[NFS3_READ_OK_BYTES], const fattr3 *attr, uint32_t count, bool eof);

/* One entry of READDIR or READDIRPLUS, with the "an entry follows" word before it. */
struct nfs3_entry {
	uint64_t fileid, cookie;
	const char *name;
	uint32_t name_bytes;
	const fattr3 *attr;     /* READDIRPLUS; NULL: absent */
	struct xdr_view handle; /* READDIRPLUS; count 0: absent */
};

/* Bytes that nfs3_put_entry() and nfs3_put_entry_plus() will write for this entry. */
uint32_t nfs3_entry_bytes(const struct nfs3_entry *entry);
uint32_t nfs3_entry_plus_bytes(const struct nfs3_entry *entry);
void nfs3_put_entry(struct xdr_out *out, const struct nfs3_entry *entry);
void nfs3_put_entry_plus(struct xdr_out *out, const struct nfs3_entry *entry);

/* The end of a list: no more entries, and whether the directory ends here. */
void nfs3_put_entries_end(struct xdr_out *out, bool eof);
