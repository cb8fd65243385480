/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACCESS - RFC 1813 section 3.3.4.
 *
 * The kernel is asked as the caller, so access lists count. For root the mode says it all.
 */
#include <errno.h>

#include "nfsd/nfs3.h"

static const struct {
	uint32_t bit;
	unsigned may;
} file_bits[] = {
	{ ACCESS3_READ, VFS_MAY_READ },
	{ ACCESS3_MODIFY, VFS_MAY_WRITE },
	{ ACCESS3_EXTEND, VFS_MAY_WRITE },
	{ ACCESS3_EXECUTE, VFS_MAY_EXECUTE },
}, dir_bits[] = {
	{ ACCESS3_READ, VFS_MAY_READ },
	{ ACCESS3_LOOKUP, VFS_MAY_EXECUTE },
	{ ACCESS3_MODIFY, VFS_MAY_WRITE },
	{ ACCESS3_EXTEND, VFS_MAY_WRITE },
	{ ACCESS3_DELETE, VFS_MAY_WRITE },
};

static unsigned root_may(const struct vfs_attr *attr)
{
	unsigned may = VFS_MAY_READ | VFS_MAY_WRITE;

	if (attr->type == VFS_DIRECTORY || (attr->mode & 0111))
		may |= VFS_MAY_EXECUTE;
	return may;
}

static uint32_t access_bits(const struct call *call, enum vfs_type type, unsigned may)
{
	uint32_t granted = 0;

	if (call->options.read_only)
		may &= ~(unsigned) VFS_MAY_WRITE;
	if (type == VFS_DIRECTORY) {
		for (size_t i = 0; i < sizeof dir_bits / sizeof dir_bits[0]; i++)
			if (may & dir_bits[i].may)
				granted |= dir_bits[i].bit;
	} else {
		for (size_t i = 0; i < sizeof file_bits / sizeof file_bits[0]; i++)
			if (may & file_bits[i].may)
				granted |= file_bits[i].bit;
	}
	return granted & call->args.access.access;
}

int nfs3_access(struct call *call)
{
	struct vfs_attr attr;
	unsigned may;
	fattr3 fattr;
	int r;

	r = vfs_file_attr(call->file, &attr);
	if (r < 0)
		return r;
	if (call->caller.cred.uid == 0) {
		may = root_may(&attr);
	} else if (call->may_block) {
		nfs3_become_caller(call);
		may = vfs_access(call->file, VFS_MAY_READ | VFS_MAY_WRITE | VFS_MAY_EXECUTE);
	} else {
		return -EAGAIN;
	}
	nfs3_fattr(&attr, &fattr);
	nfs3_put_ok(&call->out);
	nfs3_put_post_op_attr(&call->out, &fattr);
	xdr_put_u32(&call->out, access_bits(call, attr.type, may));
	return 0;
}
