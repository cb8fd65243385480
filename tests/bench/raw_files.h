/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_files.h - many small files made, written, listed, read and removed on this machine itself,
 * each step durable by an fsync(2) per file: what a program that is careful pays without a network.
 */
#pragma once

#include <stdint.h>

#include "measure.h"

enum raw_phase {
	RAW_CREATE,
	RAW_WRITE,
	RAW_LIST,
	RAW_READ,
	RAW_REMOVE,
	RAW_PHASES,
};

extern const char *const raw_phase_names[RAW_PHASES];

struct raw_files_options {
	const char *folder; /* there, and empty */
	unsigned files;
	unsigned threads; /* the files are shared out, each thread has a folder of its own */
	uint32_t file_bytes;
	struct observed observed;
};

void raw_files_run(const struct raw_files_options *options, struct measurement *ret_phases);
