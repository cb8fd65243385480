/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports that are served: what MOUNT may reach, who may, and what a reload changes. As root, in a
 * mount namespace of the test's own.
 */
#include <sched.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "support/vfs_real_names.h"

enum {
	LINE_BYTES = 4 * TEMP_PATH_BYTES,
};

static const struct export_address local = { { [15] = 1 } };
static unsigned reports;
static char report_text[1024];

static void report(void *context, enum exports_severity severity, const struct export_spec *spec,
                   const char *message)
{
	(void) context;
	(void) spec;
	if (severity == EXPORTS_ERROR) {
		reports++;
		snprintf(report_text, sizeof report_text, "%s", message);
	}
}

/* Serves these lines; how many are usable. What cannot be served is in reports. */
__attribute__((format(printf, 1, 2))) static size_t serve(const char *format, ...)
{
	struct exports exports = { 0 };
	char text[LINE_BYTES];
	size_t usable;
	va_list args;

	reports = 0;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	ck_assert_int_eq(
		exports_parse(&exports, "test", text, strlen(text), vfs_real_parse_report, NULL),
		0);
	ck_assert_int_eq(vfs_exports_set(real.vfs, &exports, report, NULL, &usable), 0);
	return usable;
}

static int mount_result(const char *path, const struct export_address *client, unsigned port)
{
	struct export_options options;
	struct vfs_file *file = NULL;

	return put(vfs_mount(real.vfs, path, client, port, &export_names_system, &file, &options),
	           &file);
}

static int mount_below(const char *below)
{
	char path[LINE_BYTES];

	snprintf(path, sizeof path, "%s%s", real.dir, below);
	return mount_result(path, &local, 2000);
}

START_TEST(directories_below_an_export_can_be_mounted_and_nothing_else)
{
	char long_path[VFS_MOUNT_PATH_BYTES_MAX + 2];

	ck_assert_int_eq(make_dir("dir", 0755), 0);
	ck_assert_int_eq(make_dir("dir2", 0755), 0);
	vfs_real_put(&real, "file", "");
	ck_assert_int_eq(symlink("/etc", path_of("link")), 0);
	ck_assert_int_eq(symlink("dir", path_of("inner")), 0);
	ck_assert_int_eq(mount_below(""), 0);
	ck_assert_int_eq(mount_below("/"), 0);
	ck_assert_int_eq(mount_below("//dir///"), 0);
	ck_assert_int_eq(mount_below("/dir"), 0);
	ck_assert_int_eq(mount_below("/none"), -ENOENT);
	ck_assert_int_eq(mount_below("/file"), -ENOTDIR);
	ck_assert_int_eq(mount_below("/link"), -ENOTDIR);
	ck_assert_int_eq(mount_below("/inner"), -ENOTDIR);
	ck_assert_int_eq(mount_below("x"), -ENOENT); /* "/a" does not grant "/ax" */
	ck_assert_int_lt(mount_below("/dir/../.."), 0);
	ck_assert_int_eq(mount_result("/", &local, 2000), -ENOENT);
	ck_assert_int_eq(mount_result("", &local, 2000), -ENOENT);
	memset(long_path, '/', sizeof long_path);
	long_path[sizeof long_path - 1] = '\0';
	ck_assert_int_eq(mount_result(long_path, &local, 2000), -ENAMETOOLONG);
}
END_TEST

START_TEST(only_hosts_that_are_listed_may)
{
	struct export_address listed, other;

	ck_assert_int_eq(export_address_parse("192.0.2.1", &listed), 0);
	ck_assert_int_eq(export_address_parse("192.0.2.2", &other), 0);
	ck_assert_uint_eq(serve("%s 192.0.2.1(rw,secure)\n", real.dir), 1);
	ck_assert_int_eq(mount_result(real.dir, &listed, 1023), 0);
	ck_assert_int_eq(mount_result(real.dir, &listed, 1024), -EPERM);
	ck_assert_int_eq(mount_result(real.dir, &other, 1000), -EACCES);
}
END_TEST

