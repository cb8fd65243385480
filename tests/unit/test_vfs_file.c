/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of open files, on a real file system, as root.
 */
#include <errno.h>

#include "support/vfs_real.h"

enum {
	OPEN_FILES_MAX = 8,
	FILES = 50,
};

static struct vfs_real real;
static unsigned descriptors_before;

static void setup(void)
{
	descriptors_before = descriptor_count();
	vfs_real_open(&real, OPEN_FILES_MAX);
}

static void teardown(void)
{
	vfs_real_close(&real);
	ck_assert_uint_eq(descriptor_count(), descriptors_before);
}

static const char *name_of(unsigned number)
{
	static char name[16];

	snprintf(name, sizeof name, "file%u", number);
	return name;
}

static void put_files(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		vfs_real_put(&real, name_of(i), name_of(i));
}

static struct vfs_handle handle_of(const char *name)
{
	struct vfs_file *file = vfs_real_lookup(&real, name);
	struct vfs_handle handle = *vfs_file_handle(file);

	vfs_file_put(file);
	return handle;
}

static int open_result(const struct vfs_handle *handle)
{
	struct vfs_file *file;
	int r = vfs_file_open(real.vfs, handle->bytes, handle->count, &file);

	if (r == 0)
		vfs_file_put(file);
	return r;
}

static void check_content(struct vfs_file *file, const char *text)
{
	char bytes[64] = "";

	ck_assert_int_eq(vfs_file_need(file, VFS_OPEN_READ), 0);
	ck_assert_int_ge(pread(vfs_file_fd(file), bytes, sizeof bytes - 1, 0), 0);
	ck_assert_str_eq(bytes, text);
}

/* ---- handles ---- */

START_TEST(a_handle_opens_the_file_it_was_made_for)
{
	struct vfs_handle handles[FILES];
	struct vfs_file *file;

	put_files(FILES);
	for (unsigned i = 0; i < FILES; i++)
		handles[i] = handle_of(name_of(i));
	for (unsigned i = 0; i < FILES; i++) { /* most are not in the cache any more */
		ck_assert_int_eq(vfs_file_open(real.vfs, handles[i].bytes, handles[i].count, &file),
		                 0);
		ck_assert_int_eq(vfs_file_type(file), VFS_REGULAR);
		check_content(file, name_of(i));
		ck_assert(!vfs_file_is_root(file));
		vfs_file_put(file);
	}
	ck_assert(vfs_file_is_root(real.root));
}
END_TEST

START_TEST(a_handle_lasts_over_a_rename_and_a_new_server)
{
	char from[TEMP_PATH_BYTES], to[TEMP_PATH_BYTES], line[TEMP_PATH_BYTES + 32];
	struct vfs_handle handle;
	struct vfs_file *file;

	vfs_real_put(&real, "old", "text");
	handle = handle_of("old");
	ck_assert_int_eq(rename(temp_path(from, real.dir, "old"), temp_path(to, real.dir, "new")),
	                 0);
	vfs_file_put(real.root);
	vfs_free(real.vfs);
	real.vfs = vfs_real_new(OPEN_FILES_MAX);
	snprintf(line, sizeof line, "%s *(rw,no_root_squash)\n", real.dir);
	ck_assert_uint_eq(vfs_real_serve(real.vfs, line), 1);
	real.root = vfs_real_mount(real.vfs, real.dir);
	ck_assert_int_eq(vfs_file_open(real.vfs, handle.bytes, handle.count, &file), 0);
	check_content(file, "text");
	vfs_file_put(file);
}
END_TEST

