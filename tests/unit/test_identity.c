/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acting as the caller: of one thread only, capabilities included. As root. Threads count mistakes.
 */
#include "vfs/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temp_dir.h"
#include "vfs/base/cleanup.h"

enum {
	THREADS = 4,
	ROUNDS = 500,
	SERVICE_UID = 4321, /* as systemd's User= would run us */
};

static char dir[TEMP_DIR_BYTES];
static atomic_uint mistakes;

static void setup(void)
{
	umask(0);
	temp_dir_make(dir);
	ck_assert_int_eq(chmod(dir, 0777), 0);
}

static void teardown(void)
{
	temp_dir_remove(dir);
}

static struct stat made_by_me(const char *name)
{
	char path[TEMP_PATH_BYTES];
	struct stat stat_ = { .st_uid = UINT32_MAX };
	int fd = open(temp_path(path, dir, name), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0) {
		(void) fstat(fd, &stat_);
		close(fd);
	}
	(void) unlink(path);
	return stat_;
}

START_TEST(what_a_thread_makes_is_its_callers)
{
	struct vfs_cred cred = { .uid = 1000, .gid = 2000 };

	ck_assert_int_eq(vfs_identity_init(), 0);
	vfs_identity_server(); /* nothing was assumed: nothing to do */
	vfs_identity_assume(&cred);
	ck_assert_uint_eq(made_by_me("a").st_uid, 1000);
	ck_assert_uint_eq(made_by_me("a").st_gid, 2000);
	cred.uid = 1001;
	vfs_identity_assume(&cred); /* from one caller to the next */
	ck_assert_uint_eq(made_by_me("b").st_uid, 1001);
	vfs_identity_server();
	ck_assert_uint_eq(made_by_me("c").st_uid, 0);
	ck_assert_uint_eq(made_by_me("c").st_gid, 0);
}
END_TEST

START_TEST(groups_count_and_go_again)
{
	struct vfs_cred cred = {
		.uid = 1000, .gid = 2000, .group_count = 3, .groups = { 5, 6, 7 }
	};
	char path[TEMP_PATH_BYTES];

	ck_assert_int_eq(vfs_identity_init(), 0);
	close(open(temp_path(path, dir, "group"), O_CREAT | O_RDWR | O_CLOEXEC, 0040));
	ck_assert_int_eq(chown(path, 0, 7), 0);
	vfs_identity_assume(&cred);
	ck_assert_int_eq(open(path, O_RDWR | O_CLOEXEC), -1);
	ck_assert_int_eq(close(open(path, O_RDONLY | O_CLOEXEC)), 0);
	cred.groups[2] = 8; /* all else the same */
	vfs_identity_assume(&cred);
	ck_assert_int_eq(open(path, O_RDONLY | O_CLOEXEC), -1);
	cred.group_count = 0;
	vfs_identity_assume(&cred);
	ck_assert_int_eq(getgroups(0, NULL), 0);
	cred.group_count = VFS_GROUPS_MAX;
	vfs_identity_assume(&cred);
	ck_assert_int_eq(getgroups(0, NULL), VFS_GROUPS_MAX);
	vfs_identity_server();
	ck_assert_int_eq(getgroups(0, NULL), 0);
	ck_assert_int_eq(close(open(path, O_RDWR | O_CLOEXEC)), 0); /* root may */
}
END_TEST

START_TEST(who_is_not_root_has_no_power_of_roots)
{
	struct vfs_cred nobody = { .uid = 65534, .gid = 65534 }, root = { .uid = 0 };
	char path[TEMP_PATH_BYTES];

	ck_assert_int_eq(vfs_identity_init(), 0);
	close(open(temp_path(path, dir, "secret"), O_CREAT | O_RDWR | O_CLOEXEC, 0));
	vfs_identity_assume(&nobody);
	ck_assert_int_eq(open(path, O_RDONLY | O_CLOEXEC), -1);
	ck_assert_int_eq(chown(path, 65534, 65534), -1);
	ck_assert_int_eq(mknod(temp_path(path, dir, "device"), S_IFBLK | 0666, 0x801), -1);
	vfs_identity_assume(&root);
	ck_assert_int_eq(close(open(temp_path(path, dir, "secret"), O_RDONLY | O_CLOEXEC)), 0);
	vfs_identity_server();
}
END_TEST

