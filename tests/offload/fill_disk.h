/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill_disk.h - a file system that is all but full.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "support/check_main.h"

enum {
	FILL_DISK_TRIES = 6,
};

static inline bool fill_disk_step(int fd, off_t *taken, off_t step)
{
	struct statfs disk;

	ck_assert_int_eq(fstatfs(fd, &disk), 0);
	/* A part of it is root's, whom others leave it to: not free. */
	if (disk.f_type == EXT4_SUPER_MAGIC && (off_t) disk.f_bavail * disk.f_bsize < step)
		return false;
	if (fallocate(fd, 0, *taken, step) == 0) {
		*taken += step;
		return true;
	}
	ck_assert_int_eq(errno, ENOSPC);
	return false;
}

/*
 * Let @fd, a file of ours, take all of its file system but @left_bytes. False: it is too large to
 * be filled for a test.
 *
 * What statfs(2) calls free is a guess where files were just removed (Btrfs, until the transaction
 * is committed; XFS, until its inodes are collected): so all is taken first, and given back. Even
 * then more may turn up (Btrfs, when its cleaner has run): who needs a full disk fills it again.
 */
static inline bool fill_disk_but(int fd, uint64_t left_bytes)
{
	const off_t most = 64 << 20, least = 1 << 20;
	off_t taken = lseek(fd, 0, SEEK_END);
	struct statfs disk;

	ck_assert_int_eq(fstatfs(fd, &disk), 0);
	if ((uint64_t) disk.f_bavail * (uint64_t) disk.f_bsize > 8ull << 30)
		return false;
	ck_assert_int_eq(syncfs(fd), 0);
	for (off_t step = most; step >= least; step /= 8)
		while (fill_disk_step(fd, &taken, step))
			;
	ck_assert_int_gt(taken, left_bytes);
	ck_assert_int_eq(ftruncate(fd, taken - (off_t) left_bytes), 0);
	ck_assert_int_eq(syncfs(fd), 0);
	return true;
}
