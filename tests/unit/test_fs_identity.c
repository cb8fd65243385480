/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file system says of itself: on loop images of every kind we serve, in a mount namespace
 * of the test's own. As root.
 */
#include "vfs/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "support/temp_dir.h"
#include "vfs/base/cleanup.h"
#include "vfs/handle.h"

enum {
	COMMAND_BYTES = 2048,
};

static char dir[TEMP_DIR_BYTES];

static void setup(void)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	temp_dir_make(dir);
}

/* Mounts go with the process. */
static void teardown(void)
{
	char path[TEMP_PATH_BYTES];

	for (int i = 0; i < 4; i++) {
		static const char *const names[] = { "a", "b", "c", "d" };

		(void) umount2(temp_path(path, dir, names[i]), MNT_DETACH);
	}
	temp_dir_remove(dir);
}

__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
	char command[COMMAND_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof command, format, args);
	va_end(args);
	return system(command);
}

static const struct {
	const char *name, *make; /* make: the command, to be followed by the image's path */
	const char *bytes;
	bool subvolumes;
} kinds[] = {
	{ "ext4", "mkfs.ext4 -q -F", "32M", false },
	{ "xfs", "mkfs.xfs -q -f", "320M", false },
	{ "btrfs", "mkfs.btrfs -q -f", "128M", true },
};

static bool kind_make(int kind, const char *image)
{
	if (run("PATH=$PATH:/usr/sbin:/sbin; truncate -s %s %s/%s && %s %s/%s > /dev/null",
	        kinds[kind].bytes, dir, image, kinds[kind].make, dir, image) == 0)
		return true;
	fprintf(stderr, "SKIPPED: %s is not there. Run ./dev deps\n", kinds[kind].make);
	return false;
}

static bool kind_mount(const char *image, const char *at, const char *options)
{
	if (run("mkdir -p %s/%s && mount -o loop%s %s/%s %s/%s", dir, at, options, dir, image, dir,
	        at) == 0)
		return true;
	fprintf(stderr, "SKIPPED: this kernel does not mount the image of the test\n");
	return false;
}

