/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NULL and GETATTR - RFC 1813 sections 3.3.0 and 3.3.1.
 *
 * GETATTR of an export's root is ESXi's heartbeat: answered on the worker from the open file, never
 * behind a disk.
 */
#include "nfsd/nfs3.h"

int nfs3_null(struct call *call)
{
	return 0;
}

int nfs3_getattr(struct call *call)
{
	struct vfs_attr attr;
	fattr3 fattr;
	int r;

	r = vfs_file_attr(call->file, &attr);
	if (r < 0)
		return r;
	nfs3_fattr(&attr, &fattr);
	nfs3_put_ok(&call->out);
	nfs3_put_fattr(&call->out, &fattr);
	return 0;
}
