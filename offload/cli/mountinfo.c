/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/mountinfo.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/base/cleanup.h"

/* What has lasting handles and is meant for data. */
static bool is_for_data(const struct mountinfo *mount)
{
	static const char *const types[] = { "xfs", "btrfs", "ext4", "ext3", "bcachefs", "zfs" };

	if (strncmp(mount->point, "/boot", strlen("/boot")) == 0)
		return false;
	for (size_t i = 0; i < ARRAY_COUNT(types); i++)
		if (strcmp(mount->type, types[i]) == 0)
			return true;
	return false;
}

/* \040 and the like become what they stand for, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] && from[2] && from[3]) {
			*to = (char) ((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* 36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw */
static bool read_line(const char *line, struct mountinfo *ret_mount)
{
	const char *rest = strstr(line, " - ");
	const char *end = strchrnul(line, '\n');

	if (!rest || rest > end ||
	    sscanf(line, "%*u %*u %u:%u %*s %1023s", &ret_mount->major, &ret_mount->minor,
	           ret_mount->point) != 3 ||
	    sscanf(rest, " - %31s", ret_mount->type) != 1)
		return false;
	unescape(ret_mount->point);
	return is_for_data(ret_mount);
}

static bool is_known(const struct mountinfo *mounts, size_t count, const struct mountinfo *mount)
{
	for (size_t i = 0; i < count; i++)
		if (mounts[i].major == mount->major && mounts[i].minor == mount->minor)
			return true;
	return false;
}

size_t mountinfo_read(const char *text, struct mountinfo *mounts, size_t room)
{
	size_t count = 0;

	for (const char *line = text; *line;) {
		struct mountinfo mount = { 0 };
		const char *end = strchrnul(line, '\n');

		if (count < room && read_line(line, &mount) && !is_known(mounts, count, &mount))
			mounts[count++] = mount;
		line = *end ? end + 1 : end;
	}
	return count;
}
