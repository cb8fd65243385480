/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dir.c - listing directories, and what a file system has room for.
 *
 * A cookie is the file system's own offset (getdents64(2) d_off), so a listing goes on where it
 * stopped whatever was created or removed meanwhile, and after a restart. Each call reads through a
 * descriptor of its own: a position is not shared between clients.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/names_internal.h"
#include "vfs/vfs_internal.h"

enum {
	DIRENTS_BYTES = 32 << 10
};

/* getdents64(2)'s own, which glibc calls dirent64 */
typedef struct dirent64 dirent_t;

/* Two system calls instead of four: handle and attributes by name. They belong together if the
 * handle has the inode's number in it. */
static bool entry_look_quick(struct vfs_file *dir, struct vfs_entry *entry)
{
	struct stat stat;
	uint64_t mix, inode;

	if (vfs_handle_of_name(dir, entry->name, &entry->handle, &mix, &inode) < 0 ||
	    fstatat(dir->fd, entry->name, &stat, AT_SYMLINK_NOFOLLOW) < 0 || stat.st_ino != inode)
		return false;
	vfs_attr_fill(&stat, dir->export, mix, &entry->attr);
	return true;
}

/* Attributes and handle from one descriptor: they belong together whatever happens to the name. */
static bool entry_look_safely(struct vfs_file *dir, struct vfs_entry *entry)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_XDEV,
	};
	AUTO(close_fd) int fd = -EBADF;
	struct stat stat;
	uint64_t mix;

	fd = (int) syscall(SYS_openat2, dir->fd, entry->name, &how, sizeof how);
	if (fd < 0 || fstat(fd, &stat) < 0 ||
	    vfs_handle_of(dir->vfs, dir->export, fd, &entry->handle, &mix) < 0)
		return false;
	vfs_attr_fill(&stat, dir->export, mix, &entry->attr);
	return true;
}

static void entry_look(struct vfs_file *dir, struct vfs_entry *entry)
{
	entry->has_attr = entry_look_quick(dir, entry) || entry_look_safely(dir, entry);
	if (entry->has_attr)
		entry->fileid = entry->attr.fileid;
}

/* "." and "..": what GETATTR says of them, and nothing above the export's root. */
static void entry_look_dots(struct vfs_file *dir, struct vfs_entry *entry)
{
	bool self = entry->name[1] == '\0' || vfs_file_is_root(dir);
	struct vfs_file *parent;

	if (self) {
		entry->has_attr = vfs_file_attr(dir, &entry->attr) == 0;
		entry->handle = dir->handle;
	} else if (vfs_lookup(dir, "..", &parent) == 0) {
		entry->has_attr = vfs_file_attr(parent, &entry->attr) == 0;
		entry->handle = parent->handle;
		vfs_file_put(parent);
	}
	if (entry->has_attr)
		entry->fileid = entry->attr.fileid;
}

static void entry_fill(struct vfs_file *dir, const dirent_t *dirent, bool with_attr,
                       struct vfs_entry *ret_entry)
{
	const char *name = dirent->d_name;

	*ret_entry = (struct vfs_entry){
		.name = name,
		.name_bytes = (uint32_t) strlen(name),
		.fileid = (uint64_t) dirent->d_ino ^ dir->fileid_mix,
		.cookie = (uint64_t) dirent->d_off,
	};
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		entry_look_dots(dir, ret_entry);
	else if (with_attr || (dir->export->fs.has_subvolumes && dirent->d_type == DT_DIR))
		entry_look(dir, ret_entry); /* a subvolume's d_ino is not its root's inode number */
	if (!with_attr)
		ret_entry->has_attr = false;
}

/* One buffer of entries: 1 to go on, 0 if the receiver has enough. */
static int entries_deliver(struct vfs_file *dir, const char *bytes, size_t bytes_count,
                           bool with_attr,
                           bool (*entry)(void *context, const struct vfs_entry *entry),
                           void *context)
{
	size_t at = 0;

	while (at < bytes_count) {
		const dirent_t *dirent = (const void *) (bytes + at);
		struct vfs_entry filled;

		entry_fill(dir, dirent, with_attr, &filled);
		if (!entry(context, &filled))
			return 0;
		at += dirent->d_reclen;
	}
	return 1;
}

int vfs_readdir(struct vfs_file *dir, uint64_t cookie, bool with_attr,
                bool (*entry)(void *context, const struct vfs_entry *entry), void *context,
                bool *ret_eof)
{
	char bytes[DIRENTS_BYTES] __attribute__((aligned(8))), path[VFS_FD_PATH_BYTES];
	AUTO(close_fd) int fd = -EBADF;
	ssize_t count;
	int more = 1;

	if (dir->type != VFS_DIRECTORY)
		return -ENOTDIR;
	if (cookie > INT64_MAX)
		return -ESPIPE;
	/* Not by way of "." in it: that would ask for the right to search, and reading is
	 * enough. */
	vfs_fd_path(dir->fd, path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	if (cookie && lseek(fd, (off_t) cookie, SEEK_SET) < 0)
		return -ESPIPE;
	while (more) {
		count = getdents64(fd, bytes, sizeof bytes);
		if (count < 0)
			return errno == ENOENT ? -ESTALE : -errno;
		if (count == 0)
			break;
		more = entries_deliver(dir, bytes, (size_t) count, with_attr, entry, context);
	}
	*ret_eof = more;
	return 0;
}

int vfs_space(struct vfs_file *file, struct vfs_space *ret_space)
{
	struct statfs statfs;
	uint64_t block;

	if (fstatfs(file->fd, &statfs) < 0)
		return -errno;
	block = (uint64_t) statfs.f_bsize;
	*ret_space = (struct vfs_space){
		.total_bytes = statfs.f_blocks * block,
		.free_bytes = statfs.f_bfree * block,
		.available_bytes = statfs.f_bavail * block,
		.total_files = statfs.f_files,
		.free_files = statfs.f_ffree,
		.available_files = statfs.f_ffree,
	};
	return 0;
}

int vfs_limits(struct vfs_file *file, struct vfs_limits *ret_limits)
{
	long link_max = fpathconf(file->export->root_fd, _PC_LINK_MAX);
	long name_max = fpathconf(file->export->root_fd, _PC_NAME_MAX);

	*ret_limits = (struct vfs_limits){
		.file_bytes_max = file->export->fs.file_bytes_max,
		.link_max = link_max > 0 && link_max < UINT32_MAX ? (uint32_t) link_max
		                                                  : UINT32_MAX,
		.name_bytes_max = name_max > 0 && name_max < VFS_NAME_BYTES_MAX
		                          ? (uint32_t) name_max
		                          : VFS_NAME_BYTES_MAX,
	};
	return 0;
}
