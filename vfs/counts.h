/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts.h - what the files have been asked for since the start, for who looks at the server.
 */
#pragma once

#include <stdint.h>

#include "vfs/exports_diff.h"

struct vfs;
struct export_spec;

struct vfs_counts {
	uint64_t flushes, flush_waiters; /* of group commit: WRITE and COMMIT calls it answered */
	uint64_t opened, hits;           /* files by handle: opened, found open */
	unsigned open_files, open_files_max;
};

void vfs_counts(struct vfs *vfs, struct vfs_counts *ret_counts);

/* Each export that is served with its id, in the file's order, under the table's lock: visit() must
 * not block. */
void vfs_counts_exports(struct vfs *vfs,
                        void (*visit)(void *context, uint32_t id, const struct export_spec *spec),
                        void *context);

/* The same for those of the file that cannot be served now. */
void vfs_counts_unserved(struct vfs *vfs,
                         void (*visit)(void *context, const struct export_spec *spec),
                         void *context);

/* What makes @now different from what is configured: exports_diff(), under the same lock. */
void vfs_counts_compare(struct vfs *vfs, const struct exports *now,
                        void (*tell)(void *context, enum exports_change change, const char *path),
                        void *context);
