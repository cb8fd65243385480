/* SPDX-License-Identifier: Apache-2.0 */
/*
 * root_files.h - files in the directory that a test exports.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "support/temp_dir.h"
#include "vfs/base/cleanup.h"

enum {
	MIB = 1 << 20,
};

static char root[TEMP_PATH_BYTES];

static inline const char *in_root(char to[TEMP_PATH_BYTES * 2], const char *name)
{
	snprintf(to, (size_t) TEMP_PATH_BYTES * 2, "%s/%s", root, name);
	return to;
}

static inline int open_in(const char *name, int flags)
{
	char path[TEMP_PATH_BYTES * 2];
	int fd = open(in_root(path, name), flags | O_CLOEXEC, 0640);

	ck_assert_msg(fd >= 0, "%s: %s", name, strerror(errno));
	return fd;
}

static inline bool exists(const char *name)
{
	char path[TEMP_PATH_BYTES * 2];

	return access(in_root(path, name), F_OK) == 0;
}

/* @mib of data at @from_mib of a file of @size bytes. */
static inline void make_file(const char *name, off_t size, unsigned from_mib, unsigned mib)
{
	AUTO(close_fd) int fd = open_in(name, O_RDWR | O_CREAT | O_TRUNC);
	AUTO(free_ptr) uint8_t *bytes = malloc(MIB);

	ck_assert_int_eq(ftruncate(fd, size), 0);
	for (unsigned i = 0; i < mib; i++) {
		memset(bytes, (int) (i % 250) + 1, MIB);
		MUST(pwrite(fd, bytes, MIB, (off_t) (from_mib + i) * MIB) == MIB);
	}
	ck_assert_int_eq(fsync(fd), 0);
}

static inline bool same_content(const char *one, const char *two)
{
	AUTO(close_fd) int a = open_in(one, O_RDONLY);
	AUTO(close_fd) int b = open_in(two, O_RDONLY);
	AUTO(free_ptr) uint8_t *x = malloc(MIB);
	AUTO(free_ptr) uint8_t *y = malloc(MIB);
	ssize_t count;

	do {
		count = read(a, x, MIB);
		if (read(b, y, MIB) != count || memcmp(x, y, (size_t) count) != 0)
			return false;
	} while (count > 0);
	return true;
}
