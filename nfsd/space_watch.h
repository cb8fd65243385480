/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space_watch.h - how much room the exports' file systems have, looked at every few seconds by a
 * thread of its own: one whose disk does not answer stops that thread, and nobody else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct vfs;
struct space_watch;

enum {
	SPACE_WATCH_EXPORTS_MAX = 256 /* the first of the file; the others are not looked at */
};

struct space_seen {
	bool known; /* false: not looked at yet, or so long ago that it says nothing */
	uint64_t total_bytes, available_bytes;
};

/* NULL if there is no memory, or no thread. */
struct space_watch *space_watch_open(struct vfs *vfs);

/* Of the export with this id, as last seen. */
struct space_seen space_watch_get(struct space_watch *watch, uint32_t export_id);

/* Waits for a disk that is being looked at. Takes NULL, returns NULL. */
struct space_watch *space_watch_close(struct space_watch *watch);
