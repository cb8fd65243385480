/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.c - looking through the cache now and then: what nobody uses is closed, what lies dirty is
 * flushed, what was removed gives its space back.
 */
#include <sys/stat.h>

#include "vfs/base/cleanup.h"
#include "vfs/vfs_internal.h"

enum {
	SWEEP_IDLE_MS = 60000, /* an unused file is closed after this */
	SWEEP_DIRTY_MS = 5000, /* UNSTABLE data is flushed after this, asked or not */
};

/* What a sweep found to do for one file; it holds a reference. */
struct sweep_find {
	struct vfs_file *file;
	bool flush; /* else: close */
};

static bool sweep_wants(struct vfs_file *file, uint64_t now_ms, struct sweep_find *find)
{
	struct stat stat;

	*find = (struct sweep_find){ .file = file };
	if (fstat(file->fd, &stat) == 0 && stat.st_nlink == 0)
		return true; /* removed behind our back: give its space back */
	if (atomic_load(&file->dirty)) {
		find->flush = now_ms - atomic_load(&file->dirty_ms) > SWEEP_DIRTY_MS;
		return find->flush;
	}
	return atomic_load(&file->refs) == 1 &&
	       (atomic_load(&file->export->removed) ||
	        now_ms - atomic_load(&file->used_ms) > SWEEP_IDLE_MS);
}

static unsigned sweep_shard(struct vfs_shard *shard, uint64_t now_ms, struct sweep_find *finds,
                            unsigned count_max)
{
	unsigned count = 0;

	pthread_mutex_lock(&shard->lock);
	list_for_each_safe (node, &shard->lru) {
		struct vfs_file *file = container_of(node, struct vfs_file, lru);

		if (count == count_max)
			break;
		if (!sweep_wants(file, now_ms, &finds[count]))
			continue;
		if (finds[count].flush)
			atomic_fetch_add(&file->refs, 1);
		else
			vfs_file_unhash(shard, file);
		count++;
	}
	pthread_mutex_unlock(&shard->lock);
	return count;
}

void vfs_sweep(struct vfs *vfs)
{
	uint64_t now_ms = vfs_now_ms();
	struct sweep_find finds[64];

	for (unsigned s = 0; s < VFS_SHARDS; s++) {
		unsigned count = sweep_shard(&vfs->shards[s], now_ms, finds, ARRAY_COUNT(finds));

		for (unsigned i = 0; i < count; i++) {
			if (finds[i].flush)
				(void) vfs_file_flush(finds[i].file); /* failing tells by itself */
			vfs_file_put(finds[i].file);
		}
	}
	vfs_close_unused(vfs);
}

void vfs_files_forget(struct vfs *vfs)
{
	for (unsigned s = 0; s < VFS_SHARDS; s++) {
		struct vfs_shard *shard = &vfs->shards[s];

		list_for_each_safe (node, &shard->lru) {
			struct vfs_file *file = container_of(node, struct vfs_file, lru);

			pthread_mutex_lock(&shard->lock);
			vfs_file_unhash(shard, file);
			pthread_mutex_unlock(&shard->lock);
			vfs_file_put(file);
		}
	}
	vfs_close_unused(vfs);
}
