/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - what is to be shown of the server, at one moment: for metrics and the status page.
 */
#pragma once

#include "nfsd/lock_table.h"
#include "nfsd/reply_cache.h"
#include "nfsd/sidecar.h"
#include "nfsd/space_watch.h"
#include "nfsd/status.h"
#include "nfsd/summary.h"
#include "vfs/counts.h"

struct snapshot_export {
	char *path;
	uint32_t id;
	struct space_seen space;
};

struct snapshot {
	struct status_times times;
	const struct summary *summary;
	const struct sidecar_seen *sidecar;
	struct vfs_counts files;
	uint64_t flush_failures;
	struct reply_cache_stats replies;
	struct lock_counts locks;
	uint64_t buffers_used_bytes, buffers_limit_bytes, connections_limit;
	struct snapshot_export *exports; /* the first SPACE_WATCH_EXPORTS_MAX of the file */
	unsigned export_count, exports_served, exports_unserved;
};

/* @times, @summary, @sidecar: kept, not copied. @watch: NULL if there is none. */
void snapshot_take(struct server *server, struct space_watch *watch, struct snapshot *snapshot);
void snapshot_done(struct snapshot *snapshot);

/* What is wrong and what to do about it, in a sentence; "" if all is well. Pure. */
const char *snapshot_trouble(const struct snapshot *snapshot);
