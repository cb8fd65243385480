/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CREATE's three ways and what else makes files, on a real file system, as root and as others.
 */
#include "support/vfs_real_names.h"
#include "vfs/names_internal.h"

/* ---- CREATE ---- */

START_TEST(guarded_is_refused_if_the_name_is_there)
{
	struct vfs_set set = { .set_mode = true, .mode = 0640, .set_size = true, .size = 5 };

	ck_assert_int_eq(create("file", VFS_CREATE_GUARDED, &set), 0);
	ck_assert_uint_eq(stat_of("file").st_mode & 07777, 0640);
	ck_assert_int_eq(stat_of("file").st_size, 5);
	set.size = 0;
	ck_assert_int_eq(create("file", VFS_CREATE_GUARDED, &set), -EEXIST);
	ck_assert_int_eq(stat_of("file").st_size, 5);
}
END_TEST

START_TEST(unchecked_on_a_file_changes_only_the_size_and_only_if_asked)
{
	struct vfs_set set = { .set_mode = true,
		               .mode = 0777,
		               .set_uid = true,
		               .uid = 7,
		               .set_mtime = VFS_TIME_GIVEN };

	vfs_real_put(&real, "file", "text");
	ck_assert_int_eq(chmod(path_of("file"), 0604), 0);
	ck_assert_int_eq(create("file", VFS_CREATE_UNCHECKED, &set), 0);
	ck_assert_int_eq(stat_of("file").st_size, 4);
	set.set_size = true;
	set.size = 2;
	ck_assert_int_eq(create("file", VFS_CREATE_UNCHECKED, &set), 0);
	ck_assert_int_eq(stat_of("file").st_size, 2);
	ck_assert_uint_eq(stat_of("file").st_mode & 07777, 0604);
	ck_assert_uint_eq(stat_of("file").st_uid, 0);
	ck_assert_int_ne(stat_of("file").st_mtim.tv_sec, 0);
}
END_TEST

START_TEST(unchecked_makes_what_is_not_there_and_refuses_what_is_no_file)
{
	ck_assert_int_eq(create("file", VFS_CREATE_UNCHECKED, &set_nothing), 0);
	ck_assert_uint_eq(stat_of("file").st_mode & 07777, 0644);
	ck_assert_int_eq(make_dir("dir", 0755), 0);
	ck_assert_int_eq(create("dir", VFS_CREATE_UNCHECKED, &set_nothing), -EISDIR);
	ck_assert_int_eq(symlink("/etc/passwd", path_of("link")), 0);
	ck_assert_int_eq(create("link", VFS_CREATE_UNCHECKED, &set_nothing), -EEXIST);
	ck_assert_int_eq(symlink("nowhere", path_of("dangling")), 0);
	ck_assert_int_eq(create("dangling", VFS_CREATE_UNCHECKED, &set_nothing), -EEXIST);
	ck_assert(!is_there("nowhere"));
}
END_TEST

START_TEST(exclusive_again_with_its_verifier_finds_the_same_file)
{
	static const char *const verifiers[] = { "8 bytes.", "\0\0\0\0\0\0\0\0",
		                                 "\xff\xff\xff\xff\xff\xff\xff\xff",
		                                 "\0\0\0\x80\0\0\0\x80",
		                                 "\xff\xff\xff\x7f\1\2\3\4" };

	for (size_t i = 0; i < ARRAY_COUNT(verifiers); i++) {
		const uint8_t *verifier = (const uint8_t *) verifiers[i];
		struct vfs_file *first, *again;
		char name[16];

		snprintf(name, sizeof name, "file%zu", i);
		ck_assert_int_eq(vfs_create(real.root, name, VFS_CREATE_EXCLUSIVE, &set_nothing,
		                            verifier, &vfs_real_root, &first),
		                 0);
		ck_assert_int_eq(vfs_create(real.root, name, VFS_CREATE_EXCLUSIVE, &set_nothing,
		                            verifier, &vfs_real_root, &again),
		                 0);
		ck_assert_ptr_eq(first, again);
		ck_assert_int_eq(create_as(&vfs_real_root, name, VFS_CREATE_EXCLUSIVE, &set_nothing,
		                           "another."),
		                 -EEXIST);
		vfs_file_put(first);
		vfs_file_put(again);
	}
}
END_TEST

