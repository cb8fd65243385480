/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LINK - RFC 1813 section 3.3.15.
 */
#include "nfsd/nfs3.h"

int nfs3_link(struct call *call)
{
	const struct nfs3_link_args *args = &call->args.link;
	char name[VFS_NAME_BYTES_MAX + 1];
	int r;

	r = nfs3_open_second(call, &args->link.dir);
	if (r == 0)
		r = nfs3_name(&args->link.name, name);
	if (r == 0)
		r = nfs3_need_dir(call->file2);
	if (r == 0 && vfs_file_type(call->file) == VFS_REGULAR)
		r = vfs_file_need(call->file, VFS_OPEN_READ); /* its link count is flushed */
	if (r < 0)
		return r;
	nfs3_become_caller(call);
	r = vfs_link(call->file, call->file2, name, &call->caller);
	if (r < 0)
		return r;
	nfs3_put_ok(&call->out);
	nfs3_put_attr_of(&call->out, call->file);
	nfs3_put_wcc_of(&call->out, call->file2);
	return 0;
}
