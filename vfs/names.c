/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c - lookup, and what changes names in a directory.
 *
 * Each change is made durable by flushing the directory: on the journaling file systems we serve
 * that commits the change itself with everything it created. Where more is needed (a file linked
 * into place, a link's count) the file is flushed too, first.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/names_internal.h"
#include "vfs/vfs_internal.h"

enum {
	DEPTH_MAX = 4096, /* directories above each other; more than any path can name */
	LOOKUP_TRIES = 16,
};

void vfs_fd_path(int fd, char to[VFS_FD_PATH_BYTES])
{
	snprintf(to, VFS_FD_PATH_BYTES, "/proc/self/fd/%d", fd);
}

int vfs_name_check(const char *name)
{
	if (strlen(name) > VFS_NAME_BYTES_MAX)
		return -ENAMETOOLONG;
	return name[0] == '\0' || strchr(name, '/') ? -EACCES : 0;
}

int vfs_dir_sync(struct vfs_file *dir, const struct vfs_caller *caller)
{
	assert(vfs_file_is(dir, VFS_OPEN_READ));
	if (caller->async)
		return 0;
	return fsync(dir->fd) < 0 ? -errno : 0;
}

static int lookup_open(const struct vfs_file *dir, const char *name, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_XDEV | resolve,
	};
	long fd = syscall(SYS_openat2, dir->fd, name, &how, sizeof how);

	return fd < 0 ? -errno : (int) fd;
}

bool vfs_is_below_root(const struct vfs_export *export, int dir_fd)
{
	AUTO(close_fd) int fd = dup(dir_fd);
	struct stat root, here, above;

	if (fd < 0 || fstat(export->root_fd, &root) < 0 || fstat(fd, &here) < 0)
		return false;
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		int up;

		if (here.st_dev == root.st_dev && here.st_ino == root.st_ino)
			return true;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0 || fstat(up, &above) < 0) {
			close_fd(&up);
			return false;
		}
		close_fd(&fd);
		fd = up;
		if (above.st_dev == here.st_dev && above.st_ino == here.st_ino)
			return false; /* the top */
		here = above;
	}
	return false;
}

static bool dir_lives(const struct vfs_file *dir)
{
	struct stat stat;

	return fstat(dir->fd, &stat) == 0 && stat.st_nlink > 0;
}

