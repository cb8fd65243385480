/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/squash.h"

/* 2^32 - 1 is nobody's id: to the kernel it means "do not change". */
static bool is_squashed(uint32_t id, bool root_squash)
{
	return id == UINT32_MAX || (root_squash && id == 0);
}

void vfs_squash(const struct vfs_cred *from, const struct export_options *options,
                struct vfs_cred *ret_cred)
{
	bool root = options->root_squash;
	bool all = options->all_squash || is_squashed(from->uid, root);

	ret_cred->uid = all ? options->anon_uid : from->uid;
	ret_cred->gid = options->all_squash || is_squashed(from->gid, root) ? options->anon_gid
	                                                                    : from->gid;
	ret_cred->group_count = 0;
	if (all)
		return;
	for (uint32_t i = 0; i < from->group_count; i++)
		ret_cred->groups[ret_cred->group_count++] = is_squashed(from->groups[i], root)
		                                                    ? options->anon_gid
		                                                    : from->groups[i];
}
