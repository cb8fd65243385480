/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SETATTR: all or nothing, under a guard; who may; set-id bits. On a real file system.
 */
#include <sys/resource.h>
#include <signal.h>

#include "support/vfs_real_names.h"

static struct vfs_file *file;

static int set_as(const struct vfs_caller *caller, const struct vfs_set *set)
{
	int r;

	vfs_identity_assume(&caller->cred);
	r = vfs_setattr(file, set, NULL, caller);
	vfs_identity_server();
	return r;
}

static void file_open(uid_t owner, mode_t mode)
{
	vfs_real_put(&real, "file", "text");
	ck_assert_int_eq(chown(path_of("file"), owner, owner), 0);
	ck_assert_int_eq(chmod(path_of("file"), mode), 0);
	file = vfs_real_lookup(&real, "file");
	ck_assert_int_eq(vfs_file_need(file, VFS_OPEN_READ_WRITE), 0);
}

static void file_close(void)
{
	file = vfs_file_put(file);
}

START_TEST(everything_is_set_at_once)
{
	struct vfs_set set = {
		.set_mode = true,
		.mode = 0612,
		.set_uid = true,
		.uid = 7,
		.set_gid = true,
		.gid = 8,
		.set_size = true,
		.size = 1000,
		.set_atime = VFS_TIME_GIVEN,
		.atime = { 100, 5 },
		.set_mtime = VFS_TIME_GIVEN,
		.mtime = { 4294967295, 999999999 },
	};
	struct vfs_attr attr;

	file_open(0, 0644);
	ck_assert_int_eq(set_as(&vfs_real_root, &set), 0);
	ck_assert_int_eq(vfs_file_attr(file, &attr), 0);
	ck_assert_uint_eq(attr.mode, 0612);
	ck_assert_uint_eq(attr.uid, 7);
	ck_assert_uint_eq(attr.gid, 8);
	ck_assert_uint_eq(attr.size, 1000);
	ck_assert_int_eq(attr.atime.tv_sec, 100);
	ck_assert_int_eq(attr.atime.tv_nsec, 5);
	ck_assert_int_eq(attr.mtime.tv_sec, 4294967295);
	ck_assert_uint_eq(attr.fileid, stat_of("file").st_ino);
	file_close();
}
END_TEST

START_TEST(nothing_is_set_if_one_of_all_may_not_be)
{
	static const struct {
		const char *what;
		struct vfs_set set;
		int error;
	} cases[] = {
		{ "owner", { .set_uid = true, .uid = 1 }, -EPERM },
		{ "group", { .set_gid = true, .gid = 1 }, -EPERM },
		{ "size over the largest", { .set_size = true, .size = INT64_MAX }, -EFBIG },
		{ "size over 2^63", { .set_size = true, .size = UINT64_MAX }, -EFBIG },
		{ "nobody's uid", { .set_uid = true, .uid = UINT32_MAX }, -EPERM },
	};

	file_open(USER, 0644);
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct vfs_set set = cases[i].set;
		struct stat before = stat_of("file"), after;
		int r;

		set.set_mode = true;
		set.mode = 0777;
		set.set_mtime = VFS_TIME_GIVEN;
		r = set_as(&user, &set);
		ck_assert_msg(r == cases[i].error, "%s: %d", cases[i].what, r);
		after = stat_of("file");
		ck_assert_uint_eq(after.st_mode, before.st_mode);
		ck_assert_uint_eq(after.st_uid, before.st_uid);
		ck_assert_uint_eq(after.st_gid, before.st_gid);
		ck_assert_int_eq(after.st_size, before.st_size);
		ck_assert_int_eq(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
		ck_assert_int_eq(after.st_ctim.tv_nsec, before.st_ctim.tv_nsec);
	}
	file_close();
}
END_TEST

/* The size fails late, in the file system: what was changed before is put back. */
START_TEST(the_owner_is_put_back_if_the_size_fails)
{
	struct rlimit few = { .rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY };
	struct vfs_set set = { .set_uid = true,
		               .uid = 77,
		               .set_gid = true,
		               .gid = 78,
		               .set_size = true,
		               .size = 2 << 20,
		               .set_mode = true,
		               .mode = 0 };
	struct stat after;

	signal(SIGXFSZ, SIG_IGN);
	file_open(USER, 06755);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
	ck_assert_int_eq(set_as(&vfs_real_root, &set), -EFBIG);
	after = stat_of("file");
	ck_assert_uint_eq(after.st_uid, USER);
	ck_assert_uint_eq(after.st_gid, USER);
	ck_assert_uint_eq(after.st_mode & 07777, 06755);
	ck_assert_int_eq(after.st_size, 4);
	file_close();
}
END_TEST

