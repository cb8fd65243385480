/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MKNOD - RFC 1813 section 3.3.11.
 */
#include <errno.h>
#include <sys/sysmacros.h>

#include "nfsd/nfs3.h"

static int mknod_type(ftype3 type, enum vfs_type *ret_type)
{
	switch (type) {
	case NF3CHR:
		*ret_type = VFS_CHARACTER;
		return 0;
	case NF3BLK:
		*ret_type = VFS_BLOCK;
		return 0;
	case NF3SOCK:
		*ret_type = VFS_SOCKET;
		return 0;
	case NF3FIFO:
		*ret_type = VFS_FIFO;
		return 0;
	default:
		return -EPROTOTYPE; /* the others have procedures of their own */
	}
}

int nfs3_mknod(struct call *call)
{
	const struct nfs3_mknod_args *args = &call->args.mknod;
	char name[VFS_NAME_BYTES_MAX + 1];
	enum vfs_type type = VFS_FIFO;
	struct vfs_file *file;
	struct vfs_set set = { 0 };
	int r;

	r = nfs3_name(&args->where.name, name);
	if (r == 0)
		r = mknod_type(args->type, &type);
	if (r == 0)
		r = nfs3_set(&args->attributes, &set);
	if (r == 0)
		r = nfs3_need_dir(call->file);
	if (r < 0)
		return r;
	set.set_size = false;
	nfs3_become_caller(call);
	r = vfs_mknod(call->file, name, type,
	              makedev(args->device.specdata1, args->device.specdata2), &set, &call->caller,
	              &file);
	if (r < 0)
		return r;
	nfs3_put_created(call, file);
	vfs_file_put(file);
	return 0;
}
