/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FSSTAT, FSINFO and PATHCONF - RFC 1813 sections 3.3.18 to 3.3.20.
 */
#include "nfsd/nfs3.h"
#include "nfsd/udp.h"

enum {
	IO_MULTIPLE_BYTES = 512, /* ESXi's sector: transfers in multiples of it suit us */
	READDIR_PREFERRED_BYTES = 64 << 10,
};

int nfs3_fsstat(struct call *call)
{
	struct xdr_out *out = &call->out;
	struct vfs_space space;
	int r;

	r = vfs_space(call->file, &space);
	if (r < 0)
		return r;
	nfs3_put_ok(out);
	nfs3_put_attr_of(out, call->file);
	xdr_put_u64(out, space.total_bytes);
	xdr_put_u64(out, space.free_bytes);
	xdr_put_u64(out, space.available_bytes);
	xdr_put_u64(out, space.total_files);
	xdr_put_u64(out, space.free_files);
	xdr_put_u64(out, space.available_files);
	xdr_put_u32(out, 0); /* invarsec: may change at any time */
	return 0;
}

int nfs3_fsinfo(struct call *call)
{
	uint32_t io_bytes = call->udp ? UDP_IO_BYTES_MAX : NFS3_IO_BYTES_MAX;
	struct xdr_out *out = &call->out;
	struct vfs_limits limits;
	int r;

	r = vfs_limits(call->file, &limits);
	if (r < 0)
		return r;
	nfs3_put_ok(out);
	nfs3_put_attr_of(out, call->file);
	for (int i = 0; i < 2; i++) { /* rtmax, rtpref, rtmult; wtmax, wtpref, wtmult */
		xdr_put_u32(out, io_bytes);
		xdr_put_u32(out, io_bytes);
		xdr_put_u32(out, IO_MULTIPLE_BYTES);
	}
	xdr_put_u32(out, READDIR_PREFERRED_BYTES);
	xdr_put_u64(out, limits.file_bytes_max);
	xdr_put_u32(out, 0); /* time_delta: a nanosecond */
	xdr_put_u32(out, 1);
	xdr_put_u32(out, FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME);
	return 0;
}

int nfs3_pathconf(struct call *call)
{
	struct xdr_out *out = &call->out;
	struct vfs_limits limits;
	int r;

	r = vfs_limits(call->file, &limits);
	if (r < 0)
		return r;
	nfs3_put_ok(out);
	nfs3_put_attr_of(out, call->file);
	xdr_put_u32(out, limits.link_max);
	xdr_put_u32(out, limits.name_bytes_max);
	xdr_put_u32(out, 1); /* no_trunc: names too long are refused */
	xdr_put_u32(out, 1); /* chown_restricted */
	xdr_put_u32(out, 0); /* case_insensitive */
	xdr_put_u32(out, 1); /* case_preserving */
	return 0;
}
