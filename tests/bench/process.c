/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

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

/* By its clock: /proc/PID/stat counts in steps of 10 ms. */
static int read_cpu(pid_t pid, uint64_t *ret_cpu_us)
{
	struct timespec used;
	clockid_t clock;
	int r = clock_getcpuclockid(pid, &clock);

	if (r != 0)
		return -r;
	if (clock_gettime(clock, &used) < 0)
		return -errno;
	*ret_cpu_us = (uint64_t) used.tv_sec * 1000000 + (uint64_t) used.tv_nsec / 1000;
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
