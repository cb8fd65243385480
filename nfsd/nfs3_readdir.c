/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READDIR and READDIRPLUS - RFC 1813 sections 3.3.16 and 3.3.17.
 *
 * Cookies are the file system's own, so the cookie verifier is always zero and any verifier a
 * client sends is accepted: its cookie stays good for the directory's life. An old cookie behind
 * the end is an empty list and EOF, as ESXi needs it.
 *
 * The reply obeys count, dircount and maxcount to the byte: they bound READDIR3resok, which is all
 * of the results but the status.
 */
#include <errno.h>
#include <string.h>

#include "nfsd/nfs3.h"
#include "nfsd/udp.h"

struct readdir {
	struct call *call;
	bool plus;
	uint32_t left_bytes;    /* of count or maxcount */
	uint32_t dirleft_bytes; /* of dircount: names, ids and cookies only */
	unsigned entry_count;
};

static uint32_t readdir_bytes_max(const struct call *call)
{
	const struct nfs3_readdir_args *args = &call->args.readdir;
	bool plus = call->rpc.procedure == NFSPROC3_READDIRPLUS;
	uint32_t bytes = plus ? args->maxcount : args->dircount;

	if (call->udp && bytes > UDP_IO_BYTES_MAX)
		return UDP_IO_BYTES_MAX;
	return bytes < NFS3_READDIR_BYTES_MAX ? bytes : NFS3_READDIR_BYTES_MAX;
}

uint32_t nfs3_readdir_room(const struct call *call)
{
	uint32_t room = 4 + readdir_bytes_max(call);

	/* A failure needs its own room even if the client asked for nothing. */
	return room < CALL_REPLY_BYTES_MIN ? CALL_REPLY_BYTES_MIN : room;
}

static bool readdir_entry(void *context, const struct vfs_entry *from)
{
	struct readdir *readdir = context;
	fattr3 fattr;
	struct nfs3_entry entry = {
		.fileid = from->fileid,
		.cookie = from->cookie,
		.name = from->name,
		.name_bytes = from->name_bytes,
	};
	uint32_t dir_bytes, bytes;

	if (from->has_attr) {
		nfs3_fattr(&from->attr, &fattr);
		entry.attr = &fattr;
		entry.handle = (struct xdr_view){ from->handle.bytes, from->handle.count };
	}
	dir_bytes = nfs3_entry_bytes(&entry);
	bytes = readdir->plus ? nfs3_entry_plus_bytes(&entry) : dir_bytes;
	if (bytes > readdir->left_bytes || (readdir->plus && dir_bytes > readdir->dirleft_bytes))
		return false;
	readdir->left_bytes -= bytes;
	readdir->dirleft_bytes -= readdir->plus ? dir_bytes : 0;
	readdir->entry_count++;
	if (readdir->plus)
		nfs3_put_entry_plus(&readdir->call->out, &entry);
	else
		nfs3_put_entry(&readdir->call->out, &entry);
	return true;
}

static int readdir_list(struct call *call, bool plus)
{
	static const uint8_t verifier[NFS3_COOKIEVERFSIZE];
	const struct nfs3_readdir_args *args = &call->args.readdir;
	uint32_t around = NFS3_READDIR_HEAD_BYTES - 4 + NFS3_READDIR_TAIL_BYTES;
	uint32_t bytes_max = readdir_bytes_max(call);
	struct readdir readdir = { .call = call, .plus = plus, .dirleft_bytes = args->dircount };
	fattr3 fattr;
	bool eof;
	int r;

	if (vfs_file_type(call->file) != VFS_DIRECTORY)
		return -ENOTDIR;
	if (bytes_max < around)
		return -ENOBUFS;
	readdir.left_bytes = bytes_max - around;
	nfs3_put_ok(&call->out);
	if (!nfs3_attr_of(call->file, &fattr))
		return -ESTALE;
	nfs3_put_post_op_attr(&call->out, &fattr);
	xdr_put_fixed(&call->out, verifier, sizeof verifier);
	nfs3_become_caller(call);
	r = vfs_readdir(call->file, args->cookie, plus, readdir_entry, &readdir, &eof);
	if (r < 0)
		return r;
	if (readdir.entry_count == 0 && !eof)
		return -ENOBUFS;
	nfs3_put_entries_end(&call->out, eof);
	return 0;
}

int nfs3_readdir(struct call *call)
{
	return readdir_list(call, false);
}

int nfs3_readdirplus(struct call *call)
{
	return readdir_list(call, true);
}
