/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - from workers to one reader.
 *
 * A ring has one writer, its worker, and one reader, our thread: `filled` and `taken` only grow,
 * and each is written by one of them.
 */
#include "nfsd/trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nfsd/call.h"
#include "nfsd/trace_event.h"
#include "nfsd/unix_socket.h"
#include "nfsd/worker.h"
#include "rpcgen/nfs3.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/json.h"
#include "vfs/base/log.h"

enum {
	RING_EVENTS = 1024, /* a power of two */
	DRAIN_MS = 50,
	REQUEST_MS = 2000,
	REQUEST_BYTES = 64,
};

struct trace_ring {
	struct trace_event events[RING_EVENTS];
	atomic_uint filled, taken;
	atomic_uint_fast64_t dropped;
};

struct trace {
	struct server *server;
	struct sockaddr_un address;
	int listen_fd, stop_fd;
	pthread_t thread;
	atomic_uint_fast64_t client[2]; /* the address that is looked at */
	unsigned ring_count;
	struct trace_ring *rings[SERVER_WORKERS_MAX];
};

/* ---- on workers ---- */

static void event_fill(struct trace_event *event, const struct call *call)
{
	const uint8_t *results = call->reply->bytes + CALL_REPLY_HEAD_BYTES;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*event = (struct trace_event){
		.at_ms = (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000,
		.latency_us = (counters_now_ns() - call->begun_ns) / 1000,
		.program = counters_program_names[counters_program_of(call->program->number)],
		.procedure = call->proc->name,
		.answered = call->accept_stat == 0,
	};
	if (event->answered && call->reply_bytes >= CALL_REPLY_HEAD_BYTES + sizeof event->status) {
		memcpy(&event->status, results, sizeof event->status);
		event->status = ntohl(event->status);
	}
	if (call->program->number == NFS_PROGRAM && call->rpc.procedure <= NFSPROC3_COMMIT)
		trace_event_args(event, call->rpc.procedure, &call->args);
}

void trace_call(const struct call *call)
{
	struct trace *trace = call->worker->server->trace;
	struct trace_ring *ring = trace->rings[call->worker->number];
	unsigned filled = atomic_load_explicit(&ring->filled, memory_order_relaxed);
	uint64_t client[2];

	memcpy(client, call->client.bytes, sizeof client);
	for (unsigned i = 0; i < 2; i++)
		if (client[i] != atomic_load_explicit(&trace->client[i], memory_order_relaxed))
			return;
	if (filled - atomic_load_explicit(&ring->taken, memory_order_acquire) == RING_EVENTS) {
		atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
		return;
	}
	event_fill(&ring->events[filled % RING_EVENTS], call);
	atomic_store_explicit(&ring->filled, filled + 1, memory_order_release);
}

/* ---- for the reader ---- */

/* All that rings have, as text. False: no memory. */
static bool drain(struct trace *trace, char **ret_text, size_t *ret_bytes)
{
	FILE *to = open_memstream(ret_text, ret_bytes);
	uint64_t dropped = 0;

	if (!to)
		return false;
	for (unsigned i = 0; i < trace->ring_count; i++) {
		struct trace_ring *ring = trace->rings[i];
		unsigned end = atomic_load_explicit(&ring->filled, memory_order_acquire);
		unsigned at = atomic_load_explicit(&ring->taken, memory_order_relaxed);

		for (; at != end; at++)
			trace_event_json(to, &ring->events[at % RING_EVENTS]);
		atomic_store_explicit(&ring->taken, end, memory_order_release);
		dropped += atomic_exchange(&ring->dropped, 0);
	}
	if (dropped > 0)
		fprintf(to, "{\"dropped\": %llu}\n", (unsigned long long) dropped);
	return fclose(to) == 0;
}

/* Waits for @events, our end, or @wait_ms: what of @events is there; -1: we end. */
static int wait_for(struct trace *trace, int fd, short events, int wait_ms)
{
	struct pollfd fds[] = { { .fd = fd, .events = events },
		                { .fd = trace->stop_fd, .events = POLLIN } };

	if (poll(fds, ARRAY_COUNT(fds), wait_ms) < 0 && errno != EINTR)
		return -1;
	return fds[1].revents ? -1 : fds[0].revents;
}

/* As fast as the reader takes it; meanwhile rings fill. False: it is gone, or we end. */
static bool send_all(struct trace *trace, int fd, const char *text, size_t bytes)
{
	size_t sent = 0;

	while (sent < bytes) {
		ssize_t part = send(fd, text + sent, bytes - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (part > 0)
			sent += (size_t) part;
		else if (errno != EAGAIN && errno != EINTR)
			return false;
		else if (wait_for(trace, fd, POLLOUT, -1) < 0)
			return false;
	}
	return true;
}

/* "trace 192.0.2.7\n" */
static bool read_request(struct trace *trace, int fd, struct export_address *ret_client)
{
	char request[REQUEST_BYTES];
	ssize_t bytes;

	if (wait_for(trace, fd, POLLIN, REQUEST_MS) <= 0)
		return false;
	bytes = recv(fd, request, sizeof request - 1, MSG_DONTWAIT);
	if (bytes <= 0 || strncmp(request, "trace ", strlen("trace ")) != 0)
		return false;
	request[bytes] = '\0';
	request[strcspn(request, "\n")] = '\0';
	return export_address_parse(request + strlen("trace "), ret_client) == 0;
}

static void serve(struct trace *trace, int fd)
{
	struct export_address client;
	uint64_t words[2];
	bool goes_on;

	if (!read_request(trace, fd, &client))
		return;
	memcpy(words, client.bytes, sizeof words);
	for (unsigned i = 0; i < 2; i++)
		atomic_store(&trace->client[i], words[i]);
	log_info("tracing the calls of a client, as 'lodestore trace' asks");
	atomic_store(&trace->server->tracing, true);
	do {
		AUTO(free_ptr) char *text = NULL;
		size_t bytes;

		/* Whatever comes from there, it is its end. */
		goes_on = wait_for(trace, fd, POLLIN, DRAIN_MS) == 0 &&
		          drain(trace, &text, &bytes) && send_all(trace, fd, text, bytes);
	} while (goes_on);
	atomic_store(&trace->server->tracing, false);
}

/* What a worker was still putting in when the last reader left is of another client. */
static void forget(struct trace *trace)
{
	char *text = NULL;
	size_t bytes;

	(void) drain(trace, &text, &bytes);
	free(text);
}

static void *trace_run(void *arg)
{
	struct trace *trace = arg;

	pthread_setname_np(pthread_self(), "trace");
	while (wait_for(trace, trace->listen_fd, POLLIN, -1) >= 0) {
		AUTO(close_fd) int fd = accept4(trace->listen_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		forget(trace);
		serve(trace, fd);
	}
	return NULL;
}

/* ---- beginning and end ---- */

static int rings_new(struct trace *trace)
{
	while (trace->ring_count < trace->server->worker_count) {
		struct trace_ring *ring = calloc(1, sizeof *ring); /* untouched until it is used */

		if (!ring)
			return -ENOMEM;
		trace->rings[trace->ring_count++] = ring;
	}
	return 0;
}

static int trace_begin(struct trace *trace, const char *status_path)
{
	AUTO(free_ptr) char *path = NULL;
	int r = rings_new(trace);

	if (r == 0 && asprintf(&path, "%s.trace", status_path) < 0)
		r = -ENOMEM;
	if (r == 0)
		r = unix_socket_listen(path, &trace->address, &trace->listen_fd);
	if (r == 0) {
		trace->stop_fd = eventfd(0, EFD_CLOEXEC);
		r = trace->stop_fd < 0 ? -errno : 0;
	}
	return r < 0 ? r : -pthread_create(&trace->thread, NULL, trace_run, trace);
}

struct trace *trace_open(struct server *server, const char *status_path)
{
	struct trace *trace;
	int r;

	if (!server->status || strcmp(status_path, "none") == 0)
		return NULL;
	trace = calloc(1, sizeof *trace);
	if (!trace)
		return NULL;
	trace->server = server;
	trace->listen_fd = trace->stop_fd = -EBADF;
	r = trace_begin(trace, status_path);
	if (r == 0)
		return trace;
	log_warn("'lodestore trace' cannot ask on %s.trace: %s", status_path, strerror(-r));
	return trace_close(trace);
}

void trace_stop(struct trace *trace)
{
	static const uint64_t one = 1;

	if (!trace)
		return;
	(void) !write(trace->stop_fd, &one, sizeof one);
	pthread_join(trace->thread, NULL);
	(void) unlink(trace->address.sun_path);
	close_fd(&trace->listen_fd);
}

struct trace *trace_close(struct trace *trace)
{
	if (!trace)
		return NULL;
	if (trace->listen_fd >= 0) { /* it never ran */
		(void) unlink(trace->address.sun_path);
		close_fd(&trace->listen_fd);
	}
	close_fd(&trace->stop_fd);
	for (unsigned i = 0; i < trace->ring_count; i++)
		free(trace->rings[i]);
	free(trace);
	return NULL;
}
