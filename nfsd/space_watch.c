/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/space_watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vfs/base/cleanup.h"
#include "vfs/counts.h"
#include "vfs/vfs.h"

enum {
	LOOK_S = 5,
	STALE_S = 30,
};

struct watched {
	uint32_t export_id;
	char *path; /* the thread's, while it looks */
	uint64_t total_bytes, available_bytes;
	time_t seen_s; /* 0: never */
};

struct space_watch {
	struct vfs *vfs;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop; /* under lock */
	/* Under lock: what was seen. */
	struct watched seen[SPACE_WATCH_EXPORTS_MAX];
	unsigned seen_count;
	/* The thread's: what it looks at. */
	struct watched looked[SPACE_WATCH_EXPORTS_MAX];
	unsigned looked_count;
};

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* ---- the thread ---- */

static void list_export(void *context, uint32_t id, const struct export_spec *spec)
{
	struct space_watch *watch = context;
	struct watched *watched = &watch->looked[watch->looked_count];

	if (watch->looked_count == SPACE_WATCH_EXPORTS_MAX)
		return;
	*watched = (struct watched){ .export_id = id, .path = strdup(spec->path) };
	watch->looked_count += watched->path != NULL;
}

static const struct watched *find(const struct space_watch *watch, uint32_t export_id)
{
	for (unsigned i = 0; i < watch->seen_count; i++)
		if (watch->seen[i].export_id == export_id)
			return &watch->seen[i];
	return NULL;
}

/* What was seen of those that stay is kept until they are looked at anew. */
static void list_exports(struct space_watch *watch)
{
	watch->looked_count = 0;
	vfs_counts_exports(watch->vfs, list_export, watch);
	pthread_mutex_lock(&watch->lock);
	for (unsigned i = 0; i < watch->looked_count; i++) {
		const struct watched *before = find(watch, watch->looked[i].export_id);
		char *path = watch->looked[i].path;

		if (before)
			watch->looked[i] = *before;
		watch->looked[i].path = path;
	}
	memcpy(watch->seen, watch->looked, sizeof watch->seen);
	watch->seen_count = watch->looked_count;
	pthread_mutex_unlock(&watch->lock);
}

static void look_at(struct space_watch *watch, unsigned number)
{
	AUTO(free_ptr) char *path = take_ptr(watch->looked[number].path);
	char below[VFS_MOUNT_PATH_BYTES_MAX + 1];
	struct vfs_space space;
	struct vfs_file *root;
	int r = vfs_path_root(watch->vfs, path, &root, below);

	if (r < 0)
		return;
	r = vfs_space(root, &space);
	vfs_file_put(root);
	if (r < 0)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->seen[number].total_bytes = space.total_bytes;
	watch->seen[number].available_bytes = space.available_bytes;
	watch->seen[number].seen_s = now_s();
	pthread_mutex_unlock(&watch->lock);
}

static bool wait_for_next(struct space_watch *watch)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += LOOK_S;
	pthread_mutex_lock(&watch->lock);
	if (!watch->stop)
		(void) pthread_cond_timedwait(&watch->wake, &watch->lock, &until);
	stop = watch->stop;
	pthread_mutex_unlock(&watch->lock);
	return !stop;
}

static void *watch_run(void *arg)
{
	struct space_watch *watch = arg;

	pthread_setname_np(pthread_self(), "space");
	do {
		list_exports(watch);
		for (unsigned i = 0; i < watch->looked_count; i++)
			look_at(watch, i);
	} while (wait_for_next(watch));
	return NULL;
}

/* ---- from outside ---- */

struct space_seen space_watch_get(struct space_watch *watch, uint32_t export_id)
{
	struct space_seen seen = { 0 };
	const struct watched *watched;

	pthread_mutex_lock(&watch->lock);
	watched = find(watch, export_id);
	if (watched && watched->seen_s && now_s() - watched->seen_s < STALE_S) {
		seen.known = true;
		seen.total_bytes = watched->total_bytes;
		seen.available_bytes = watched->available_bytes;
	}
	pthread_mutex_unlock(&watch->lock);
	return seen;
}

static struct space_watch *watch_free(struct space_watch *watch)
{
	pthread_cond_destroy(&watch->wake);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
	return NULL;
}

struct space_watch *space_watch_open(struct vfs *vfs)
{
	struct space_watch *watch = calloc(1, sizeof *watch);
	pthread_condattr_t by_monotonic; /* a clock that is set back must not stop it */

	if (!watch)
		return NULL;
	watch->vfs = vfs;
	pthread_mutex_init(&watch->lock, NULL);
	pthread_condattr_init(&by_monotonic);
	pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->wake, &by_monotonic);
	pthread_condattr_destroy(&by_monotonic);
	if (pthread_create(&watch->thread, NULL, watch_run, watch) != 0)
		return watch_free(watch);
	return watch;
}

struct space_watch *space_watch_close(struct space_watch *watch)
{
	if (!watch)
		return NULL;
	pthread_mutex_lock(&watch->lock);
	watch->stop = true;
	pthread_cond_signal(&watch->wake);
	pthread_mutex_unlock(&watch->lock);
	pthread_join(watch->thread, NULL);
	return watch_free(watch);
}
