/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.h - acting as the caller. Part of vfs.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vfs/base/privileges.h"

enum {
	VFS_GROUPS_MAX = 32
};

/* No id is 2^32-1, which names nobody. */
struct vfs_cred {
	uint32_t uid, gid;
	uint32_t group_count;
	uint32_t groups[VFS_GROUPS_MAX];
};

bool vfs_cred_has_group(const struct vfs_cred *cred, uint32_t gid);

/* Before threads start, with the capabilities that there will be (vfs/base/privileges.h). 0; -EPERM
 * in a user namespace that maps only some ids, where acting as the others would fail; -ENOMEM. */
int vfs_identity_init(void);

enum {
	VFS_IDENTITY_WHY_BYTES = 1280
};

/* Keep these capabilities and give up all others, for good, then the above: what a daemon does at
 * its start. 0 or a negative errno, and then in @reterr_why what is missing and what to do. */
int vfs_identity_keep(const struct privilege *privileges, size_t count,
                      char reterr_why[VFS_IDENTITY_WHY_BYTES]);

/* From now on this thread's file-system calls are the caller's (setfsuid(2), groups,
 * capabilities). */
void vfs_identity_assume(const struct vfs_cred *cred);
void vfs_identity_server(void);

/* The server's identity for a while: what was before is returned for vfs_identity_resume(). */
struct vfs_identity {
	bool assumed;
	struct vfs_cred cred;
};
struct vfs_identity vfs_identity_suspend(void);
void vfs_identity_resume(const struct vfs_identity *before);
