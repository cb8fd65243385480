/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* The 16th number (Linux, Documentation/block/stat.rst). */
int disk_flushes(const char *stat_path, uint64_t *ret_flushes)
{
	FILE *file = fopen(stat_path, "r");
	int fields;

	if (!file)
		return -errno;
	fields = fscanf(file,
	                "%*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64,
	                ret_flushes);
	fclose(file);
	return fields == 1 ? 0 : -EIO;
}
