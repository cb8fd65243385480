/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static FILE *open_proc(pid_t pid, const char *name, const char *mode)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int) pid, name);
	return fopen(path, mode);
}

void process_forget_peak(pid_t pid)
{
	FILE *file = open_proc(pid, "clear_refs", "w");

	if (!file)
		return;
	fputs("5\n", file); /* proc(5): reset the peak of the resident set */
	fclose(file);
}

static int read_cpu(pid_t pid, uint64_t *ret_cpu_us)
{
	FILE *file = open_proc(pid, "stat", "r");
	unsigned long user, system;
	char line[1024];
	int fields = 0;

	if (!file)
		return -errno;
	if (fgets(line, sizeof line, file) && strrchr(line, ')'))
		fields = sscanf(strrchr(line, ')') + 1,
		                " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
		                &system);
	fclose(file);
	if (fields != 2)
		return -EIO;
	*ret_cpu_us = (user + system) * (1000000 / (uint64_t) sysconf(_SC_CLK_TCK));
	return 0;
}

int process_usage(pid_t pid, struct process_usage *ret_usage)
{
	struct process_usage usage = { 0 };
	char line[256];
	FILE *file;
	int r;

	r = read_cpu(pid, &usage.cpu_us);
	if (r < 0)
		return r;
	file = open_proc(pid, "status", "r");
	if (!file)
		return -errno;
	while (fgets(line, sizeof line, file)) {
		sscanf(line, "VmRSS: %" SCNu64, &usage.resident_kib);
		sscanf(line, "VmHWM: %" SCNu64, &usage.peak_kib);
	}
	fclose(file);
	*ret_usage = usage;
	return 0;
}
