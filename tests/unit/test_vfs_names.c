/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names: what is one, looking up, removing, renaming and linking, on a real file system.
 */
#include "support/vfs_real_names.h"

/* ---- the rules of names ---- */

static const char *long_name(size_t bytes)
{
	static char name[512];

	memset(name, 'n', bytes);
	name[bytes] = '\0';
	return name;
}

START_TEST(names_that_are_none_are_refused_by_every_call)
{
	static const struct {
		const char *name;
		int error;
	} names[] = {
		{ "", -EACCES }, { "a/b", -EACCES }, { "/", -EACCES }, { NULL, -ENAMETOOLONG }
	};
	const struct vfs_caller *caller = &vfs_real_root;

	vfs_real_put(&real, "file", "");
	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		const char *name = names[i].name ? names[i].name : long_name(256);
		struct vfs_file *file = vfs_real_lookup(&real, "file"), *none;
		int want = names[i].error;

		ck_assert_int_eq(lookup(real.root, name), want);
		ck_assert_int_eq(vfs_lookup_cached(real.root, name, &none), -EAGAIN);
		for (int how = 0; how < 3; how++)
			ck_assert_int_eq(create_as(caller, name, how, &set_nothing, "8 bytes."),
			                 want);
		ck_assert_int_eq(make_dir(name, 0755), want);
		ck_assert_int_eq(vfs_symlink(real.root, name, "t", &set_nothing, caller, &none),
		                 want);
		ck_assert_int_eq(
			vfs_mknod(real.root, name, VFS_FIFO, 0, &set_nothing, caller, &none), want);
		ck_assert_int_eq(vfs_remove(real.root, name, caller), want);
		ck_assert_int_eq(vfs_rmdir(real.root, name, caller), want);
		ck_assert_int_eq(vfs_link(file, real.root, name, caller), want);
		ck_assert_int_eq(vfs_rename(real.root, "file", real.root, name, caller), want);
		ck_assert_int_eq(vfs_rename(real.root, name, real.root, "x", caller), want);
		vfs_file_put(file);
	}
	ck_assert(is_there("file"));
}
END_TEST

/* RFC 1813's own for "." and "..": sections 3.3.8 to 3.3.15. */
START_TEST(dot_and_dot_dot_are_nobodys_to_make_or_remove)
{
	static const char *const dots[] = { ".", ".." };
	const struct vfs_caller *caller = &vfs_real_root;

	vfs_real_put(&real, "file", "");
	for (size_t i = 0; i < 2; i++) {
		struct vfs_file *file = vfs_real_lookup(&real, "file"), *none;

		for (int how = 0; how < 3; how++)
			ck_assert_int_eq(create_as(caller, dots[i], how, &set_nothing, "8 bytes."),
			                 -EEXIST);
		ck_assert_int_eq(make_dir(dots[i], 0755), -EEXIST);
		ck_assert_int_eq(vfs_symlink(real.root, dots[i], "t", &set_nothing, caller, &none),
		                 -EEXIST);
		ck_assert_int_eq(vfs_link(file, real.root, dots[i], caller), -EEXIST);
		ck_assert_int_eq(vfs_rename(real.root, "file", real.root, dots[i], caller),
		                 -EINVAL);
		ck_assert_int_eq(vfs_rename(real.root, dots[i], real.root, "x", caller), -EINVAL);
		ck_assert_int_lt(vfs_remove(real.root, dots[i], caller), 0);
		vfs_file_put(file);
	}
	ck_assert_int_eq(vfs_rmdir(real.root, ".", caller), -EINVAL);
	ck_assert_int_eq(vfs_rmdir(real.root, "..", caller), -EEXIST);
}
END_TEST

START_TEST(a_name_of_255_bytes_of_any_kind_is_good)
{
	ck_assert_int_eq(create(long_name(255), VFS_CREATE_GUARDED, &set_nothing), 0);
	ck_assert_int_eq(create("\x01\xff\xfe a\tb\n", VFS_CREATE_GUARDED, &set_nothing), 0);
	ck_assert_int_eq(lookup(real.root, "\x01\xff\xfe a\tb\n"), 0);
}
END_TEST

/* ---- lookup ---- */

START_TEST(dot_dot_of_the_root_is_the_root)
{
	struct vfs_file *up, *same, *dir;

	ck_assert_int_eq(make_dir("dir", 0755), 0);
	ck_assert_int_eq(vfs_lookup(real.root, "..", &up), 0);
	ck_assert_ptr_eq(up, real.root);
	ck_assert_int_eq(vfs_lookup(real.root, ".", &same), 0);
	ck_assert_ptr_eq(same, real.root);
	dir = vfs_real_lookup(&real, "dir");
	vfs_file_put(up);
	ck_assert_int_eq(vfs_lookup(dir, "..", &up), 0);
	ck_assert_ptr_eq(up, real.root);
	vfs_file_put(up);
	vfs_file_put(same);
	vfs_file_put(dir);
}
END_TEST

