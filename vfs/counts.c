/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/counts.h"

#include <stdlib.h>

#include "vfs/base/cleanup.h"
#include "vfs/vfs_internal.h"

void vfs_counts(struct vfs *vfs, struct vfs_counts *ret_counts)
{
	*ret_counts = (struct vfs_counts){
		.flushes = atomic_load(&vfs->flushes),
		.flush_waiters = atomic_load(&vfs->flush_waiters),
		.opened = atomic_load(&vfs->opened),
		.hits = atomic_load(&vfs->hits),
		.open_files = atomic_load(&vfs->open_files),
		.open_files_max = atomic_load(&vfs->open_files_max),
	};
}

void vfs_counts_exports(struct vfs *vfs,
                        void (*visit)(void *context, uint32_t id, const struct export_spec *spec),
                        void *context)
{
	pthread_rwlock_rdlock(&vfs->exports_lock);
	for (size_t i = 0; i < vfs->table.count; i++)
		visit(context, vfs->table.exports[i]->id, vfs->table.specs[i]);
	pthread_rwlock_unlock(&vfs->exports_lock);
}

void vfs_counts_unserved(struct vfs *vfs,
                         void (*visit)(void *context, const struct export_spec *spec),
                         void *context)
{
	AUTO(free_ptr) bool *served = NULL;
	const struct exports *exports;

	pthread_rwlock_rdlock(&vfs->exports_lock);
	exports = &vfs->parsed->exports;
	served = calloc(exports->count + 1, sizeof *served);
	for (size_t i = 0; served && i < vfs->table.count; i++)
		served[vfs->table.specs[i] - exports->specs] = true;
	for (size_t i = 0; served && i < exports->count; i++)
		if (!served[i])
			visit(context, &exports->specs[i]);
	pthread_rwlock_unlock(&vfs->exports_lock);
}

void vfs_counts_compare(struct vfs *vfs, const struct exports *now,
                        void (*tell)(void *context, enum exports_change change, const char *path),
                        void *context)
{
	pthread_rwlock_rdlock(&vfs->exports_lock);
	exports_diff(&vfs->parsed->exports, now, tell, context);
	pthread_rwlock_unlock(&vfs->exports_lock);
}
