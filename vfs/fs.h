/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs.h - what kind of file system a directory lies on, and who it is.
 *
 * The identity goes into handles, so it is the file system's own: its UUID, never a device number,
 * a mount id or statfs(2)'s f_fsid where that is made of those (XFS, ext4 on loop devices).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct vfs_fs {
	dev_t device;                /* as of now; only to tell apart what is mounted now */
	uint64_t identity;           /* lasting; see identity_lasts */
	bool identity_lasts;         /* false: as long as the mount does (tmpfs) */
	bool has_subvolumes;         /* Btrfs: inode numbers repeat between subvolumes */
	uint64_t file_bytes_max;     /* the largest file */
	long type;                   /* statfs(2) f_type */
	uint32_t direct_align_bytes; /* of O_DIRECT's offsets and lengths; 0: not offered */
	bool durable_without_flush;  /* the disk has no volatile cache, or writes past it (FUA) */
	const char *name;            /* "xfs", or "file system of type 0x..." */
};

/**
 * vfs_fs_probe() - look at the file system below an open directory
 * @reterr_why: what is wrong and what to do about it, a constant text
 *
 * Return: 0; -EOPNOTSUPP if it cannot be served: no handles, or handles that do not fit in ours, or
 * no
 *         identity at all (an fsid= in the export gives it one: pass @fsid then, else 0).
 */
int vfs_fs_probe(int dir_fd, uint32_t fsid, struct vfs_fs *ret_fs, const char **reterr_why);

/* fs_direct.c: for vfs_fs_probe(). @fd: a regular file, open for writing. */
uint32_t vfs_fs_direct_align(int fd);
bool vfs_fs_durable_without_flush(dev_t device);
