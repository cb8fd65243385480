/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space_extents.h - what space.c and space_reserve.c share.
 */
#pragma once

#include <linux/fiemap.h>
#include <stdint.h>

/* Negative ends the visit with that. */
typedef int vfs_extent_fn(void *context, const struct fiemap_extent *extent);

/* The extents that begin before @end, in order. -EOPNOTSUPP: the file system does not tell. */
int vfs_extents_visit(int fd, uint64_t end, vfs_extent_fn *visit, void *context);

/* If both ranges hold the same bytes, which the kernel looks at under its locks, the second shares
 * the first's extents (or holes) afterwards. -EAGAIN: they differ. -EOPNOTSUPP. */
int vfs_compare_and_share(int from_fd, uint64_t from, int to_fd, uint64_t to, uint64_t bytes);