START_TEST(a_handle_that_is_not_ours_is_refused)
{
	struct vfs_handle handle, other;
	struct vfs_handle_parts parts;

	vfs_real_put(&real, "file", "");
	handle = handle_of("file");
	for (size_t bit = 0; bit < (size_t) handle.count * 8; bit++) {
		int r;

		other = handle;
		other.bytes[bit / 8] ^= (uint8_t) (1U << bit % 8);
		r = open_result(&other);
		MUST(r == -ESTALE || r == -EBADMSG);
	}
	for (other = handle, other.count = 0; other.count < handle.count; other.count++)
		ck_assert_int_lt(open_result(&other), 0);
	ck_assert_int_eq(vfs_handle_parse(handle.bytes, handle.count, &parts), 0);
	/* Signed with our key, but for what is not here. */
	parts.export_id++;
	ck_assert_int_eq(vfs_handle_pack(&real.vfs->key, &parts, &other), 0);
	ck_assert_int_eq(open_result(&other), -ESTALE);
	parts.export_id--;
	parts.fs_identity++;
	ck_assert_int_eq(vfs_handle_pack(&real.vfs->key, &parts, &other), 0);
	ck_assert_int_eq(open_result(&other), -ESTALE);
	parts.fs_identity--;
	parts.kernel_type = 99; /* another file system's shape */
	ck_assert_int_eq(vfs_handle_pack(&real.vfs->key, &parts, &other), 0);
	ck_assert_int_eq(open_result(&other), -ESTALE);
	ck_assert_int_eq(open_result(&handle), 0);
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), 2); /* refusals keep no place */
}
END_TEST

/* ---- references ---- */

START_TEST(the_same_file_is_one_object_whatever_its_name)
{
	char from[TEMP_PATH_BYTES], to[TEMP_PATH_BYTES];
	struct vfs_file *a, *b, *c, *d;
	struct vfs_handle handle;

	vfs_real_put(&real, "one", "");
	ck_assert_int_eq(link(temp_path(from, real.dir, "one"), temp_path(to, real.dir, "two")), 0);
	a = vfs_real_lookup(&real, "one");
	b = vfs_real_lookup(&real, "two");
	handle = *vfs_file_handle(a);
	ck_assert_int_eq(vfs_file_open(real.vfs, handle.bytes, handle.count, &c), 0);
	ck_assert_int_eq(vfs_file_find(real.vfs, handle.bytes, handle.count, &d), 0);
	ck_assert_ptr_eq(a, b);
	ck_assert_ptr_eq(a, c);
	ck_assert_ptr_eq(a, d);
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), 2);
	vfs_file_put(a);
	vfs_file_put(b);
	vfs_file_put(c);
	ck_assert_ptr_null(vfs_file_put(d));
	ck_assert_ptr_null(vfs_file_put(NULL));
}
END_TEST

START_TEST(finding_does_not_open)
{
	struct vfs_handle handle;
	struct vfs_file *file = NULL;
	struct vfs_stats stats;

	put_files(FILES);
	handle = handle_of(name_of(0));
	for (unsigned i = 1; i < FILES; i++)
		(void) handle_of(name_of(i));
	ck_assert_int_eq(vfs_file_find(real.vfs, handle.bytes, handle.count, &file), -EAGAIN);
	ck_assert_int_eq(vfs_file_find(real.vfs, (const uint8_t *) "?", 1, &file), -EAGAIN);
	ck_assert_ptr_null(file);
	ck_assert_int_eq(open_result(&handle), 0);
	ck_assert_int_eq(vfs_file_find(real.vfs, handle.bytes, handle.count, &file), 0);
	vfs_file_put(file);
	vfs_stats_get(real.vfs, &stats);
	ck_assert_uint_ge(stats.hits, 1);
	ck_assert_uint_ge(stats.opened, FILES + 1);
}
END_TEST

/* ---- the limit ---- */

START_TEST(at_the_limit_unused_files_make_room)
{
	struct vfs_stats stats;

	put_files(FILES);
	for (unsigned i = 0; i < FILES; i++) {
		(void) handle_of(name_of(i));
		ck_assert_uint_le(vfs_real_open_files(real.vfs), OPEN_FILES_MAX);
	}
	vfs_stats_get(real.vfs, &stats);
	ck_assert_uint_ge(stats.evicted, FILES - OPEN_FILES_MAX);
	ck_assert_uint_eq(stats.refused, 0);
}
END_TEST