START_TEST(exclusive_on_a_file_made_otherwise_is_refused)
{
	struct timespec times[2] = { { .tv_sec = 0x79622038 }, { .tv_sec = 0x2e736574 } };

	vfs_real_put(&real, "file", "");
	ck_assert_int_eq(
		create_as(&vfs_real_root, "file", VFS_CREATE_EXCLUSIVE, &set_nothing, "8 bytes."),
		-EEXIST);
	/* Its times as if made so, but it has data: it is somebody's. */
	vfs_real_put(&real, "data", "text");
	ck_assert_int_eq(utimensat(AT_FDCWD, path_of("data"), times, 0), 0);
	ck_assert_int_eq(
		create_as(&vfs_real_root, "data", VFS_CREATE_EXCLUSIVE, &set_nothing, "8 bytes."),
		-EEXIST);
	ck_assert_int_eq(make_dir("dir", 0755), 0);
	ck_assert_int_eq(
		create_as(&vfs_real_root, "dir", VFS_CREATE_EXCLUSIVE, &set_nothing, "8 bytes."),
		-EEXIST);
}
END_TEST

START_TEST(modes_are_what_the_client_says_to_the_bit)
{
	static const uint32_t modes[] = { 0, 0777, 0666, 01777, 02755, 04711, 07777, 0200 };

	for (size_t i = 0; i < ARRAY_COUNT(modes); i++) {
		struct vfs_set set = { .set_mode = true, .mode = modes[i] };
		struct vfs_file *file = NULL;

		ck_assert_int_eq(create("file", VFS_CREATE_GUARDED, &set), 0);
		ck_assert_uint_eq(stat_of("file").st_mode & 07777, modes[i]);
		ck_assert_int_eq(make_dir("dir", modes[i]), 0);
		ck_assert_uint_eq(stat_of("dir").st_mode & 07777, modes[i]);
		ck_assert_int_eq(
			put(vfs_mknod(real.root, "pipe", VFS_FIFO, 0, &set, &vfs_real_root, &file),
		            &file),
			0);
		ck_assert_uint_eq(stat_of("pipe").st_mode & 07777, modes[i]);
		ck_assert_int_eq(unlink(path_of("file")), 0);
		ck_assert_int_eq(unlink(path_of("pipe")), 0);
		ck_assert_int_eq(rmdir(path_of("dir")), 0);
	}
}
END_TEST

START_TEST(what_is_created_belongs_to_the_caller)
{
	struct vfs_set give_away = { .set_uid = true, .uid = 1 };
	struct vfs_set too_large = { .set_size = true, .size = INT64_MAX };

	ck_assert_int_eq(create_as(&user, "mine", VFS_CREATE_GUARDED, &set_nothing, NULL), 0);
	ck_assert_uint_eq(stat_of("mine").st_uid, USER);
	ck_assert_uint_eq(stat_of("mine").st_gid, USER);
	ck_assert_int_eq(
		create_as(&user, "exclusive", VFS_CREATE_EXCLUSIVE, &set_nothing, "8 bytes."), 0);
	ck_assert_uint_eq(stat_of("exclusive").st_uid, USER);
	/* Only root gives files away: of others that is left undone, and the reply says so. */
	ck_assert_int_eq(create_as(&user, "kept", VFS_CREATE_GUARDED, &give_away, NULL), 0);
	ck_assert_uint_eq(stat_of("kept").st_uid, USER);
	ck_assert_int_eq(create_as(&vfs_real_root, "given", VFS_CREATE_GUARDED, &give_away, NULL),
	                 0);
	ck_assert_uint_eq(stat_of("given").st_uid, 1);
	/* All or nothing: what cannot be set leaves no file behind. */
	ck_assert_int_eq(create_as(&user, "large", VFS_CREATE_GUARDED, &too_large, NULL), -EFBIG);
	ck_assert(!is_there("large"));
	ck_assert_int_eq(chmod(real.dir, 0755), 0);
	ck_assert_int_eq(create_as(&user, "other", VFS_CREATE_GUARDED, &set_nothing, NULL),
	                 -EACCES);
	ck_assert_int_eq(create_as(&user, "other", VFS_CREATE_EXCLUSIVE, &set_nothing, "8 bytes."),
	                 -EACCES);
}
END_TEST

/* Between a file's creation and the size that is set with it, another client may look its name
 * up: then it is in the cache, open for attributes only. */
