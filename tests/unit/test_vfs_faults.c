/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every system call and every allocation of vfs/'s calls fails in turn: nothing leaks or stays
 * locked, success is never said of what was not done or not made durable, and the same call without
 * a fault goes through afterwards.
 */
#include "support/alloc_fail.h"
#include "support/syscall_fail.h"
#include "support/vfs_real_names.h"

enum {
	STEPS_MAX = 500, /* more than any call makes */
	SIZE = 5,
};

static struct vfs_file *target; /* "file", before it is worked on */

static const struct vfs_set set_all = {
	.set_mode = true,
	.mode = 0640,
	.set_uid = true,
	.uid = USER,
	.set_gid = true,
	.gid = USER,
	.set_size = true,
	.size = SIZE,
	.set_mtime = VFS_TIME_GIVEN,
	.mtime = { .tv_sec = 1000 },
};

static bool is_as_set(const char *name)
{
	struct stat stat_;

	return lstat(path_of(name), &stat_) == 0 && (stat_.st_mode & 07777) == 0640 &&
	       stat_.st_uid == USER && stat_.st_gid == USER && stat_.st_size == SIZE &&
	       stat_.st_mtim.tv_sec == 1000;
}

/* ---- the calls ---- */

static int do_lookup(void)
{
	return lookup(real.root, "dir");
}

static int do_lookup_parent(void)
{
	struct vfs_file *dir = NULL;
	int r = vfs_lookup(real.root, "dir", &dir);

	if (r == 0)
		r = lookup(dir, "..");
	vfs_file_put(dir);
	return r;
}

static int do_create(void)
{
	return create("new", VFS_CREATE_GUARDED, &set_all);
}

static int do_create_exclusive(void)
{
	return create_as(&vfs_real_root, "new", VFS_CREATE_EXCLUSIVE, &set_nothing, "8 bytes.");
}

static int do_create_on_old(void)
{
	return create("file", VFS_CREATE_UNCHECKED, &set_all);
}

static int do_mkdir(void)
{
	return make_dir("new", 0755);
}

static int do_symlink(void)
{
	struct vfs_file *file = NULL;

	return put(vfs_symlink(real.root, "new", "target", &set_nothing, &vfs_real_root, &file),
	           &file);
}

static int do_mknod(void)
{
	struct vfs_file *file = NULL;

	return put(vfs_mknod(real.root, "new", VFS_FIFO, 0, &set_nothing, &vfs_real_root, &file),
	           &file);
}

static int do_link(void)
{
	return vfs_link(target, real.root, "new", &vfs_real_root);
}

static int do_remove(void)
{
	return vfs_remove(real.root, "file", &vfs_real_root);
}

static int do_rmdir(void)
{
	return vfs_rmdir(real.root, "dir", &vfs_real_root);
}

static int do_rename(void)
{
	return vfs_rename(real.root, "file", real.root, "other", &vfs_real_root);
}

static int do_setattr(void)
{
	int r = vfs_file_need(target, VFS_OPEN_READ_WRITE);

	return r < 0 ? r : vfs_setattr(target, &set_all, NULL, &vfs_real_root);
}

static int do_open(void)
{
	struct vfs_handle handle = *vfs_file_handle(target);
	struct vfs_file *file = NULL;
	int r;

	target = vfs_file_put(target);
	vfs_files_forget(real.vfs);
	r = vfs_file_open(real.vfs, handle.bytes, handle.count, &file);
	return put(r, &file);
}

static bool count_entry(void *context, const struct vfs_entry *entry)
{
	++*(unsigned *) context;
	return true;
}

static int do_readdir(void)
{
	unsigned count = 0;
	bool eof = false;
	int r = vfs_readdir(real.root, 0, true, count_entry, &count, &eof);

	if (r < 0)
		return r;
	return eof && count == 5 ? 0 : 1; /* ".", "..", and what before() made */
}

static int do_space(void)
{
	struct vfs_space space = { 0 };
	struct vfs_limits limits = { 0 };
	int r = vfs_space(real.root, &space);

	return r < 0 ? r : vfs_limits(real.root, &limits);
}

/* ---- what must have come of them ---- */

static bool whatever(void)
{
	return true;
}

static bool new_is_there(void)
{
	return is_there("new");
}

static bool new_is_as_set(void)
{
	return is_as_set("new");
}

static bool old_has_size(void)
{
	return stat_of("file").st_size == SIZE;
}

static bool old_is_as_set(void)
{
	return is_as_set("file");
}

static bool old_is_gone(void)
{
	return !is_there("file");
}

static bool dir_is_gone(void)
{
	return !is_there("dir");
}

