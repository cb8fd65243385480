/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_text.h - a whole small file, read or written durably.
 */
#pragma once

#include <stddef.h>

enum {
	FILE_TEXT_BYTES_MAX = 64 << 20
};

/* The file's bytes and a NUL behind them; the caller frees. -EFBIG over FILE_TEXT_BYTES_MAX. */
int file_text_read(const char *path, char **ret_text, size_t *ret_bytes);

/* Make a new file with these bytes, readable by its owner only, on stable storage with its name.
 * -EEXIST if it is there. */
int file_text_create(const char *path, const void *bytes, size_t bytes_count);

/* The same in the place of what was there, if anything: whoever looks finds the old bytes or the
 * new ones, also after a crash. On failure the old ones. */
int file_text_replace(const char *path, const void *bytes, size_t bytes_count);

/* The same for a file that others read, too: it keeps its owner and mode, and a symbolic link to it
 * stays. A new one may be read by everybody. */
int file_text_rewrite(const char *path, const void *bytes, size_t bytes_count);
