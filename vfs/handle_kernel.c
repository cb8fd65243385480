/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle_kernel.c - between the kernel's own file handles and ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "vfs/vfs_internal.h"

enum {
	SUBVOLUME_SHIFT = 40, /* attr.c: fileid */
};

union kernel_handle {
	struct file_handle handle;
	uint8_t bytes[sizeof(struct file_handle) + VFS_HANDLE_KERNEL_BYTES_MAX];
};

uint64_t vfs_subvolume_mix(const struct vfs_export *export, const uint8_t *kernel,
                           size_t kernel_count)
{
	uint64_t subvolume;

	/* Btrfs: objectid, root objectid, generation (fs/btrfs/export.h, struct btrfs_fid). */
	if (!export->fs.has_subvolumes || kernel_count < 16)
		return 0;
	memcpy(&subvolume, kernel + 8, sizeof subvolume);
	return (subvolume ^ export->root_subvolume) << SUBVOLUME_SHIFT;
}

/* The inode number that a kernel's handle has in it (include/linux/exportfs.h and the file systems'
 * own); 0 where that is not known. */
static uint64_t kernel_handle_inode(const struct vfs_handle_parts *parts)
{
	enum {
		INO32_GEN = 1,
		BTRFS_WITHOUT_PARENT = 0x4d,
		XFS_INO64_GEN = 0x81
	};
	uint64_t inode = 0;

	switch (parts->kernel_type) {
	case INO32_GEN: /* tmpfs puts the generation first and says so by a third word */
		if (parts->kernel_count == 8)
			return (uint64_t) parts->kernel[3] << 24 | parts->kernel[2] << 16 |
			       parts->kernel[1] << 8 | parts->kernel[0];
		return 0;
	case BTRFS_WITHOUT_PARENT:
	case XFS_INO64_GEN:
		if (parts->kernel_count >= sizeof inode)
			memcpy(&inode, parts->kernel, sizeof inode);
		return inode;
	default:
		return 0;
	}
}

static int handle_at(const struct vfs *vfs, const struct vfs_export *export, int fd,
                     const char *name, struct vfs_handle *ret_handle, uint64_t *ret_mix,
                     uint64_t *ret_inode)
{
	union kernel_handle kernel = { .handle.handle_bytes = VFS_HANDLE_KERNEL_BYTES_MAX };
	struct vfs_handle_parts parts;
	int mount_id;

	if (name_to_handle_at(fd, name, &kernel.handle, &mount_id, *name ? 0 : AT_EMPTY_PATH) < 0)
		return -errno;
	if (mount_id != export->mount_id)
		return -EXDEV;
	parts = (struct vfs_handle_parts){
		.export_id = export->id,
		.fs_identity = export->fs.identity,
		.kernel_type = (uint8_t) kernel.handle.handle_type,
		.kernel_count = (uint8_t) kernel.handle.handle_bytes,
		.kernel = kernel.handle.f_handle,
	};
	*ret_mix = vfs_subvolume_mix(export, parts.kernel, parts.kernel_count);
	*ret_inode = kernel_handle_inode(&parts);
	return vfs_handle_pack(&vfs->key, &parts, ret_handle);
}

int vfs_handle_of(const struct vfs *vfs, const struct vfs_export *export, int fd,
                  struct vfs_handle *ret_handle, uint64_t *ret_mix)
{
	uint64_t inode;

	return handle_at(vfs, export, fd, "", ret_handle, ret_mix, &inode);
}

int vfs_handle_of_name(const struct vfs_file *dir, const char *name, struct vfs_handle *ret_handle,
                       uint64_t *ret_mix, uint64_t *ret_inode)
{
	return handle_at(dir->vfs, dir->export, dir->fd, name, ret_handle, ret_mix, ret_inode);
}

int vfs_open_by_parts(const struct vfs_export *export, const struct vfs_handle_parts *parts,
                      int flags)
{
	union kernel_handle kernel = {
		.handle.handle_bytes = parts->kernel_count,
		.handle.handle_type = parts->kernel_type,
	};
	int fd;

	memcpy(kernel.handle.f_handle, parts->kernel, parts->kernel_count);
	fd = open_by_handle_at(export->root_fd, &kernel.handle, flags | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == EINVAL)) /* gone; another file system's shape */
		return -ESTALE;
	return fd < 0 ? -errno : fd;
}