START_TEST(dot_dot_needs_no_right_further_up)
{
	struct vfs_file *dir, *below, *up;

	ck_assert_int_eq(make_dir("closed", 0700), 0);
	ck_assert_int_eq(mkdir(path_of("closed/open"), 0755), 0);
	ck_assert_int_eq(mkdir(path_of("closed/open/inner"), 0755), 0);
	dir = vfs_real_lookup(&real, "closed");
	for (size_t i = 0; i < 2; i++, dir = below) {
		ck_assert_int_eq(vfs_lookup(dir, i == 0 ? "open" : "inner", &below), 0);
		vfs_file_put(dir);
	}
	vfs_identity_assume(&user.cred);
	ck_assert_int_eq(vfs_lookup(dir, "..", &up), 0);
	vfs_file_put(dir);
	dir = up;
	/* The one above may be found, but nothing in it. */
	ck_assert_int_eq(vfs_lookup(dir, "..", &up), 0);
	ck_assert_int_eq(lookup(up, "open"), -EACCES);
	vfs_identity_server();
	vfs_file_put(dir);
	vfs_file_put(up);
}
END_TEST

START_TEST(a_directory_moved_out_of_the_export_leads_nowhere)
{
	char outside[TEMP_DIR_BYTES], to[TEMP_PATH_BYTES];
	struct vfs_file *dir, *none = NULL;

	ck_assert_int_eq(make_dir("dir", 0755), 0);
	dir = vfs_real_lookup(&real, "dir");
	temp_dir_make(outside);
	ck_assert_int_eq(rename(path_of("dir"), temp_path(to, outside, "dir")), 0);
	ck_assert_int_eq(vfs_lookup(dir, "..", &none), -ESTALE);
	ck_assert_ptr_null(none);
	vfs_file_put(dir);
	temp_dir_remove(outside);
}
END_TEST

START_TEST(links_are_not_followed)
{
	struct vfs_file *link_file, *none;
	char target[64] = "";
	size_t bytes;

	ck_assert_int_eq(symlink("/etc", path_of("way-out")), 0);
	link_file = vfs_real_lookup(&real, "way-out");
	ck_assert_int_eq(vfs_file_type(link_file), VFS_SYMLINK);
	ck_assert_int_eq(vfs_lookup(link_file, "passwd", &none), -ENOTDIR);
	ck_assert_int_eq(vfs_readlink(link_file, target, sizeof target, &bytes), 0);
	ck_assert_uint_eq(bytes, 4);
	ck_assert_str_eq(target, "/etc");
	ck_assert_int_eq(vfs_readlink(real.root, target, sizeof target, &bytes), -EINVAL);
	vfs_file_put(link_file);
}
END_TEST

START_TEST(lookup_tells_what_is_wrong)
{
	struct vfs_file *file;

	vfs_real_put(&real, "file", "");
	file = vfs_real_lookup(&real, "file");
	ck_assert_int_eq(lookup(real.root, "none"), -ENOENT);
	ck_assert_int_eq(lookup(file, "x"), -ENOTDIR);
	ck_assert_int_eq(lookup(file, ".."), -ENOTDIR);
	vfs_file_put(file);
}
END_TEST

START_TEST(a_name_that_was_seen_is_found_without_waiting)
{
	struct vfs_file *file = NULL;
	int r;

	vfs_real_put(&real, "file", "");
	ck_assert_int_eq(lookup(real.root, "file"), 0);
	r = vfs_lookup_cached(real.root, "file", &file);
	ck_assert(r == 0 || r == -EAGAIN); /* the kernel may have dropped it */
	put(r, &file);
	ck_assert_int_eq(vfs_lookup_cached(real.root, "none", &file), -EAGAIN);
	ck_assert_int_eq(vfs_lookup_cached(real.root, "..", &file), -EAGAIN);
}
END_TEST

/* ---- removing and renaming ---- */

START_TEST(remove_is_for_files_and_rmdir_for_empty_directories)
{
	vfs_real_put(&real, "file", "");
	ck_assert_int_eq(make_dir("dir", 0755), 0);
	vfs_real_put(&real, "dir/inside", "");
	ck_assert_int_eq(vfs_remove(real.root, "dir", &vfs_real_root), -EISDIR);
	ck_assert_int_eq(vfs_rmdir(real.root, "file", &vfs_real_root), -ENOTDIR);
	ck_assert_int_eq(vfs_rmdir(real.root, "dir", &vfs_real_root), -ENOTEMPTY);
	ck_assert_int_eq(vfs_remove(real.root, "none", &vfs_real_root), -ENOENT);
	ck_assert_int_eq(vfs_rmdir(real.root, "none", &vfs_real_root), -ENOENT);
	ck_assert_int_eq(vfs_remove(real.root, "file", &vfs_real_root), 0);
	ck_assert_int_eq(unlink(path_of("dir/inside")), 0);
	ck_assert_int_eq(vfs_rmdir(real.root, "dir", &vfs_real_root), 0);
	ck_assert(!is_there("file") && !is_there("dir"));
}
END_TEST

