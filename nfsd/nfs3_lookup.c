/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LOOKUP - RFC 1813 section 3.3.3.
 *
 * Root may search every directory, so for root - ESXi's identity - a name in the kernel's cache is
 * found on the worker. Everybody else's right to search is the kernel's to check, on the pool, as
 * the caller.
 */
#include <errno.h>

#include "nfsd/nfs3.h"

int nfs3_lookup(struct call *call)
{
	char name[VFS_NAME_BYTES_MAX + 1];
	struct vfs_file *found;
	int r;

	r = nfs3_name(&call->args.dirop.name, name);
	if (r < 0)
		return r;
	if (call->may_block) {
		nfs3_become_caller(call);
		r = vfs_lookup(call->file, name, &found);
	} else if (call->caller.cred.uid == 0) {
		r = vfs_lookup_cached(call->file, name, &found);
	} else {
		r = -EAGAIN;
	}
	if (r < 0)
		return r;
	nfs3_put_ok(&call->out);
	nfs3_put_handle(&call->out, found);
	nfs3_put_attr_of(&call->out, found);
	nfs3_put_attr_of(&call->out, call->file);
	vfs_file_put(found);
	return 0;
}
