/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What READ and WRITE check before any data moves.
 */
#include <errno.h>

#include "nfsd/nfs3.h"

/* Asked of the kernel, as the caller, because the file has an access list. */
static int data_access(struct call *call, bool write)
{
	unsigned wanted = write ? VFS_MAY_WRITE : VFS_MAY_READ | VFS_MAY_EXECUTE;
	unsigned granted;

	nfs3_become_caller(call);
	granted = vfs_access(call->file, wanted);
	vfs_identity_server();
	return granted ? 0 : -EACCES;
}

int nfs3_data_prepare(struct call *call, bool write)
{
	enum vfs_open open = write ? VFS_OPEN_READ_WRITE : VFS_OPEN_READ;
	struct vfs_attr attr;
	int r;

	if (vfs_file_type(call->file) == VFS_DIRECTORY)
		return -EISDIR;
	if (vfs_file_type(call->file) != VFS_REGULAR)
		return -EINVAL;
	if (!vfs_file_is(call->file, open)) {
		if (!call->may_block)
			return -EAGAIN;
		r = vfs_file_need(call->file, open);
		if (r < 0)
			return r;
	}
	if (call->caller.cred.uid == 0)
		return 0;
	r = vfs_file_attr(call->file, &attr);
	if (r == 0)
		r = vfs_file_may(call->file, &attr, &call->caller.cred, write);
	if (r == -EAGAIN && call->may_block)
		r = data_access(call, write);
	if (r == 0 && write && (attr.mode & 06000))
		r = call->may_block ? vfs_drop_set_id(call->file) : -EAGAIN;
	return r;
}