START_TEST(the_guard_compares_to_the_nanosecond)
{
	struct vfs_set set = { .set_mode = true, .mode = 0600 };
	struct timespec guard;
	struct vfs_attr attr;

	file_open(0, 0644);
	ck_assert_int_eq(vfs_file_attr(file, &attr), 0);
	guard = attr.ctime;
	guard.tv_nsec ^= 1;
	ck_assert_int_eq(vfs_setattr(file, &set, &guard, &vfs_real_root), -EDEADLK);
	guard = attr.ctime;
	guard.tv_sec++;
	ck_assert_int_eq(vfs_setattr(file, &set, &guard, &vfs_real_root), -EDEADLK);
	ck_assert_uint_eq(stat_of("file").st_mode & 07777, 0644);
	ck_assert_int_eq(vfs_setattr(file, &set, &attr.ctime, &vfs_real_root), 0);
	ck_assert_uint_eq(stat_of("file").st_mode & 07777, 0600);
	vfs_identity_server();
	file_close();
}
END_TEST

START_TEST(links_are_changed_themselves_and_have_no_mode)
{
	struct vfs_set mode = { .set_mode = true, .mode = 0 };
	struct vfs_set owner = { .set_uid = true, .uid = 5 };
	struct vfs_set size = { .set_size = true };

	vfs_real_put(&real, "target", "text");
	ck_assert_int_eq(symlink("target", path_of("link")), 0);
	file = vfs_real_lookup(&real, "link");
	ck_assert_int_eq(set_as(&vfs_real_root, &mode), -EINVAL);
	ck_assert_int_eq(set_as(&vfs_real_root, &size), -EINVAL);
	ck_assert_int_eq(set_as(&vfs_real_root, &owner), 0);
	ck_assert_uint_eq(stat_of("link").st_uid, 5);
	ck_assert_uint_eq(stat_of("target").st_uid, 0);
	ck_assert_int_eq(stat_of("target").st_size, 4);
	file_close();
}
END_TEST

START_TEST(a_directory_has_no_size_to_set)
{
	struct vfs_set size = { .set_size = true };
	struct vfs_set mode = { .set_mode = true, .mode = 01770 };

	ck_assert_int_eq(make_dir("dir", 0755), 0);
	file = dir_of("dir");
	ck_assert_int_eq(set_as(&vfs_real_root, &size), -EISDIR);
	ck_assert_int_eq(set_as(&vfs_real_root, &mode), 0);
	ck_assert_uint_eq(stat_of("dir").st_mode & 07777, 01770);
	file_close();
}
END_TEST

START_TEST(who_may_set_what)
{
	static const struct vfs_caller stranger = { .cred = { .uid = 999, .gid = 999 } };
	static const struct vfs_caller grouped = {
		.cred = { .uid = USER, .gid = USER, .group_count = 1, .groups = { 50 } },
	};
	struct vfs_set mode = { .set_mode = true, .mode = 0666 },
		       group = { .set_gid = true, .gid = 50 };
	struct vfs_set now = { .set_atime = VFS_TIME_NOW, .set_mtime = VFS_TIME_NOW };
	struct vfs_set given = { .set_mtime = VFS_TIME_GIVEN },
		       size = { .set_size = true, .size = 1 };

	file_open(USER, 0444);
	ck_assert_int_eq(set_as(&stranger, &mode), -EPERM);
	ck_assert_int_eq(set_as(&stranger, &given), -EPERM);
	ck_assert_int_eq(set_as(&stranger, &now), -EACCES);
	ck_assert_int_eq(set_as(&stranger, &size), -EACCES);
	ck_assert_int_eq(set_as(&user, &group), -EPERM);
	ck_assert_int_eq(set_as(&grouped, &group), 0);
	ck_assert_int_eq(set_as(&user, &given), 0);
	ck_assert_int_eq(stat_of("file").st_mtim.tv_sec, 0);
	ck_assert_int_eq(set_as(&user, &size), 0); /* the owner, whatever the mode says */
	ck_assert_int_eq(stat_of("file").st_size, 1);
	ck_assert_int_eq(set_as(&user, &mode), 0);
	ck_assert_int_eq(set_as(&stranger, &now), 0); /* who may write may touch */
	now.set_atime = VFS_TIME_KEEP;
	ck_assert_int_eq(set_as(&stranger, &now), -EPERM);
	file_close();
}
END_TEST