START_TEST(files_in_use_are_never_evicted_and_then_it_is_try_later)
{
	struct vfs_file *held[OPEN_FILES_MAX], *more = NULL;
	struct vfs_stats stats;

	put_files(FILES);
	for (unsigned i = 0; i + 1 < OPEN_FILES_MAX; i++) /* the root is one */
		held[i] = vfs_real_lookup(&real, name_of(i));
	ck_assert_int_eq(vfs_lookup(real.root, name_of(20), &more), -ENFILE);
	ck_assert_int_eq(vfs_lookup(real.root, name_of(20), &more), -ENFILE);
	ck_assert_ptr_null(more);
	for (unsigned i = 0; i + 1 < OPEN_FILES_MAX; i++)
		check_content(held[i], name_of(i));
	vfs_file_put(held[0]);
	ck_assert_int_eq(vfs_lookup(real.root, name_of(20), &more), 0); /* and not for good */
	vfs_file_put(more);
	for (unsigned i = 1; i + 1 < OPEN_FILES_MAX; i++)
		vfs_file_put(held[i]);
	vfs_stats_get(real.vfs, &stats);
	ck_assert_uint_eq(stats.refused, 2);
}
END_TEST

/* With nothing but dirty files the cache writes some, rather than have every other file wait. */
START_TEST(dirty_files_are_flushed_when_a_descriptor_is_needed)
{
	struct vfs_file *more = NULL, *file;
	struct vfs_stats stats;

	put_files(FILES);
	for (unsigned i = 0; i + 1 < OPEN_FILES_MAX; i++) {
		file = vfs_real_lookup(&real, name_of(i));
		ck_assert_int_eq(vfs_file_need(file, VFS_OPEN_READ_WRITE), 0);
		vfs_file_dirtied(file);
		vfs_file_put(file);
	}
	vfs_stats_get(real.vfs, &stats);
	ck_assert_uint_eq(stats.evicted, 0); /* never while dirty */
	ck_assert_int_eq(vfs_lookup(real.root, name_of(20), &more), 0);
	vfs_file_put(more);
	vfs_stats_get(real.vfs, &stats);
	ck_assert_uint_ge(stats.evicted, 1);
	ck_assert_uint_eq(stats.refused, 0);
}
END_TEST

/* ---- removed files ---- */

START_TEST(a_removed_file_lets_go_of_its_space)
{
	struct vfs_handle handle;
	struct vfs_file *file;
	struct vfs_attr attr;
	unsigned before = vfs_real_open_files(real.vfs);

	vfs_real_put(&real, "file", "text");
	handle = handle_of("file");
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), before + 1);
	ck_assert_int_eq(vfs_remove(real.root, "file", &vfs_real_root), 0);
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), before); /* at once: nobody used it */
	ck_assert_int_eq(open_result(&handle), -ESTALE);

	vfs_real_put(&real, "file", "text");
	file = vfs_real_lookup(&real, "file");
	ck_assert_int_eq(vfs_remove(real.root, "file", &vfs_real_root), 0);
	ck_assert_int_eq(vfs_file_attr(file, &attr), -ESTALE);
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), before + 1);
	vfs_file_put(file);
	vfs_sweep(real.vfs); /* not by who put it: that may be a worker */
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), before);
}
END_TEST

START_TEST(a_file_with_another_name_left_is_kept)
{
	char from[TEMP_PATH_BYTES], to[TEMP_PATH_BYTES];
	struct vfs_handle handle;

	vfs_real_put(&real, "one", "");
	ck_assert_int_eq(link(temp_path(from, real.dir, "one"), temp_path(to, real.dir, "two")), 0);
	handle = handle_of("one");
	ck_assert_int_eq(vfs_remove(real.root, "one", &vfs_real_root), 0);
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), 2);
	ck_assert_int_eq(open_result(&handle), 0);
}
END_TEST

