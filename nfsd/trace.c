/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - from workers to one reader.
 *
 * A ring has one writer, its worker, and one reader, our thread: `filled` and `taken` only grow,
 * and each is written by one of them.
 */
#include "nfsd/trace.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/call.h"
#include "nfsd/trace_event.h"
#include "nfsd/unix_service.h"
#include "nfsd/worker.h"
#include "rpcgen/nfs3.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"
#include "vfs/base/json.h"
#include "vfs/base/log.h"

enum {
	RING_EVENTS = 1024, /* a power of two */
	DRAIN_MS = 50,
	REQUEST_BYTES = 64,
};

struct trace_ring {
	struct trace_event events[RING_EVENTS];
	atomic_uint filled, taken;
	atomic_uint_fast64_t dropped;
};

struct trace {
	struct server *server;
	struct unix_service *service;
	atomic_uint_fast64_t client[2]; /* the address that is looked at */
	unsigned ring_count;
	struct trace_ring *rings[SERVER_WORKERS_MAX];
};

/* ---- on workers ---- */

static void event_fill(struct trace_event *event, const struct call *call)
{
	const uint8_t *results = call->reply->bytes + CALL_REPLY_HEAD_BYTES;

	*event = (struct trace_event){
		.at_ms = clock_ms(CLOCK_REALTIME),
		.latency_us = (counters_now_ns() - call->begun_ns) / 1000,
		.program = counters_program_names[counters_program_of(call->program->number)],
		.procedure = call->proc->name,
		.answered = call->accept_stat == 0,
	};
	if (event->answered)
		trace_event_results(event, call->program->number, call->rpc.procedure, results,
		                    call->reply_bytes - CALL_REPLY_HEAD_BYTES);
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

/* "trace 192.0.2.7" */
static bool read_request(int fd, int stop_fd, struct export_address *ret_client)
{
	char request[REQUEST_BYTES];

	return unix_service_line(fd, stop_fd, request, sizeof request) &&
	       strncmp(request, "trace ", strlen("trace ")) == 0 &&
	       export_address_parse(request + strlen("trace "), ret_client) == 0;
}

/* What a worker was still putting in when the last reader left is of another client. */
static void forget(struct trace *trace)
{
	char *text = NULL;
	size_t bytes;

	(void) drain(trace, &text, &bytes);
	free(text);
}

static void serve(void *context, int fd, int stop_fd)
{
	struct trace *trace = context;
	struct export_address client;
	uint64_t words[2];
	bool goes_on;

	forget(trace);
	if (!read_request(fd, stop_fd, &client))
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
		goes_on = unix_service_wait(fd, stop_fd, POLLIN, DRAIN_MS) == 0 &&
		          drain(trace, &text, &bytes) &&
		          unix_service_send(fd, stop_fd, text, bytes, -1);
	} while (goes_on);
	atomic_store(&trace->server->tracing, false);
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
	return r < 0 ? r : unix_service_open(path, "trace", serve, trace, &trace->service);
}

void trace_open(struct server *server, const char *status_path)
{
	struct trace *trace;
	int r;

	if (!server->status || strcmp(status_path, "none") == 0)
		return;
	trace = calloc(1, sizeof *trace);
	if (!trace)
		return;
	trace->server = server;
	server->trace = trace; /* before anybody asks: workers look for it then */
	r = trace_begin(trace, status_path);
	if (r == 0)
		return;
	log_warn("'lodestore trace' cannot ask on %s.trace: %s", status_path, strerror(-r));
	server->trace = trace_close(trace);
}

void trace_stop(struct trace *trace)
{
	if (trace)
		trace->service = unix_service_close(trace->service);
}

struct trace *trace_close(struct trace *trace)
{
	if (!trace)
		return NULL;
	for (unsigned i = 0; i < trace->ring_count; i++)
		free(trace->rings[i]);
	free(trace);
	return NULL;
}
