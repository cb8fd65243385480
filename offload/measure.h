/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.h - what files use of the disk, on threads of their own: a file with 100,000 extents, or
 * one with much that is not written yet, shall not keep the service's one thread.
 */
#pragma once

#include <stdatomic.h>

#include "vfs/base/list.h"
#include "vfs/vfs.h"

struct measure {
	struct list_node node;
	struct vfs_file *file; /* a regular one, open for reading; a reference */
	int error;             /* when done: 0 and the usage, or why not */
	struct vfs_usage usage;
	atomic_bool done;
};

/* @event_fd: an eventfd that is told of each measure done. */
int measure_open(int event_fd);

/* Ours until it is done. */
void measure_begin(struct measure *measure);

/* Those that have not begun are done with -ECANCELED. */
void measure_close(void);
