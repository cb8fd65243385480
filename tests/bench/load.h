/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - calls kept under way at a fixed depth on some connections, and what they took.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "files.h"
#include "measure.h"
#include "pattern.h"

#define LOAD_ENTRY_NAME "entry.%07u" /* what LOAD_LOOKUP looks up in `folder` */

enum load_kind {
	LOAD_READ,
	LOAD_WRITE, /* UNSTABLE */
	LOAD_SYNC,  /* FILE_SYNC */
	LOAD_GETATTR,
	LOAD_LOOKUP,
	LOAD_NULL,
	LOAD_MIX, /* 70 % reads, 30 % FILE_SYNC writes */
	LOAD_KINDS,
};

enum {
	LOAD_DEPTH_MAX = 4096,
	LOAD_CONNECTIONS_MAX = 1024,
	LOAD_THREADS_MAX = 64,
};

struct load_options {
	struct target target;
	enum load_kind kind;
	enum pattern_kind pattern;
	unsigned depth;
	unsigned connections;
	unsigned threads;
	double warm_up_s;
	double seconds;
	unsigned calls_each; /* of each connection, then it is over; 0: by time */
	uint32_t block_bytes;
	uint64_t file_bytes;
	bool verify;   /* each connection then has a file of its own */
	bool any_file; /* each call goes to another file, by chance */
	struct observed observed;
	struct file *files;
	unsigned file_count;
	struct nfs_handle folder; /* LOAD_LOOKUP */
	unsigned entries;
};

/* Ends the program at the first wrong answer. */
void load_run(const struct load_options *options, struct measurement *ret_result);