START_TEST(a_file_removed_behind_our_back_is_swept)
{
	char path[TEMP_PATH_BYTES];
	struct vfs_file *file;
	unsigned before = vfs_real_open_files(real.vfs);

	vfs_real_put(&real, "file", "text");
	file = vfs_real_lookup(&real, "file");
	ck_assert_int_eq(vfs_file_need(file, VFS_OPEN_READ_WRITE), 0);
	vfs_file_dirtied(file); /* its data has nowhere to go */
	vfs_file_put(file);
	ck_assert_int_eq(unlink(temp_path(path, real.dir, "file")), 0);
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), before + 1);
	vfs_sweep(real.vfs);
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), before);
}
END_TEST

/* ---- opening for more ---- */

START_TEST(a_file_is_opened_for_more_under_the_same_number)
{
	struct vfs_file *file;
	int fd;

	vfs_real_put(&real, "file", "text");
	file = vfs_real_lookup(&real, "file");
	fd = vfs_file_fd(file);
	ck_assert(vfs_file_is(file, VFS_OPEN_PATH));
	ck_assert(!vfs_file_is(file, VFS_OPEN_READ));
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
	ck_assert_int_eq(vfs_file_need(file, VFS_OPEN_READ), 0);
	ck_assert(vfs_file_is(file, VFS_OPEN_READ) && !vfs_file_is(file, VFS_OPEN_READ_WRITE));
	ck_assert_int_eq(pwrite(fd, "x", 1, 0), -1);
	ck_assert_int_eq(vfs_file_need(file, VFS_OPEN_READ_WRITE), 0);
	ck_assert_int_eq(vfs_file_need(file, VFS_OPEN_READ), 0); /* nothing to do */
	ck_assert_int_eq(vfs_file_fd(file), fd);
	ck_assert_int_eq(pwrite(fd, "T", 1, 0), 1);
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	check_content(file, "Text");
	vfs_file_put(file);
}
END_TEST

START_TEST(a_removed_file_is_not_opened_for_more)
{
	struct vfs_file *file;
	char path[TEMP_PATH_BYTES];

	vfs_real_put(&real, "file", "text");
	file = vfs_real_lookup(&real, "file");
	ck_assert_int_eq(unlink(temp_path(path, real.dir, "file")), 0);
	/* The kernel still opens it while we hold it; its attributes say that it is gone. */
	(void) vfs_file_need(file, VFS_OPEN_READ);
	vfs_sweep(real.vfs);
	vfs_file_put(file);
}
END_TEST

/* ---- sweeping ---- */

START_TEST(the_sweep_flushes_what_lies_dirty_too_long)
{
	struct vfs_file *file;

	vfs_real_put(&real, "file", "text");
	file = vfs_real_lookup(&real, "file");
	ck_assert_int_eq(vfs_file_need(file, VFS_OPEN_READ_WRITE), 0);
	vfs_file_dirtied(file);
	vfs_sweep(real.vfs);
	ck_assert(atomic_load(&file->dirty)); /* not yet */
	atomic_fetch_sub(&file->dirty_ms, 6000);
	vfs_file_dirtied(file); /* written again: since when does not change */
	vfs_sweep(real.vfs);
	ck_assert(!atomic_load(&file->dirty));
	vfs_file_put(file);
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), 2); /* flushed, not closed */
}
END_TEST

START_TEST(the_sweep_closes_what_nobody_uses_for_long)
{
	struct vfs_file *file, *held;

	put_files(2);
	file = vfs_real_lookup(&real, name_of(0));
	held = vfs_real_lookup(&real, name_of(1));
	atomic_fetch_sub(&file->used_ms, 61000);
	atomic_fetch_sub(&held->used_ms, 61000);
	vfs_file_put(file);
	vfs_sweep(real.vfs);
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), 2); /* the root and the held one */
	check_content(held, name_of(1));
	vfs_file_put(held);
}
END_TEST

/* ---- exports that go ---- */