static void *actor(void *arg)
{
	uint32_t number = (uint32_t) (uintptr_t) arg;
	char name[16];

	snprintf(name, sizeof name, "thread%u", number);
	for (int i = 0; i < ROUNDS; i++) {
		struct vfs_cred cred = { .uid = 1000 + number, .gid = 2000 + number };

		if (number == 0)
			vfs_identity_server();
		else
			vfs_identity_assume(&cred);
		if (made_by_me(name).st_uid != (number ? cred.uid : 0))
			atomic_fetch_add(&mistakes, 1);
		if (number && i % 3 == 0) {
			vfs_identity_server();
			if (made_by_me(name).st_uid != 0)
				atomic_fetch_add(&mistakes, 1);
		}
	}
	vfs_identity_server();
	return NULL;
}

START_TEST(one_threads_identity_is_not_anothers)
{
	pthread_t threads[THREADS];

	ck_assert_int_eq(vfs_identity_init(), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, actor, (void *) i), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(atomic_load(&mistakes), 0);
	ck_assert_uint_eq(made_by_me("main").st_uid, 0);
}
END_TEST

/* ---- at a daemon's start ---- */

START_TEST(what_a_daemon_needs_is_kept_or_named)
{
	static const struct privilege setuid_only[] = {
		{ CAP_SETUID, "CAP_SETUID", "it cannot act" },
	};
	static const struct privilege with_admin[] = {
		{ CAP_SETUID, "CAP_SETUID", "it cannot act" },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "nothing is mounted" },
	};
	char why[VFS_IDENTITY_WHY_BYTES] = "";

	ck_assert_int_eq(vfs_identity_keep(setuid_only, 1, why), 0);
	ck_assert_str_eq(why, "");
	ck_assert_int_eq(vfs_identity_keep(with_admin, 2, why), -EPERM);
	ck_assert_ptr_nonnull(strstr(why, "lacks CAP_SYS_ADMIN (nothing is mounted). Run it as"));
}
END_TEST

/* ---- without uid 0, by capabilities alone ---- */

/* From here on the process is what the unit makes of it: a user with capabilities. */
static void become_service(void)
{
	static const cap_value_t needed[] = { CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, CAP_CHOWN,
		                              CAP_FOWNER,          CAP_FSETID,       CAP_MKNOD,
		                              CAP_SETUID,          CAP_SETGID };
	cap_t caps = cap_init();

	cap_set_flag(caps, CAP_PERMITTED, ARRAY_COUNT(needed), needed, CAP_SET);
	cap_set_flag(caps, CAP_EFFECTIVE, ARRAY_COUNT(needed), needed, CAP_SET);
	ck_assert_int_eq(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(setresgid(SERVICE_UID, SERVICE_UID, SERVICE_UID), 0);
	ck_assert_int_eq(setresuid(SERVICE_UID, SERVICE_UID, SERVICE_UID), 0);
	ck_assert_int_eq(cap_set_proc(caps), 0);
	cap_free(caps);
}

START_TEST(a_service_without_uid_0_acts_as_its_callers)
{
	struct vfs_cred caller = { .uid = 1000, .gid = 1000 }, root = { .uid = 0, .gid = 0 };
	char path[TEMP_PATH_BYTES];

	close(open(temp_path(path, dir, "secret"), O_CREAT | O_RDWR | O_CLOEXEC, 0));
	become_service();
	ck_assert_int_eq(vfs_identity_init(), 0);
	for (int round = 0; round < 3; round++) {
		vfs_identity_assume(&caller);
		ck_assert_uint_eq(made_by_me("a").st_uid, 1000);
		ck_assert_int_eq(open(path, O_RDONLY | O_CLOEXEC), -1);
		ck_assert_int_eq(chown(path, 1000, 1000), -1);
		vfs_identity_assume(&root);
		ck_assert_uint_eq(made_by_me("a").st_uid, 0);
		ck_assert_int_eq(close(open(path, O_RDONLY | O_CLOEXEC)), 0);
		vfs_identity_server();
		ck_assert_uint_eq(made_by_me("a").st_uid, SERVICE_UID);
		ck_assert_int_eq(close(open(path, O_RDONLY | O_CLOEXEC)), 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("identity");
	TCase *tcase = tcase_create("identity");

	if (geteuid() != 0) {
		fprintf(stderr, "SKIPPED: acting as others needs root. Run the tests as root\n");
		return 77;
	}
	/* In the parent: some tests give up the right to clean up. */
	tcase_add_unchecked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, what_a_thread_makes_is_its_callers);
	tcase_add_test(tcase, groups_count_and_go_again);
	tcase_add_test(tcase, who_is_not_root_has_no_power_of_roots);
	tcase_add_test(tcase, one_threads_identity_is_not_anothers);
	tcase_add_test(tcase, what_a_daemon_needs_is_kept_or_named);
	tcase_add_test(tcase, a_service_without_uid_0_acts_as_its_callers);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
