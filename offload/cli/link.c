/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/link.h"

#include <errno.h>
#include <poll.h>
#include <rpc/rpc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rpcgen/record.h"
#include "rpcgen/rpc_call.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"
#include "vfs/base/unix_address.h"

enum {
	MS_PER_S = 1000,
	NS_PER_MS = 1000000,
};

/* Signals are the process's. */
static volatile sig_atomic_t interrupted;
static bool catches;
static sigset_t waiting_mask; /* while we wait: SIGINT comes through */

uint64_t link_now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

static void interrupt(int number)
{
	interrupted = 1;
}

void link_catch_interrupt(void)
{
	struct sigaction action = { .sa_handler = interrupt };
	sigset_t blocked;

	if (catches)
		return;
	sigemptyset(&action.sa_mask);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	/* It is delivered in ppoll(2) only, so that none is lost just before it. */
	(void) sigprocmask(SIG_BLOCK, &blocked, &waiting_mask);
	(void) sigdelset(&waiting_mask, SIGINT);
	(void) sigaction(SIGINT, &action, NULL);
	catches = true;
}

/* 0: an event is there. */
static int link_wait(int fd, short events, uint64_t until_ms)
{
	struct pollfd set = { .fd = fd, .events = events };
	int ready;

	for (;;) {
		uint64_t now_ms = link_now_ms(),
			 left_ms = until_ms > now_ms ? until_ms - now_ms : 0;
		struct timespec left = { (time_t) (left_ms / MS_PER_S),
			                 (long) (left_ms % MS_PER_S) * NS_PER_MS };

		if (interrupted)
			return -EINTR;
		ready = ppoll(&set, 1, &left, catches ? &waiting_mask : NULL);
		if (ready > 0)
			return 0;
		if (ready == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

int link_sleep(uint64_t until_ms)
{
	int r = link_wait(-1, 0, until_ms);

	return r == -ETIMEDOUT ? 0 : r;
}

static int connect_finish(int fd, const struct sockaddr *address, socklen_t bytes,
                          uint64_t until_ms)
{
	socklen_t error_bytes = sizeof(int);
	int error, r;

	if (connect(fd, address, bytes) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	r = link_wait(fd, POLLOUT, until_ms);
	if (r < 0)
		return r;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_bytes) < 0)
		return -errno;
	return -error;
}

static int connect_once(const struct addrinfo *address, bool reserved, uint64_t until_ms,
                        int *ret_fd)
{
	AUTO(close_fd)
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return -errno;
	if (reserved)
		(void) bindresvport_sa(fd, NULL); /* most exports do without */
	r = connect_finish(fd, address->ai_addr, address->ai_addrlen, until_ms);
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}

int link_connect_tcp(const struct addrinfo *address, uint64_t until_ms, int *ret_fd)
{
	int r = connect_once(address, geteuid() == 0, until_ms, ret_fd);

	/* The reserved port may still be in use by a connection that was closed just now. */
	if (r == -EADDRNOTAVAIL || r == -EADDRINUSE)
		r = connect_once(address, false, until_ms, ret_fd);
	return r;
}

int link_connect_unix(const char *path, uint64_t until_ms, int *ret_fd)
{
	AUTO(close_fd) int fd = -EBADF;
	struct sockaddr_un address;
	int r = unix_address(path, &address);

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	r = connect_finish(fd, (struct sockaddr *) &address, sizeof address, until_ms);
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}

int link_send(int fd, const uint8_t *bytes, size_t count, uint64_t until_ms)
{
	size_t sent_bytes = 0;

	while (sent_bytes < count) {
		int r = link_wait(fd, POLLOUT, until_ms);
		ssize_t part;

		if (r < 0)
			return r;
		part = send(fd, bytes + sent_bytes, count - sent_bytes, MSG_NOSIGNAL);
		if (part < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		sent_bytes += part > 0 ? (size_t) part : 0;
	}
	return 0;
}

int link_receive(int fd, uint8_t *room, size_t room_bytes, uint64_t until_ms,
                 const uint8_t **ret_payload, uint32_t *ret_payload_bytes)
{
	struct record_state state = { 0 };
	size_t have_bytes = 0;

	while (have_bytes < room_bytes) {
		int r = link_wait(fd, POLLIN, until_ms);
		struct record record;
		ssize_t part;

		if (r < 0)
			return r;
		part = recv(fd, room + have_bytes, room_bytes - have_bytes, 0);
		if (part < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (part <= 0)
			return part < 0 ? -errno : -ECONNRESET;
		record = record_next(&state, room, have_bytes + (size_t) part,
		                     (uint32_t) room_bytes - RPC_RECORD_MARK_BYTES);
		have_bytes = record.have_bytes;
		if (record.status == RECORD_BAD)
			return -EBADMSG;
		if (record.status == RECORD_MORE)
			continue;
		*ret_payload = record.payload;
		*ret_payload_bytes = record.payload_bytes;
		return 0;
	}
	return -EBADMSG;
}

int link_receive_all(int fd, size_t bytes_max, uint64_t until_ms, char **ret_text,
                     size_t *ret_bytes)
{
	enum {
		STEP_BYTES = 64 << 10
	};
	AUTO(free_ptr) char *text = NULL;
	size_t have_bytes = 0;

	for (;;) {
		char *grown;
		ssize_t part;
		int r;

		if (have_bytes > bytes_max)
			return -EMSGSIZE;
		grown = realloc(text, have_bytes + STEP_BYTES);
		if (!grown)
			return -ENOMEM;
		text = grown;
		r = link_wait(fd, POLLIN, until_ms);
		if (r < 0)
			return r;
		part = recv(fd, text + have_bytes, STEP_BYTES, 0);
		if (part == 0)
			break;
		if (part < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		have_bytes += part > 0 ? (size_t) part : 0;
	}
	*ret_text = text;
	text = NULL;
	*ret_bytes = have_bytes;
	return 0;
}
