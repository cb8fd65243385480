/* SPDX-License-Identifier: Apache-2.0 */
#include "raw_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stamp.h"
#include "tool.h"
#include "vfs/base/cleanup.h"

enum {
	NAME_BYTES_MAX = 32,
};

struct lane {
	pthread_t thread;
	const struct raw_files_options *options;
	enum raw_phase phase;
	int folder_fd;
	unsigned files;
	uint8_t *data;
	struct histogram latencies;
};

const char *const raw_phase_names[RAW_PHASES] = {
	[RAW_CREATE] = "create", [RAW_WRITE] = "write",   [RAW_LIST] = "list",
	[RAW_READ] = "read",     [RAW_REMOVE] = "remove",
};

static void expect(bool good, const char *what)
{
	if (!good)
		die("%s: %s", what, strerror(errno));
}

static void create_one(const struct lane *lane, const char *name)
{
	AUTO(close_fd)
	int fd = openat(lane->folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	expect(fd >= 0 && fsync(fd) == 0, "creating");
}

static void write_one(const struct lane *lane, const char *name)
{
	AUTO(close_fd) int fd = openat(lane->folder_fd, name, O_WRONLY | O_CLOEXEC);
	const uint32_t bytes = lane->options->file_bytes;

	expect(fd >= 0 && pwrite(fd, lane->data, bytes, 0) == (ssize_t) bytes && fsync(fd) == 0,
	       "writing");
}

static void read_one(const struct lane *lane, const char *name)
{
	AUTO(close_fd) int fd = openat(lane->folder_fd, name, O_RDONLY | O_CLOEXEC);
	const uint32_t bytes = lane->options->file_bytes;

	expect(fd >= 0 && pread(fd, lane->data, bytes, 0) == (ssize_t) bytes, "reading");
}

static void remove_one(const struct lane *lane, const char *name)
{
	expect(unlinkat(lane->folder_fd, name, 0) == 0 && fsync(lane->folder_fd) == 0, "removing");
}

/* Names and attributes, as READDIRPLUS gives them. */
static void list_all(struct lane *lane)
{
	int fd = openat(lane->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat stat;
	unsigned found = 0;

	expect(list, "listing");
	while ((entry = readdir(list))) {
		uint64_t began_ns = now_ns();

		expect(fstatat(fd, entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0, "listing");
		found += S_ISREG(stat.st_mode);
		histogram_add(&lane->latencies, now_ns() - began_ns);
	}
	closedir(list);
	if (found != lane->files)
		die("%u files are listed of %u", found, lane->files);
}

static void *lane_main(void *argument)
{
	static void (*const steps[RAW_PHASES])(const struct lane *, const char *) = {
		[RAW_CREATE] = create_one,
		[RAW_WRITE] = write_one,
		[RAW_READ] = read_one,
		[RAW_REMOVE] = remove_one,
	};
	struct lane *lane = argument;
	char name[NAME_BYTES_MAX];

	memset(&lane->latencies, 0, sizeof lane->latencies);
	if (lane->phase == RAW_LIST) {
		list_all(lane);
		return NULL;
	}
	for (unsigned i = 0; i < lane->files; i++) {
		uint64_t began_ns = now_ns();

		snprintf(name, sizeof name, "small.%06u", i);
		steps[lane->phase](lane, name);
		histogram_add(&lane->latencies, now_ns() - began_ns);
	}
	return NULL;
}

static void run_phase(const struct raw_files_options *options, struct lane *lanes,
                      enum raw_phase phase, struct measurement *ret_phase)
{
	measurement_begin(ret_phase, &options->observed);
	for (unsigned i = 0; i < options->threads; i++) {
		lanes[i].phase = phase;
		if (pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]) != 0)
			die("a thread could not be started");
	}
	for (unsigned i = 0; i < options->threads; i++) {
		pthread_join(lanes[i].thread, NULL);
		ret_phase->calls += lanes[i].files;
		histogram_merge(&ret_phase->latencies, &lanes[i].latencies);
	}
	measurement_end(ret_phase);
	if (phase == RAW_WRITE || phase == RAW_READ)
		ret_phase->bytes = ret_phase->calls * options->file_bytes;
}

static void lane_open(const struct raw_files_options *options, struct lane *lane, unsigned number)
{
	char path[PATH_MAX];

	lane->options = options;
	lane->files = options->files / options->threads;
	lane->data = allocate(options->file_bytes);
	stamp_fill(lane->data, options->file_bytes, 0, 1);
	snprintf(path, sizeof path, "%s/raw.%u", options->folder, number);
	expect(mkdir(path, 0755) == 0, path);
	lane->folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	expect(lane->folder_fd >= 0, path);
}

static void lane_close(const struct raw_files_options *options, struct lane *lane, unsigned number)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/raw.%u", options->folder, number);
	expect(rmdir(path) == 0, path);
	close_fd(&lane->folder_fd);
	free(lane->data);
}

void raw_files_run(const struct raw_files_options *options, struct measurement *ret_phases)
{
	struct lane *lanes = allocate_zeroed(options->threads, sizeof *lanes);

	for (unsigned i = 0; i < options->threads; i++)
		lane_open(options, &lanes[i], i);
	for (unsigned phase = 0; phase < RAW_PHASES; phase++)
		run_phase(options, lanes, phase, &ret_phases[phase]);
	for (unsigned i = 0; i < options->threads; i++)
		lane_close(options, &lanes[i], i);
	free(lanes);
}
