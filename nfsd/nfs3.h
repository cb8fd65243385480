/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfs3.h - NFS version 3: what its procedures share. Each procedure has a file of its own.
 *
 * vfs/ speaks negative errno; only nfs3_status() makes an nfsstat3 of it. A few have a meaning of
 * their own here: -EBADMSG BADHANDLE, -EDEADLK NOT_SYNC, -ESPIPE BAD_COOKIE, -ENOBUFS TOOSMALL,
 * -EPROTOTYPE BADTYPE.
 */
#pragma once

#include "nfsd/call.h"
#include "rpcgen/nfs3_results.h"

enum {
	NFS3_IO_BYTES_MAX = 1 << 20,        /* rtmax and wtmax (FSINFO) */
	NFS3_READDIR_BYTES_MAX = 256 << 10, /* whatever a client asks for */
};

extern const struct program nfs3_program;

nfsstat3 nfs3_status(int error);

/* struct program's decode, prepare, waits_for, failed. */
int nfs3_decode(struct call *call);
int nfs3_prepare(struct call *call);
uint64_t nfs3_waits_for(const struct call *call);
void nfs3_failed(struct call *call, int error);

/* From here on this thread acts as the caller (call_pool_work() ends it). */
void nfs3_become_caller(struct call *call);

/* The first handle is a directory, and open so that changes in it can be flushed. As the server. */
int nfs3_need_dir(struct vfs_file *file);

/* Open the call's second handle; -EXDEV if it is of another export. As the server. */
int nfs3_open_second(struct call *call, const struct xdr_view *handle);

/* A name with its NUL: -EACCES if it has one inside, -ENAMETOOLONG. */
int nfs3_name(const struct xdr_view *view, char to[VFS_NAME_BYTES_MAX + 1]);

/* sattr3; -EINVAL for times that are none. */
int nfs3_set(const struct nfs3_sattr *sattr, struct vfs_set *ret_set);

void nfs3_fattr(const struct vfs_attr *attr, fattr3 *ret_fattr);

/* The file's attributes now in @storage: @storage, or NULL if they cannot be had. */
const fattr3 *nfs3_attr_of(const struct vfs_file *file, fattr3 *storage);

void nfs3_put_ok(struct xdr_out *out);
void nfs3_put_attr_of(struct xdr_out *out, const struct vfs_file *file); /* post_op_attr */
void nfs3_put_wcc_of(struct xdr_out *out, const struct vfs_file *file);
void nfs3_put_handle(struct xdr_out *out, const struct vfs_file *file); /* nfs_fh3 */

/* The results of CREATE, MKDIR, SYMLINK and MKNOD: post_op_fh3, attributes, the directory's
 * wcc_data. */
void nfs3_put_created(struct call *call, const struct vfs_file *file);

/* Is a READ or WRITE allowed and the file open for it? 0, -EAGAIN (not on the worker), or the
 * reason. */
int nfs3_data_prepare(struct call *call, bool write);

int nfs3_null(struct call *call);
int nfs3_getattr(struct call *call);
int nfs3_setattr(struct call *call);
int nfs3_lookup(struct call *call);
int nfs3_access(struct call *call);
int nfs3_readlink(struct call *call);
uint32_t nfs3_readlink_room(const struct call *call);
int nfs3_read_prepare(struct call *call);
void nfs3_read(struct call *call);
uint32_t nfs3_read_room(const struct call *call);
int nfs3_write_prepare(struct call *call);
void nfs3_write(struct call *call);
int nfs3_create(struct call *call);
int nfs3_mkdir(struct call *call);
int nfs3_symlink(struct call *call);
int nfs3_mknod(struct call *call);
int nfs3_remove(struct call *call);
int nfs3_rmdir(struct call *call);
int nfs3_rename(struct call *call);
int nfs3_link(struct call *call);
int nfs3_readdir(struct call *call);
int nfs3_readdirplus(struct call *call);
uint32_t nfs3_readdir_room(const struct call *call);
int nfs3_fsstat(struct call *call);
int nfs3_fsinfo(struct call *call);
int nfs3_pathconf(struct call *call);
int nfs3_commit_prepare(struct call *call);
void nfs3_commit(struct call *call);
int nfs3_vaai_decode(struct call *call);
void nfs3_vaai(struct call *call);
void nfs3_vaai_failed(struct call *call, int error);
