/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CREATE - RFC 1813 section 3.3.8.
 */
#include "nfsd/nfs3.h"

static const enum vfs_create_how create_hows[] = {
	[UNCHECKED] = VFS_CREATE_UNCHECKED,
	[GUARDED] = VFS_CREATE_GUARDED,
	[EXCLUSIVE] = VFS_CREATE_EXCLUSIVE,
};

int nfs3_create(struct call *call)
{
	const struct nfs3_create_args *args = &call->args.create;
	char name[VFS_NAME_BYTES_MAX + 1];
	struct vfs_set set = { 0 };
	struct vfs_file *file;
	int r;

	r = nfs3_name(&args->where.name, name);
	if (r == 0 && args->mode != EXCLUSIVE)
		r = nfs3_set(&args->attributes, &set);
	if (r == 0)
		r = nfs3_need_dir(call->file);
	if (r < 0)
		return r;
	nfs3_become_caller(call);
	r = vfs_create(call->file, name, create_hows[args->mode], &set, args->verifier,
	               &call->caller, &file);
	if (r < 0)
		return r;
	nfs3_put_created(call, file);
	vfs_file_put(file);
	return 0;
}
