/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - the table of exports that are served. Part of vfs.h; the syntax is exports.h's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vfs/exports.h"
#include "vfs/handle.h"

struct vfs;
struct vfs_export;
struct vfs_file;

/* @open_files_max: descriptors that cached files may hold. */
int vfs_new(const struct vfs_handle_key *key, unsigned open_files_max, struct vfs **ret_vfs);

/* Change open_files_max; more that are open go when their turn comes. */
void vfs_open_files_max_set(struct vfs *vfs, unsigned open_files_max);

/* What to be told of; called on any thread. */
struct vfs_told {
	/* A flush failed. Told before anybody whom it covered is answered: the write verifier must
	 * change. */
	void (*flush_failed)(void *context, int error);
	/* An export's file system refused direct writes; from now on they go through the cache. */
	void (*direct_refused)(void *context, const struct vfs_export *export, int error);
	void *context;
};

/* Before the first file is opened. */
void vfs_tell(struct vfs *vfs, const struct vfs_told *told);

/* How data that is to be durable is written. */
enum vfs_data_path {
	VFS_DATA_AUTO,     /* directly where a durable write costs no flush of the disk's cache */
	VFS_DATA_BUFFERED, /* through the page cache, flushes shared */
	VFS_DATA_DIRECT,   /* past the page cache, wherever the file system can */
};

/* For exports that are set from now on. */
void vfs_data_path_set(struct vfs *vfs, enum vfs_data_path data_path);

struct vfs *vfs_free(struct vfs *vfs);

typedef void vfs_report_fn(void *context, enum exports_severity severity,
                           const struct export_spec *spec, const char *message);

/**
 * vfs_exports_set() - serve these from now on
 * @exports: emptied: the table owns its content afterwards, also on failure
 * @report:  told of each export that cannot be served now, and why
 * @ret_usable: how many can
 *
 * Thread-safe against all else. Exports that stay keep their files; clients of the others get
 * -ESTALE.
 */
int vfs_exports_set(struct vfs *vfs, struct exports *exports, vfs_report_fn *report, void *context,
                    size_t *ret_usable);

/* Each export with its hosts, in the file's order, under the table's lock: visit() must not
 * block. */
void vfs_exports_visit(struct vfs *vfs,
                       void (*visit)(void *context, const struct export_spec *spec), void *context);

enum {
	VFS_MOUNT_PATH_BYTES_MAX = 1024
};

/**
 * vfs_mount() - the file that a path names for a client (MOUNT's MNT)
 * @path: as the client sent it, exports_find_path()'s forgiveness included
 *
 * Return: 0; -EACCES the client is not listed; -ENOENT no such export or path; -ENOTDIR; -ESTALE
 * the
 *         export cannot be served now; others as the file system says.
 */
int vfs_mount(struct vfs *vfs, const char *path, const struct export_address *client,
              unsigned client_port, const struct export_names *names, struct vfs_file **ret_file,
              struct export_options *ret_options);

/* The root of the export that a client's path lies in, as vfs_mount() finds it, and what follows
 * below it without leading slashes. Nobody's rights are looked at: vfs_export_access(), then
 * vfs_lookup() as the caller. */
int vfs_path_root(struct vfs *vfs, const char *path, struct vfs_file **ret_root,
                  char ret_below[VFS_MOUNT_PATH_BYTES_MAX + 1]);

/* Changes whenever the answer of vfs_export_access() may; unique among all exports. Never
 * blocks. */
uint32_t vfs_export_serial(const struct vfs_export *export);

/* May this client use the export, and how? @may_block false: -EAGAIN if names would have to be
 * looked up. -EACCES: not listed. -ESTALE: the export is gone. */
int vfs_export_access(struct vfs *vfs, struct vfs_export *export,
                      const struct export_address *client, const struct export_names *names,
                      bool may_block, struct export_options *ret_options);

uint32_t vfs_export_id(const struct vfs_export *export);
