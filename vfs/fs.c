/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <xxhash.h>

#include "vfs/base/cleanup.h"
#include "vfs/fs_ioctls.h"
#include "vfs/handle.h"

/* Not in the kernel's exported headers, or not in Debian 12's: numbers as of Linux 6.1. */
enum {
	XFS_MAGIC = 0x58465342,
	BCACHEFS_MAGIC = (int) 0xca451a4e,
};

static const struct {
	long type;
	const char *name;
} fs_names[] = {
	{ XFS_MAGIC, "xfs" },
	{ EXT4_SUPER_MAGIC, "ext4" },
	{ BTRFS_SUPER_MAGIC, "btrfs" },
	{ TMPFS_MAGIC, "tmpfs" },
	{ BCACHEFS_MAGIC, "bcachefs" },
	{ F2FS_SUPER_MAGIC, "f2fs" },
	{ OVERLAYFS_SUPER_MAGIC, "overlayfs" },
	{ NFS_SUPER_MAGIC, "nfs" },
	{ CEPH_SUPER_MAGIC, "ceph" },
	{ 0x65735546, "fuse" },
	{ 0x2fc12fc1, "zfs" },
};

static const char *fs_name(long type)
{
	for (size_t i = 0; i < ARRAY_COUNT(fs_names); i++)
		if (fs_names[i].type == type)
			return fs_names[i].name;
	return "this";
}

static bool fs_uuid_get(int dir_fd, uint8_t ret_uuid[FS_UUID_BYTES])
{
	struct fs_uuid any = { 0 };
	struct fs_xfs_geometry_v1 xfs;
	struct btrfs_ioctl_fs_info_args btrfs = { 0 };
	struct fs_ext4_uuid ext4 = { .count = FS_UUID_BYTES };

	if (ioctl(dir_fd, FS_IOC_GETFSUUID_ANY, &any) == 0 && any.count == FS_UUID_BYTES)
		memcpy(ret_uuid, any.uuid, FS_UUID_BYTES);
	else if (ioctl(dir_fd, FS_XFS_IOC_FSGEOMETRY_V1, &xfs) == 0)
		memcpy(ret_uuid, xfs.uuid, FS_UUID_BYTES);
	else if (ioctl(dir_fd, FS_BTRFS_IOC_FS_INFO, &btrfs) == 0)
		memcpy(ret_uuid, btrfs.fsid, FS_UUID_BYTES);
	else if (ioctl(dir_fd, FS_EXT4_IOC_GETFSUUID, &ext4) == 0)
		memcpy(ret_uuid, ext4.uuid, FS_UUID_BYTES);
	else
		return false;
	for (size_t i = 0; i < FS_UUID_BYTES; i++)
		if (ret_uuid[i])
			return true;
	return false; /* all zeros: none was set */
}

static int fs_identify(int dir_fd, uint32_t fsid, const struct statfs *stat, struct vfs_fs *fs)
{
	uint8_t uuid[FS_UUID_BYTES];

	fs->identity_lasts = true;
	if (fsid)
		fs->identity = XXH3_64bits_withSeed(&fsid, sizeof fsid, 1);
	else if (stat->f_type != TMPFS_MAGIC && fs_uuid_get(dir_fd, uuid))
		fs->identity = XXH3_64bits(uuid, sizeof uuid);
	else if (stat->f_fsid.__val[0] || stat->f_fsid.__val[1]) {
		fs->identity = XXH3_64bits_withSeed(&stat->f_fsid, sizeof stat->f_fsid, 2);
		fs->identity_lasts = false;
	} else
		return -EOPNOTSUPP;
	return 0;
}

static int fs_handles_fit(int dir_fd)
{
	union {
		struct file_handle handle;
		uint8_t bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} buffer = { .handle.handle_bytes = MAX_HANDLE_SZ };
	AUTO(close_fd) int opened = -EBADF;
	int mount_id;

	if (name_to_handle_at(dir_fd, "", &buffer.handle, &mount_id, AT_EMPTY_PATH) < 0)
		return errno == EOPNOTSUPP ? -EOPNOTSUPP : -errno;
	if (buffer.handle.handle_bytes < VFS_HANDLE_KERNEL_BYTES_MIN ||
	    buffer.handle.handle_bytes > VFS_HANDLE_KERNEL_BYTES_MAX ||
	    buffer.handle.handle_type < 0 || buffer.handle.handle_type > UINT8_MAX)
		return -EOVERFLOW;
	opened = open_by_handle_at(dir_fd, &buffer.handle, O_PATH | O_CLOEXEC);
	return opened < 0 ? -errno : 0;
}

/* lseek(2) refuses offsets beyond the largest file, so the limit can be felt for without
 * writing. */
static uint64_t fs_file_bytes_max(int fd)
{
	uint64_t low = INT32_MAX, high = INT64_MAX;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2 + 1;

		if (lseek(fd, (off_t) middle, SEEK_SET) < 0)
			high = middle - 1;
		else
			low = middle;
	}
	return low;
}

static void fs_probe_data(int dir_fd, struct vfs_fs *fs)
{
	AUTO(close_fd) int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	fs->file_bytes_max = INT64_MAX;
	if (fd < 0) /* read-only: nothing will be written, so any limit is true enough */
		return;
	fs->file_bytes_max = fs_file_bytes_max(fd);
	fs->direct_align_bytes = vfs_fs_direct_align(fd);
	fs->durable_without_flush = vfs_fs_durable_without_flush(fs->device);
}

static const char *fs_handles_why(int error)
{
	switch (error) {
	case -EOPNOTSUPP:
		return "its file system has no file handles. Export a directory on XFS, ext4, "
		       "Btrfs or"
		       " tmpfs (overlayfs needs the mount option nfs_export=on)";
	case -EOVERFLOW:
		return "its file system's handles are longer than the 32 bytes that fit into an NFS"
		       " handle ESXi can use. Export a directory on XFS, ext4, Btrfs or tmpfs";
	case -EPERM:
		return "opening files by handle is not permitted. Run as root or with"
		       " CAP_DAC_READ_SEARCH, outside of user namespaces";
	default:
		return "its file system does not give out or take back file handles";
	}
}

int vfs_fs_probe(int dir_fd, uint32_t fsid, struct vfs_fs *ret_fs, const char **reterr_why)
{
	struct vfs_fs fs = { 0 };
	struct statfs statfs;
	struct stat stat;
	int r;

	if (fstatfs(dir_fd, &statfs) < 0 || fstat(dir_fd, &stat) < 0) {
		*reterr_why = "its file system cannot be looked at";
		return -errno;
	}
	r = fs_handles_fit(dir_fd);
	if (r < 0) {
		*reterr_why = fs_handles_why(r);
		return r;
	}
	r = fs_identify(dir_fd, fsid, &statfs, &fs);
	if (r < 0) {
		*reterr_why =
			"its file system has no identity that lasts. Give it one with fsid=N, a"
			" number no other export has";
		return r;
	}
	fs.device = stat.st_dev;
	fs.type = (long) statfs.f_type;
	fs.name = fs_name(fs.type);
	fs.has_subvolumes = statfs.f_type == BTRFS_SUPER_MAGIC;
	fs_probe_data(dir_fd, &fs);
	*ret_fs = fs;
	return 0;
}
