/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temp_dir.h - a directory of the test's own, gone with all that is in it when the test ends.
 *
 *     static char dir[TEMP_DIR_BYTES];
 *     temp_dir_make(dir);   ...   temp_dir_remove(dir);
 *
 * $TMPDIR, or /var/tmp: a real file system, which /tmp need not be.
 */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/check_main.h"

enum {
	TEMP_DIR_BYTES = 256,
	TEMP_PATH_BYTES = 512,
};

static inline void temp_dir_make(char to[TEMP_DIR_BYTES])
{
	const char *top = getenv("TMPDIR");

	snprintf(to, TEMP_DIR_BYTES, "%s/lodestore-test.XXXXXX", top ? top : "/var/tmp");
	ck_assert_ptr_nonnull(mkdtemp(to));
}

static inline int temp_dir_remove_one(const char *path, const struct stat *stat, int type,
                                      struct FTW *ftw)
{
	(void) stat;
	(void) type;
	(void) ftw;
	return remove(path);
}

static inline void temp_dir_remove(const char *dir)
{
	(void) nftw(dir, temp_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* "DIR/NAME" in a buffer of the caller's. Returns it. */
static inline const char *temp_path(char to[TEMP_PATH_BYTES], const char *dir, const char *name)
{
	snprintf(to, TEMP_PATH_BYTES, "%s/%s", dir, name);
	return to;
}
