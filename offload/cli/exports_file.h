/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exports_file.h - the exports file while a command changes it: nobody else's command does
 * meanwhile, and no mistake gets in.
 *
 * Functions that return an int return an exit status (command.h); what is wrong has been told.
 */
#pragma once

#include <sys/stat.h>

#include "vfs/exports_edit.h"

struct exports_file {
	const char *path;
	int lock_fd; /* of its directory */
	bool exists;
	struct stat seen; /* what was read */
	char *text;
	size_t bytes;
	struct exports exports;
};

/* Waits for who changes it just now. A file that is not there is empty. */
int exports_file_open(struct exports_file *file, const char *path);
void exports_file_close(struct exports_file *file);

struct exports_text exports_file_text(const struct exports_file *file);

/* Put @text in its place, if it has no mistake and nobody has written the file meanwhile. */
int exports_file_save(struct exports_file *file, const char *text);
