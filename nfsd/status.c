/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.c - the thread behind the status socket.
 *
 * A connection is a reader: it is given its document when it is accepted, takes it as fast as it
 * likes, and is closed when it has it, when its time is up, or when another needs its place.
 */
#include "nfsd/status.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "nfsd/server.h"
#include "nfsd/unix_socket.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"
#include "vfs/base/log.h"

enum {
	READERS_MAX = 16,
	READER_MS = 5000, /* to take its document */
	DOCUMENT_MS = 20, /* between two: workers are asked no more often */
};

struct reader {
	int fd; /* negative: free */
	char *text;
	size_t text_bytes, sent_bytes;
	uint64_t due_ms;
};

struct status {
	struct server *server;
	struct summary_asker *asker;
	struct sockaddr_un address;
	int listen_fd, stop_fd;
	pthread_t thread;
	uint64_t started_ms, begun_ms; /* since 1970; of the clock that runs evenly */
	uint64_t accept_ms;            /* the next one not before */
	struct reader readers[READERS_MAX];
};

/* ---- readers ---- */

static void reader_close(struct reader *reader)
{
	close_fd(&reader->fd);
	reader->fd = -EBADF;
	free(reader->text);
	reader->text = NULL;
}

static void reader_send(struct reader *reader)
{
	ssize_t part = send(reader->fd, reader->text + reader->sent_bytes,
	                    reader->text_bytes - reader->sent_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (part > 0)
		reader->sent_bytes += (size_t) part;
	if (reader->sent_bytes == reader->text_bytes ||
	    (part < 0 && errno != EAGAIN && errno != EINTR))
		reader_close(reader);
}

/* A free place, or that of who has had the most time. */
static struct reader *reader_place(struct status *status)
{
	struct reader *oldest = &status->readers[0];

	for (unsigned i = 0; i < READERS_MAX; i++) {
		struct reader *reader = &status->readers[i];

		if (reader->fd < 0)
			return reader;
		if (reader->due_ms < oldest->due_ms)
			oldest = reader;
	}
	reader_close(oldest);
	return oldest;
}

static char *document_new(struct status *status, size_t *ret_bytes)
{
	struct status_times times = {
		.started_ms = status->started_ms,
		.uptime_ms = clock_ms(CLOCK_MONOTONIC) - status->begun_ms,
	};
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_bytes);

	if (!to)
		return NULL;
	(void) __fsetlocking(to, FSETLOCKING_BYCALLER); /* nobody else has it */
	status_text(to, status->server, &times, summary_ask(status->asker));
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}

static void reader_accept(struct status *status)
{
	struct reader *reader;
	int fd = accept4(status->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	status->accept_ms = clock_ms(CLOCK_MONOTONIC) + DOCUMENT_MS;
	if (fd < 0) /* gone already, or out of descriptors: a while later, perhaps */
		return;
	reader = reader_place(status);
	*reader = (struct reader){ .fd = fd };
	reader->due_ms = clock_ms(CLOCK_MONOTONIC) + READER_MS;
	reader->text = document_new(status, &reader->text_bytes);
	if (reader->text)
		reader_send(reader);
	else
		reader_close(reader);
}

/* ---- the thread ---- */

/* Until when poll(2) may wait; -1: until something happens. */
static int wait_ms(const struct status *status)
{
	uint64_t now = clock_ms(CLOCK_MONOTONIC), due = UINT64_MAX;

	if (status->accept_ms > now)
		due = status->accept_ms;
	for (unsigned i = 0; i < READERS_MAX; i++)
		if (status->readers[i].fd >= 0 && status->readers[i].due_ms < due)
			due = status->readers[i].due_ms;
	if (due == UINT64_MAX)
		return -1;
	return due > now ? (int) (due - now) : 0;
}

static void *status_run(void *arg)
{
	enum {
		STOP = READERS_MAX,
		LISTEN,
		FDS
	};
	struct status *status = arg;
	struct pollfd fds[FDS];

	pthread_setname_np(pthread_self(), "status");
	for (;;) {
		bool accepts = clock_ms(CLOCK_MONOTONIC) >= status->accept_ms;

		fds[STOP] = (struct pollfd){ .fd = status->stop_fd, .events = POLLIN };
		fds[LISTEN] = (struct pollfd){ .fd = accepts ? status->listen_fd : -1,
			                       .events = POLLIN };
		for (unsigned i = 0; i < READERS_MAX; i++)
			fds[i] = (struct pollfd){ .fd = status->readers[i].fd, .events = POLLOUT };
		if (poll(fds, FDS, wait_ms(status)) < 0 && errno != EINTR)
			return NULL;
		if (fds[STOP].revents)
			return NULL;
		for (unsigned i = 0; i < READERS_MAX; i++) {
			struct reader *reader = &status->readers[i];

			if (reader->fd >= 0 && fds[i].revents)
				reader_send(reader);
			if (reader->fd >= 0 && clock_ms(CLOCK_MONOTONIC) >= reader->due_ms)
				reader_close(reader);
		}
		if (fds[LISTEN].revents)
			reader_accept(status);
	}
}

/* ---- beginning and end ---- */

static int status_begin(struct status *status, const char *path)
{
	int r = unix_socket_listen(path, &status->address, &status->listen_fd);

	if (r < 0)
		return r;
	status->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (status->stop_fd < 0)
		return -errno;
	status->asker = summary_asker_new(status->server);
	if (!status->asker)
		return -ENOMEM;
	return -pthread_create(&status->thread, NULL, status_run, status);
}

static void say_cannot(const char *path, int error)
{
	const char *what = error == -EADDRINUSE
	                           ? "another server has it: give each its own --status-socket"
	                   : error == -ENOENT ? "make its directory, or name another path with"
	                                        " --status-socket"
	                                      : "name another path with --status-socket";

	log_warn("'lodestore status' cannot ask on %s: %s; %s", path, strerror(-error), what);
}

struct status *status_open(struct server *server, const char *path)
{
	struct status *status;
	int r;

	if (strcmp(path, "none") == 0)
		return NULL;
	status = calloc(1, sizeof *status);
	if (!status) {
		say_cannot(path, -ENOMEM);
		return NULL;
	}
	status->server = server;
	status->listen_fd = status->stop_fd = -EBADF;
	status->started_ms = clock_ms(CLOCK_REALTIME);
	status->begun_ms = clock_ms(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < READERS_MAX; i++)
		status->readers[i].fd = -EBADF;
	r = status_begin(status, path);
	if (r == 0)
		return status;
	say_cannot(path, r);
	return status_close(status);
}

void status_stop(struct status *status)
{
	static const uint64_t one = 1;

	if (!status)
		return;
	(void) !write(status->stop_fd, &one, sizeof one);
	pthread_join(status->thread, NULL);
	for (unsigned i = 0; i < READERS_MAX; i++)
		reader_close(&status->readers[i]);
	(void) unlink(status->address.sun_path);
	close_fd(&status->listen_fd);
}

struct status *status_close(struct status *status)
{
	if (!status)
		return NULL;
	if (status->listen_fd >= 0) { /* it never ran */
		(void) unlink(status->address.sun_path);
		close_fd(&status->listen_fd);
	}
	close_fd(&status->stop_fd);
	status->asker = summary_asker_free(status->asker);
	free(status);
	return NULL;
}
