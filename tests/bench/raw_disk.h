/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_disk.h - durable writes to a file of this machine, in each way that a server could make them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "measure.h"

enum raw_policy {
	RAW_BUFFERED_FLUSH, /* page cache, then one fdatasync for as many writes as the depth is */
	RAW_BUFFERED_DSYNC, /* page cache, each write durable by itself */
	RAW_DIRECT_FLUSH,   /* O_DIRECT, then one fdatasync */
	RAW_DIRECT_DSYNC,   /* O_DIRECT, each write durable by itself */
	RAW_POLICIES,
};

struct raw_disk_options {
	const char *path; /* made if it is missing, written through first: its space is allocated */
	enum raw_policy policy;
	uint64_t file_bytes;
	uint32_t block_bytes;
	unsigned depth;
	bool sequential;
	struct observed observed;
	double warm_up_s;
	double seconds;
};

void raw_disk_run(const struct raw_disk_options *options, struct measurement *ret_result);
