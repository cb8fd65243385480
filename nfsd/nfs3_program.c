/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The procedures of NFS version 3 (RFC 1813 section 3.3): how each runs, what its failure carries.
 */
#include "nfsd/nfs3.h"

#include <stddef.h>

#include "vfs/base/cleanup.h"

#define NAMES (PROC_CHANGES | PROC_ONCE_NAMES)

static const struct proc nfs3_procs[] = {
	/* clang-format off */
	[NFSPROC3_NULL]        = { "NULL", CALL_INLINE, PROC_OPEN | PROC_DATAGRAM, FAIL_STATUS,
	                           NULL, nfs3_null, NULL },
	[NFSPROC3_GETATTR]     = { "GETATTR", CALL_INLINE, 0, FAIL_STATUS, NULL, nfs3_getattr, NULL },
	[NFSPROC3_SETATTR]     = { "SETATTR", CALL_BLOCKING, NAMES, FAIL_WCC, NULL, nfs3_setattr, NULL },
	[NFSPROC3_LOOKUP]      = { "LOOKUP", CALL_INLINE, 0, FAIL_ATTR, NULL, nfs3_lookup, NULL },
	[NFSPROC3_ACCESS]      = { "ACCESS", CALL_INLINE, 0, FAIL_ATTR, NULL, nfs3_access, NULL },
	[NFSPROC3_READLINK]    = { "READLINK", CALL_BLOCKING, 0, FAIL_ATTR, nfs3_readlink_room,
	                           nfs3_readlink, NULL },
	[NFSPROC3_READ]        = { "READ", CALL_RING, 0, FAIL_ATTR, nfs3_read_room,
	                           nfs3_read_prepare, nfs3_read },
	[NFSPROC3_WRITE]       = { "WRITE", CALL_RING, PROC_CHANGES | PROC_ONCE_WRITE, FAIL_WCC,
	                           NULL, nfs3_write_prepare, nfs3_write },
	[NFSPROC3_CREATE]      = { "CREATE", CALL_BLOCKING, NAMES, FAIL_WCC, NULL, nfs3_create, NULL },
	[NFSPROC3_MKDIR]       = { "MKDIR", CALL_BLOCKING, NAMES, FAIL_WCC, NULL, nfs3_mkdir, NULL },
	[NFSPROC3_SYMLINK]     = { "SYMLINK", CALL_BLOCKING, NAMES, FAIL_WCC, NULL, nfs3_symlink, NULL },
	[NFSPROC3_MKNOD]       = { "MKNOD", CALL_BLOCKING, NAMES, FAIL_WCC, NULL, nfs3_mknod, NULL },
	[NFSPROC3_REMOVE]      = { "REMOVE", CALL_BLOCKING, NAMES, FAIL_WCC, NULL, nfs3_remove, NULL },
	[NFSPROC3_RMDIR]       = { "RMDIR", CALL_BLOCKING, NAMES, FAIL_WCC, NULL, nfs3_rmdir, NULL },
	[NFSPROC3_RENAME]      = { "RENAME", CALL_BLOCKING, NAMES, FAIL_WCC_WCC, NULL, nfs3_rename,
	                           NULL },
	[NFSPROC3_LINK]        = { "LINK", CALL_BLOCKING, NAMES, FAIL_ATTR_WCC, NULL, nfs3_link, NULL },
	[NFSPROC3_READDIR]     = { "READDIR", CALL_BLOCKING, 0, FAIL_ATTR, nfs3_readdir_room,
	                           nfs3_readdir, NULL },
	[NFSPROC3_READDIRPLUS] = { "READDIRPLUS", CALL_BLOCKING, 0, FAIL_ATTR, nfs3_readdir_room,
	                           nfs3_readdirplus, NULL },
	[NFSPROC3_FSSTAT]      = { "FSSTAT", CALL_BLOCKING, 0, FAIL_ATTR, NULL, nfs3_fsstat, NULL },
	[NFSPROC3_FSINFO]      = { "FSINFO", CALL_INLINE, 0, FAIL_ATTR, NULL, nfs3_fsinfo, NULL },
	[NFSPROC3_PATHCONF]    = { "PATHCONF", CALL_INLINE, 0, FAIL_ATTR, NULL, nfs3_pathconf, NULL },
	[NFSPROC3_COMMIT]      = { "COMMIT", CALL_RING, 0, FAIL_WCC, NULL, nfs3_commit_prepare,
	                           nfs3_commit },
	/* clang-format on */
};

const struct program nfs3_program = {
	.number = NFS_PROGRAM,
	.version = NFS_V3,
	.procs = nfs3_procs,
	.proc_count = ARRAY_COUNT(nfs3_procs),
	.failed = nfs3_failed,
	.decode = nfs3_decode,
	.prepare = nfs3_prepare,
	.role = ROLE_NFS,
};
