/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mountinfo.h - the file systems on disks that there are, from /proc/self/mountinfo (proc(5)).
 * Pure.
 */
#pragma once

#include <stddef.h>

enum {
	MOUNTINFO_PATH_BYTES = 1024,
	MOUNTINFO_TYPE_BYTES = 32,
};

struct mountinfo {
	char point[MOUNTINFO_PATH_BYTES]; /* where it is mounted */
	char type[MOUNTINFO_TYPE_BYTES];  /* "xfs" */
	unsigned major, minor;
};

/* Those that a datastore may lie on, each device once, where it was mounted first. Returns how many
 * there are; at most @room are filled in. What is no mountinfo is skipped. */
size_t mountinfo_read(const char *text, struct mountinfo *mounts, size_t room);
