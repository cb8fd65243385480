/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/handle_key.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/alloc_fail.h"
#include "support/temp_dir.h"

static char dir[TEMP_DIR_BYTES], state[TEMP_PATH_BYTES], path[2 * TEMP_PATH_BYTES];
static char why[VFS_HANDLE_KEY_WHY_BYTES];
static struct vfs_handle_key key;
static bool made;

static void setup(void)
{
	temp_dir_make(dir);
	temp_path(state, dir, "state");
	snprintf(path, sizeof path, "%s/handle.key", state);
}

static void teardown(void)
{
	temp_dir_remove(dir);
}

static int load(void)
{
	made = false;
	why[0] = '\0';
	return vfs_handle_key_load(state, &key, &made, why);
}

START_TEST(the_first_start_makes_a_key_and_later_ones_read_it)
{
	struct vfs_handle_key first;
	struct stat stat_;

	ck_assert_int_eq(load(), 0);
	ck_assert(made);
	first = key;
	ck_assert_int_eq(stat(path, &stat_), 0);
	ck_assert_int_eq(stat_.st_size, VFS_HANDLE_KEY_BYTES);
	ck_assert_uint_eq(stat_.st_mode & 07777, 0600);
	ck_assert_int_eq(stat(state, &stat_), 0);
	ck_assert_uint_eq(stat_.st_mode & 07777, 0700);
	memset(&key, 0, sizeof key);
	ck_assert_int_eq(load(), 0);
	ck_assert(!made);
	ck_assert_mem_eq(&key, &first, sizeof key);
}
END_TEST

START_TEST(no_two_servers_have_the_same_key)
{
	struct vfs_handle_key first;

	ck_assert_int_eq(load(), 0);
	first = key;
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(load(), 0);
	ck_assert_mem_ne(&key, &first, sizeof key);
}
END_TEST

/* Never replaced by another: all clients' handles would be stale. */
START_TEST(a_damaged_key_is_refused_and_kept)
{
	static const int sizes[] = { 0, 1, VFS_HANDLE_KEY_BYTES - 1, VFS_HANDLE_KEY_BYTES + 1 };
	struct stat stat_;

	ck_assert_int_eq(load(), 0);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		ck_assert_int_eq(truncate(path, sizes[i]), 0);
		ck_assert_int_eq(load(), -EINVAL);
		ck_assert(!made);
		ck_assert_ptr_nonnull(strstr(why, "Restore it from a backup"));
		ck_assert_int_eq(stat(path, &stat_), 0);
		ck_assert_int_eq(stat_.st_size, sizes[i]);
	}
}
END_TEST

START_TEST(what_cannot_be_made_or_read_is_told)
{
	temp_path(state, dir, "none/state");
	ck_assert_int_eq(load(), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "--state-dir"));
	temp_path(state, dir, "state");
	ck_assert_int_eq(mkdir(state, 0700), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(load(), -EISDIR);
	ck_assert_ptr_nonnull(strstr(why, "cannot read the key"));
	snprintf(state, sizeof state, "/proc/self");
	ck_assert_int_lt(load(), 0);
	ck_assert_ptr_nonnull(strstr(why, "cannot make the key"));
}
END_TEST

/* What --check-config says, which makes nothing. */
START_TEST(a_check_tells_of_the_key_and_makes_none)
{
	ck_assert_int_eq(vfs_handle_key_check(state, why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "restore it from a backup first"));
	ck_assert_int_ne(access(state, F_OK), 0);
	ck_assert_int_eq(load(), 0);
	ck_assert_int_eq(vfs_handle_key_check(state, why), 0);
	ck_assert_int_eq(truncate(path, 1), 0);
	ck_assert_int_eq(vfs_handle_key_check(state, why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "is damaged"));
}
END_TEST

START_TEST(short_memory_is_told)
{
	ck_assert_int_eq(load(), 0);
	if (alloc_fail_begin(1)) {
		ck_assert_int_eq(load(), -ENOMEM);
		ck_assert(alloc_fail_end());
		ck_assert_str_eq(why, "memory is short");
	}
	if (alloc_fail_begin(1)) {
		ck_assert_int_eq(vfs_handle_key_check(state, why), -ENOMEM);
		ck_assert(alloc_fail_end());
		ck_assert_str_eq(why, "memory is short");
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handle_key");
	TCase *tcase = tcase_create("handle_key");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_first_start_makes_a_key_and_later_ones_read_it);
	tcase_add_test(tcase, no_two_servers_have_the_same_key);
	tcase_add_test(tcase, a_damaged_key_is_refused_and_kept);
	tcase_add_test(tcase, what_cannot_be_made_or_read_is_told);
	tcase_add_test(tcase, a_check_tells_of_the_key_and_makes_none);
	tcase_add_test(tcase, short_memory_is_told);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
