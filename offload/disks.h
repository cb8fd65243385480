/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disks.h - the disks that copies work on, and whether others use them (window.h).
 *
 * A file system's disk is looked up in sysfs: a partition's is its disk, LVM's and RAID's are those
 * they are made of. Btrfs, network file systems and disks without a volatile cache tell nothing;
 * copies there have a window of fixed size. Thread-safe.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "offload/window.h"

enum {
	DISKS_MAX = 32, /* file systems that are copied on at once: two for each copy */
	DISK_PARTS_MAX = 8,
};

struct disk {
	dev_t device; /* st_dev of its files */
	unsigned copies;
	int stat_fds[DISK_PARTS_MAX]; /* the disks' counts; none: unknown */
	unsigned stat_count;
	uint64_t looked_ns;
	struct window window;
};

struct disks {
	pthread_mutex_t lock;
	unsigned ours; /* flushes of ours that are under way, wherever */
	struct disk disks[DISKS_MAX];
};

void disks_init(struct disks *disks);
void disks_done(struct disks *disks);

/* A copy reads or writes @fd from now on. Takes NULL. NULL: not watched, without limit. */
struct disk *disks_enter(struct disks *disks, int fd);

/* Takes NULL, twice. */
void disks_leave(struct disks *disks, struct disk *disk);

/* Bytes that one copy may have in flight now. Takes NULL, twice. */
uint32_t disks_window(struct disks *disks, struct disk *disk);

/* What is flushed between these, by any of our threads, is ours. Takes NULL. */
void disks_flush_begin(struct disks *disks);
void disks_flush_end(struct disks *disks);
