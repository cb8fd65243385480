/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.c - CREATE's three ways (RFC 1813 section 3.3.8).
 *
 * GUARDED is O_EXCL, so two hosts that create one lock file are told apart by the kernel. EXCLUSIVE
 * keeps the client's 8 bytes as the file's atime and mtime, seconds only, which every file system
 * stores as 32 bits or more; the file gets them before it gets its name, so a retry after a crash
 * finds a file that is the client's or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/names_internal.h"
#include "vfs/vfs_internal.h"

enum {
	CREATE_MODE_DEFAULT = 0644,
	EXCLUSIVE_MODE = 0600, /* until the client's SETATTR */
	UNCHECKED_TRIES = 8,   /* against somebody who creates and removes the name in turns */
};

static const struct vfs_set set_nothing;

static void verifier_times(const uint8_t verifier[8], struct timespec ret_times[2])
{
	int32_t words[2];

	memcpy(words, verifier, sizeof words);
	ret_times[0] = (struct timespec){ .tv_sec = words[0] };
	ret_times[1] = (struct timespec){ .tv_sec = words[1] };
}

static int create_guarded(struct vfs_file *dir, const char *name, const struct vfs_set *set,
                          const struct vfs_caller *caller, struct vfs_file **ret_file)
{
	mode_t mode = set->set_mode ? set->mode & 07777 : CREATE_MODE_DEFAULT;
	int fd = openat(dir->fd, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);

	if (fd < 0)
		return -errno;
	return vfs_created(dir, name, fd, VFS_OPEN_READ_WRITE, set, caller, ret_file);
}

/* The file is there: only its size is changed, if asked. */
static int create_found(struct vfs_file *dir, const char *name, const struct vfs_set *set,
                        const struct vfs_caller *caller, struct vfs_file **ret_file)
{
	struct vfs_identity before;
	struct vfs_set size_only = { .set_size = set->set_size, .size = set->size };
	struct vfs_file *file;
	int r;

	r = vfs_lookup(dir, name, &file);
	if (r < 0)
		return r;
	if (file->type != VFS_REGULAR)
		r = file->type == VFS_DIRECTORY ? -EISDIR : -EEXIST;
	if (r == 0 && size_only.set_size) {
		before = vfs_identity_suspend(); /* opening by handle is the server's */
		r = vfs_file_need(file, VFS_OPEN_READ_WRITE);
		vfs_identity_resume(&before);
		if (r == 0)
			r = vfs_setattr(file, &size_only, NULL, caller);
	}
	if (r < 0)
		vfs_file_put(file);
	else
		*ret_file = file;
	return r;
}

static int create_unchecked(struct vfs_file *dir, const char *name, const struct vfs_set *set,
                            const struct vfs_caller *caller, struct vfs_file **ret_file)
{
	int r = -ENOENT;

	for (unsigned i = 0; r == -ENOENT && i < UNCHECKED_TRIES; i++) {
		r = create_guarded(dir, name, set, caller, ret_file);
		if (r == -EEXIST)
			r = create_found(dir, name, set, caller, ret_file);
	}
	return r;
}

/* Is the name's file one that this verifier made? */
static int exclusive_found(struct vfs_file *dir, const char *name, const struct timespec times[2],
                           struct vfs_file **ret_file)
{
	struct vfs_file *file;
	struct stat stat;
	int r;

	r = vfs_lookup(dir, name, &file);
	if (r < 0)
		return r;
	if (fstat(file->fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size == 0 &&
	    stat.st_atim.tv_sec == times[0].tv_sec && stat.st_atim.tv_nsec == 0 &&
	    stat.st_mtim.tv_sec == times[1].tv_sec && stat.st_mtim.tv_nsec == 0) {
		*ret_file = file;
		return 0;
	}
	vfs_file_put(file);
	return -EEXIST;
}

static int exclusive_link(struct vfs_file *dir, const char *name, int fd,
                          const struct timespec times[2], const struct vfs_caller *caller)
{
	char path[VFS_FD_PATH_BYTES];

	if (futimens(fd, times) < 0)
		return -errno;
	if (!caller->async && fsync(fd) < 0)
		return -errno;
	vfs_fd_path(fd, path);
	return linkat(AT_FDCWD, path, dir->fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int create_exclusive(struct vfs_file *dir, const char *name, const uint8_t verifier[8],
                            const struct vfs_caller *caller, struct vfs_file **ret_file)
{
	AUTO(close_fd) int fd = -EBADF;
	struct timespec times[2];
	int r;

	verifier_times(verifier, times);
	r = exclusive_found(dir, name, times, ret_file);
	if (r != -ENOENT)
		return r;
	fd = openat(dir->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, EXCLUSIVE_MODE);
	if (fd >= 0) {
		r = exclusive_link(dir, name, fd, times, caller);
	} else if (errno == EOPNOTSUPP || errno == EISDIR) { /* no unnamed files here */
		fd = openat(dir->fd, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, EXCLUSIVE_MODE);
		r = fd < 0 || futimens(fd, times) < 0 ? -errno : 0;
	} else {
		r = -errno;
	}
	if (r == -EEXIST)
		return exclusive_found(dir, name, times, ret_file);
	if (r < 0)
		return r;
	return vfs_created(dir, name, take_fd(&fd), VFS_OPEN_READ_WRITE, &set_nothing, caller,
	                   ret_file);
}

int vfs_create(struct vfs_file *dir, const char *name, enum vfs_create_how how,
               const struct vfs_set *set, const uint8_t verifier[8],
               const struct vfs_caller *caller, struct vfs_file **ret_file)
{
	int r = vfs_name_check(name);

	if (r < 0)
		return r;
	if (dir->type != VFS_DIRECTORY)
		return -ENOTDIR;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EEXIST;
	switch (how) {
	case VFS_CREATE_GUARDED:
		return create_guarded(dir, name, set, caller, ret_file);
	case VFS_CREATE_EXCLUSIVE:
		return create_exclusive(dir, name, verifier, caller, ret_file);
	default:
		return create_unchecked(dir, name, set, caller, ret_file);
	}
}
