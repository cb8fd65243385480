/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfs_real.h - the real vfs/ over a directory of the test's own on a real file system, as root.
 *
 *     int main(void) { return vfs_real_needs_root() ?: check_main(suite()); }
 *
 * The process is as lodestore-nfsd's: no umask, root.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temp_dir.h"
#include "vfs/base/cleanup.h"
#include "vfs/vfs.h"
#include "vfs/vfs_internal.h"

struct vfs_real {
	char dir[TEMP_DIR_BYTES];
	struct vfs *vfs;
	struct vfs_file *root;
};

static const struct vfs_caller vfs_real_root = { .cred = { .uid = 0 } };

/* 77, which meson counts as skipped, and a word about it. */
static inline int vfs_real_needs_root(void)
{
	if (geteuid() == 0)
		return 0;
	fprintf(stderr, "SKIPPED: open_by_handle_at(2) needs root. Run the tests as root\n");
	return 77;
}

static inline void vfs_real_report(void *context, enum exports_severity severity,
                                   const struct export_spec *spec, const char *message)
{
	fprintf(stderr, "%s: %s\n", spec->path, message);
	if (context)
		++*(unsigned *) context;
}

static inline void vfs_real_parse_report(void *context, enum exports_severity severity,
                                         const char *file, unsigned line, const char *message)
{
	ck_abort_msg("exports: %s", message);
}

/* Serve what @text, in exports(5) syntax, says. Returns how many are usable. */
static inline size_t vfs_real_serve(struct vfs *vfs, const char *text)
{
	struct exports exports = { 0 };
	size_t usable = 0;

	ck_assert_int_eq(
		exports_parse(&exports, "test", text, strlen(text), vfs_real_parse_report, NULL),
		0);
	ck_assert_int_eq(vfs_exports_set(vfs, &exports, vfs_real_report, NULL, &usable), 0);
	return usable;
}

static inline struct vfs_file *vfs_real_mount(struct vfs *vfs, const char *path)
{
	struct export_address client = { { [15] = 1 } };
	struct export_options options;
	struct vfs_file *file;

	ck_assert_int_eq(vfs_mount(vfs, path, &client, 1000, &export_names_system, &file, &options),
	                 0);
	return file;
}

static inline struct vfs *vfs_real_new(unsigned open_files_max)
{
	static const struct vfs_handle_key key = { { 1, 2, 3 } };
	struct vfs *vfs;

	ck_assert_int_eq(vfs_new(&key, open_files_max, &vfs), 0);
	return vfs;
}

/* A new directory, exported to all, its root open for changes below it. */
static inline void vfs_real_open(struct vfs_real *real, unsigned open_files_max)
{
	static bool has_identity; /* once a process */
	char line[TEMP_PATH_BYTES];

	umask(0);
	has_identity = has_identity || vfs_identity_init() == 0;
	ck_assert(has_identity);
	temp_dir_make(real->dir);
	ck_assert_int_eq(chmod(real->dir, 0777), 0);
	real->vfs = vfs_real_new(open_files_max);
	snprintf(line, sizeof line, "%s *(rw,no_root_squash)\n", real->dir);
	ck_assert_uint_eq(vfs_real_serve(real->vfs, line), 1);
	real->root = vfs_real_mount(real->vfs, real->dir);
	ck_assert_int_eq(vfs_file_need(real->root, VFS_OPEN_READ), 0);
}

static inline void vfs_real_close(struct vfs_real *real)
{
	vfs_identity_server();
	real->root = vfs_file_put(real->root);
	real->vfs = vfs_free(real->vfs);
	temp_dir_remove(real->dir);
}

/* A file with this text, made beside vfs/. */
static inline void vfs_real_put(const struct vfs_real *real, const char *name, const char *text)
{
	char path[TEMP_PATH_BYTES];
	FILE *file = fopen(temp_path(path, real->dir, name), "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static inline struct vfs_file *vfs_real_lookup(const struct vfs_real *real, const char *name)
{
	struct vfs_file *file;

	ck_assert_int_eq(vfs_lookup(real->root, name, &file), 0);
	return file;
}

static inline unsigned vfs_real_open_files(struct vfs *vfs)
{
	struct vfs_stats stats;

	vfs_stats_get(vfs, &stats);
	return stats.open_files;
}

/* Descriptors of this process, that of the counting left out. */
static inline unsigned descriptor_count(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 3;
}
