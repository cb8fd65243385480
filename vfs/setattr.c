/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setattr.c - SETATTR (RFC 1813 section 3.3.2): all or nothing, under a guard, durable.
 *
 * What can be refused is refused first, by looking. Then owner, size, mode, times: the owner can
 * still fail on a quota, the size on space or the largest file; if the size fails the owner is put
 * back. Mode and times of one's own file do not fail on a file system that just took the others.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/names_internal.h"
#include "vfs/vfs_internal.h"

/* chown(2), chmod(2): the owner or root; to another owner only root; to a group one is in. */
static int check_owner(const struct stat *stat, const struct vfs_set *set,
                       const struct vfs_cred *cred)
{
	if (cred->uid == 0)
		return 0;
	if (set->set_uid && set->uid != stat->st_uid)
		return -EPERM;
	if (set->set_gid && set->gid != stat->st_gid &&
	    (cred->uid != stat->st_uid || !vfs_cred_has_group(cred, set->gid)))
		return -EPERM;
	if ((set->set_uid || set->set_gid || set->set_mode) && cred->uid != stat->st_uid)
		return -EPERM;
	return 0;
}

/* utimensat(2): given times for the owner, "now" also for who may write. */
static int check_times(struct vfs_file *file, const struct stat *stat, const struct vfs_set *set,
                       const struct vfs_cred *cred)
{
	if (cred->uid == 0 || cred->uid == stat->st_uid)
		return 0;
	if (set->set_atime == VFS_TIME_GIVEN || set->set_mtime == VFS_TIME_GIVEN)
		return -EPERM;
	if (set->set_atime == VFS_TIME_KEEP && set->set_mtime == VFS_TIME_KEEP)
		return 0;
	/* "now" for only one of both is the owner's too */
	if (set->set_atime != set->set_mtime)
		return -EPERM;
	return vfs_access(file, VFS_MAY_WRITE) ? 0 : -EACCES;
}

static int check_size(struct vfs_file *file, const struct stat *stat, const struct vfs_set *set,
                      const struct vfs_cred *cred)
{
	if (!set->set_size)
		return 0;
	if (file->type == VFS_DIRECTORY)
		return -EISDIR;
	if (file->type != VFS_REGULAR)
		return -EINVAL;
	if (set->size > file->export->fs.file_bytes_max)
		return -EFBIG;
	/* The owner may cut what the mode forbids, as a POSIX client that opened it earlier may. */
	if (cred->uid == 0 || cred->uid == stat->st_uid)
		return 0;
	return vfs_access(file, VFS_MAY_WRITE) ? 0 : -EACCES;
}

static int check_all(struct vfs_file *file, const struct stat *stat, const struct vfs_set *set,
                     const struct timespec *guard, const struct vfs_cred *cred)
{
	int r;

	if (stat->st_nlink == 0)
		return -ESTALE;
	if (guard && (guard->tv_sec != (time_t) (uint32_t) stat->st_ctim.tv_sec ||
	              guard->tv_nsec != stat->st_ctim.tv_nsec))
		return -EDEADLK;
	if (set->set_mode && file->type == VFS_SYMLINK)
		return -EINVAL; /* links have no mode of their own, and we do not follow */
	r = check_owner(stat, set, cred);
	if (r == 0)
		r = check_size(file, stat, set, cred);
	return r < 0 ? r : check_times(file, stat, set, cred);
}

static int apply_owner(struct vfs_file *file, const struct stat *stat, const struct vfs_set *set)
{
	uid_t uid = set->set_uid ? set->uid : (uid_t) -1;
	gid_t gid = set->set_gid ? set->gid : (gid_t) -1;

	if (!set->set_uid && !set->set_gid)
		return 0;
	/* -1 is chown(2)'s "leave it"; as a number from a client it names nobody. */
	if ((set->set_uid && set->uid == UINT32_MAX) || (set->set_gid && set->gid == UINT32_MAX))
		return -EINVAL;
	return fchownat(file->fd, "", uid, gid, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static int apply_mode(struct vfs_file *file, mode_t mode)
{
	char path[VFS_FD_PATH_BYTES];

	vfs_fd_path(file->fd, path);
	return fchmodat(AT_FDCWD, path, mode & 07777, 0) < 0 ? -errno : 0;
}

/* Truncating to the size a file has changes its times all the same (RFC 1813 section 3.3.2). */
static int apply_size(struct vfs_file *file, const struct stat *stat, const struct vfs_set *set)
{
	if (!set->set_size)
		return 0;
	assert(vfs_file_is(file, VFS_OPEN_READ_WRITE));
	return ftruncate(file->fd, (off_t) set->size) < 0 ? -errno : 0;
}

static struct timespec time_to_set(enum vfs_set_time how, const struct timespec *given)
{
	switch (how) {
	case VFS_TIME_GIVEN:
		return *given;
	case VFS_TIME_NOW:
		return (struct timespec){ .tv_nsec = UTIME_NOW };
	default:
		return (struct timespec){ .tv_nsec = UTIME_OMIT };
	}
}

static int apply_times(struct vfs_file *file, const struct vfs_set *set)
{
	struct timespec times[2] = {
		time_to_set(set->set_atime, &set->atime),
		time_to_set(set->set_mtime, &set->mtime),
	};

	if (set->set_atime == VFS_TIME_KEEP && set->set_mtime == VFS_TIME_KEEP)
		return 0;
	/* By system call: glibc refuses an empty path's NULL-less form on some versions. */
	return syscall(SYS_utimensat, file->fd, "", times, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static void undo_owner(struct vfs_file *file, const struct stat *before)
{
	(void) !fchownat(file->fd, "", before->st_uid, before->st_gid, AT_EMPTY_PATH);
	(void) apply_mode(file, before->st_mode); /* chown(2) took the set-id bits */
}

/* Under set_lock. The change can only be undone as the server: the caller may have given the file
 * away. */
static int setattr_locked(struct vfs_file *file, const struct vfs_set *set,
                          const struct timespec *guard, const struct vfs_caller *caller)
{
	struct vfs_identity identity;
	struct stat before;
	int r;

	if (fstat(file->fd, &before) < 0)
		return -errno;
	r = check_all(file, &before, set, guard, &caller->cred);
	if (r == 0)
		r = apply_owner(file, &before, set);
	if (r < 0)
		return r;
	r = apply_size(file, &before, set);
	if (r < 0 && (set->set_uid || set->set_gid)) {
		identity = vfs_identity_suspend();
		undo_owner(file, &before);
		vfs_identity_resume(&identity);
	}
	if (r == 0 && set->set_mode)
		r = apply_mode(file, set->mode);
	if (r == 0)
		r = apply_times(file, set);
	return r;
}

static int setattr_sync(struct vfs_file *file)
{
	int r;

	if (vfs_file_is(file, VFS_OPEN_READ))
		return vfs_file_flush(file);
	/* Links, pipes and the like cannot be flushed alone. */
	r = syncfs(file->export->root_fd);
	return r < 0 ? -errno : 0;
}

int vfs_setattr(struct vfs_file *file, const struct vfs_set *set, const struct timespec *guard,
                const struct vfs_caller *caller)
{
	int r;

	pthread_mutex_lock(&file->set_lock);
	r = setattr_locked(file, set, guard, caller);
	pthread_mutex_unlock(&file->set_lock);
	if (r == 0 && !caller->async)
		r = setattr_sync(file);
	return r;
}

int vfs_drop_set_id(struct vfs_file *file)
{
	struct stat stat;

	if (fstat(file->fd, &stat) < 0)
		return -errno;
	return apply_mode(file, stat.st_mode & ~(mode_t) 06000);
}
