/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The procedures of NFS version 3 (RFC 1813 section 3.3): how each runs, what its failure carries.
 * And one that is not in the RFC, behind them.
 */
#include "nfsd/nfs3.h"

#include <stddef.h>

#include "vfs/base/cleanup.h"

/* clang-format off */
#define NAMES (PROC_CHANGES | PROC_ONCE_NAMES | PROC_COUNTED)

/* A row each. @room: room for the results, if more than a little; NULL. */
#define INLINE(id, flags_, fail_, run_) \
	[NFSPROC3_##id] = { .name = #id, .kind = CALL_INLINE, .flags = flags_, .fail = fail_, \
		            .run = run_ }
#define BLOCKING(id, flags_, fail_, room_, run_) \
	[NFSPROC3_##id] = { .name = #id, .kind = CALL_BLOCKING, .flags = flags_, .fail = fail_, \
		            .reply_room = room_, .run = run_ }
#define RING(id, flags_, fail_, room_, prepare_, start_) \
	[NFSPROC3_##id] = { .name = #id, .kind = CALL_RING, .flags = flags_, .fail = fail_, \
		            .reply_room = room_, .run = prepare_, .start = start_ }

static const struct proc nfs3_procs[] = {
	INLINE(NULL, PROC_OPEN, FAIL_STATUS, nfs3_null),
	INLINE(GETATTR, 0, FAIL_STATUS, nfs3_getattr),
	BLOCKING(SETATTR, NAMES, FAIL_WCC, NULL, nfs3_setattr),
	INLINE(LOOKUP, 0, FAIL_ATTR, nfs3_lookup),
	INLINE(ACCESS, 0, FAIL_ATTR, nfs3_access),
	BLOCKING(READLINK, PROC_COUNTED, FAIL_ATTR, nfs3_readlink_room, nfs3_readlink),
	RING(READ, PROC_COUNTED, FAIL_ATTR, nfs3_read_room, nfs3_read_prepare, nfs3_read),
	RING(WRITE, PROC_CHANGES | PROC_ONCE_WRITE | PROC_COUNTED, FAIL_WCC, NULL,
	     nfs3_write_prepare, nfs3_write),
	BLOCKING(CREATE, NAMES, FAIL_WCC, NULL, nfs3_create),
	BLOCKING(MKDIR, NAMES, FAIL_WCC, NULL, nfs3_mkdir),
	BLOCKING(SYMLINK, NAMES, FAIL_WCC, NULL, nfs3_symlink),
	BLOCKING(MKNOD, NAMES, FAIL_WCC, NULL, nfs3_mknod),
	BLOCKING(REMOVE, NAMES, FAIL_WCC, NULL, nfs3_remove),
	BLOCKING(RMDIR, NAMES, FAIL_WCC, NULL, nfs3_rmdir),
	BLOCKING(RENAME, NAMES, FAIL_WCC_WCC, NULL, nfs3_rename),
	BLOCKING(LINK, NAMES, FAIL_ATTR_WCC, NULL, nfs3_link),
	BLOCKING(READDIR, PROC_COUNTED, FAIL_ATTR, nfs3_readdir_room, nfs3_readdir),
	BLOCKING(READDIRPLUS, PROC_COUNTED, FAIL_ATTR, nfs3_readdir_room, nfs3_readdirplus),
	BLOCKING(FSSTAT, 0, FAIL_ATTR, NULL, nfs3_fsstat),
	INLINE(FSINFO, 0, FAIL_ATTR, nfs3_fsinfo),
	INLINE(PATHCONF, 0, FAIL_ATTR, nfs3_pathconf),
	RING(COMMIT, PROC_COUNTED, FAIL_WCC, NULL, nfs3_commit_prepare, nfs3_commit),
	[VAAI_PROCEDURE] = { .name = "VAAI", .kind = CALL_RING, .flags = PROC_ELSEWHERE,
			     .start = nfs3_vaai, .decode = nfs3_vaai_decode,
			     .failed = nfs3_vaai_failed },
};
/* clang-format on */

const struct program nfs3_program = {
	.number = NFS_PROGRAM,
	.version = NFS_V3,
	.procs = nfs3_procs,
	.proc_count = ARRAY_COUNT(nfs3_procs),
	.failed = nfs3_failed,
	.decode = nfs3_decode,
	.prepare = nfs3_prepare,
	.waits_for = nfs3_waits_for,
	.role = ROLE_NFS,
};