START_TEST(a_removed_file_is_stale)
{
	struct vfs_set mode = { .set_mode = true };

	file_open(0, 0644);
	ck_assert_int_eq(unlink(path_of("file")), 0);
	ck_assert_int_eq(set_as(&vfs_real_root, &mode), -ESTALE);
	file_close();
}
END_TEST

START_TEST(set_id_bits_go_when_others_take_the_file)
{
	struct vfs_set owner = { .set_uid = true, .uid = 5 };

	file_open(0, 06755);
	ck_assert_int_eq(vfs_drop_set_id(file), 0);
	ck_assert_uint_eq(stat_of("file").st_mode & 07777, 0755);
	ck_assert_int_eq(chmod(path_of("file"), 06755), 0);
	ck_assert_int_eq(set_as(&vfs_real_root, &owner), 0);
	ck_assert_uint_eq(stat_of("file").st_mode & 06000, 0);
	file_close();
}
END_TEST

START_TEST(reading_and_writing_are_the_owners_whatever_the_mode)
{
	static const struct vfs_cred stranger = { .uid = 999, .gid = 999 };
	static const struct vfs_cred member = {
		.uid = 999, .gid = 1, .group_count = 1, .groups = { USER }
	};
	struct vfs_attr attr;

	file_open(USER, 0);
	ck_assert_int_eq(vfs_file_attr(file, &attr), 0);
	ck_assert_int_eq(vfs_file_may(file, &attr, &user.cred, true), 0);
	ck_assert_int_eq(vfs_file_may(file, &attr, &user.cred, false), 0);
	ck_assert_int_eq(vfs_file_may(file, &attr, &vfs_real_root.cred, true), 0);
	ck_assert_int_eq(vfs_file_may(file, &attr, &stranger, false), -EACCES);
	attr.mode = 0042;
	ck_assert_int_eq(vfs_file_may(file, &attr, &stranger, true), 0);
	ck_assert_int_eq(vfs_file_may(file, &attr, &stranger, false), -EACCES);
	ck_assert_int_eq(vfs_file_may(file, &attr, &member, false), 0);
	ck_assert_int_eq(vfs_file_may(file, &attr, &member, true), -EACCES);
	attr.mode = 0001; /* a program is read to be run */
	ck_assert_int_eq(vfs_file_may(file, &attr, &stranger, false), 0);
	file_close();
}
END_TEST

START_TEST(access_is_honest)
{
	unsigned all = VFS_MAY_READ | VFS_MAY_WRITE | VFS_MAY_EXECUTE, granted;

	file_open(USER, 0050);
	vfs_identity_assume(&user.cred);
	granted = vfs_access(file, all);
	vfs_identity_server();
	ck_assert_uint_eq(granted, 0); /* the owner, whom the mode forbids */
	vfs_identity_assume(&(struct vfs_cred){ .uid = 999, .gid = USER });
	granted = vfs_access(file, all);
	ck_assert_uint_eq(granted, VFS_MAY_READ | VFS_MAY_EXECUTE);
	ck_assert_uint_eq(vfs_access(file, VFS_MAY_READ), VFS_MAY_READ);
	vfs_identity_server();
	file_close();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vfs_setattr");
	TCase *tcase = tcase_create("vfs_setattr");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, everything_is_set_at_once);
	tcase_add_test(tcase, nothing_is_set_if_one_of_all_may_not_be);
	tcase_add_test(tcase, the_owner_is_put_back_if_the_size_fails);
	tcase_add_test(tcase, the_guard_compares_to_the_nanosecond);
	tcase_add_test(tcase, links_are_changed_themselves_and_have_no_mode);
	tcase_add_test(tcase, a_directory_has_no_size_to_set);
	tcase_add_test(tcase, who_may_set_what);
	tcase_add_test(tcase, a_removed_file_is_stale);
	tcase_add_test(tcase, set_id_bits_go_when_others_take_the_file);
	tcase_add_test(tcase, reading_and_writing_are_the_owners_whatever_the_mode);
	tcase_add_test(tcase, access_is_honest);
	suite_add_tcase(suite, tcase);
	return vfs_real_needs_root() ?: check_main(suite);
}
