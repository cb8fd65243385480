/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/base/file_text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temp_dir.h"
#include "vfs/base/cleanup.h"

static char dir[TEMP_DIR_BYTES], path[TEMP_PATH_BYTES];

static void setup(void)
{
	temp_dir_make(dir);
	temp_path(path, dir, "file");
}

static void teardown(void)
{
	temp_dir_remove(dir);
}

static void put(const char *bytes, size_t count)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
	ck_assert_int_eq(fclose(file), 0);
}

static unsigned names_in_dir(void)
{
	char pattern[TEMP_PATH_BYTES];
	unsigned count = 0;
	FILE *list;
	int c;

	snprintf(pattern, sizeof pattern, "ls -A '%s'", dir);
	list = popen(pattern, "r");
	ck_assert_ptr_nonnull(list);
	while ((c = getc(list)) != EOF)
		count += c == '\n';
	pclose(list);
	return count;
}

/* Around the sizes at which the buffer grows. */
START_TEST(a_file_of_any_size_is_read_whole)
{
	static const size_t sizes[] = { 0, 1, 16382, 16383, 16384, 16385, 32767, 32768, 1000000 };
	char *text, *bytes = malloc(1000000);
	size_t count;

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < 1000000; i++)
		bytes[i] = (char) (i * 7);
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		put(bytes, sizes[i]);
		ck_assert_int_eq(file_text_read(path, &text, &count), 0);
		ck_assert_uint_eq(count, sizes[i]);
		ck_assert(memcmp(text, bytes, count) == 0);
		ck_assert_int_eq(text[count], '\0');
		free(text);
	}
	free(bytes);
}
END_TEST

START_TEST(what_cannot_be_read_is_told)
{
	char *text = NULL;
	size_t count = 7;

	ck_assert_int_eq(file_text_read(path, &text, &count), -ENOENT);
	ck_assert_int_eq(file_text_read(dir, &text, &count), -EISDIR);
	ck_assert_int_eq(file_text_read("", &text, &count), -ENOENT);
	ck_assert_ptr_null(text);
	ck_assert_uint_eq(count, 7);
}
END_TEST

START_TEST(a_file_without_an_end_is_refused)
{
	char *text = NULL;
	size_t count = 7;

	ck_assert_int_eq(file_text_read("/dev/zero", &text, &count), -EFBIG);
	ck_assert_ptr_null(text);
}
END_TEST

START_TEST(what_was_made_is_read_and_is_the_owners_alone)
{
	struct stat stat_;
	char *text;
	size_t count;

	umask(0);
	ck_assert_int_eq(file_text_create(path, "a\0b", 3), 0);
	ck_assert_int_eq(file_text_read(path, &text, &count), 0);
	ck_assert_uint_eq(count, 3);
	ck_assert_mem_eq(text, "a\0b", 3);
	free(text);
	ck_assert_int_eq(stat(path, &stat_), 0);
	ck_assert_uint_eq(stat_.st_mode & 07777, 0600);
	ck_assert_uint_eq(names_in_dir(), 1); /* no temporary is left */
}
END_TEST

START_TEST(a_file_that_is_there_stays_as_it_is)
{
	char *text;
	size_t count;

	put("first", 5);
	ck_assert_int_eq(file_text_create(path, "second", 6), -EEXIST);
	ck_assert_int_eq(file_text_read(path, &text, &count), 0);
	ck_assert_uint_eq(count, 5);
	free(text);
	ck_assert_uint_eq(names_in_dir(), 1);
}
END_TEST

START_TEST(what_cannot_be_written_whole_leaves_nothing)
{
	struct rlimit few = { .rlim_cur = 3, .rlim_max = RLIM_INFINITY };
	struct rlimit many = { .rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY };
	int r;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &few); /* Check writes files, too: no assertion until it is back */
	errno = EINTR;                 /* some earlier call's */
	r = file_text_create(path, "0123456789", 10);
	setrlimit(RLIMIT_FSIZE, &many);
	ck_assert_int_eq(r, -EIO);
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_uint_eq(names_in_dir(), 0);
}
END_TEST

START_TEST(a_directory_that_is_not_there_is_told)
{
	char below[TEMP_PATH_BYTES];

	ck_assert_int_eq(file_text_create(temp_path(below, dir, "none/file"), "x", 1), -ENOENT);
}
END_TEST

/* A crash may leave the temporary, and process ids come again: in a container at every start. */
START_TEST(a_temporary_that_a_crash_left_is_no_obstacle)
{
	char left[TEMP_PATH_BYTES + 32], *text;
	size_t count;
	int fd;

	snprintf(left, sizeof left, "%s.new.%d", path, (int) getpid());
	fd = open(left, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(file_text_create(path, "whole", 5), 0);
	ck_assert_int_eq(file_text_read(path, &text, &count), 0);
	ck_assert_str_eq(text, "whole");
	free(text);
}
END_TEST

START_TEST(replacing_gives_the_new_bytes_and_leaves_nothing_else)
{
	char *text;
	size_t count;

	ck_assert_int_eq(file_text_replace(path, "one", 3), 0);
	ck_assert_int_eq(file_text_replace(path, "another", 7), 0);
	ck_assert_int_eq(file_text_read(path, &text, &count), 0);
	ck_assert_uint_eq(count, 7);
	ck_assert_str_eq(text, "another");
	ck_assert_uint_eq(names_in_dir(), 1);
	free(text);
}
END_TEST

START_TEST(rewriting_keeps_mode_and_link)
{
	char link[TEMP_PATH_BYTES], *text;
	struct stat stat_of;
	size_t count;

	ck_assert_int_eq(file_text_rewrite(path, "new", 3), 0);
	ck_assert_int_eq(stat(path, &stat_of), 0);
	ck_assert_uint_eq(stat_of.st_mode & 07777, 0644);
	ck_assert_int_eq(chmod(path, 0640), 0);
	ck_assert_int_eq(symlink(path, temp_path(link, dir, "link")), 0);
	ck_assert_int_eq(file_text_rewrite(link, "another", 7), 0);
	ck_assert_int_eq(lstat(link, &stat_of), 0);
	ck_assert(S_ISLNK(stat_of.st_mode));
	ck_assert_int_eq(stat(path, &stat_of), 0);
	ck_assert_uint_eq(stat_of.st_mode & 07777, 0640);
	ck_assert_int_eq(file_text_read(path, &text, &count), 0);
	ck_assert_str_eq(text, "another");
	ck_assert_uint_eq(names_in_dir(), 2);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("file_text");
	TCase *tcase = tcase_create("file_text");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_file_of_any_size_is_read_whole);
	tcase_add_test(tcase, what_cannot_be_read_is_told);
	tcase_add_test(tcase, a_file_without_an_end_is_refused);
	tcase_add_test(tcase, what_was_made_is_read_and_is_the_owners_alone);
	tcase_add_test(tcase, a_file_that_is_there_stays_as_it_is);
	tcase_add_test(tcase, what_cannot_be_written_whole_leaves_nothing);
	tcase_add_test(tcase, a_directory_that_is_not_there_is_told);
	tcase_add_test(tcase, a_temporary_that_a_crash_left_is_no_obstacle);
	tcase_add_test(tcase, replacing_gives_the_new_bytes_and_leaves_nothing_else);
	tcase_add_test(tcase, rewriting_keeps_mode_and_link);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
