/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of NFSv3's procedures - RFC 1813 sections 2.6 and 3.3.
 *
 * First the parts, then one reader a procedure, in the RFC's order; the table at the end says which
 * reader a procedure has. Readers do not fail: the cursor does, and nfs3_args_decode() looks once.
 */
#include "rpcgen/nfs3_args.h"

#include <assert.h>
#include <errno.h>

#include "rpcgen/rpc_call.h"

static_assert(NFS3_DATA_BYTES_MAX == RPC_RECORD_BYTES_MAX, "what a record can hold, WRITE can say");

static struct xdr_view get_handle(struct xdr_in *in)
{
	return xdr_get_opaque(in, NFS3_FHSIZE);
}

/* An enumeration whose values are all that lie between its first and its last. */
static uint32_t get_enum(struct xdr_in *in, uint32_t first, uint32_t last)
{
	uint32_t value = xdr_get_u32(in);

	if (value < first || value > last) {
		in->failed = true;
		return first;
	}
	return value;
}

static void get_verifier(struct xdr_in *in, uint8_t *to, uint32_t verifier_bytes)
{
	const uint8_t *from = xdr_get_fixed(in, verifier_bytes);

	if (from)
		memcpy(to, from, verifier_bytes);
}

static struct nfs3_dirop get_dirop(struct xdr_in *in)
{
	struct nfs3_dirop dirop;

	dirop.dir = get_handle(in);
	dirop.name = xdr_get_opaque(in, NFS3_NAME_BYTES_MAX);
	return dirop;
}

static nfstime3 get_time(struct xdr_in *in)
{
	nfstime3 time;

	time.seconds = xdr_get_u32(in);
	time.nseconds = xdr_get_u32(in);
	return time;
}

static bool get_optional_u32(struct xdr_in *in, uint32_t *ret_value)
{
	bool present = xdr_get_bool(in);

	if (present)
		*ret_value = xdr_get_u32(in);
	return present;
}

static time_how get_optional_time(struct xdr_in *in, nfstime3 *ret_time)
{
	time_how how = (time_how) get_enum(in, DONT_CHANGE, SET_TO_CLIENT_TIME);

	if (how == SET_TO_CLIENT_TIME)
		*ret_time = get_time(in);
	return how;
}

static struct nfs3_sattr get_sattr(struct xdr_in *in)
{
	struct nfs3_sattr sattr = { 0 };

	sattr.set_mode = get_optional_u32(in, &sattr.mode);
	sattr.set_uid = get_optional_u32(in, &sattr.uid);
	sattr.set_gid = get_optional_u32(in, &sattr.gid);
	sattr.set_size = xdr_get_bool(in);
	if (sattr.set_size)
		sattr.size = xdr_get_u64(in);
	sattr.set_atime = get_optional_time(in, &sattr.atime);
	sattr.set_mtime = get_optional_time(in, &sattr.mtime);
	return sattr;
}

/* GETATTR, READLINK, FSSTAT, FSINFO, PATHCONF */
static void read_object(struct xdr_in *in, union nfs3_args *args)
{
	args->object = get_handle(in);
}

/* LOOKUP, REMOVE, RMDIR */
static void read_dirop(struct xdr_in *in, union nfs3_args *args)
{
	args->dirop = get_dirop(in);
}

static void read_setattr(struct xdr_in *in, union nfs3_args *args)
{
	struct nfs3_setattr_args *setattr = &args->setattr;

	setattr->object = get_handle(in);
	setattr->attributes = get_sattr(in);
	setattr->check_guard = xdr_get_bool(in);
	if (setattr->check_guard)
		setattr->guard_ctime = get_time(in);
}

static void read_access(struct xdr_in *in, union nfs3_args *args)
{
	args->access.object = get_handle(in);
	args->access.access = xdr_get_u32(in);
}

static void read_read(struct xdr_in *in, union nfs3_args *args)
{
	args->read.file = get_handle(in);
	args->read.offset = xdr_get_u64(in);
	args->read.count = xdr_get_u32(in);
}

static void read_write(struct xdr_in *in, union nfs3_args *args)
{
	struct nfs3_write_args *write = &args->write;

	write->file = get_handle(in);
	write->offset = xdr_get_u64(in);
	write->count = xdr_get_u32(in);
	write->stable = (stable_how) get_enum(in, UNSTABLE, FILE_SYNC);
	write->data = xdr_get_opaque(in, NFS3_DATA_BYTES_MAX);
}

