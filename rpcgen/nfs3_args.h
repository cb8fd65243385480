/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfs3_args.h - the arguments of NFSv3's procedures (RFC 1813 section 3.3), decoded in place.
 *
 * Nothing is allocated: handles, names and data are views into the message, so what is decoded
 * lives as long as the receive buffer does. tests/fuzz holds these decoders against the ones that
 * rpcgen(1) makes of nfs3.x: both accept the same bytes and read the same values.
 *
 * Enumerations (createmode3, ftype3, stable_how, time_how) are checked against their values here.
 * Lengths of handles are checked (at most NFS3_FHSIZE); names only against NFS3_NAME_BYTES_MAX, so
 * that a name too long for the file system gets NFS3ERR_NAMETOOLONG and not GARBAGE_ARGS.
 *
 * The two differ only in this: rpcgen's take any value for a bool (as true), ftype3 and stable_how
 * where these here refuse all but the RFC's; and NULL, which takes nothing, ignores what follows.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpcgen/nfs3.h" /* generated: types and constants of the RFC */
#include "rpcgen/xdr_cursor.h"

struct nfs3_dirop { /* diropargs3 */
	struct xdr_view dir;
	struct xdr_view name;
};

/* sattr3; a field counts only if its set_ flag is true (time_how for the times). */
struct nfs3_sattr {
	bool set_mode, set_uid, set_gid, set_size;
	time_how set_atime, set_mtime;
	uint32_t mode, uid, gid;
	uint64_t size;
	nfstime3 atime, mtime;
};

struct nfs3_setattr_args {
	struct xdr_view object;
	struct nfs3_sattr attributes;
	bool check_guard;
	nfstime3 guard_ctime;
};

struct nfs3_access_args {
	struct xdr_view object;
	uint32_t access;
};

struct nfs3_read_args {
	struct xdr_view file;
	uint64_t offset;
	uint32_t count;
};

struct nfs3_write_args {
	struct xdr_view file;
	uint64_t offset;
	uint32_t count; /* as the call says; may differ from data.count: NFS3ERR_INVAL */
	stable_how stable;
	struct xdr_view data;
};

struct nfs3_create_args {
	struct nfs3_dirop where;
	createmode3 mode;
	struct nfs3_sattr attributes;          /* UNCHECKED, GUARDED */
	uint8_t verifier[NFS3_CREATEVERFSIZE]; /* EXCLUSIVE */
};

struct nfs3_mkdir_args {
	struct nfs3_dirop where;
	struct nfs3_sattr attributes;
};

struct nfs3_symlink_args {
	struct nfs3_dirop where;
	struct nfs3_sattr attributes;
	struct xdr_view target;
};

struct nfs3_mknod_args {
	struct nfs3_dirop where;
	ftype3 type;
	struct nfs3_sattr attributes; /* NF3CHR, NF3BLK, NF3SOCK, NF3FIFO */
	specdata3 device;             /* NF3CHR, NF3BLK */
};

struct nfs3_rename_args {
	struct nfs3_dirop from, to;
};

struct nfs3_link_args {
	struct xdr_view file;
	struct nfs3_dirop link;
};

struct nfs3_readdir_args { /* READDIR: dircount is count; READDIRPLUS: both */
	struct xdr_view dir;
	uint64_t cookie;
	uint8_t verifier[NFS3_COOKIEVERFSIZE];
	uint32_t dircount, maxcount;
};

struct nfs3_commit_args {
	struct xdr_view file;
	uint64_t offset;
	uint32_t count;
};

union nfs3_args {
	struct xdr_view
		object; /* GETATTR, READLINK, FSSTAT, FSINFO, PATHCONF; every arm begins with
	                           the view of its first handle */
	struct nfs3_dirop dirop; /* LOOKUP, REMOVE, RMDIR */
	struct nfs3_setattr_args setattr;
	struct nfs3_access_args access;
	struct nfs3_read_args read;
	struct nfs3_write_args write;
	struct nfs3_create_args create;
	struct nfs3_mkdir_args mkdir;
	struct nfs3_symlink_args symlink;
	struct nfs3_mknod_args mknod;
	struct nfs3_rename_args rename;
	struct nfs3_link_args link;
	struct nfs3_readdir_args readdir;
	struct nfs3_commit_args commit;
};

/**
 * nfs3_args_decode() - the arguments of one call
 * @procedure: 0..21 (NFSPROC3_NULL..NFSPROC3_COMMIT)
 * @bytes, @bytes_count: what follows the call's header; any bytes
 * @ret_args: set on success: what the call does not have is zero; views point into @bytes
 *
 * Return: 0; -EBADMSG if the bytes are not exactly these arguments (cut short, trailing bytes, a
 * bool or enumeration out of range, a length over its bound): answer GARBAGE_ARGS.
 */
int nfs3_args_decode(uint32_t procedure, const uint8_t *bytes, size_t bytes_count,
                     union nfs3_args *ret_args);
