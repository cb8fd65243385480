/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READLINK - RFC 1813 section 3.3.5.
 */
#include "nfsd/nfs3.h"

uint32_t nfs3_readlink_room(const struct call *call)
{
	return NFS3_POST_OP_ATTR_BYTES + 8 + VFS_PATH_BYTES_MAX + 4;
}

int nfs3_readlink(struct call *call)
{
	char target[VFS_PATH_BYTES_MAX + 1];
	size_t target_bytes;
	int r;

	r = vfs_readlink(call->file, target, sizeof target, &target_bytes);
	if (r < 0)
		return r;
	nfs3_put_ok(&call->out);
	nfs3_put_attr_of(&call->out, call->file);
	xdr_put_opaque(&call->out, target, (uint32_t) target_bytes);
	return 0;
}
