/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.c - statvfs(2) in a process of its own: that call cannot be interrupted, so the one that
 * hangs is left behind. It answers row by row through a pipe.
 */
#include "offload/cli/space.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/cli/link.h"
#include "vfs/base/cleanup.h"

static struct space space_of(const char *path)
{
	struct space space = { .path = path, .state = SPACE_KNOWN };
	struct statvfs stat;

	if (statvfs(path, &stat) < 0) {
		space.state = SPACE_FAILED;
		space.error = errno;
		return space;
	}
	space.free_bytes = (uint64_t) stat.f_bavail * stat.f_frsize;
	space.total_bytes = (uint64_t) stat.f_blocks * stat.f_frsize;
	space.free_files = stat.f_favail;
	space.total_files = stat.f_files;
	return space;
}

/* The child. Nobody must wait for the end of our output because of it. */
static void __attribute__((noreturn)) answer(int to_fd, const struct space *rows, size_t count)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null_fd >= 0 && fd <= STDERR_FILENO; fd++)
		(void) dup2(null_fd, fd);
	for (size_t i = 0; i < count; i++) {
		struct space space = space_of(rows[i].path);

		if (write(to_fd, &space, sizeof space) != (ssize_t) sizeof space)
			break;
	}
	_exit(0);
}

/* Rows are shorter than PIPE_BUF, so each comes whole. */
static void collect(int from_fd, struct space *rows, size_t count, uint64_t until_ms)
{
	struct pollfd set = { .fd = from_fd, .events = POLLIN };

	for (size_t i = 0; i < count; i++) {
		uint64_t now_ms = link_now_ms();
		int left_ms = until_ms > now_ms ? (int) (until_ms - now_ms) : 0;

		if (poll(&set, 1, left_ms) <= 0 ||
		    read(from_fd, &rows[i], sizeof rows[i]) != (ssize_t) sizeof rows[i])
			return;
	}
}

int space_ask(struct space *rows, size_t count, uint64_t until_ms)
{
	int ends[2];
	pid_t child;

	for (size_t i = 0; i < count; i++)
		rows[i].state = SPACE_SILENT;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child == 0)
		answer(ends[1], rows, count);
	close_fd(&ends[1]);
	if (child > 0)
		collect(ends[0], rows, count, until_ms);
	close_fd(&ends[0]);
	if (child < 0)
		return -EAGAIN;
	(void) kill(child, SIGKILL);
	(void) waitpid(child, NULL, WNOHANG);
	return 0;
}
