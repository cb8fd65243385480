/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfs_real_names.h - what the tests of names share: one vfs_real, calls as root and as a user, and
 * looks at what came of them beside vfs/.
 */
#pragma once

#include <errno.h>

#include "support/vfs_real.h"

enum {
	USER = 12345,
};

static struct vfs_real real;
static const struct vfs_set set_nothing;
static const struct vfs_caller user = { .cred = { .uid = USER, .gid = USER } };

static inline void setup(void)
{
	vfs_real_open(&real, 1000);
}

static inline void teardown(void)
{
	vfs_real_close(&real);
}

static inline const char *path_of(const char *name)
{
	static char path[TEMP_PATH_BYTES];

	return temp_path(path, real.dir, name);
}

static inline struct stat stat_of(const char *name)
{
	struct stat stat_;

	ck_assert_msg(lstat(path_of(name), &stat_) == 0, "%s: %s", name, strerror(errno));
	return stat_;
}

static inline bool is_there(const char *name)
{
	struct stat stat_;

	return lstat(path_of(name), &stat_) == 0;
}

/* For calls whose file is of no interest: @file is where the call puts it. */
static inline int put(int r, struct vfs_file **file)
{
	if (r == 0)
		vfs_file_put(*file);
	return r;
}

static inline int create_as(const struct vfs_caller *caller, const char *name,
                            enum vfs_create_how how, const struct vfs_set *set,
                            const char *verifier)
{
	struct vfs_file *file = NULL;
	int r;

	vfs_identity_assume(&caller->cred);
	r = vfs_create(real.root, name, how, set, (const uint8_t *) verifier, caller, &file);
	vfs_identity_server();
	return put(r, &file);
}

static inline int create(const char *name, enum vfs_create_how how, const struct vfs_set *set)
{
	return create_as(&vfs_real_root, name, how, set, NULL);
}

static inline int lookup(struct vfs_file *dir, const char *name)
{
	struct vfs_file *file = NULL;

	return put(vfs_lookup(dir, name, &file), &file);
}

static inline int make_dir(const char *name, uint32_t mode)
{
	struct vfs_set set = { .set_mode = true, .mode = mode };
	struct vfs_file *file = NULL;

	return put(vfs_mkdir(real.root, name, &set, &vfs_real_root, &file), &file);
}

/* Open for changes below it. */
static inline struct vfs_file *dir_of(const char *name)
{
	struct vfs_file *dir = vfs_real_lookup(&real, name);

	ck_assert_int_eq(vfs_file_need(dir, VFS_OPEN_READ), 0);
	return dir;
}
