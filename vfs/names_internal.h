/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_internal.h - what names.c, create.c and setattr.c share.
 */
#pragma once

#include "vfs/names.h"

enum {
	VFS_FD_PATH_BYTES = 32
};

/* "/proc/self/fd/N": the way to a file that only O_PATH has opened, for calls that know no
 * AT_EMPTY_PATH. */
void vfs_fd_path(int fd, char to[VFS_FD_PATH_BYTES]);

/* -EACCES for a name that is empty or has a slash (RFC 1813 section 3.2); -ENAMETOOLONG. */
int vfs_name_check(const char *name);

/* names.c; takes over @fd, which may be the negative errno of looking the new name up. *ret_file
 * may be NULL (names.h). */
int vfs_created(struct vfs_file *dir, const char *name, int fd, enum vfs_open open,
                const struct vfs_set *set, const struct vfs_caller *caller,
                struct vfs_file **ret_file);

/* Make a change of a directory's names durable, unless the caller's export is async. */
int vfs_dir_sync(struct vfs_file *dir, const struct vfs_caller *caller);

/* Is an open directory inside the export, or its root? */
bool vfs_is_below_root(const struct vfs_export *export, int dir_fd);