START_TEST(a_name_that_is_looked_up_while_it_is_created_does_no_harm)
{
	struct vfs_set set = { .set_size = true, .size = 100 };
	struct vfs_file *seen, *created;
	int fd = open(path_of("file"), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	seen = vfs_real_lookup(&real, "file");
	ck_assert_int_eq(vfs_created(real.root, "file", fd, VFS_OPEN_READ_WRITE, &set,
	                             &vfs_real_root, &created),
	                 0);
	ck_assert_ptr_eq(created, seen);
	ck_assert_int_eq(stat_of("file").st_size, 100);
	vfs_file_put(seen);
	vfs_file_put(created);
}
END_TEST

/* A file was made under @name and its descriptor is held, but what was to be set fails. */
static int created_in_vain(const char *name, int fd)
{
	struct vfs_set set = { .set_size = true, .size = UINT64_MAX };
	struct vfs_file *file = NULL;

	return put(
		vfs_created(real.root, name, fd, VFS_OPEN_READ_WRITE, &set, &vfs_real_root, &file),
		&file);
}

START_TEST(what_could_not_be_created_whole_goes_and_another_under_its_name_stays)
{
	int fd = open(path_of("file"), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(created_in_vain("file", fd), -EFBIG);
	ck_assert(!is_there("file"));

	fd = open(path_of("file"), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(renameat(real.root->fd, "file", real.root->fd, "moved"), 0);
	vfs_real_put(&real, "file", "text");
	ck_assert_int_eq(created_in_vain("file", fd), -EFBIG);
	ck_assert_int_eq(stat_of("file").st_size, 4);
}
END_TEST

/* ---- others that are created ---- */

START_TEST(links_pipes_and_devices_are_made)
{
	struct vfs_file *file;
	struct vfs_attr attr;

	ck_assert_int_eq(vfs_symlink(real.root, "link", "to/where ever", &set_nothing,
	                             &vfs_real_root, &file),
	                 0);
	ck_assert_int_eq(vfs_file_type(file), VFS_SYMLINK);
	vfs_file_put(file);
	ck_assert_int_eq(vfs_symlink(real.root, "empty", "", &set_nothing, &vfs_real_root, &file),
	                 -EINVAL);
	ck_assert_int_eq(vfs_mknod(real.root, "null", VFS_CHARACTER, 0x103, &set_nothing,
	                           &vfs_real_root, &file),
	                 0);
	ck_assert_int_eq(vfs_file_attr(file, &attr), 0);
	ck_assert_int_eq(attr.type, VFS_CHARACTER);
	ck_assert_uint_eq(attr.rdev_major, 1);
	ck_assert_uint_eq(attr.rdev_minor, 3);
	vfs_file_put(file);
	ck_assert_int_eq(
		vfs_mknod(real.root, "socket", VFS_SOCKET, 0, &set_nothing, &vfs_real_root, &file),
		0);
	ck_assert_int_eq(vfs_file_type(file), VFS_SOCKET);
	vfs_file_put(file);
	ck_assert_int_eq(
		vfs_mknod(real.root, "socket", VFS_SOCKET, 0, &set_nothing, &vfs_real_root, &file),
		-EEXIST);
	ck_assert_int_eq(make_dir("null", 0755), -EEXIST);
}
END_TEST

START_TEST(a_second_name_raises_the_count)
{
	struct vfs_file *file, *dir;

	vfs_real_put(&real, "one", "text");
	ck_assert_int_eq(make_dir("dir", 0755), 0);
	file = vfs_real_lookup(&real, "one");
	dir = dir_of("dir");
	ck_assert_int_eq(vfs_link(file, dir, "two", &vfs_real_root), 0);
	ck_assert_uint_eq(stat_of("one").st_nlink, 2);
	ck_assert_uint_eq(stat_of("one").st_ino, stat_of("dir/two").st_ino);
	ck_assert_int_eq(vfs_link(file, dir, "two", &vfs_real_root), -EEXIST);
	ck_assert_int_eq(vfs_link(dir, real.root, "dir2", &vfs_real_root), -EISDIR);
	ck_assert_int_eq(vfs_link(file, file, "x", &vfs_real_root), -ENOTDIR);
	vfs_file_put(file);
	vfs_file_put(dir);
	/* A link to a link is to the link itself. */
	ck_assert_int_eq(symlink("one", path_of("soft")), 0);
	file = vfs_real_lookup(&real, "soft");
	ck_assert_int_eq(vfs_link(file, real.root, "soft2", &vfs_real_root), 0);
	ck_assert_int_eq(stat_of("soft2").st_mode & S_IFMT, S_IFLNK);
	vfs_file_put(file);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vfs_create");
	TCase *tcase = tcase_create("vfs_create");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, guarded_is_refused_if_the_name_is_there);
	tcase_add_test(tcase, unchecked_on_a_file_changes_only_the_size_and_only_if_asked);
	tcase_add_test(tcase, unchecked_makes_what_is_not_there_and_refuses_what_is_no_file);
	tcase_add_test(tcase, exclusive_again_with_its_verifier_finds_the_same_file);
	tcase_add_test(tcase, exclusive_on_a_file_made_otherwise_is_refused);
	tcase_add_test(tcase, modes_are_what_the_client_says_to_the_bit);
	tcase_add_test(tcase, what_is_created_belongs_to_the_caller);
	tcase_add_test(tcase, a_name_that_is_looked_up_while_it_is_created_does_no_harm);
	tcase_add_test(tcase,
	               what_could_not_be_created_whole_goes_and_another_under_its_name_stays);
	tcase_add_test(tcase, links_pipes_and_devices_are_made);
	tcase_add_test(tcase, a_second_name_raises_the_count);
	suite_add_tcase(suite, tcase);
	return vfs_real_needs_root() ?: check_main(suite);
}