/* RFC 1813 section 3.3.3, spec: ".." of the export's root is the root itself. */
static int lookup_parent(struct vfs_file *dir, struct vfs_file **ret_file)
{
	AUTO(close_fd) int fd = -EBADF;
	struct vfs_identity caller;
	bool below;

	if (!dir_lives(dir))
		return -ESTALE;
	if (vfs_file_is_root(dir))
		fd = openat(dir->export->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	else
		fd = lookup_open(dir, "..", 0);
	if (fd < 0)
		return fd == -1 ? -errno : fd;
	/* A directory that was moved out of the export must not lead its clients after it. */
	caller = vfs_identity_suspend(); /* who may not search further up may still go up one */
	below = vfs_is_below_root(dir->export, fd);
	vfs_identity_resume(&caller);
	if (!below)
		return -ESTALE;
	return vfs_file_adopt(dir->vfs, dir->export, take_fd(&fd), VFS_OPEN_PATH, true, ret_file);
}

int vfs_lookup(struct vfs_file *dir, const char *name, struct vfs_file **ret_file)
{
	int fd, r = vfs_name_check(name);

	if (r < 0)
		return r;
	if (dir->type != VFS_DIRECTORY)
		return -ENOTDIR;
	if (strcmp(name, "..") == 0)
		return lookup_parent(dir, ret_file);
	/* What a name named may be removed, and another take its name, before it is looked at: the
	 * name is still to be found then. */
	for (unsigned i = 0; i < LOOKUP_TRIES; i++) {
		fd = lookup_open(dir, name, 0);
		r = fd < 0 ? fd
		           : vfs_file_adopt(dir->vfs, dir->export, fd, VFS_OPEN_PATH, true,
		                            ret_file);
		if (r != -ESTALE || !dir_lives(dir))
			break;
	}
	if (r == -EXDEV) /* another file system: not exported here */
		return -EACCES;
	return r == -ESTALE && dir_lives(dir) ? -ENOENT : r;
}

int vfs_lookup_cached(struct vfs_file *dir, const char *name, struct vfs_file **ret_file)
{
	int fd;

	if (vfs_name_check(name) < 0 || strcmp(name, "..") == 0 || dir->type != VFS_DIRECTORY)
		return -EAGAIN;
	fd = lookup_open(dir, name, RESOLVE_CACHED);
	if (fd < 0)
		return -EAGAIN; /* also errors: the blocking way says them */
	return vfs_file_adopt(dir->vfs, dir->export, fd, VFS_OPEN_PATH, false, ret_file) < 0
	               ? -EAGAIN
	               : 0;
}

unsigned vfs_access(struct vfs_file *file, unsigned wanted)
{
	static const struct {
		unsigned may;
		int mode;
	} checks[] = {
		{ VFS_MAY_READ, R_OK },
		{ VFS_MAY_WRITE, W_OK },
		{ VFS_MAY_EXECUTE, X_OK },
	};
	unsigned granted = 0;

	/* By system call: glibc answers AT_EACCESS by itself with the effective uid, which is
	 * ours. */
	for (size_t i = 0; i < ARRAY_COUNT(checks); i++)
		if ((wanted & checks[i].may) &&
		    syscall(SYS_faccessat2, file->fd, "", checks[i].mode,
		            AT_EACCESS | AT_EMPTY_PATH) == 0)
			granted |= checks[i].may;
	return granted;
}

int vfs_readlink(struct vfs_file *file, char *ret_target, size_t bytes_max, size_t *ret_bytes)
{
	ssize_t count;

	if (file->type != VFS_SYMLINK)
		return -EINVAL;
	count = readlinkat(file->fd, "", ret_target, bytes_max);
	if (count < 0)
		return -errno;
	*ret_bytes = (size_t) count;
	return 0;
}

/* ---- removing ---- */

/* The handle of what a name names now, so that the cache can let go of it; count 0: none. */
static void victim_of(struct vfs_file *dir, const char *name, struct vfs_handle *ret_handle)
{
	AUTO(close_fd) int fd = lookup_open(dir, name, 0);
	uint64_t mix;

	ret_handle->count = 0;
	if (fd >= 0 && vfs_handle_of(dir->vfs, dir->export, fd, ret_handle, &mix) < 0)
		ret_handle->count = 0;
}

static int unlink_and_forget(struct vfs_file *dir, const char *name, int flags,
                             const struct vfs_caller *caller)
{
	struct vfs_handle victim;

	victim_of(dir, name, &victim);
	if (unlinkat(dir->fd, name, flags) < 0)
		return -errno;
	if (victim.count)
		vfs_file_forget_removed(dir->vfs, &victim);
	return vfs_dir_sync(dir, caller);
}

int vfs_remove(struct vfs_file *dir, const char *name, const struct vfs_caller *caller)
{
	int r = vfs_name_check(name);

	if (r < 0)
		return r;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EISDIR;
	return unlink_and_forget(dir, name, 0, caller);
}

int vfs_rmdir(struct vfs_file *dir, const char *name, const struct vfs_caller *caller)
{
	int r = vfs_name_check(name);

	if (r < 0)
		return r;
	if (strcmp(name, ".") == 0) /* RFC 1813 section 3.3.13 */
		return -EINVAL;
	if (strcmp(name, "..") == 0)
		return -EEXIST;
	return unlink_and_forget(dir, name, AT_REMOVEDIR, caller);
}

static bool is_dot_name(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int vfs_rename(struct vfs_file *from_dir, const char *from_name, struct vfs_file *to_dir,
               const char *to_name, const struct vfs_caller *caller)
{
	struct vfs_handle victim;
	int r = vfs_name_check(from_name);

	if (r == 0)
		r = vfs_name_check(to_name);
	if (r < 0)
		return r;
	if (is_dot_name(from_name) || is_dot_name(to_name)) /* RFC 1813 section 3.3.14 */
		return -EINVAL;
	if (from_dir->export != to_dir->export)
		return -EXDEV;
	victim_of(to_dir, to_name, &victim);
	if (renameat(from_dir->fd, from_name, to_dir->fd, to_name) < 0)
		return -errno;
	if (victim.count)
		vfs_file_forget_removed(to_dir->vfs, &victim);
	r = vfs_dir_sync(to_dir, caller);
	if (r == 0 && from_dir != to_dir)
		r = vfs_dir_sync(from_dir, caller);
	return r;
}

int vfs_link(struct vfs_file *file, struct vfs_file *dir, const char *name,
             const struct vfs_caller *caller)
{
	char path[VFS_FD_PATH_BYTES];
	int r = vfs_name_check(name);

	if (r < 0)
		return r;
	if (is_dot_name(name))
		return -EEXIST;
	if (file->export != dir->export)
		return -EXDEV;
	if (file->type == VFS_DIRECTORY)
		return -EISDIR;
	vfs_fd_path(file->fd, path);
	if (linkat(AT_FDCWD, path, dir->fd, name, AT_SYMLINK_FOLLOW) < 0)
		return errno == ENOENT ? -ESTALE : -errno; /* its last name went meanwhile */
	if (!caller->async && vfs_file_is(file, VFS_OPEN_READ)) {
		r = vfs_file_flush(file);
		if (r < 0)
			return r;
	}
	return vfs_dir_sync(dir, caller);
}

/* ---- creating what is no regular file ---- */

/* What of @set is left to do after the creating call. */
static struct vfs_set created_rest(const struct vfs_file *file, const struct vfs_set *set,
                                   const struct vfs_caller *caller)
{
	struct vfs_set rest = *set;
	struct stat stat;

	/* mkdir(2) ignores the set-id bits; all else of a mode is what the kernel made of it, with
	 * a default access list or a parent's set-group-id bit. */
	rest.set_mode = set->set_mode && (set->mode & 06000) && file->type == VFS_DIRECTORY &&
	                fstat(file->fd, &stat) == 0;
	if (rest.set_mode)
		rest.mode = (stat.st_mode & 07777) | (set->mode & 06000);
	/* Only root gives files away, and others only to their own groups. What else they ask for
	 * is left undone, not refused: clients that fill in all of sattr3 name the owner they see,
	 * and the reply's attributes tell the truth. */
	if (caller->cred.uid != 0) {
		rest.set_uid = false;
		rest.set_gid &= vfs_cred_has_group(&caller->cred, set->gid);
	}
	return rest;
}

static int created_set(struct vfs_file *file, const struct vfs_set *set,
                       const struct vfs_caller *caller)
{
	struct vfs_set rest = created_rest(file, set, caller);
	struct vfs_identity before;
	int r = 0;

	if (!rest.set_mode && !rest.set_uid && !rest.set_gid && !rest.set_size &&
	    rest.set_atime == VFS_TIME_KEEP && rest.set_mtime == VFS_TIME_KEEP)
		return 0;
	/* Another's LOOKUP may have put the new file into the cache first, without a descriptor
	 * that can write. */
	if (rest.set_size && !vfs_file_is(file, VFS_OPEN_READ_WRITE)) {
		before = vfs_identity_suspend(); /* opening by handle is the server's */
		r = vfs_file_need(file, VFS_OPEN_READ_WRITE);
		vfs_identity_resume(&before);
	}
	return r < 0 ? r : vfs_setattr(file, &rest, NULL, caller);
}

/* Only if the name is still what we made: another may have taken it since. */
static void created_undo(struct vfs_file *dir, const char *name, const struct vfs_handle *made)
{
	struct vfs_handle now;

	victim_of(dir, name, &now);
	if (!made->count || now.count != made->count ||
	    memcmp(now.bytes, made->bytes, now.count) != 0)
		return;
	if (unlinkat(dir->fd, name, 0) < 0 && errno == EISDIR)
		(void) unlinkat(dir->fd, name, AT_REMOVEDIR);
	vfs_file_forget_removed(dir->vfs, &now);
}

static bool nothing_to_set(const struct vfs_set *set)
{
	return !set->set_uid && !set->set_gid && !set->set_size &&
	       set->set_atime == VFS_TIME_KEEP && set->set_mtime == VFS_TIME_KEEP;
}

/* It is there, and there is nothing to do but to find it: it need not have a place in the cache. */
static bool created_will_do(int error, const struct vfs_set *set)
{
	if (error == -ENOENT || error == -ESTALE || error == -EXDEV)
		return true; /* removed, or another took the name */
	return (error == -ENFILE || error == -ENOMEM) && nothing_to_set(set);
}

/* What was just created under a name: set what remains to be set, make it durable, hand it out. If
 * setting fails the name goes again: all or nothing. If somebody else removed it meanwhile it was
 * created all the same, and there is no file to hand out. */
int vfs_created(struct vfs_file *dir, const char *name, int fd, enum vfs_open open,
                const struct vfs_set *set, const struct vfs_caller *caller,
                struct vfs_file **ret_file)
{
	struct vfs_handle made = { 0 };
	struct vfs_file *file = NULL;
	uint64_t mix;
	int r = fd;

	if (fd >= 0 && vfs_handle_of(dir->vfs, dir->export, fd, &made, &mix) < 0)
		made.count = 0;
	if (fd >= 0)
		r = vfs_file_adopt(dir->vfs, dir->export, fd, open, true, &file);
	if (r >= 0)
		r = created_set(file, set, caller);
	if (r < 0 && created_will_do(r, set)) {
		file = vfs_file_put(file);
		r = 0;
	}
	if (r >= 0)
		r = vfs_dir_sync(dir, caller);
	else
		created_undo(dir, name, &made);
	if (r < 0)
		vfs_file_put(file);
	else
		*ret_file = file;
	return r;
}

static int make_check(const struct vfs_file *dir, const char *name)
{
	int r = vfs_name_check(name);

	if (r < 0)
		return r;
	if (dir->type != VFS_DIRECTORY)
		return -ENOTDIR;
	return is_dot_name(name) ? -EEXIST : 0;
}

int vfs_mkdir(struct vfs_file *dir, const char *name, const struct vfs_set *set,
              const struct vfs_caller *caller, struct vfs_file **ret_file)
{
	int r = make_check(dir, name);

	if (r < 0)
		return r;
	if (mkdirat(dir->fd, name, set->set_mode ? set->mode & 07777 : 0755) < 0)
		return -errno;
	return vfs_created(dir, name, lookup_open(dir, name, 0), VFS_OPEN_PATH, set, caller,
	                   ret_file);
}

int vfs_symlink(struct vfs_file *dir, const char *name, const char *target,
                const struct vfs_set *set, const struct vfs_caller *caller,
                struct vfs_file **ret_file)
{
	int r = make_check(dir, name);

	if (r < 0)
		return r;
	if (target[0] == '\0')
		return -EINVAL;
	if (symlinkat(target, dir->fd, name) < 0)
		return -errno;
	return vfs_created(dir, name, lookup_open(dir, name, 0), VFS_OPEN_PATH, set, caller,
	                   ret_file);
}

int vfs_mknod(struct vfs_file *dir, const char *name, enum vfs_type type, dev_t device,
              const struct vfs_set *set, const struct vfs_caller *caller,
              struct vfs_file **ret_file)
{
	static const mode_t formats[] = {
		[VFS_BLOCK] = S_IFBLK,
		[VFS_CHARACTER] = S_IFCHR,
		[VFS_FIFO] = S_IFIFO,
		[VFS_SOCKET] = S_IFSOCK,
	};
	mode_t mode = set->set_mode ? set->mode & 07777 : 0644;
	int r = make_check(dir, name);

	assert(type < ARRAY_COUNT(formats) && formats[type]);
	if (r < 0)
		return r;
	if (mknodat(dir->fd, name, formats[type] | mode, device) < 0)
		return -errno;
	return vfs_created(dir, name, lookup_open(dir, name, 0), VFS_OPEN_PATH, set, caller,
	                   ret_file);
}
