/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs_direct.c - can a file system be written past the page cache, and what does it cost there to be
 * durable?
 *
 * A durable direct write is one command where the disk has no volatile cache or takes FUA writes.
 * Elsewhere the kernel sends a flush after each, and flushes are what group commit shares.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/fs.h"

enum {
	DIRECT_ALIGN_BYTES = 4096, /* where the kernel cannot tell (before Linux 6.1): enough */
	QUEUE_VALUE_BYTES = 64,
};

uint32_t vfs_fs_direct_align(int fd)
{
	struct statx stat = { 0 };
	int flags = fcntl(fd, F_GETFL);

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stat) == 0 &&
	    (stat.stx_mask & STATX_DIOALIGN)) {
		if (stat.stx_dio_mem_align > DIRECT_ALIGN_BYTES)
			return 0; /* buffers are aligned to that */
		return stat.stx_dio_offset_align;
	}
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_DIRECT) < 0)
		return 0;
	(void) fcntl(fd, F_SETFL, flags);
	return DIRECT_ALIGN_BYTES;
}

/* A value of the disk's queue in sysfs, "" if there is none; a partition's is its disk's. */
static void queue_value(dev_t device, const char *name, char ret_value[QUEUE_VALUE_BYTES])
{
	static const char *const places[] = { "queue", "../queue" };

	ret_value[0] = '\0';
	for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
		AUTO(close_fd) int fd = -EBADF;
		char path[PATH_MAX];
		ssize_t count;

		snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s/%s", major(device),
		         minor(device), places[i], name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		count = fd < 0 ? -1 : read(fd, ret_value, QUEUE_VALUE_BYTES - 1);
		if (count >= 0) {
			ret_value[count] = '\0';
			return;
		}
	}
}

bool vfs_fs_durable_without_flush(dev_t device)
{
	char cache[QUEUE_VALUE_BYTES], fua[QUEUE_VALUE_BYTES];

	queue_value(device, "write_cache", cache);
	queue_value(device, "fua", fua);
	return strncmp(cache, "write through", 13) == 0 || fua[0] == '1';
}
