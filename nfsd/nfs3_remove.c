/* SPDX-License-Identifier: Apache-2.0 */
/*
 * REMOVE and RMDIR - RFC 1813 sections 3.3.12 and 3.3.13.
 */
#include "nfsd/nfs3.h"

static int remove_name(struct call *call, int (*vfs_call)(struct vfs_file *dir, const char *name,
                                                          const struct vfs_caller *caller))
{
	char name[VFS_NAME_BYTES_MAX + 1];
	int r;

	r = nfs3_name(&call->args.dirop.name, name);
	if (r == 0)
		r = nfs3_need_dir(call->file);
	if (r < 0)
		return r;
	nfs3_become_caller(call);
	r = vfs_call(call->file, name, &call->caller);
	if (r < 0)
		return r;
	nfs3_put_ok(&call->out);
	nfs3_put_wcc_of(&call->out, call->file);
	return 0;
}

int nfs3_remove(struct call *call)
{
	return remove_name(call, vfs_remove);
}

int nfs3_rmdir(struct call *call)
{
	return remove_name(call, vfs_rmdir);
}
