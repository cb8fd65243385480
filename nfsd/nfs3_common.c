/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/nfs3.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "nfsd/conn.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"
#include "vfs/squash.h"

enum {
	PORT_RESERVED_MAX = 1023,
	NSEC_PER_S = 1000000000
};

static const struct {
	int error;
	nfsstat3 status;
} nfs3_statuses[] = {
	{ -EPERM, NFS3ERR_PERM },
	{ -ENOENT, NFS3ERR_NOENT },
	{ -EIO, NFS3ERR_IO },
	{ -EUCLEAN, NFS3ERR_IO },
	{ -ENXIO, NFS3ERR_NXIO },
	{ -EACCES, NFS3ERR_ACCES },
	{ -ETXTBSY, NFS3ERR_ACCES },
	{ -EBUSY, NFS3ERR_ACCES }, /* a mount point, a swap file: trying again would not help */
	{ -EEXIST, NFS3ERR_EXIST },
	{ -EXDEV, NFS3ERR_XDEV },
	{ -ENODEV, NFS3ERR_NODEV },
	{ -ENOTDIR, NFS3ERR_NOTDIR },
	{ -EISDIR, NFS3ERR_ISDIR },
	{ -EINVAL, NFS3ERR_INVAL },
	{ -ELOOP, NFS3ERR_INVAL },
	{ -EFBIG, NFS3ERR_FBIG },
	{ -EOVERFLOW, NFS3ERR_FBIG },
	{ -ENOSPC, NFS3ERR_NOSPC },
	{ -EROFS, NFS3ERR_ROFS },
	{ -EMLINK, NFS3ERR_MLINK },
	{ -ENAMETOOLONG, NFS3ERR_NAMETOOLONG },
	{ -ENOTEMPTY, NFS3ERR_NOTEMPTY },
	{ -EDQUOT, NFS3ERR_DQUOT },
	{ -ESTALE, NFS3ERR_STALE },
	{ -EBADMSG, NFS3ERR_BADHANDLE },
	{ -EDEADLK, NFS3ERR_NOT_SYNC },
	{ -ESPIPE, NFS3ERR_BAD_COOKIE },
	{ -EOPNOTSUPP, NFS3ERR_NOTSUPP },
	{ -ENOBUFS, NFS3ERR_TOOSMALL },
	{ -EPROTOTYPE, NFS3ERR_BADTYPE },
	/* Short of something that comes back: the client waits and asks again. */
	{ -ENFILE, NFS3ERR_JUKEBOX },
	{ -EMFILE, NFS3ERR_JUKEBOX },
	{ -ENOMEM, NFS3ERR_JUKEBOX },
	{ -EAGAIN, NFS3ERR_JUKEBOX },
	{ -EINTR, NFS3ERR_JUKEBOX },
};

nfsstat3 nfs3_status(int error)
{
	if (error == 0)
		return NFS3_OK;
	for (size_t i = 0; i < ARRAY_COUNT(nfs3_statuses); i++)
		if (nfs3_statuses[i].error == error)
			return nfs3_statuses[i].status;
	return NFS3ERR_SERVERFAULT;
}

int nfs3_decode(struct call *call)
{
	return nfs3_args_decode(call->rpc.procedure, call->rpc.args, call->rpc.args_bytes,
	                        &call->args);
}

/* ---- before a procedure: file, host, identity, read-only ---- */

static int open_handle(struct call *call, const struct xdr_view *handle, struct vfs_file **ret_file)
{
	struct vfs *vfs = call->worker->server->vfs;
	int r;

	r = vfs_file_find(vfs, handle->bytes, handle->count, ret_file);
	if (r == -EAGAIN && call->may_block)
		r = vfs_file_open(vfs, handle->bytes, handle->count, ret_file);
	return r;
}

static void refuse(struct call *call, enum counters_refusal refusal, const char *why)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	const struct log_about about = {
		.client = export_address_print(&call->client, text),
		.call = call->proc->name,
	};

	call->refusal = refusal;
	log_about(LOG_LEVEL_WARNING, &about, "%s from %s is refused: %s", about.call, about.client,
	          why);
}

/* May this host use the file's export? Remembered by the connection as long as the export's serial
 * stays. */
static int check_host(struct call *call)
{
	struct server *server = call->worker->server;
	struct vfs_export *export = vfs_file_export(call->file);
	uint32_t serial = vfs_export_serial(export);
	int r;

	if (call->options_serial == serial)
		return 0;
	if (!call->may_block && call->conn &&
	    conn_options_find(call->conn, serial, &call->options)) {
		call->options_serial = serial;
		return 0;
	}
	r = vfs_export_access(server->vfs, export, &call->client, server->names, call->may_block,
	                      &call->options);
	if (r == -EACCES)
		refuse(call, REFUSED_HOST, "the export's line does not list this host");
	if (r < 0)
		return r;
	if (call->options.secure && call->client_port > PORT_RESERVED_MAX) {
		refuse(call, REFUSED_PORT,
		       "it comes from a port above 1023 and the export says 'secure'");
		return -EACCES;
	}
	if (!call->may_block && call->conn)
		conn_options_keep(call->conn, serial, &call->options);
	call->options_serial = serial; /* from the pool, the connection keeps it later */
	return 0;
}

