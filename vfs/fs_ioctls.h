/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs_ioctls.h - the ioctls that tell a file system's UUID: for vfs/fs.c, and for who allows them.
 *
 * Not in the kernel's exported headers, or not in Debian 12's: numbers as of Linux 6.1.
 */
#pragma once

#include <linux/btrfs.h>
#include <linux/ioctl.h>
#include <stdint.h>

enum {
	FS_UUID_BYTES = 16
};

struct fs_xfs_geometry_v1 { /* struct xfs_fsop_geom_v1 */
	uint32_t blocksize, rtextsize, agblocks, agcount, logblocks, sectsize, inodesize, imaxpct;
	uint64_t datablocks, rtblocks, rtextents, logstart;
	uint8_t uuid[FS_UUID_BYTES];
	uint32_t sunit, swidth;
	int32_t version;
	uint32_t flags, logsectsize, rtsectsize, dirblocksize;
};
#define FS_XFS_IOC_FSGEOMETRY_V1 _IOR('X', 100, struct fs_xfs_geometry_v1)

struct fs_uuid { /* struct fsuuid2 of Linux 6.9 */
	uint8_t count;
	uint8_t uuid[FS_UUID_BYTES];
};
#define FS_IOC_GETFSUUID_ANY _IOR(0x15, 0, struct fs_uuid)

struct fs_ext4_uuid { /* struct fsuuid of Linux 5.19, which ends in an array without length */
	uint32_t count, flags;
	uint8_t uuid[FS_UUID_BYTES];
};
#define FS_EXT4_IOC_GETFSUUID _IOR('f', 44, uint64_t) /* the size of its first two words */

#define FS_BTRFS_IOC_FS_INFO BTRFS_IOC_FS_INFO
