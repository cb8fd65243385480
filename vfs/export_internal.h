/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_internal.h - an export's inside, for vfs/'s own files.
 */
#pragma once

#include <stdatomic.h>

#include "vfs/export.h"
#include "vfs/fs.h"

/* What was parsed, shared by who looks at it: a match may wait for DNS, and a reload must not wait
 * for the match. */
struct vfs_parsed {
	atomic_uint refs;
	struct exports exports;
};

/* The exports that can be served, each with its line; room for one a line. */
struct vfs_table {
	struct vfs_export **exports; /* with a reference each */
	const struct export_spec **specs;
	size_t count;
	uint32_t *slots; /* finds exports by id: open addressing, 0 is free, n is exports[n - 1] */
	size_t slot_count;
};

struct vfs_export {
	atomic_uint refs;    /* the table's, and one a cached file */
	atomic_uint serial;  /* vfs_export_serial() */
	atomic_bool removed; /* its files are stale from now on */
	atomic_bool direct;  /* durable writes may go past the page cache */
	bool gated;          /* direct, or was: writes pass data_gate.h */
	uint32_t id;
	uint64_t fsid;
	int root_fd; /* O_RDONLY; open_by_handle_at(2) starts here */
	int mount_id;
	struct vfs_fs fs;
	struct vfs_handle root_handle;
	uint64_t root_subvolume;        /* file systems with subvolumes: the root's; else 0 */
	const struct export_spec *spec; /* under exports_lock; NULL when removed */
};

struct vfs_export *vfs_export_ref(struct vfs_export *export);
struct vfs_export *vfs_export_unref(struct vfs_export *export);
/* With a reference, or NULL. */
struct vfs_export *vfs_export_by_id(struct vfs *vfs, uint32_t id);
