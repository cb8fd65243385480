/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - sizes, times and strangers' names, for terminals. It writes to the stream that it is
 * given, and does no other I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "vfs/base/json.h"

enum {
	TEXT_SHORT_BYTES = 16
};

/* 512 to "512", 1536 to "1.5K", 10737418240 to "10G": of 1024 each, to a tenth. */
const char *text_size(uint64_t bytes, char to[TEXT_SHORT_BYTES]);

/* "35ms", "4.5s", "45s", "3m12s", "2h05m", "9d03h". */
const char *text_duration(uint64_t duration_ms, char to[TEXT_SHORT_BYTES]);

/* What a stranger chose, so that a terminal shows it and obeys none of it: control characters and
 * what is no UTF-8 as \xNN. */
void text_put(FILE *to, const char *bytes, size_t count);
