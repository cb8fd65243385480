/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.h - where in a file the next call goes, and how long it is. Pure.
 */
#pragma once

#include <stdint.h>

enum pattern_kind {
	PATTERN_RANDOM,     /* any block */
	PATTERN_SEQUENTIAL, /* one block after the other, round and round */
	PATTERN_BOOT,       /* 4 to 64 KiB: short runs one after the other, then a jump */
};

enum {
	PATTERN_BOOT_BYTES_MIN = 4096,
	PATTERN_BOOT_BYTES_MAX = 64 << 10,
};

struct pattern {
	enum pattern_kind kind;
	uint64_t file_bytes;  /* at least one block; PATTERN_BOOT: at least the longest call */
	uint32_t block_bytes; /* of a call, PATTERN_BOOT aside */
	uint64_t random;      /* not 0 */
	uint64_t next_offset; /* a multiple of the block */
	unsigned run_left;    /* PATTERN_BOOT: calls until the next jump */
};

/* *ret_offset + *ret_bytes is never past the file's end. */
void pattern_next(struct pattern *pattern, uint64_t *ret_offset, uint32_t *ret_bytes);
