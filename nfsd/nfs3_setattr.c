/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SETATTR - RFC 1813 section 3.3.2.
 */
#include "nfsd/nfs3.h"

static int set_and_guard(struct call *call)
{
	const struct nfs3_setattr_args *args = &call->args.setattr;
	struct timespec guard = {
		.tv_sec = args->guard_ctime.seconds,
		.tv_nsec = args->guard_ctime.nseconds,
	};
	struct vfs_set set;
	int r;

	r = nfs3_set(&args->attributes, &set);
	if (r < 0)
		return r;
	/* Directories and files are flushed through an open descriptor; a size needs one to
	 * write. */
	if (vfs_file_type(call->file) == VFS_DIRECTORY)
		r = vfs_file_need(call->file, VFS_OPEN_READ);
	else if (vfs_file_type(call->file) == VFS_REGULAR)
		r = vfs_file_need(call->file, set.set_size ? VFS_OPEN_READ_WRITE : VFS_OPEN_READ);
	if (r < 0)
		return r;
	nfs3_become_caller(call);
	return vfs_setattr(call->file, &set, args->check_guard ? &guard : NULL, &call->caller);
}

int nfs3_setattr(struct call *call)
{
	int r = set_and_guard(call);

	if (r < 0)
		return r;
	nfs3_put_ok(&call->out);
	nfs3_put_wcc_of(&call->out, call->file);
	return 0;
}
