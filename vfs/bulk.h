/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk.h - large writes wait for room in their file system's window (bulk_window.h), so that small
 * durable ones need not wait for them. Part of vfs.h.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "vfs/bulk_window.h"
#include "vfs/io/loop.h"

struct vfs;
struct vfs_file;

/* Of one file system; those whose devices are equal modulo SHARE_GROUPS are one here. */
struct vfs_bulk_window {
	pthread_mutex_t lock;
	struct bulk_window window;
};

/* One write's place. Zeroed but for the first two. */
struct vfs_bulk {
	void (*let_in)(struct vfs_bulk *bulk);
	struct loop *loop;

	/* bulk.c's */
	struct vfs_bulk_window *window; /* inside, or waiting for it */
	struct bulk_waiter waiter;
	struct loop_task task;
};

/* Before @bytes are written. True: go on; false: let_in() will be called on @bulk->loop. What is
 * small never waits. Never blocks. */
bool vfs_bulk_enter(struct vfs_file *file, struct vfs_bulk *bulk, uint32_t bytes);

/* They are where they are to be, or never will; also for who never entered. Never blocks. */
void vfs_bulk_leave(struct vfs_bulk *bulk);

/* How many bytes are under way to one file system at once; any number, if nothing is set. Before
 * the first file is opened. */
void vfs_bulk_bytes_set(struct vfs *vfs, uint64_t bytes_max);

/* For the vfs' own life. */
void vfs_bulk_init(struct vfs *vfs);
void vfs_bulk_done(struct vfs *vfs);
