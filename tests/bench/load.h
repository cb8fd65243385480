/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - calls kept under way at a fixed depth on some connections, and what they took.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "files.h"
#include "histogram.h"
#include "process.h"

enum load_kind {
	LOAD_READ,
	LOAD_WRITE, /* UNSTABLE */
	LOAD_SYNC,  /* FILE_SYNC */
	LOAD_GETATTR,
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
	unsigned depth;
	unsigned connections;
	unsigned threads;
	double warm_up_s;
	double seconds;
	uint32_t block_bytes;
	bool sequential;
	bool verify;  /* each connection then has a file of its own */
	pid_t server; /* 0: unknown */
	struct file *files;
	unsigned file_count;
};

struct load_result {
	uint64_t calls;
	uint64_t bytes;
	double seconds;
	uint64_t client_cpu_us;
	struct process_usage server; /* cpu_us: during the measurement */
	struct histogram latencies;
};

/* Ends the program at the first wrong answer. */
void load_run(const struct load_options *options, struct load_result *ret_result);