static bool old_is_renamed(void)
{
	return !is_there("file") && stat_of("other").st_size == 4;
}

static const struct trial {
	int (*run)(void);
	bool (*done)(void);
	int done_already; /* what it says when it was done before */
} trials[] = {
	{ do_lookup, whatever, 0 },
	{ do_lookup_parent, whatever, 0 },
	{ do_create, new_is_as_set, -EEXIST },
	{ do_create_exclusive, new_is_there, 0 },
	{ do_create_on_old, old_has_size, 0 },
	{ do_mkdir, new_is_there, -EEXIST },
	{ do_symlink, new_is_there, -EEXIST },
	{ do_mknod, new_is_there, -EEXIST },
	{ do_link, new_is_there, -EEXIST },
	{ do_remove, old_is_gone, -ENOENT },
	{ do_rmdir, dir_is_gone, -ENOENT },
	{ do_rename, old_is_renamed, -ENOENT },
	{ do_setattr, old_is_as_set, 0 },
	{ do_open, whatever, 0 },
	{ do_readdir, whatever, 0 },
	{ do_space, whatever, 0 },
};

static void before(void)
{
	setup();
	vfs_real_put(&real, "file", "text");
	vfs_real_put(&real, "other", "other text");
	ck_assert_int_eq(mkdir(path_of("dir"), 0755), 0);
	target = vfs_real_lookup(&real, "file");
}

static void after(void)
{
	target = vfs_file_put(target);
	teardown();
}

/* One run in which @failed failed (NULL: nothing did), and its answer @r. */
static void judge(const struct trial *trial, unsigned nth, const char *failed, int r)
{
	ck_assert_msg(r <= 0 && r > -4096, "trial %zd, fault %u, %s: answer %d", trial - trials,
	              nth, failed, r);
	if (r == 0)
		ck_assert_msg(trial->done() && (!failed || !syscall_is_flush(failed)),
		              "trial %zd, fault %u, %s: success is said of what was not done",
		              trial - trials, nth, failed);
	else
		ck_assert_msg(failed, "trial %zd fails with %d when nothing else does",
		              trial - trials, r);
}

static void same_again(const struct trial *trial, unsigned nth, const char *failed)
{
	int r;

	if (!target)
		target = vfs_real_lookup(&real, "file");
	r = trial->run();
	ck_assert_msg(r == 0 || r == trial->done_already,
	              "trial %zd, fault %u, %s: afterwards, without a fault, it answers %d",
	              trial - trials, nth, failed, r);
}

/* With each of the calls failing in turn; gives how many there are. */
static unsigned try_calls(const struct trial *trial, int error)
{
	unsigned descriptors;

	before(); /* what is opened once for the process is open now */
	after();
	descriptors = descriptor_count();
	for (unsigned nth = 1; nth < STEPS_MAX; nth++) {
		const char *failed;
		int r;

		before();
		syscall_fail_begin(nth, error);
		r = trial->run();
		failed = syscall_fail_end();
		judge(trial, nth, failed, r);
		if (failed)
			same_again(trial, nth, failed);
		after();
		ck_assert_msg(descriptor_count() == descriptors,
		              "trial %zd, fault %u, %s: a descriptor is left open", trial - trials,
		              nth, failed);
		if (!failed)
			return nth - 1;
	}
	ck_abort_msg("trial %zd makes no end of calls", trial - trials);
}

/* Not ESTALE and ENOENT: of a new file they say that another removed it, which is no failure. */
static const int errors[] = { EIO, ENOMEM, EMFILE, ENOSPC };

START_TEST(any_system_call_may_fail)
{
	for (size_t i = 0; i < ARRAY_COUNT(trials); i++)
		ck_assert_uint_gt(try_calls(&trials[i], errors[_i]), 0);
}
END_TEST

START_TEST(any_allocation_may_fail)
{
	for (size_t i = 0; i < ARRAY_COUNT(trials); i++) {
		bool failed = true;

		for (unsigned nth = 1; failed && nth < STEPS_MAX; nth++) {
			int r;

			before();
			if (!alloc_fail_begin(nth)) {
				after();
				return;
			}
			r = trials[i].run();
			failed = alloc_fail_end();
			judge(&trials[i], nth, failed ? "malloc" : NULL, r);
			if (failed)
				same_again(&trials[i], nth, "malloc");
			after();
		}
		ck_assert(!failed);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vfs_faults");
	TCase *tcase = tcase_create("vfs_faults");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, any_system_call_may_fail, 0, ARRAY_COUNT(errors));
	tcase_add_test(tcase, any_allocation_may_fail);
	suite_add_tcase(suite, tcase);
	return vfs_real_needs_root() ?: check_main(suite);
}
