/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_fixture.h - an export in a directory of the test's own, and jobs on it.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "offload/jobs.h"
#include "offload/root_files.h"
#include "support/temp_dir.h"

enum {
	WAIT_MS = 60000,
};

static char dir[TEMP_DIR_BYTES], state[TEMP_PATH_BYTES];
static struct vfs *vfs;
static struct jobs *jobs;
static struct jobs_settings settings;

static inline void report(void *context, enum exports_severity severity,
                          const struct export_spec *spec, const char *message)
{
}

static inline void parse_report(void *context, enum exports_severity severity, const char *file,
                                unsigned line, const char *message)
{
}

static inline void export_it(void)
{
	char line[TEMP_PATH_BYTES + 64];
	struct exports exports = { 0 };
	size_t usable;

	snprintf(line, sizeof line, "%s *(rw,no_root_squash,fsid=77)", root);
	ck_assert_int_eq(exports_parse_line(&exports, line, parse_report, NULL), 0);
	ck_assert_int_eq(vfs_exports_set(vfs, &exports, report, NULL, &usable), 0);
	ck_assert_uint_eq(usable, 1);
}

static inline void open_vfs(void)
{
	static const struct vfs_handle_key key = { { 1, 2, 3 } };
	static bool is_known; /* once in a process */

	ck_assert(is_known || vfs_identity_init() == 0);
	is_known = true;
	ck_assert_int_eq(vfs_new(&key, 1024, &vfs), 0);
	export_it();
}

static inline void make_dirs(void)
{
	temp_dir_make(dir);
	temp_path(root, dir, "root");
	temp_path(state, dir, "jobs");
	ck_assert_int_eq(mkdir(root, 0755), 0);
	settings = (struct jobs_settings){ .dir = state, .copy_jobs = 2 };
}

static inline void setup(void)
{
	make_dirs();
	open_vfs();
	ck_assert_int_eq(jobs_open(vfs, &settings, &jobs), 0);
}

static inline void teardown(void)
{
	jobs_close(jobs);
	vfs_free(vfs);
	temp_dir_remove(dir);
}

/* The file's place in the root, and its handle if it is there. */
static inline struct job_file file_at(const char *name)
{
	struct job_file file = { 0 };
	struct vfs_file *top, *found;
	char below[VFS_MOUNT_PATH_BYTES_MAX + 1];

	ck_assert_int_eq(vfs_path_root(vfs, root, &top, below), 0);
	file.dir = *vfs_file_handle(top);
	snprintf(file.name, sizeof file.name, "%s", name);
	snprintf(file.shown, sizeof file.shown, "/x/%s", name);
	if (vfs_lookup(top, name, &found) == 0) {
		file.handle = *vfs_file_handle(found);
		vfs_file_put(found);
	}
	vfs_file_put(top);
	return file;
}

static inline struct job_record clone_of(const char *source, const char *destination,
                                         uint32_t flags)
{
	return (struct job_record){
		.kind = OFFLOAD_KIND_CLONE,
		.flags = flags,
		.source = file_at(source),
		.destination = file_at(destination),
	};
}

static inline struct job_record job_on(offload_kind kind, const char *name, uint32_t flags)
{
	return (struct job_record){ .kind = kind, .flags = flags, .source = file_at(name) };
}

static inline struct job_record wait_for(uint64_t id)
{
	struct job_record record;
	uint64_t deadline_ms = jobs_now_ms() + WAIT_MS;

	for (;;) {
		ck_assert_int_eq(jobs_get(jobs, id, &record), 0);
		if (!job_is_live(&record))
			return record;
		ck_assert_msg(jobs_now_ms() < deadline_ms, "phase %d", (int) record.phase);
		usleep(2000);
	}
}

static inline struct job_record run(const struct job_record *wanted)
{
	uint64_t id;

	ck_assert_int_eq(jobs_begin(jobs, wanted, &id), 0);
	return wait_for(id);
}

static inline bool shares(void)
{
	struct vfs_file *top;
	char below[VFS_MOUNT_PATH_BYTES_MAX + 1];
	bool can;

	ck_assert_int_eq(vfs_path_root(vfs, root, &top, below), 0);
	can = vfs_can_share(vfs_file_export(top));
	vfs_file_put(top);
	return can;
}
