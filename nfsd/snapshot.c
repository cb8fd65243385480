/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "nfsd/locks.h"
#include "nfsd/server.h"

struct listing {
	struct snapshot *snapshot;
	struct space_watch *watch;
};

static void list_export(void *context, uint32_t id, const struct export_spec *spec)
{
	struct listing *listing = context;
	struct snapshot *snapshot = listing->snapshot;
	struct snapshot_export *export = &snapshot->exports[snapshot->export_count];

	snapshot->exports_served++;
	if (snapshot->export_count == SPACE_WATCH_EXPORTS_MAX)
		return;
	*export = (struct snapshot_export){ .path = strdup(spec->path), .id = id };
	if (!export->path)
		return;
	if (listing->watch)
		export->space = space_watch_get(listing->watch, id);
	snapshot->export_count++;
}

static void count_unserved(void *context, const struct export_spec *spec)
{
	struct snapshot *snapshot = context;

	snapshot->exports_unserved++;
}

void snapshot_take(struct server *server, struct space_watch *watch, struct snapshot *snapshot)
{
	struct listing listing = { snapshot, watch };

	vfs_counts(server->vfs, &snapshot->files);
	snapshot->flush_failures = atomic_load(&server->flush_failures);
	reply_cache_stats(server->replies, &snapshot->replies);
	locks_now(server->locks, &snapshot->locks);
	snapshot->buffers_used_bytes = atomic_load(&server->budget.used_bytes);
	snapshot->buffers_limit_bytes = server->budget.limit_bytes;
	snapshot->connections_limit = server->config->connections;
	snapshot->exports = calloc(SPACE_WATCH_EXPORTS_MAX, sizeof *snapshot->exports);
	if (snapshot->exports)
		vfs_counts_exports(server->vfs, list_export, &listing);
	vfs_counts_unserved(server->vfs, count_unserved, snapshot);
}

void snapshot_done(struct snapshot *snapshot)
{
	for (unsigned i = 0; i < snapshot->export_count; i++)
		free(snapshot->exports[i].path);
	free(snapshot->exports);
	*snapshot = (struct snapshot){ 0 };
}

const char *snapshot_trouble(const struct snapshot *snapshot)
{
	const struct summary *summary = snapshot->summary;

	if (summary->silent > 0)
		return "a worker does not answer: see journalctl -u lodestore-nfsd";
	if (summary->connections >= snapshot->connections_limit)
		return "no further connection is accepted: raise limits.connections";
	if (snapshot->buffers_used_bytes / 10 >= snapshot->buffers_limit_bytes / 11)
		return "the memory for calls is used up, clients wait: raise limits.buffer_bytes";
	if (snapshot->exports_served == 0)
		return "nothing is exported: see lodestore-exports(5)";
	if (snapshot->exports_unserved > 0)
		return "an export of the exports file is not served: journalctl -u lodestore-nfsd"
		       " says why";
	if (snapshot->flush_failures > 0)
		return "a flush failed: look at the disk (dmesg), then restart lodestore-nfsd";
	return "";
}
