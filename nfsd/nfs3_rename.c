/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RENAME - RFC 1813 section 3.3.14.
 */
#include "nfsd/nfs3.h"

int nfs3_rename(struct call *call)
{
	const struct nfs3_rename_args *args = &call->args.rename;
	char from[VFS_NAME_BYTES_MAX + 1], to[VFS_NAME_BYTES_MAX + 1];
	int r;

	r = nfs3_open_second(call, &args->to.dir);
	if (r == 0)
		r = nfs3_name(&args->from.name, from);
	if (r == 0)
		r = nfs3_name(&args->to.name, to);
	if (r == 0)
		r = nfs3_need_dir(call->file);
	if (r == 0)
		r = nfs3_need_dir(call->file2);
	if (r < 0)
		return r;
	nfs3_become_caller(call);
	r = vfs_rename(call->file, from, call->file2, to, &call->caller);
	if (r < 0)
		return r;
	nfs3_put_ok(&call->out);
	nfs3_put_wcc_of(&call->out, call->file);
	nfs3_put_wcc_of(&call->out, call->file2);
	return 0;
}
