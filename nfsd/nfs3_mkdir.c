/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MKDIR - RFC 1813 section 3.3.9.
 */
#include "nfsd/nfs3.h"

int nfs3_mkdir(struct call *call)
{
	const struct nfs3_mkdir_args *args = &call->args.mkdir;
	char name[VFS_NAME_BYTES_MAX + 1];
	struct vfs_file *file;
	struct vfs_set set;
	int r;

	r = nfs3_name(&args->where.name, name);
	if (r == 0)
		r = nfs3_set(&args->attributes, &set);
	if (r == 0)
		r = nfs3_need_dir(call->file);
	if (r < 0)
		return r;
	set.set_size = false; /* a directory's size is its own affair */
	nfs3_become_caller(call);
	r = vfs_mkdir(call->file, name, &set, &call->caller, &file);
	if (r < 0)
		return r;
	nfs3_put_created(call, file);
	vfs_file_put(file);
	return 0;
}