START_TEST(files_of_a_removed_export_are_stale)
{
	struct vfs_handle handle;
	struct vfs_file *held, *file = NULL;

	put_files(2);
	handle = handle_of(name_of(0));
	held = vfs_real_lookup(&real, name_of(1));
	ck_assert_uint_eq(vfs_real_serve(real.vfs, ""), 0);
	ck_assert_int_eq(vfs_file_find(real.vfs, handle.bytes, handle.count, &file), -EAGAIN);
	ck_assert_int_eq(open_result(&handle), -ESTALE);
	check_content(held, name_of(1)); /* a call that runs ends as it began */
	vfs_file_put(held);
	real.root = vfs_file_put(real.root);
	vfs_sweep(real.vfs);
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), 0);
}
END_TEST

START_TEST(an_export_that_stays_keeps_its_files)
{
	char line[2 * TEMP_PATH_BYTES];
	struct vfs_file *file, *again;
	struct vfs_handle handle;
	uint32_t serial = vfs_export_serial(vfs_file_export(real.root));

	vfs_real_put(&real, "file", "");
	file = vfs_real_lookup(&real, "file");
	handle = *vfs_file_handle(file);
	snprintf(line, sizeof line, "%s 192.0.2.1(ro)\n", real.dir);
	ck_assert_uint_eq(vfs_real_serve(real.vfs, line), 1);
	ck_assert_int_eq(vfs_file_find(real.vfs, handle.bytes, handle.count, &again), 0);
	ck_assert_ptr_eq(again, file);
	ck_assert_uint_ne(vfs_export_serial(vfs_file_export(file)), serial); /* ask again */
	vfs_file_put(again);
	vfs_file_put(file);
}
END_TEST

/* More files than one sweep closes, some of them dirty. teardown() counts descriptors. */
START_TEST(the_end_closes_everything)
{
	struct vfs_file *file;

	real.vfs->open_files_max = 6000;
	put_files(5000);
	for (unsigned i = 0; i < 5000; i++) {
		file = vfs_real_lookup(&real, name_of(i));
		if (i % 100 == 0) {
			MUST(vfs_file_need(file, VFS_OPEN_READ_WRITE) == 0);
			vfs_file_dirtied(file);
		}
		vfs_file_put(file);
	}
	ck_assert_uint_eq(vfs_real_open_files(real.vfs), 5001);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vfs_file");
	TCase *tcase = tcase_create("vfs_file");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, a_handle_opens_the_file_it_was_made_for);
	tcase_add_test(tcase, a_handle_lasts_over_a_rename_and_a_new_server);
	tcase_add_test(tcase, a_handle_that_is_not_ours_is_refused);
	tcase_add_test(tcase, the_same_file_is_one_object_whatever_its_name);
	tcase_add_test(tcase, finding_does_not_open);
	tcase_add_test(tcase, at_the_limit_unused_files_make_room);
	tcase_add_test(tcase, files_in_use_are_never_evicted_and_then_it_is_try_later);
	tcase_add_test(tcase, dirty_files_are_flushed_when_a_descriptor_is_needed);
	tcase_add_test(tcase, a_removed_file_lets_go_of_its_space);
	tcase_add_test(tcase, a_file_with_another_name_left_is_kept);
	tcase_add_test(tcase, a_file_removed_behind_our_back_is_swept);
	tcase_add_test(tcase, a_file_is_opened_for_more_under_the_same_number);
	tcase_add_test(tcase, a_removed_file_is_not_opened_for_more);
	tcase_add_test(tcase, the_sweep_flushes_what_lies_dirty_too_long);
	tcase_add_test(tcase, the_sweep_closes_what_nobody_uses_for_long);
	tcase_add_test(tcase, files_of_a_removed_export_are_stale);
	tcase_add_test(tcase, an_export_that_stays_keeps_its_files);
	tcase_add_test(tcase, the_end_closes_everything);
	suite_add_tcase(suite, tcase);
	return vfs_real_needs_root() ?: check_main(suite);
}
