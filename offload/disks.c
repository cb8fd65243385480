/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/disks.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "offload/engine.h"
#include "vfs/base/cleanup.h"

enum {
	LOOK_MS = 10,
	NS_PER_MS = 1000000,
	STAT_BYTES_MAX = 512,
	DEPTH_MAX = 4, /* disks made of disks */
};

void disks_init(struct disks *disks)
{
	memset(disks, 0, sizeof *disks);
	pthread_mutex_init(&disks->lock, NULL);
}

void disks_done(struct disks *disks)
{
	pthread_mutex_destroy(&disks->lock);
}

/* ---- counts ---- */

static int disk_count(const struct disk *disk, uint64_t *ret_flushes)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < disk->stat_count; i++) {
		char text[STAT_BYTES_MAX];
		ssize_t bytes = pread(disk->stat_fds[i], text, sizeof text - 1, 0);
		uint64_t flushes;

		if (bytes < 0)
			return -errno;
		text[bytes] = '\0';
		if (window_flushes(text, &flushes) < 0)
			return -EPROTO;
		sum += flushes;
	}
	*ret_flushes = sum;
	return 0;
}

/* Under the lock. */
static void disk_look(const struct disks *disks, struct disk *disk)
{
	uint64_t flushes;

	disk->looked_ns = engine_now_ns();
	if (disk->stat_count > 0 && disk_count(disk, &flushes) == 0)
		window_look(&disk->window, flushes, disks->ours > 0, disk->looked_ns);
}

/* ---- finding a disk ---- */

static bool has_volatile_cache(const char *folder)
{
	char path[PATH_MAX], value[16] = "";
	AUTO(close_fd) int fd = -EBADF;

	snprintf(path, sizeof path, "%s/queue/write_cache", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, value, sizeof value - 1) > 0 &&
	       strncmp(value, "write back", strlen("write back")) == 0;
}

static void add_stat(struct disk *disk, const char *folder)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof path, "%s/stat", folder);
	if (disk->stat_count == DISK_PARTS_MAX || !has_volatile_cache(folder))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		disk->stat_fds[disk->stat_count++] = fd;
}

/* @folder: a block device's in sysfs. The disks at the bottom count flushes; what is made of them
 * (device mapper, md) does not. */
static void add_disks(struct disk *disk, const char *folder, unsigned depth)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool is_made_of = false;
	DIR *slaves;

	snprintf(path, sizeof path, "%s/partition", folder);
	if (access(path, F_OK) == 0) {
		snprintf(path, sizeof path, "%s/..", folder);
		return add_stat(disk, path);
	}
	snprintf(path, sizeof path, "%s/slaves", folder);
	slaves = depth < DEPTH_MAX ? opendir(path) : NULL;
	while (slaves && (entry = readdir(slaves))) {
		if (entry->d_name[0] == '.')
			continue;
		is_made_of = true;
		if (snprintf(path, sizeof path, "%s/slaves/%s", folder, entry->d_name) <
		    (int) sizeof path)
			add_disks(disk, path, depth + 1);
	}
	if (slaves)
		closedir(slaves);
	if (!is_made_of)
		add_stat(disk, folder);
}

static void disk_open(struct disk *disk, dev_t device)
{
	char folder[64];

	/* What was seen a moment ago still holds, but nobody has counted since. */
	disk->window.known = false;
	if (disk->device != device)
		disk->window = (struct window){ 0 };
	disk->device = device;
	disk->stat_count = 0;
	snprintf(folder, sizeof folder, "/sys/dev/block/%u:%u", major(device), minor(device));
	add_disks(disk, folder, 0);
}

/* ---- copies ---- */

/* The entry of this device, or a free one, or NULL. */
static struct disk *disk_of(struct disks *disks, dev_t device)
{
	struct disk *spare = NULL;

	for (unsigned i = 0; i < DISKS_MAX; i++) {
		struct disk *disk = &disks->disks[i];

		if (disk->device == device)
			return disk;
		if (disk->copies == 0 && (!spare || disk->looked_ns < spare->looked_ns))
			spare = disk;
	}
	return spare;
}

struct disk *disks_enter(struct disks *disks, int fd)
{
	struct disk *found = NULL;
	struct stat stat;

	if (!disks || fstat(fd, &stat) < 0)
		return NULL;
	pthread_mutex_lock(&disks->lock);
	found = disk_of(disks, stat.st_dev);
	if (found && found->copies == 0)
		disk_open(found, stat.st_dev);
	if (found) {
		found->copies++;
		disk_look(disks, found);
	}
	pthread_mutex_unlock(&disks->lock);
	return found;
}

void disks_leave(struct disks *disks, struct disk *disk)
{
	if (!disk)
		return;
	pthread_mutex_lock(&disks->lock);
	assert(disk->copies > 0);
	if (--disk->copies == 0)
		for (unsigned i = 0; i < disk->stat_count; i++)
			close_fd(&disk->stat_fds[i]);
	pthread_mutex_unlock(&disks->lock);
}

uint32_t disks_window(struct disks *disks, struct disk *disk)
{
	uint32_t bytes;

	if (!disk)
		return WINDOW_BYTES_MAX;
	pthread_mutex_lock(&disks->lock);
	if (engine_now_ns() - disk->looked_ns >= (uint64_t) LOOK_MS * NS_PER_MS)
		disk_look(disks, disk);
	bytes = window_share(&disk->window, disk->copies);
	pthread_mutex_unlock(&disks->lock);
	return bytes;
}

static void look_at_all(struct disks *disks)
{
	for (unsigned i = 0; i < DISKS_MAX; i++)
		if (disks->disks[i].copies > 0)
			disk_look(disks, &disks->disks[i]);
}

void disks_flush_begin(struct disks *disks)
{
	if (!disks)
		return;
	pthread_mutex_lock(&disks->lock);
	if (disks->ours == 0)
		look_at_all(disks);
	disks->ours++;
	look_at_all(disks);
	pthread_mutex_unlock(&disks->lock);
}

void disks_flush_end(struct disks *disks)
{
	if (!disks)
		return;
	pthread_mutex_lock(&disks->lock);
	assert(disks->ours > 0);
	look_at_all(disks);
	disks->ours--;
	pthread_mutex_unlock(&disks->lock);
}
