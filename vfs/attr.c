/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.c - attributes.
 *
 * fileid is the inode number, which is unique in one file system - but for Btrfs, where every
 * subvolume counts anew. There the number of the subvolume, if it is not the export's own, goes
 * into the upper 24 bits (`mix`): inode numbers stay below 2^40 in practice, and clients see one
 * file system in which no two files have the same fileid, the same before and after a restart.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "vfs/vfs_internal.h"

enum {
	STAT_BLOCK_BYTES = 512
}; /* stat(2) st_blocks */

enum vfs_type vfs_type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return VFS_DIRECTORY;
	case S_IFLNK:
		return VFS_SYMLINK;
	case S_IFBLK:
		return VFS_BLOCK;
	case S_IFCHR:
		return VFS_CHARACTER;
	case S_IFIFO:
		return VFS_FIFO;
	case S_IFSOCK:
		return VFS_SOCKET;
	default:
		return VFS_REGULAR;
	}
}

void vfs_attr_fill(const struct stat *stat, const struct vfs_export *export, uint64_t mix,
                   struct vfs_attr *ret_attr)
{
	*ret_attr = (struct vfs_attr){
		.type = vfs_type_of(stat->st_mode),
		.mode = stat->st_mode & 07777,
		.nlink = (uint32_t) stat->st_nlink,
		.uid = stat->st_uid,
		.gid = stat->st_gid,
		.rdev_major = major(stat->st_rdev),
		.rdev_minor = minor(stat->st_rdev),
		.size = (uint64_t) stat->st_size,
		.used_bytes = (uint64_t) stat->st_blocks * STAT_BLOCK_BYTES,
		.fsid = export->fsid,
		.fileid = (uint64_t) stat->st_ino ^ mix,
		.atime = stat->st_atim,
		.mtime = stat->st_mtim,
		.ctime = stat->st_ctim,
	};
}

int vfs_file_attr(const struct vfs_file *file, struct vfs_attr *ret_attr)
{
	struct stat stat;

	if (fstat(file->fd, &stat) < 0)
		return -errno;
	if (stat.st_nlink == 0) /* it lives on only because we hold it open */
		return -ESTALE;
	vfs_attr_fill(&stat, file->export, file->fileid_mix, ret_attr);
	return 0;
}

int vfs_file_may(const struct vfs_file *file, const struct vfs_attr *attr,
                 const struct vfs_cred *cred, bool write)
{
	/* Reading is also for those who may execute: a program is read to be run (RFC 1813 section
	 * 4.4). */
	unsigned wanted = write ? 2 : 4 | 1;
	unsigned bits;

	if (cred->uid == 0 || cred->uid == attr->uid)
		return 0;
	if (fgetxattr(file->fd, "system.posix_acl_access", NULL, 0) >= 0)
		return -EAGAIN; /* an access list decides, not these bits */
	bits = vfs_cred_has_group(cred, attr->gid) ? attr->mode >> 3 : attr->mode;
	return bits & wanted ? 0 : -EACCES;
}
