/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SYMLINK - RFC 1813 section 3.3.10.
 */
#include <errno.h>
#include <string.h>

#include "nfsd/nfs3.h"

static int symlink_target(const struct xdr_view *view, char to[VFS_PATH_BYTES_MAX + 1])
{
	if (view->count > VFS_PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	if (view->count == 0 || memchr(view->bytes, '\0', view->count))
		return -EINVAL;
	memcpy(to, view->bytes, view->count);
	to[view->count] = '\0';
	return 0;
}

int nfs3_symlink(struct call *call)
{
	const struct nfs3_symlink_args *args = &call->args.symlink;
	char name[VFS_NAME_BYTES_MAX + 1], target[VFS_PATH_BYTES_MAX + 1];
	struct vfs_file *file;
	struct vfs_set set;
	int r;

	r = nfs3_name(&args->where.name, name);
	if (r == 0)
		r = symlink_target(&args->target, target);
	if (r == 0)
		r = nfs3_set(&args->attributes, &set);
	if (r == 0)
		r = nfs3_need_dir(call->file);
	if (r < 0)
		return r;
	set.set_size = set.set_mode = false; /* links have neither */
	nfs3_become_caller(call);
	r = vfs_symlink(call->file, name, target, &set, &call->caller, &file);
	if (r < 0)
		return r;
	nfs3_put_created(call, file);
	vfs_file_put(file);
	return 0;
}
