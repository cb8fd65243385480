/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon as a process: here or in one of its own, who waits for whom, and with which status.
 */
#include "vfs/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temp_dir.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/unix_address.h"

static int told[2]; /* what the daemon says to the test */

static void setup(void)
{
	ck_assert_int_eq(pipe(told), 0);
	unsetenv("NOTIFY_SOCKET");
}

static void teardown(void)
{
	close_fd(&told[0]);
	close_fd(&told[1]);
}

static void tell(pid_t word)
{
	ck_assert_int_eq(write(told[1], &word, sizeof word), sizeof word);
}

static pid_t hear(void)
{
	pid_t word;

	ck_assert_int_eq(read(told[0], &word, sizeof word), sizeof word);
	return word;
}

static int serve_here(void *context, int ready_fd)
{
	ck_assert_int_eq(ready_fd, -1);
	process_ready(ready_fd);
	return *(int *) context;
}

START_TEST(in_the_foreground_it_is_this_process)
{
	int status = 7;

	ck_assert_int_eq(process_run("test", true, serve_here, &status), 7);
}
END_TEST

START_TEST(under_systemd_it_is_this_process)
{
	int status = 3;

	setenv("NOTIFY_SOCKET", "/nowhere", 1);
	ck_assert_int_eq(process_run("test", false, serve_here, &status), 3);
}
END_TEST

/* Ready, then alive until the test has looked: @context says what it does. */
static int serve_apart(void *context, int ready_fd)
{
	if (*(bool *) context)
		process_ready(ready_fd);
	tell(getpid());
	tell(getsid(0));
	return EXIT_SUCCESS;
}

/* The parent's side, in a child: process_run() returns in both, and the daemon must not go on as
 * the test. */
static int status_of_parent(bool gets_ready)
{
	pid_t child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(process_run("test", false, serve_apart, &gets_ready));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_ne(hear(), child); /* another process */
	(void) hear();
	return WEXITSTATUS(status);
}

START_TEST(who_starts_it_waits_until_it_serves)
{
	ck_assert_int_eq(status_of_parent(true), EXIT_SUCCESS);
}
END_TEST

START_TEST(who_starts_it_learns_that_it_could_not)
{
	ck_assert_int_eq(status_of_parent(false), EXIT_FAILURE);
}
END_TEST

START_TEST(it_has_a_session_of_its_own)
{
	bool gets_ready = true;
	pid_t child = fork(), daemon_pid;

	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(process_run("test", false, serve_apart, &gets_ready));
	daemon_pid = hear();
	ck_assert_int_eq(hear(), daemon_pid);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

START_TEST(without_a_process_an_errno)
{
	struct rlimit before, none;
	int status = 0, r;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	r = process_run("test", false, serve_here, &status);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(r, -EMFILE);
}
END_TEST

START_TEST(prepared_signals_wait_and_pipes_do_not_kill)
{
	sigset_t signals, blocked;
	int broken[2];

	process_prepare(&signals);
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, NULL, &blocked), 0);
	for (size_t i = 0; i < 3; i++) {
		static const int expected[] = { SIGTERM, SIGINT, SIGHUP };

		ck_assert(sigismember(&signals, expected[i]));
		ck_assert(sigismember(&blocked, expected[i]));
	}
	ck_assert(!sigismember(&signals, SIGCHLD));
	ck_assert_int_eq(pipe(broken), 0);
	close_fd(&broken[0]);
	ck_assert_int_eq(write(broken[1], "x", 1), -1);
	ck_assert_int_eq(errno, EPIPE);
	close_fd(&broken[1]);
}
END_TEST

static int listener(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(a_socket_that_was_left_is_taken_over_and_a_living_one_is_not)
{
	char dir[TEMP_DIR_BYTES], path[TEMP_PATH_BYTES];
	AUTO(close_fd) int killed = listener();
	AUTO(close_fd) int second = listener();
	AUTO(close_fd) int third = listener();

	temp_dir_make(dir);
	temp_path(path, dir, "socket");
	ck_assert_int_eq(process_bind_socket(killed, path), 0);
	ck_assert_int_eq(listen(killed, 1), 0);
	ck_assert_int_eq(process_bind_socket(second, path), -EADDRINUSE);
	close_fd(&killed); /* the file stays */
	killed = -EBADF;
	ck_assert_int_eq(process_bind_socket(second, path), 0);
	ck_assert_int_eq(listen(second, 1), 0);
	ck_assert_int_eq(process_bind_socket(third, path), -EADDRINUSE);
	temp_dir_remove(dir);
}
END_TEST

START_TEST(a_socket_is_connected_to_by_its_path)
{
	char dir[TEMP_DIR_BYTES], path[TEMP_PATH_BYTES], longest[200];
	AUTO(close_fd) int listening = listener();
	AUTO(close_fd) int fd = -EBADF;
	struct sockaddr_un address;

	temp_dir_make(dir);
	temp_path(path, dir, "socket");
	ck_assert_int_eq(unix_connect(path, &fd), -ENOENT);
	ck_assert_int_eq(process_bind_socket(listening, path), 0);
	ck_assert_int_eq(unix_connect(path, &fd), -ECONNREFUSED);
	ck_assert_int_eq(listen(listening, 1), 0);
	ck_assert_int_eq(unix_connect(path, &fd), 0);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	ck_assert_int_eq(unix_address(path, &address), 0);
	ck_assert_str_eq(address.sun_path, path);
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	ck_assert_int_eq(unix_address(longest, &address), -ENAMETOOLONG);
	ck_assert_int_eq(unix_connect(longest, &fd), -ENAMETOOLONG);
	temp_dir_remove(dir);
}
END_TEST

START_TEST(a_file_in_the_place_of_a_socket_stays)
{
	char dir[TEMP_DIR_BYTES], path[TEMP_PATH_BYTES], longest[200];
	AUTO(close_fd) int fd = listener();
	AUTO(close_fd) int file = -EBADF;

	temp_dir_make(dir);
	temp_path(path, dir, "precious");
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(process_bind_socket(fd, path), -EADDRINUSE);
	ck_assert_int_eq(access(path, F_OK), 0);
	temp_path(path, dir, "none/socket");
	ck_assert_int_eq(process_bind_socket(fd, path), -ENOENT);
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	ck_assert_int_eq(process_bind_socket(fd, longest), -ENAMETOOLONG);
	temp_dir_remove(dir);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("process");
	TCase *tcase = tcase_create("process");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, in_the_foreground_it_is_this_process);
	tcase_add_test(tcase, under_systemd_it_is_this_process);
	tcase_add_test(tcase, who_starts_it_waits_until_it_serves);
	tcase_add_test(tcase, who_starts_it_learns_that_it_could_not);
	tcase_add_test(tcase, it_has_a_session_of_its_own);
	tcase_add_test(tcase, without_a_process_an_errno);
	tcase_add_test(tcase, prepared_signals_wait_and_pipes_do_not_kill);
	tcase_add_test(tcase, a_socket_that_was_left_is_taken_over_and_a_living_one_is_not);
	tcase_add_test(tcase, a_socket_is_connected_to_by_its_path);
	tcase_add_test(tcase, a_file_in_the_place_of_a_socket_stays);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
