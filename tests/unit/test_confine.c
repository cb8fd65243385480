/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter in the kernel: what is on the lists is made, all else ends as the mode says, in all
 * threads. Check runs each test in a process of its own, which a filter does not leave.
 */
#include "vfs/base/confine.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

enum {
	ENDED_WELL = 0,
	NOT_CONFINED = 10, /* the filter could not be loaded */
	SURPRISED = 11,
};

static const struct confine_call calls[] = {
	{ "socket", 0, CONFINE_INT, AF_UNIX },
	{ "umask" },
};

static bool confined(enum confine_mode mode)
{
	return confine_calls(calls, ARRAY_COUNT(calls), mode) == 0;
}

/* How a process ends that does this; 0 if all is as expected. */
static int status_of(int (*test)(enum confine_mode mode), enum confine_mode mode)
{
	pid_t child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(test(mode));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

#define CHECK(what)                       \
	do {                              \
		if (!(what))              \
			return SURPRISED; \
	} while (0)

static int other_call(enum confine_mode mode)
{
	if (!confined(mode))
		return NOT_CONFINED;
	return syscall(SYS_getpriority, 0, 0) == -1 && errno == EPERM ? ENDED_WELL : SURPRISED;
}

START_TEST(another_call_is_refused)
{
	ck_assert_int_eq(WEXITSTATUS(status_of(other_call, CONFINE_REFUSE)), ENDED_WELL);
}
END_TEST

START_TEST(or_ends_the_process)
{
	int status = status_of(other_call, CONFINE_KILL);

	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGSYS);
}
END_TEST

START_TEST(or_is_only_logged_or_nothing_at_all)
{
	ck_assert_int_eq(WEXITSTATUS(status_of(other_call, CONFINE_LOG)), SURPRISED);
	ck_assert_int_eq(WEXITSTATUS(status_of(other_call, CONFINE_OFF)), SURPRISED);
}
END_TEST

static int what_is_listed(enum confine_mode mode)
{
	void *page;
	int fd;

	if (!confined(mode))
		return NOT_CONFINED;
	CHECK(umask(0) == 022);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(fd >= 0);
	CHECK(close(fd) == 0);
	CHECK(socket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EPERM);
	CHECK(socket(AF_PACKET, SOCK_RAW, 0) == -1 && errno == EPERM);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
#ifndef LODESTORE_SANITIZED /* whose run-time needs these */
	CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == -1 && errno == EPERM);
	CHECK(mmap(NULL, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	      MAP_FAILED);
	CHECK(fork() == -1);
	CHECK(execl("/bin/true", "true", NULL) == -1 && errno == EPERM);
#endif
	CHECK(chroot("/") == -1 && errno == EPERM);
	return ENDED_WELL;
}

START_TEST(what_is_listed_is_made_with_these_arguments_only)
{
	umask(022);
	ck_assert_int_eq(WEXITSTATUS(status_of(what_is_listed, CONFINE_REFUSE)), ENDED_WELL);
}
END_TEST

static sem_t filter_is_there, looked;
static int seen;

static void *other_thread(void *arg)
{
	while (sem_wait(&filter_is_there) < 0)
		;
	seen = syscall(SYS_getpriority, 0, 0) == -1 ? errno : 0;
	sem_post(&looked);
	return NULL;
}

static void *do_nothing(void *arg)
{
	return arg;
}

static int threads(enum confine_mode mode)
{
	pthread_t before, after;

	CHECK(sem_init(&filter_is_there, 0, 0) == 0 && sem_init(&looked, 0, 0) == 0);
	CHECK(pthread_create(&before, NULL, other_thread, NULL) == 0);
	if (!confined(mode))
		return NOT_CONFINED;
	sem_post(&filter_is_there);
	CHECK(pthread_join(before, NULL) == 0);
	CHECK(seen == EPERM);
	CHECK(pthread_create(&after, NULL, do_nothing, NULL) == 0);
	CHECK(pthread_join(after, NULL) == 0);
	return ENDED_WELL;
}

START_TEST(all_threads_are_held_and_new_ones_can_be_made)
{
	ck_assert_int_eq(WEXITSTATUS(status_of(threads, CONFINE_REFUSE)), ENDED_WELL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("confine");
	TCase *tcase = tcase_create("confine");

	tcase_add_test(tcase, another_call_is_refused);
	tcase_add_test(tcase, or_ends_the_process);
	tcase_add_test(tcase, or_is_only_logged_or_nothing_at_all);
	tcase_add_test(tcase, what_is_listed_is_made_with_these_arguments_only);
	tcase_add_test(tcase, all_threads_are_held_and_new_ones_can_be_made);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
