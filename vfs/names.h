/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - directories and what changes files. Part of vfs.h.
 *
 * All act as the caller (vfs_identity_assume()), and what they changed is durable when they return,
 * unless the caller's export is async.
 */
#pragma once

#include <sys/types.h>

#include "vfs/file.h"

enum {
	VFS_NAME_BYTES_MAX = 255,
	VFS_PATH_BYTES_MAX = 4095
};

struct vfs_set { /* what SETATTR and the creating calls set */
	bool set_mode, set_uid, set_gid, set_size;
	enum vfs_set_time {
		VFS_TIME_KEEP,
		VFS_TIME_NOW,
		VFS_TIME_GIVEN
	} set_atime, set_mtime;
	uint32_t mode, uid, gid;
	uint64_t size;
	struct timespec atime, mtime;
};

struct vfs_caller {
	struct vfs_cred cred;
	bool async;
};

/* @name: with its NUL; checked: not empty, no "/", at most VFS_NAME_BYTES_MAX bytes. */
int vfs_lookup(struct vfs_file *dir, const char *name, struct vfs_file **ret_file);

/* vfs_lookup() for a caller that may search everywhere (root); -EAGAIN if it would block. */
int vfs_lookup_cached(struct vfs_file *dir, const char *name, struct vfs_file **ret_file);

enum {
	VFS_MAY_READ = 1,
	VFS_MAY_WRITE = 2,
	VFS_MAY_EXECUTE = 4
};
/* Which of @wanted the caller may do; to be called as the caller. */
unsigned vfs_access(struct vfs_file *file, unsigned wanted);

int vfs_readlink(struct vfs_file *file, char *ret_target, size_t bytes_max, size_t *ret_bytes);

/* The creating calls: *ret_file is NULL if the new name was removed again before it could be looked
 * at. */
enum vfs_create_how {
	VFS_CREATE_UNCHECKED,
	VFS_CREATE_GUARDED,
	VFS_CREATE_EXCLUSIVE
};
/* @verifier: EXCLUSIVE: 8 bytes, kept with the file, so that the same call again finds it. */
int vfs_create(struct vfs_file *dir, const char *name, enum vfs_create_how how,
               const struct vfs_set *set, const uint8_t verifier[8],
               const struct vfs_caller *caller, struct vfs_file **ret_file);
int vfs_mkdir(struct vfs_file *dir, const char *name, const struct vfs_set *set,
              const struct vfs_caller *caller, struct vfs_file **ret_file);
int vfs_symlink(struct vfs_file *dir, const char *name, const char *target,
                const struct vfs_set *set, const struct vfs_caller *caller,
                struct vfs_file **ret_file);
/* @type: VFS_BLOCK, VFS_CHARACTER, VFS_FIFO, VFS_SOCKET. */
int vfs_mknod(struct vfs_file *dir, const char *name, enum vfs_type type, dev_t device,
              const struct vfs_set *set, const struct vfs_caller *caller,
              struct vfs_file **ret_file);
int vfs_remove(struct vfs_file *dir, const char *name, const struct vfs_caller *caller);
int vfs_rmdir(struct vfs_file *dir, const char *name, const struct vfs_caller *caller);
int vfs_rename(struct vfs_file *from_dir, const char *from_name, struct vfs_file *to_dir,
               const char *to_name, const struct vfs_caller *caller);
int vfs_link(struct vfs_file *file, struct vfs_file *dir, const char *name,
             const struct vfs_caller *caller);

/* All or nothing. @guard: the ctime the file must have, or NULL; -EDEADLK if it has another. A file
 * whose size is set must be open for writing (vfs_file_need()). */
int vfs_setattr(struct vfs_file *file, const struct vfs_set *set, const struct timespec *guard,
                const struct vfs_caller *caller);

/* Take the set-user-id and set-group-id bits, as writing by somebody who is not root does. As the
 * server. */
int vfs_drop_set_id(struct vfs_file *file);

struct vfs_entry {
	const char *name;
	uint32_t name_bytes;
	uint64_t fileid, cookie;
	bool has_attr; /* with_attr was asked and the entry was still there */
	struct vfs_attr attr;
	struct vfs_handle handle;
};

/**
 * vfs_readdir() - list a directory from a cookie on
 * @cookie: 0, or one that an entry had: the file system's own, so it survives changes and restarts
 * @entry:  called for each entry in order; false stops (the entry does not count as delivered)
 * @ret_eof: true if the end was reached
 *
 * Return: 0; -ESPIPE if the cookie cannot be one of this directory's; others.
 */
int vfs_readdir(struct vfs_file *dir, uint64_t cookie, bool with_attr,
                bool (*entry)(void *context, const struct vfs_entry *entry), void *context,
                bool *ret_eof);

struct vfs_space {
	uint64_t total_bytes, free_bytes, available_bytes;
	uint64_t total_files, free_files, available_files;
};
int vfs_space(struct vfs_file *file, struct vfs_space *ret_space);

struct vfs_limits {
	uint64_t file_bytes_max;
	uint32_t link_max, name_bytes_max;
};
int vfs_limits(struct vfs_file *file, struct vfs_limits *ret_limits);
