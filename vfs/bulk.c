/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk.c - the windows of bulk_window.h, one for each file system, shared by all loops.
 */
#include <assert.h>

#include "vfs/base/cleanup.h"
#include "vfs/vfs_internal.h"

enum {
	BULK_BYTES_MIN = 16 << 10, /* what is larger is bulk */
};

void vfs_bulk_init(struct vfs *vfs)
{
	for (unsigned i = 0; i < SHARE_GROUPS; i++) {
		pthread_mutex_init(&vfs->bulk[i].lock, NULL);
		vfs->bulk[i].window.bytes_max = UINT64_MAX;
	}
}

void vfs_bulk_done(struct vfs *vfs)
{
	for (unsigned i = 0; i < SHARE_GROUPS; i++) {
		assert(vfs->bulk[i].window.inside_bytes == 0);
		pthread_mutex_destroy(&vfs->bulk[i].lock);
	}
}

void vfs_bulk_bytes_set(struct vfs *vfs, uint64_t bytes_max)
{
	for (unsigned i = 0; i < SHARE_GROUPS; i++)
		vfs->bulk[i].window.bytes_max = bytes_max;
}

static void bulk_let_in(struct loop_task *task)
{
	struct vfs_bulk *bulk = container_of(task, struct vfs_bulk, task);

	bulk->let_in(bulk);
}

bool vfs_bulk_enter(struct vfs_file *file, struct vfs_bulk *bulk, uint32_t bytes)
{
	struct vfs_bulk_window *window = &file->vfs->bulk[file->export->fs.device % SHARE_GROUPS];
	bool inside;

	assert(bulk->let_in && bulk->loop && !bulk->window);
	if (bytes <= BULK_BYTES_MIN)
		return true;
	bulk->window = window;
	bulk->waiter.bytes = bytes;
	pthread_mutex_lock(&window->lock);
	inside = bulk_window_enter(&window->window, &bulk->waiter);
	pthread_mutex_unlock(&window->lock);
	return inside;
}

void vfs_bulk_leave(struct vfs_bulk *bulk)
{
	struct vfs_bulk_window *window = bulk->window;
	struct bulk_waiter *let_in;

	if (!window)
		return;
	bulk->window = NULL;
	pthread_mutex_lock(&window->lock);
	let_in = bulk_window_leave(&window->window, bulk->waiter.bytes);
	pthread_mutex_unlock(&window->lock);
	while (let_in) {
		struct vfs_bulk *next = container_of(let_in, struct vfs_bulk, waiter);

		let_in = let_in->next;
		next->task.run = bulk_let_in;
		loop_post(next->loop, &next->task);
	}
}