START_TEST(renames_type_rules)
{
	static const struct {
		const char *from, *to;
		int result;
	} cases[] = {
		{ "file", "full", -EISDIR },     { "full", "file", -ENOTDIR },
		{ "empty", "full", -ENOTEMPTY }, { "full", "full/child", -EINVAL },
		{ "none", "file", -ENOENT },     { "file", "file", 0 },
		{ "full", "full", 0 },           { "twin", "file", 0 }, /* two names of one file */
		{ "file", "other", 0 },          { "full", "empty", 0 },
	};

	vfs_real_put(&real, "file", "text");
	vfs_real_put(&real, "other", "other");
	ck_assert_int_eq(make_dir("full", 0755), 0);
	ck_assert_int_eq(make_dir("empty", 0755), 0);
	vfs_real_put(&real, "full/inside", "");
	{
		char twin[TEMP_PATH_BYTES];

		ck_assert_int_eq(link(path_of("file"), temp_path(twin, real.dir, "twin")), 0);
	}
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct vfs_file *to_dir = vfs_file_put(NULL);
		const char *to = cases[i].to;
		int r;

		if (strcmp(to, "full/child") == 0) {
			to_dir = dir_of("full");
			to = "child";
		}
		r = vfs_rename(real.root, cases[i].from, to_dir ? to_dir : real.root, to,
		               &vfs_real_root);
		ck_assert_msg(r == cases[i].result, "%s to %s: %d", cases[i].from, cases[i].to, r);
		vfs_file_put(to_dir);
	}
	ck_assert_int_eq(stat_of("other").st_size, 4);
	ck_assert(is_there("twin") && !is_there("file"));
	ck_assert(is_there("empty/inside") && !is_there("full"));
}
END_TEST

START_TEST(a_file_that_a_rename_replaced_is_let_go_of)
{
	struct vfs_file *old;
	unsigned before;

	vfs_real_put(&real, "new", "");
	vfs_real_put(&real, "old", "");
	before = vfs_real_open_files(real.vfs);
	old = vfs_real_lookup(&real, "old");
	ck_assert_int_eq(vfs_rename(real.root, "new", real.root, "old", &vfs_real_root), 0);
	vfs_file_put(old);
	vfs_sweep(real.vfs);
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), before);
}
END_TEST

START_TEST(between_two_exports_it_is_another_device)
{
	char line[3 * TEMP_PATH_BYTES], a[TEMP_PATH_BYTES], b[TEMP_PATH_BYTES];
	struct vfs_file *a_dir, *b_dir, *file;

	ck_assert_int_eq(make_dir("a", 0755), 0);
	ck_assert_int_eq(make_dir("b", 0755), 0);
	vfs_real_put(&real, "a/file", "");
	snprintf(line, sizeof line, "%s *(rw,fsid=1)\n%s *(rw,fsid=2)\n",
	         temp_path(a, real.dir, "a"), temp_path(b, real.dir, "b"));
	real.root = vfs_file_put(real.root);
	ck_assert_uint_eq(vfs_real_serve(real.vfs, line), 2);
	a_dir = vfs_real_mount(real.vfs, a);
	b_dir = vfs_real_mount(real.vfs, b);
	ck_assert_int_eq(vfs_lookup(a_dir, "file", &file), 0);
	ck_assert_int_eq(vfs_rename(a_dir, "file", b_dir, "file", &vfs_real_root), -EXDEV);
	ck_assert_int_eq(vfs_link(file, b_dir, "file", &vfs_real_root), -EXDEV);
	vfs_file_put(file);
	vfs_file_put(a_dir);
	vfs_file_put(b_dir);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vfs_names");
	TCase *tcase = tcase_create("vfs_names");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, names_that_are_none_are_refused_by_every_call);
	tcase_add_test(tcase, dot_and_dot_dot_are_nobodys_to_make_or_remove);
	tcase_add_test(tcase, a_name_of_255_bytes_of_any_kind_is_good);
	tcase_add_test(tcase, dot_dot_of_the_root_is_the_root);
	tcase_add_test(tcase, dot_dot_needs_no_right_further_up);
	tcase_add_test(tcase, a_directory_moved_out_of_the_export_leads_nowhere);
	tcase_add_test(tcase, links_are_not_followed);
	tcase_add_test(tcase, lookup_tells_what_is_wrong);
	tcase_add_test(tcase, a_name_that_was_seen_is_found_without_waiting);
	tcase_add_test(tcase, remove_is_for_files_and_rmdir_for_empty_directories);
	tcase_add_test(tcase, renames_type_rules);
	tcase_add_test(tcase, a_file_that_a_rename_replaced_is_let_go_of);
	tcase_add_test(tcase, between_two_exports_it_is_another_device);
	suite_add_tcase(suite, tcase);
	return vfs_real_needs_root() ?: check_main(suite);
}