START_TEST(what_cannot_be_served_is_told_and_the_others_are)
{
	ck_assert_uint_eq(serve("%s *(rw)\n%s/none *(rw)\n", real.dir, real.dir), 1);
	ck_assert_uint_eq(reports, 1);
	ck_assert_ptr_nonnull(strstr(report_text, "cannot open the directory"));
	ck_assert_int_eq(mount_below("/none"), -ESTALE);
	ck_assert_int_eq(mount_below(""), 0);
	/* Made meanwhile: the next MOUNT picks it up. */
	ck_assert_int_eq(mkdir(path_of("none"), 0755), 0);
	ck_assert_int_eq(mount_below("/none"), 0);
	ck_assert_uint_eq(serve("%s *(rw)\n/proc *(rw)\n", real.dir), 1);
	ck_assert_ptr_nonnull(strstr(report_text, "cannot be exported"));
}
END_TEST

START_TEST(an_export_whose_disk_is_not_mounted_is_refused)
{
	ck_assert_int_eq(mkdir(path_of("disk"), 0755), 0);
	ck_assert_uint_eq(serve("%s/disk *(rw,mountpoint)\n%s *(rw)\n", real.dir, real.dir), 1);
	ck_assert_ptr_nonnull(strstr(report_text, "nothing is mounted on"));
	ck_assert_int_eq(mount_below("/disk"), -ESTALE);
	ck_assert_int_eq(mount("disk", path_of("disk"), "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(mount_below("/disk"), 0);
	ck_assert_uint_eq(serve("%s/disk *(rw,mountpoint)\n%s *(rw)\n", real.dir, real.dir), 2);
	real.root = vfs_file_put(real.root);
	ck_assert_int_eq(umount2(path_of("disk"), MNT_DETACH), 0);
}
END_TEST

/* Another file system below an export is not exported with it. */
START_TEST(a_mount_below_is_not_crossed)
{
	ck_assert_int_eq(mkdir(path_of("other"), 0755), 0);
	ck_assert_int_eq(mount("other", path_of("other"), "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(mount_below("/other"), -EXDEV);
	ck_assert_int_eq(lookup(real.root, "other"), -EACCES);
	ck_assert_int_eq(umount2(path_of("other"), 0), 0);
	ck_assert_int_eq(mount_below("/other"), 0);
}
END_TEST

START_TEST(a_path_is_split_into_its_export_and_the_rest)
{
	char path[LINE_BYTES], below[VFS_MOUNT_PATH_BYTES_MAX + 1];
	struct vfs_file *root = NULL;

	snprintf(path, sizeof path, "%s//some/thing", real.dir);
	ck_assert_int_eq(vfs_path_root(real.vfs, path, &root, below), 0);
	ck_assert_ptr_eq(root, real.root);
	ck_assert_str_eq(below, "some/thing");
	vfs_file_put(root);
	ck_assert_int_eq(vfs_path_root(real.vfs, "/not/exported", &root, below), -ENOENT);
}
END_TEST

static void count_visit(void *context, const struct export_spec *spec)
{
	MUST(spec->path[0] == '/');
	++*(unsigned *) context;
}

START_TEST(all_lines_are_listed_those_that_cannot_be_served_too)
{
	unsigned count = 0;

	ck_assert_uint_eq(serve("%s *(rw)\n%s/none 10.0.0.0/8(ro)\n", real.dir, real.dir), 1);
	vfs_exports_visit(real.vfs, count_visit, &count);
	ck_assert_uint_eq(count, 2);
}
END_TEST

START_TEST(access_changes_with_a_reload_and_its_serial_says_so)
{
	struct vfs_export *export = vfs_file_export(real.root);
	uint32_t serial = vfs_export_serial(export), id = vfs_export_id(export);
	struct export_options options;

	ck_assert_int_eq(
		vfs_export_access(real.vfs, export, &local, &export_names_system, false, &options),
		0);
	ck_assert(!options.read_only);
	ck_assert_uint_eq(serve("%s *(ro)\n", real.dir), 1);
	ck_assert_uint_ne(vfs_export_serial(export), serial);
	ck_assert_uint_eq(vfs_export_id(export), id);
	ck_assert_int_eq(
		vfs_export_access(real.vfs, export, &local, &export_names_system, false, &options),
		0);
	ck_assert(options.read_only);
	ck_assert_uint_eq(serve("%s 192.0.2.1(ro) *.example.org(rw)\n", real.dir), 1);
	ck_assert_int_eq(
		vfs_export_access(real.vfs, export, &local, &export_names_system, false, &options),
		-EAGAIN); /* a name would have to be looked up */
	ck_assert_uint_eq(serve("# nothing\n"), 0);
	ck_assert_int_eq(
		vfs_export_access(real.vfs, export, &local, &export_names_system, true, &options),
		-ESTALE);
}
END_TEST

/* No descriptor is left: what is served goes on, and only what is new is refused. */
START_TEST(a_reload_that_is_short_of_descriptors_keeps_what_is_served)
{
	struct vfs_export *export = vfs_file_export(real.root);
	struct rlimit before, none;
	struct export_options options;
	size_t usable;

	ck_assert_int_eq(make_dir("new", 0755), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	usable = serve("%s *(ro)\n%s/new *(rw)\n", real.dir, real.dir);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_uint_eq(usable, 1);
	ck_assert_uint_eq(reports, 1);
	ck_assert_ptr_nonnull(strstr(report_text, "/new"));
	ck_assert_int_eq(
		vfs_export_access(real.vfs, export, &local, &export_names_system, false, &options),
		0);
	ck_assert(options.read_only);
	ck_assert_int_eq(mount_below(""), 0);
}
END_TEST

START_TEST(two_lines_with_one_number_are_refused)
{
	struct exports exports = { 0 };
	char text[LINE_BYTES];

	ck_assert_int_eq(make_dir("a", 0755), 0);
	snprintf(text, sizeof text, "%s *(rw,fsid=7)\n%s/a *(rw,fsid=8)\n", real.dir, real.dir);
	ck_assert_int_eq(
		exports_parse(&exports, "test", text, strlen(text), vfs_real_parse_report, NULL),
		0);
	exports.specs[1].fsid = 7; /* as two paths whose derived ids are equal would be */
	{
		size_t usable;

		reports = 0;
		ck_assert_int_eq(vfs_exports_set(real.vfs, &exports, report, NULL, &usable), 0);
		ck_assert_uint_eq(usable, 1);
	}
	ck_assert_uint_eq(reports, 1);
	ck_assert_ptr_nonnull(strstr(report_text, "has the same id as"));
}
END_TEST

static void namespace_setup(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	setup();
}

int main(void)
{
	Suite *suite = suite_create("vfs_export");
	TCase *tcase = tcase_create("vfs_export");

	tcase_add_checked_fixture(tcase, namespace_setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, directories_below_an_export_can_be_mounted_and_nothing_else);
	tcase_add_test(tcase, only_hosts_that_are_listed_may);
	tcase_add_test(tcase, what_cannot_be_served_is_told_and_the_others_are);
	tcase_add_test(tcase, an_export_whose_disk_is_not_mounted_is_refused);
	tcase_add_test(tcase, a_mount_below_is_not_crossed);
	tcase_add_test(tcase, a_path_is_split_into_its_export_and_the_rest);
	tcase_add_test(tcase, all_lines_are_listed_those_that_cannot_be_served_too);
	tcase_add_test(tcase, access_changes_with_a_reload_and_its_serial_says_so);
	tcase_add_test(tcase, a_reload_that_is_short_of_descriptors_keeps_what_is_served);
	tcase_add_test(tcase, two_lines_with_one_number_are_refused);
	suite_add_tcase(suite, tcase);
	return vfs_real_needs_root() ?: check_main(suite);
}
