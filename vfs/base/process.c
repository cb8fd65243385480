/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/base/process.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/unix_address.h"

enum {
	MMAP_THRESHOLD_BYTES = 64 << 10, /* all but the smallest buffers go back when freed */
	JOURNAL_PRIORITY_INFO = 6,       /* syslog(3); lines carry their own */
};

void process_prepare(sigset_t *ret_signals)
{
	umask(0); /* modes are what clients say */
	(void) signal(SIGPIPE, SIG_IGN);
	(void) signal(SIGXFSZ, SIG_IGN); /* a file too large is EFBIG, not our end */
	sigemptyset(ret_signals);
	sigaddset(ret_signals, SIGTERM);
	sigaddset(ret_signals, SIGINT);
	sigaddset(ret_signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, ret_signals, NULL);
	/* Few arenas: memory that one thread gave back shall serve the others. */
	(void) mallopt(M_ARENA_MAX, 2);
	/* Fixed, or it grows with what is freed and buffers stay in the heap for good. */
	(void) mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
}

/* The log goes to the journal, if there is one. */
static void log_to_journal(const char *name)
{
	char stream[64];
	struct stat stat;
	int fd = sd_journal_stream_fd(name, JOURNAL_PRIORITY_INFO, 1);

	if (fd < 0 || fstat(fd, &stat) < 0)
		return;
	snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long) stat.st_dev,
	         (unsigned long long) stat.st_ino);
	setenv("JOURNAL_STREAM", stream, 1); /* log.c: lines carry their priority */
	(void) dup2(fd, STDERR_FILENO);
	close_fd(&fd);
}

/* The parent leaves when the child serves, so that who started it knows. */
static int serve_detached(const char *name, process_serve_fn *serve, void *context)
{
	int ready[2];
	pid_t child;
	char byte;

	if (pipe(ready) < 0)
		return -errno;
	child = fork();
	if (child < 0)
		return -errno;
	if (child > 0) {
		close_fd(&ready[1]);
		return read(ready[0], &byte, 1) == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	close_fd(&ready[0]);
	(void) setsid();
	(void) !chdir("/");
	if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout))
		return EXIT_FAILURE;
	log_to_journal(name);
	return serve(context, ready[1]);
}

int process_run(const char *name, bool foreground, process_serve_fn *serve, void *context)
{
	if (foreground || getenv("NOTIFY_SOCKET"))
		return serve(context, -1);
	return serve_detached(name, serve, context);
}

void process_ready(int ready_fd)
{
	(void) sd_notify(0, "READY=1");
	if (ready_fd >= 0)
		(void) !write(ready_fd, "", 1);
}

void process_alive(void)
{
	(void) sd_notify(0, "WATCHDOG=1");
}

void process_reloading(void)
{
	(void) sd_notify(0, "RELOADING=1");
}

void process_ending(void)
{
	(void) sd_notify(0, "STOPPING=1");
}

void process_take_fds(void (*take)(void *context, int fd, const char *name), void *context)
{
	char **names = NULL;
	int count = sd_listen_fds_with_names(1, &names);

	for (int i = 0; i < count; i++) {
		take(context, SD_LISTEN_FDS_START + i, names[i]);
		free(names[i]);
	}
	free(names);
}

bool process_keep_fd(int fd, const char *name)
{
	char state[128];

	snprintf(state, sizeof state, "FDSTORE=1\nFDNAME=%s", name);
	return sd_pid_notify_with_fds(0, 0, state, &fd, 1) > 0;
}

void process_forget_fd(const char *name)
{
	(void) sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name);
}

/* connect(2) says ECONNREFUSED of any file. */
static bool is_socket(const char *path)
{
	struct stat stat;

	return lstat(path, &stat) == 0 && S_ISSOCK(stat.st_mode);
}

int process_bind_socket(int fd, const char *path)
{
	AUTO(close_fd) int probe = -EBADF;
	struct sockaddr_un address;
	int r = unix_address(path, &address);

	if (r < 0)
		return r;
	if (bind(fd, (const struct sockaddr *) &address, sizeof address) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (probe < 0)
		return -errno;
	if (connect(probe, (const struct sockaddr *) &address, sizeof address) == 0 ||
	    errno != ECONNREFUSED || !is_socket(path))
		return -EADDRINUSE;
	(void) unlink(path);
	return bind(fd, (const struct sockaddr *) &address, sizeof address) < 0 ? -errno : 0;
}