/* 2^32-1 is no id: to the kernel it means "leave as it is". Who claims to be it is nobody. */
static void squash(const struct rpc_cred *from, const struct export_options *options,
                   struct vfs_cred *to)
{
	struct vfs_cred said = { .uid = from->uid, .gid = from->gid };

	static_assert((int) RPC_GROUPS_MAX <= (int) VFS_GROUPS_MAX, "all fit");
	said.group_count = from->group_count;
	for (uint32_t i = 0; i < from->group_count; i++)
		said.groups[i] = from->groups[i];
	vfs_squash(&said, options, to);
}

int nfs3_prepare(struct call *call)
{
	int r;

	if (call->rpc.procedure == NFSPROC3_NULL)
		return 0;
	if (!call->file) {
		r = open_handle(call, &call->args.object, &call->file);
		if (r < 0)
			return r;
	}
	r = check_host(call);
	if (r < 0)
		return r;
	call->authorised = true;
	squash(&call->rpc.cred, &call->options, &call->caller.cred);
	call->caller.async = call->options.async;
	if ((call->proc->flags & PROC_CHANGES) && call->options.read_only) {
		call->refusal = REFUSED_READ_ONLY;
		return -EROFS;
	}
	return 0;
}

uint64_t nfs3_waits_for(const struct call *call)
{
	return vfs_device(call->worker->server->vfs, call->args.object.bytes,
	                  call->args.object.count);
}

void nfs3_become_caller(struct call *call)
{
	assert(call->may_block);
	vfs_identity_assume(&call->caller.cred);
}

int nfs3_need_dir(struct vfs_file *file)
{
	if (vfs_file_type(file) != VFS_DIRECTORY)
		return -ENOTDIR;
	return vfs_file_need(file, VFS_OPEN_READ);
}

int nfs3_open_second(struct call *call, const struct xdr_view *handle)
{
	int r;

	assert(call->may_block);
	r = open_handle(call, handle, &call->file2);
	if (r < 0)
		return r;
	return vfs_file_export(call->file2) == vfs_file_export(call->file) ? 0 : -EXDEV;
}

/* ---- from and to the wire's types ---- */

int nfs3_name(const struct xdr_view *view, char to[VFS_NAME_BYTES_MAX + 1])
{
	if (view->count > VFS_NAME_BYTES_MAX)
		return -ENAMETOOLONG;
	if (view->count && memchr(view->bytes, '\0', view->count))
		return -EACCES; /* no name: RFC 1813 section 3.2 */
	if (view->count)
		memcpy(to, view->bytes, view->count);
	to[view->count] = '\0';
	return 0;
}

static int set_time(time_how how, const nfstime3 *time, enum vfs_set_time *ret_how,
                    struct timespec *ret_time)
{
	*ret_how = how == DONT_CHANGE          ? VFS_TIME_KEEP
	           : how == SET_TO_SERVER_TIME ? VFS_TIME_NOW
	                                       : VFS_TIME_GIVEN;
	if (how != SET_TO_CLIENT_TIME)
		return 0;
	if (time->nseconds >= NSEC_PER_S)
		return -EINVAL;
	*ret_time = (struct timespec){ .tv_sec = time->seconds, .tv_nsec = time->nseconds };
	return 0;
}

int nfs3_set(const struct nfs3_sattr *sattr, struct vfs_set *ret_set)
{
	struct vfs_set set = {
		.set_mode = sattr->set_mode,
		.set_uid = sattr->set_uid,
		.set_gid = sattr->set_gid,
		.set_size = sattr->set_size,
		.mode = sattr->mode & 07777,
		.uid = sattr->uid,
		.gid = sattr->gid,
		.size = sattr->size,
	};
	int r;

	r = set_time(sattr->set_atime, &sattr->atime, &set.set_atime, &set.atime);
	if (r == 0)
		r = set_time(sattr->set_mtime, &sattr->mtime, &set.set_mtime, &set.mtime);
	if (r == 0)
		*ret_set = set;
	return r;
}

static nfstime3 nfs3_time(const struct timespec *time)
{
	return (nfstime3){ .seconds = (uint32_t) time->tv_sec,
		           .nseconds = (uint32_t) time->tv_nsec };
}

