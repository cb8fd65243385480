/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.c - who a thread is, as the file system sees it.
 *
 * Raw system calls: glibc's setgroups() and the like change every thread of the process, which is
 * just what must not happen here. setfsuid(2) takes the file-system capabilities away and gives
 * them back by itself only when the process runs as root; a service with ambient capabilities does
 * it by capset(2).
 */
#include "vfs/identity.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"

/* Dropped while acting as somebody who is not root. */
static const cap_value_t identity_of_root[] = {
	CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER, CAP_FSETID, CAP_MKNOD,
};

static uid_t identity_server_uid;
static gid_t identity_server_gid;
static cap_t identity_caps_all, identity_caps_user;

static __thread struct vfs_identity identity_now;

bool vfs_cred_has_group(const struct vfs_cred *cred, uint32_t gid)
{
	if (cred->gid == gid)
		return true;
	for (uint32_t i = 0; i < cred->group_count; i++)
		if (cred->groups[i] == gid)
			return true;
	return false;
}

/* In a user namespace that maps only some ids, acting as any other would fail. */
static bool identity_all_ids(void)
{
	unsigned long inside = 1, outside = 1, count = 0;
	FILE *map = fopen("/proc/self/uid_map", "re");
	int fields;

	if (!map)
		return true; /* a kernel without user namespaces */
	fields = fscanf(map, "%lu %lu %lu", &inside, &outside, &count);
	(void) fclose(map);
	return fields == 3 && inside == 0 && count >= UINT32_MAX;
}

int vfs_identity_init(void)
{
	if (!identity_all_ids())
		return -EPERM;
	identity_server_uid = geteuid();
	identity_server_gid = getegid();
	identity_caps_all = cap_get_proc();
	identity_caps_user = identity_caps_all ? cap_dup(identity_caps_all) : NULL;
	if (!identity_caps_user)
		return -ENOMEM;
	return cap_set_flag(identity_caps_user, CAP_EFFECTIVE, ARRAY_COUNT(identity_of_root),
	                    identity_of_root, CAP_CLEAR) < 0
	               ? -errno
	               : 0;
}

int vfs_identity_keep(const struct privilege *privileges, size_t count,
                      char reterr_why[VFS_IDENTITY_WHY_BYTES])
{
	char missing[1024] = "";
	int r = privileges_keep(privileges, count, missing, sizeof missing);

	if (r == -EPERM && missing[0])
		snprintf(reterr_why, VFS_IDENTITY_WHY_BYTES,
		         "this process lacks %s. Run it as root, or give it these capabilities"
		         " (AmbientCapabilities= in the unit)",
		         missing);
	else if (r < 0)
		snprintf(reterr_why, VFS_IDENTITY_WHY_BYTES,
		         "cannot give up capabilities that are not needed: %s", strerror(-r));
	if (r < 0)
		return r;
	r = vfs_identity_init();
	if (r < 0)
		snprintf(reterr_why, VFS_IDENTITY_WHY_BYTES, "this process lacks %s",
		         r == -EPERM
		                 ? "all user ids: it runs in a user namespace that maps only some."
		                   " Run it outside, or map all (0 to 4294967294)"
		                 : strerror(-r));
	return r;
}

static bool identity_same(const struct vfs_cred *cred)
{
	const struct vfs_cred *now = &identity_now.cred;

	return now->uid == cred->uid && now->gid == cred->gid &&
	       now->group_count == cred->group_count &&
	       memcmp(now->groups, cred->groups, cred->group_count * sizeof cred->groups[0]) == 0;
}

/* These cannot fail with the capabilities that were checked at start; if one does all the same,
 * going on would mean acting as the wrong user. setfsuid(-1) changes nothing and tells what is
 * set. */
static void identity_set(uid_t uid, gid_t gid, const uint32_t *groups, size_t group_count,
                         cap_t caps)
{
	long groups_set, gid_set, uid_set;
	int caps_set;

	groups_set = syscall(SYS_setgroups, group_count, groups);
	assert(groups_set == 0);
	(void) syscall(SYS_setfsgid, gid);
	gid_set = syscall(SYS_setfsgid, (gid_t) -1);
	assert((gid_t) gid_set == gid);
	(void) syscall(SYS_setfsuid, uid);
	uid_set = syscall(SYS_setfsuid, (uid_t) -1);
	assert((uid_t) uid_set == uid);
	if (identity_server_uid != 0) {
		caps_set = cap_set_proc(caps);
		assert(caps_set == 0);
	}
}

void vfs_identity_assume(const struct vfs_cred *cred)
{
	assert(cred->group_count <= VFS_GROUPS_MAX);
	assert(identity_caps_user);
	if (identity_now.assumed && identity_same(cred))
		return;
	identity_set(cred->uid, cred->gid, cred->groups, cred->group_count,
	             cred->uid == 0 ? identity_caps_all : identity_caps_user);
	identity_now.assumed = true;
	identity_now.cred = *cred;
}

void vfs_identity_server(void)
{
	if (!identity_now.assumed)
		return;
	identity_set(identity_server_uid, identity_server_gid, NULL, 0, identity_caps_all);
	identity_now.assumed = false;
}

struct vfs_identity vfs_identity_suspend(void)
{
	struct vfs_identity before = identity_now;

	vfs_identity_server();
	return before;
}

void vfs_identity_resume(const struct vfs_identity *before)
{
	if (before->assumed)
		vfs_identity_assume(&before->cred);
}
