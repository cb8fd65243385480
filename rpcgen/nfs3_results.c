/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results that are encoded in place - RFC 1813 sections 2.6, 3.3.6, 3.3.16 and 3.3.17.
 */
#include "rpcgen/nfs3_results.h"

#include <assert.h>

static void put_time(struct xdr_out *out, nfstime3 time)
{
	xdr_put_u32(out, time.seconds);
	xdr_put_u32(out, time.nseconds);
}

void nfs3_put_fattr(struct xdr_out *out, const fattr3 *attr)
{
	xdr_put_u32(out, attr->type);
	xdr_put_u32(out, attr->mode);
	xdr_put_u32(out, attr->nlink);
	xdr_put_u32(out, attr->uid);
	xdr_put_u32(out, attr->gid);
	xdr_put_u64(out, attr->size);
	xdr_put_u64(out, attr->used);
	xdr_put_u32(out, attr->rdev.specdata1);
	xdr_put_u32(out, attr->rdev.specdata2);
	xdr_put_u64(out, attr->fsid);
	xdr_put_u64(out, attr->fileid);
	put_time(out, attr->atime);
	put_time(out, attr->mtime);
	put_time(out, attr->ctime);
}

void nfs3_put_post_op_attr(struct xdr_out *out, const fattr3 *attr)
{
	xdr_put_u32(out, attr ? 1 : 0);
	if (attr)
		nfs3_put_fattr(out, attr);
}

void nfs3_put_wcc(struct xdr_out *out, const fattr3 *after)
{
	xdr_put_u32(out, 0);
	nfs3_put_post_op_attr(out, after);
}

void nfs3_put_read_ok(uint8_t to[NFS3_READ_OK_BYTES], const fattr3 *attr, uint32_t count, bool eof)
{
	struct xdr_out out = xdr_out(to, NFS3_READ_OK_BYTES);

	assert(attr);
	xdr_put_u32(&out, NFS3_OK);
	nfs3_put_post_op_attr(&out, attr);
	xdr_put_u32(&out, count);
	xdr_put_u32(&out, eof);
	xdr_put_u32(&out, count); /* the data's length */
	assert(!out.failed && out.at == out.end);
}

uint32_t nfs3_entry_bytes(const struct nfs3_entry *entry)
{
	assert(entry->name_bytes <= NFS3_NAME_BYTES_MAX);
	/* "an entry follows", fileid, the name's length, the name, cookie */
	return 4 + 8 + 4 + (uint32_t) xdr_padded(entry->name_bytes) + 8;
}

uint32_t nfs3_entry_plus_bytes(const struct nfs3_entry *entry)
{
	uint32_t bytes = nfs3_entry_bytes(entry);

	assert(entry->handle.count <= NFS3_FHSIZE);
	bytes += entry->attr ? NFS3_POST_OP_ATTR_BYTES : 4;
	bytes += 4;
	if (entry->handle.count > 0)
		bytes += 4 + (uint32_t) xdr_padded(entry->handle.count);
	return bytes;
}

void nfs3_put_entry(struct xdr_out *out, const struct nfs3_entry *entry)
{
	xdr_put_u32(out, 1);
	xdr_put_u64(out, entry->fileid);
	xdr_put_opaque(out, entry->name, entry->name_bytes);
	xdr_put_u64(out, entry->cookie);
}

void nfs3_put_entry_plus(struct xdr_out *out, const struct nfs3_entry *entry)
{
	bool has_handle = entry->handle.count > 0;

	nfs3_put_entry(out, entry);
	nfs3_put_post_op_attr(out, entry->attr);
	xdr_put_u32(out, has_handle);
	if (has_handle)
		xdr_put_opaque(out, entry->handle.bytes, entry->handle.count);
}

void nfs3_put_entries_end(struct xdr_out *out, bool eof)
{
	xdr_put_u32(out, 0);
	xdr_put_u32(out, eof);
}