void nfs3_fattr(const struct vfs_attr *attr, fattr3 *ret_fattr)
{
	static const ftype3 types[] = {
		[VFS_REGULAR] = NF3REG, [VFS_DIRECTORY] = NF3DIR, [VFS_SYMLINK] = NF3LNK,
		[VFS_BLOCK] = NF3BLK,   [VFS_CHARACTER] = NF3CHR, [VFS_FIFO] = NF3FIFO,
		[VFS_SOCKET] = NF3SOCK,
	};

	*ret_fattr = (fattr3){
		.type = types[attr->type],
		.mode = attr->mode,
		.nlink = attr->nlink,
		.uid = attr->uid,
		.gid = attr->gid,
		.size = attr->size,
		.used = attr->used_bytes,
		.rdev = { attr->rdev_major, attr->rdev_minor },
		.fsid = attr->fsid,
		.fileid = attr->fileid,
		.atime = nfs3_time(&attr->atime),
		.mtime = nfs3_time(&attr->mtime),
		.ctime = nfs3_time(&attr->ctime),
	};
}

const fattr3 *nfs3_attr_of(const struct vfs_file *file, fattr3 *storage)
{
	struct vfs_attr attr;

	if (!file || vfs_file_attr(file, &attr) < 0)
		return NULL;
	nfs3_fattr(&attr, storage);
	return storage;
}

void nfs3_put_ok(struct xdr_out *out)
{
	xdr_put_u32(out, NFS3_OK);
}

void nfs3_put_attr_of(struct xdr_out *out, const struct vfs_file *file)
{
	fattr3 storage;

	nfs3_put_post_op_attr(out, nfs3_attr_of(file, &storage));
}

void nfs3_put_wcc_of(struct xdr_out *out, const struct vfs_file *file)
{
	fattr3 storage;

	nfs3_put_wcc(out, nfs3_attr_of(file, &storage));
}

void nfs3_put_handle(struct xdr_out *out, const struct vfs_file *file)
{
	const struct vfs_handle *handle = vfs_file_handle(file);

	xdr_put_opaque(out, handle->bytes, handle->count);
}

void nfs3_put_created(struct call *call, const struct vfs_file *file)
{
	nfs3_put_ok(&call->out);
	xdr_put_u32(&call->out, file != NULL); /* post_op_fh3: a handle follows, if it is there */
	if (file)
		nfs3_put_handle(&call->out, file);
	nfs3_put_attr_of(&call->out, file);
	nfs3_put_wcc_of(&call->out, call->file);
}

/* ---- failing ---- */

/* A name is not found in a directory that was removed: it is the directory that is gone. */
static bool is_removed(const struct vfs_file *file)
{
	struct vfs_attr attr;

	return file && vfs_file_attr(file, &attr) == -ESTALE;
}

/* Root that is nobody here keeps ESXi from making machines, and its own message does not say so. */
static void say_squashed(const struct call *call)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	const char *host = export_address_print(&call->client, text);
	const struct log_about about = { .client = host, .call = call->proc->name };

	log_about(LOG_LEVEL_WARNING, &about,
	          "%s from %s is refused: its root acts as user %u in the export, who may not do"
	          " that. If it is an ESXi host, write %s(rw,no_root_squash) in exports and reload",
	          call->proc->name, host, call->caller.cred.uid, host);
}

static bool is_squashed_root(const struct call *call)
{
	return call->authorised && call->rpc.cred.uid == 0 && call->caller.cred.uid != 0;
}

void nfs3_failed(struct call *call, int error)
{
	nfsstat3 status = nfs3_status(error == -ENOENT && is_removed(call->file) ? -ESTALE : error);
	/* Files of an export that this host may not use are none of its business. */
	const struct vfs_file *file = call->authorised ? call->file : NULL;
	const struct vfs_file *file2 = file && call->file2 &&
	                                               vfs_file_export(file) ==
	                                                       vfs_file_export(call->file2)
	                                       ? call->file2
	                                       : NULL;

	if (status == NFS3ERR_SERVERFAULT || status == NFS3ERR_IO)
		log_error("%s failed: %s", call->proc->name, strerror(-error));
	if ((status == NFS3ERR_ACCES || status == NFS3ERR_PERM) && is_squashed_root(call))
		say_squashed(call);
	call->status = status;
	call->forget = status == NFS3ERR_JUKEBOX;
	xdr_put_u32(&call->out, status);
	switch (call->proc->fail) {
	case FAIL_STATUS:
		break;
	case FAIL_ATTR:
		nfs3_put_attr_of(&call->out, file);
		break;
	case FAIL_WCC:
		nfs3_put_wcc_of(&call->out, file);
		break;
	case FAIL_WCC_WCC:
		nfs3_put_wcc_of(&call->out, file);
		nfs3_put_wcc_of(&call->out, file2);
		break;
	case FAIL_ATTR_WCC:
		nfs3_put_attr_of(&call->out, file);
		nfs3_put_wcc_of(&call->out, file2);
		break;
	}
}
