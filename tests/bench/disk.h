/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.h - what a block device was asked to do.
 */
#pragma once

#include <stdint.h>

/* How many flushes it has done, from its file in /sys/block; 0 or -errno. */
int disk_flushes(const char *stat_path, uint64_t *ret_flushes);