static void read_create(struct xdr_in *in, union nfs3_args *args)
{
	struct nfs3_create_args *create = &args->create;

	create->where = get_dirop(in);
	create->mode = (createmode3) get_enum(in, UNCHECKED, EXCLUSIVE);
	if (create->mode == EXCLUSIVE)
		get_verifier(in, create->verifier, sizeof create->verifier);
	else
		create->attributes = get_sattr(in);
}

static void read_mkdir(struct xdr_in *in, union nfs3_args *args)
{
	args->mkdir.where = get_dirop(in);
	args->mkdir.attributes = get_sattr(in);
}

static void read_symlink(struct xdr_in *in, union nfs3_args *args)
{
	args->symlink.where = get_dirop(in);
	args->symlink.attributes = get_sattr(in);
	args->symlink.target = xdr_get_opaque(in, NFS3_NAME_BYTES_MAX);
}

static void read_mknod(struct xdr_in *in, union nfs3_args *args)
{
	struct nfs3_mknod_args *mknod = &args->mknod;

	mknod->where = get_dirop(in);
	mknod->type = (ftype3) get_enum(in, NF3REG, NF3FIFO);
	switch (mknod->type) {
	case NF3CHR:
	case NF3BLK:
		mknod->attributes = get_sattr(in);
		mknod->device.specdata1 = xdr_get_u32(in);
		mknod->device.specdata2 = xdr_get_u32(in);
		break;
	case NF3SOCK:
	case NF3FIFO:
		mknod->attributes = get_sattr(in);
		break;
	case NF3REG:
	case NF3DIR:
	case NF3LNK:
		break; /* nothing follows; the answer is NFS3ERR_BADTYPE */
	}
}

static void read_rename(struct xdr_in *in, union nfs3_args *args)
{
	args->rename.from = get_dirop(in);
	args->rename.to = get_dirop(in);
}

static void read_link(struct xdr_in *in, union nfs3_args *args)
{
	args->link.file = get_handle(in);
	args->link.link = get_dirop(in);
}

static void read_readdir(struct xdr_in *in, union nfs3_args *args)
{
	struct nfs3_readdir_args *readdir = &args->readdir;

	readdir->dir = get_handle(in);
	readdir->cookie = xdr_get_u64(in);
	get_verifier(in, readdir->verifier, sizeof readdir->verifier);
	readdir->dircount = xdr_get_u32(in);
}

static void read_readdirplus(struct xdr_in *in, union nfs3_args *args)
{
	read_readdir(in, args);
	args->readdir.maxcount = xdr_get_u32(in);
}

static void read_commit(struct xdr_in *in, union nfs3_args *args)
{
	args->commit.file = get_handle(in);
	args->commit.offset = xdr_get_u64(in);
	args->commit.count = xdr_get_u32(in);
}

static void (*const readers[])(struct xdr_in *in, union nfs3_args *args) = {
	[NFSPROC3_NULL] = NULL,
	[NFSPROC3_GETATTR] = read_object,
	[NFSPROC3_SETATTR] = read_setattr,
	[NFSPROC3_LOOKUP] = read_dirop,
	[NFSPROC3_ACCESS] = read_access,
	[NFSPROC3_READLINK] = read_object,
	[NFSPROC3_READ] = read_read,
	[NFSPROC3_WRITE] = read_write,
	[NFSPROC3_CREATE] = read_create,
	[NFSPROC3_MKDIR] = read_mkdir,
	[NFSPROC3_SYMLINK] = read_symlink,
	[NFSPROC3_MKNOD] = read_mknod,
	[NFSPROC3_REMOVE] = read_dirop,
	[NFSPROC3_RMDIR] = read_dirop,
	[NFSPROC3_RENAME] = read_rename,
	[NFSPROC3_LINK] = read_link,
	[NFSPROC3_READDIR] = read_readdir,
	[NFSPROC3_READDIRPLUS] = read_readdirplus,
	[NFSPROC3_FSSTAT] = read_object,
	[NFSPROC3_FSINFO] = read_object,
	[NFSPROC3_PATHCONF] = read_object,
	[NFSPROC3_COMMIT] = read_commit,
};

int nfs3_args_decode(uint32_t procedure, const uint8_t *bytes, size_t bytes_count,
                     union nfs3_args *ret_args)
{
	struct xdr_in in = xdr_in(bytes, bytes_count);
	union nfs3_args args;

	assert(procedure <= NFSPROC3_COMMIT);
	memset(&args, 0, sizeof args);

	/* NULL answers anyone who knocks: some clients' pings carry a word or two. */
	if (procedure != NFSPROC3_NULL) {
		readers[procedure](&in, &args);
		if (!xdr_in_done(&in))
			return -EBADMSG;
	}
	*ret_args = args;
	return 0;
}