static int open_dir(const char *name)
{
	char path[TEMP_PATH_BYTES];
	int fd = open(temp_path(path, dir, name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static struct vfs_fs probed(const char *name, uint32_t fsid)
{
	AUTO(close_fd) int fd = open_dir(name);
	const char *why = "";
	struct vfs_fs fs;
	int r = vfs_fs_probe(fd, fsid, &fs, &why);

	ck_assert_msg(r == 0, "%s: %d, %s", name, r, why);
	return fs;
}

START_TEST(the_identity_is_the_file_systems_own)
{
	struct vfs_fs first, again, other;

	if (!kind_make(_i, "image") || !kind_make(_i, "image2") || !kind_mount("image", "a", ""))
		return;
	first = probed("a", 0);
	ck_assert_str_eq(first.name, kinds[_i].name);
	ck_assert(first.identity_lasts);
	ck_assert_int_eq(first.has_subvolumes, kinds[_i].subvolumes);
	ck_assert_uint_gt(first.file_bytes_max, UINT64_C(1) << 40);
	ck_assert_uint_le(first.file_bytes_max, INT64_MAX);

	ck_assert(kind_mount("image2", "b", ""));
	other = probed("b", 0);
	ck_assert_uint_ne(other.identity, first.identity);

	/* Mounted again, on another device: the same. */
	ck_assert_int_eq(run("umount %s/a", dir), 0);
	ck_assert(kind_make(0, "spare") && kind_mount("spare", "c", "")); /* takes the device */
	ck_assert(kind_mount("image", "d", ""));
	again = probed("d", 0);
	ck_assert_uint_eq(again.identity, first.identity);
	ck_assert_uint_eq(again.file_bytes_max, first.file_bytes_max);
}
END_TEST

START_TEST(a_directory_below_says_the_same)
{
	if (!kind_make(_i, "image") || !kind_mount("image", "a", ""))
		return;
	ck_assert_int_eq(run("mkdir -p %s/a/x/y", dir), 0);
	ck_assert_uint_eq(probed("a/x/y", 0).identity, probed("a", 0).identity);
}
END_TEST

START_TEST(read_only_is_no_obstacle)
{
	if (!kind_make(_i, "image") || !kind_mount("image", "a", ",ro"))
		return;
	ck_assert_uint_eq(probed("a", 0).file_bytes_max, INT64_MAX);
}
END_TEST

START_TEST(tmpfs_has_an_identity_as_long_as_it_is_mounted)
{
	struct vfs_fs first, other;

	ck_assert_int_eq(run("mkdir %s/a %s/b && mount -t tmpfs a %s/a && mount -t tmpfs b %s/b",
	                     dir, dir, dir, dir),
	                 0);
	first = probed("a", 0);
	other = probed("b", 0);
	ck_assert_str_eq(first.name, "tmpfs");
	ck_assert(!first.identity_lasts);
	ck_assert_uint_ne(first.identity, other.identity);
	ck_assert_uint_eq(first.identity, probed("a", 0).identity);
}
END_TEST

START_TEST(an_fsid_is_an_identity_that_lasts)
{
	struct vfs_fs one, two;

	ck_assert_int_eq(run("mkdir %s/a && mount -t tmpfs a %s/a", dir, dir), 0);
	one = probed("a", 1);
	two = probed("a", 2);
	ck_assert(one.identity_lasts);
	ck_assert_uint_ne(one.identity, two.identity);
	ck_assert_int_eq(run("umount %s/a && mount -t tmpfs a %s/a", dir, dir), 0);
	ck_assert_uint_eq(probed("a", 1).identity, one.identity);
}
END_TEST

START_TEST(a_file_system_without_handles_is_refused_with_advice)
{
	static const char *const paths[] = { "/proc", "/sys" };

	for (size_t i = 0; i < ARRAY_COUNT(paths); i++) {
		AUTO(close_fd) int fd = open(paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct vfs_fs fs = { .name = "untouched" };
		const char *why = NULL;

		if (fd < 0)
			continue;
		if (vfs_fs_probe(fd, 0, &fs, &why) == 0)
			continue; /* a newer kernel gives them out */
		ck_assert_ptr_nonnull(why);
		ck_assert_ptr_nonnull(strstr(why, "handles"));
		ck_assert_str_eq(fs.name, "untouched");
	}
}
END_TEST

START_TEST(without_the_right_to_open_by_handle_the_advice_is_root)
{
	AUTO(close_fd) int fd = open_dir(".");
	const char *why = NULL;
	struct vfs_fs fs;

	ck_assert_int_eq(setresuid(65534, 65534, 0), 0);
	ck_assert_int_eq(vfs_fs_probe(fd, 0, &fs, &why), -EPERM);
	ck_assert_ptr_nonnull(strstr(why, "CAP_DAC_READ_SEARCH"));
	ck_assert_int_eq(setresuid(0, 0, 0), 0);
}
END_TEST

START_TEST(what_is_no_descriptor_is_told)
{
	const char *why = NULL;
	struct vfs_fs fs;

	ck_assert_int_eq(vfs_fs_probe(-1, 0, &fs, &why), -EBADF);
	ck_assert_ptr_nonnull(why);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fs_identity");
	TCase *tcase = tcase_create("fs_identity");

	if (geteuid() != 0) {
		fprintf(stderr, "SKIPPED: mounting needs root. Run the tests as root\n");
		return 77;
	}
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, the_identity_is_the_file_systems_own, 0,
	                    (int) ARRAY_COUNT(kinds));
	tcase_add_loop_test(tcase, a_directory_below_says_the_same, 0, (int) ARRAY_COUNT(kinds));
	tcase_add_loop_test(tcase, read_only_is_no_obstacle, 0, (int) ARRAY_COUNT(kinds));
	tcase_add_test(tcase, tmpfs_has_an_identity_as_long_as_it_is_mounted);
	tcase_add_test(tcase, an_fsid_is_an_identity_that_lasts);
	tcase_add_test(tcase, a_file_system_without_handles_is_refused_with_advice);
	tcase_add_test(tcase, without_the_right_to_open_by_handle_the_advice_is_root);
	tcase_add_test(tcase, what_is_no_descriptor_is_told);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
