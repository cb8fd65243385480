/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of open files with many threads on few files, and group commit of several loops: for
 * ThreadSanitizer, and for what must come out in any order. Threads count mistakes instead of
 * asserting.
 */
#include <errno.h>

#include "support/random.h"
#include "support/vfs_real.h"

enum {
	OPEN_FILES_MAX = 16,
	FILES = 24,
	THREADS = 4,
	STEPS = 3000,
	LOOPS = 2,
	COMMITS = 300, /* of each loop */
	COMMITS_AT_ONCE = 8,
};

static struct vfs_real real;
static struct vfs_handle handles[FILES];
static atomic_uint mistakes, stale_seen;
static unsigned descriptors_before;

static void setup(void)
{
	char name[16];

	descriptors_before = descriptor_count();
	vfs_real_open(&real, OPEN_FILES_MAX);
	for (unsigned i = 0; i < FILES; i++) {
		struct vfs_file *file;

		snprintf(name, sizeof name, "file%u", i);
		vfs_real_put(&real, name, name);
		file = vfs_real_lookup(&real, name);
		handles[i] = *vfs_file_handle(file);
		vfs_file_put(file);
	}
}

static void teardown(void)
{
	ck_assert_uint_eq(atomic_load(&mistakes), 0);
	vfs_real_close(&real);
	ck_assert_uint_eq(descriptor_count(), descriptors_before);
}

#define RIGHT(what) atomic_fetch_add(&mistakes, (what) ? 0 : 1)

/* What a file's descriptor says is what its handle named, at any time. */
static void use(struct vfs_file *file, unsigned number, struct random *random)
{
	char want[16], got[16] = "";
	struct vfs_attr attr;

	snprintf(want, sizeof want, "file%u", number);
	RIGHT(vfs_file_handle(file)->count == handles[number].count);
	if (random_below(random, 2)) {
		RIGHT(vfs_file_need(file, random_below(random, 2) ? VFS_OPEN_READ
		                                                  : VFS_OPEN_READ_WRITE) == 0);
		RIGHT(pread(vfs_file_fd(file), got, sizeof got - 1, 0) >= 0);
		RIGHT(strcmp(got, want) == 0);
	}
	if (vfs_file_is(file, VFS_OPEN_READ_WRITE) && random_below(random, 4) == 0) {
		RIGHT(pwrite(vfs_file_fd(file), want, strlen(want), 0) == (ssize_t) strlen(want));
		vfs_file_dirtied(file);
		if (random_below(random, 2))
			RIGHT(vfs_file_flush(file) == 0);
	}
	RIGHT(vfs_file_attr(file, &attr) == 0);
}

static void *user(void *arg)
{
	struct random random = random_of((uintptr_t) arg);

	for (int step = 0; step < STEPS; step++) {
		unsigned number = random_below(&random, FILES);
		const struct vfs_handle *handle = &handles[number];
		struct vfs_file *file;
		int r;

		if (random_below(&random, 3) == 0)
			r = vfs_file_find(real.vfs, handle->bytes, handle->count, &file);
		else
			r = vfs_file_open(real.vfs, handle->bytes, handle->count, &file);
		if (r == 0) {
			use(file, number, &random);
			vfs_file_put(file);
		} else {
			RIGHT(r == -EAGAIN || r == -ENFILE);
		}
		if (random_below(&random, 200) == 0)
			vfs_sweep(real.vfs);
	}
	return NULL;
}

static void run_threads(void *(*run)(void *arg))
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run, (void *) (i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}

START_TEST(threads_share_few_files_and_fewer_descriptors)
{
	run_threads(user);
	ck_assert_uint_le(vfs_real_open_files(real.vfs), OPEN_FILES_MAX);
}
END_TEST

/* Nothing but files with data to write: each may be opened all the same, for most are in nobody's
 * use. */
static void *dirtier(void *arg)
{
	struct random random = random_of((uintptr_t) arg);

	for (int step = 0; step < STEPS / 4; step++) {
		const struct vfs_handle *handle = &handles[random_below(&random, FILES)];
		struct vfs_file *file;
		int r = vfs_file_open(real.vfs, handle->bytes, handle->count, &file);

		RIGHT(r == 0);
		if (r < 0)
			continue;
		RIGHT(vfs_file_need(file, VFS_OPEN_READ_WRITE) == 0);
		vfs_file_dirtied(file);
		vfs_file_put(file);
	}
	return NULL;
}

START_TEST(dirty_files_make_way_for_others)
{
	run_threads(dirtier);
}
END_TEST

