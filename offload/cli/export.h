/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - exporting a directory by a change of the exports file.
 */
#pragma once

struct export_change {
	const char *file; /* the exports file */
	const char *path;
	const char *const *hosts; /* "HOST(OPTIONS)" */
	int host_count;
};

/* Tells what came of it, and what to look out for. @ret_changed: whether the file is another one
 * now. Returns an exit status (command.h). */
int export_add(const struct export_change *change, int *ret_changed);