/* Some make and remove names, some look them up: what is found is whole, or it is gone. */
static void *maker(void *arg)
{
	struct random random = random_of((uintptr_t) arg);
	struct vfs_set set = { .set_size = true, .size = 10 };
	char name[16];

	for (int step = 0; step < STEPS / 4; step++) {
		struct vfs_file *file = NULL;
		struct vfs_attr attr;
		int r;

		snprintf(name, sizeof name, "name%u", random_below(&random, 4));
		if (random_below(&random, 2))
			r = vfs_create(real.root, name, VFS_CREATE_GUARDED, &set, NULL,
			               &(struct vfs_caller){ .async = true }, &file);
		else if (random_below(&random, 2))
			r = vfs_lookup(real.root, name, &file);
		else
			r = vfs_remove(real.root, name, &(struct vfs_caller){ .async = true });
		RIGHT(r == 0 || r == -ENOENT || r == -EEXIST || r == -ESTALE || r == -ENFILE);
		if (file && vfs_file_attr(file, &attr) == -ESTALE)
			atomic_fetch_add(&stale_seen, 1);
		vfs_file_put(file);
	}
	vfs_identity_server();
	return NULL;
}

START_TEST(names_come_and_go_under_lookups)
{
	run_threads(maker);
}
END_TEST

static void *reloader(void *arg)
{
	char line[TEMP_PATH_BYTES];

	if ((uintptr_t) arg > 1)
		return user(arg);
	snprintf(line, sizeof line, "%s *(rw,no_root_squash)\n", real.dir);
	for (int i = 0; i < 100; i++)
		RIGHT(vfs_real_serve(real.vfs, line) == 1);
	return NULL;
}

START_TEST(a_reload_disturbs_nobody)
{
	run_threads(reloader);
}
END_TEST

/* ---- group commit of several loops ---- */

struct committer {
	struct loop *loop;
	struct commit {
		struct vfs_commit commit;
		struct committer *owner;
		bool waits;
	} commits[COMMITS_AT_ONCE];
	unsigned begun, done;
};

static struct committer committers[LOOPS];
static struct vfs_file *shared;
static pthread_barrier_t barrier;
static atomic_uint finished;

static void committed(struct vfs_commit *commit, int error);

static void begin_commit(struct commit *commit)
{
	struct committer *committer = commit->owner;

	if (committer->begun == COMMITS)
		return;
	committer->begun++;
	commit->waits = true;
	commit->commit.done = committed;
	commit->commit.loop = committer->loop;
	vfs_file_dirtied(shared);
	vfs_file_commit(shared, &commit->commit);
}

static void committed(struct vfs_commit *vfs_commit, int error)
{
	struct commit *commit = container_of(vfs_commit, struct commit, commit);

	RIGHT(error == 0 && commit->waits);
	commit->waits = false;
	commit->owner->done++;
	begin_commit(commit);
	if (commit->owner->done == COMMITS && atomic_fetch_add(&finished, 1) == LOOPS - 1)
		for (unsigned i = 0; i < LOOPS; i++)
			loop_stop(committers[i].loop);
}

static void tick(void *context)
{
	(void) context;
}

static void *commit_loop(void *arg)
{
	struct committer *committer = arg;
	const char *hint;

	RIGHT(loop_open(tick, NULL, &committer->loop, &hint) == 0);
	pthread_barrier_wait(&barrier); /* all loops are known */
	for (unsigned i = 0; i < COMMITS_AT_ONCE; i++) {
		committer->commits[i].owner = committer;
		begin_commit(&committer->commits[i]);
	}
	RIGHT(loop_run(committer->loop) == 0);
	RIGHT(committer->done == COMMITS && committer->begun == COMMITS);
	pthread_barrier_wait(&barrier); /* nobody posts to it any more */
	committer->loop = loop_close(committer->loop);
	return NULL;
}

START_TEST(loops_share_flushes_and_each_is_answered_on_its_own)
{
	pthread_t threads[LOOPS];

	shared = vfs_real_lookup(&real, "file0");
	ck_assert_int_eq(vfs_file_need(shared, VFS_OPEN_READ_WRITE), 0);
	pthread_barrier_init(&barrier, NULL, LOOPS);
	for (int i = 0; i < LOOPS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, commit_loop, &committers[i]), 0);
	for (int i = 0; i < LOOPS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&barrier);
	ck_assert(!group_commit_busy(&shared->gate));
	ck_assert_uint_eq(atomic_load(&shared->refs), 2); /* the flushes' are back */
	vfs_file_put(shared);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vfs_threads");
	TCase *tcase = tcase_create("vfs_threads");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, threads_share_few_files_and_fewer_descriptors);
	tcase_add_test(tcase, dirty_files_make_way_for_others);
	tcase_add_test(tcase, names_come_and_go_under_lookups);
	tcase_add_test(tcase, a_reload_disturbs_nobody);
	tcase_add_test(tcase, loops_share_flushes_and_each_is_answered_on_its_own);
	suite_add_tcase(suite, tcase);
	return vfs_real_needs_root() ?: check_main(suite);
}
