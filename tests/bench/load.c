/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread owns its connections; a connection owns its slots, one a call under way, and each reply
 * makes its slot's next call. WRITE's data is the slot's own block (--verify) or one that all
 * share.
 */
#include "load.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pattern.h"
#include "stamp.h"
#include "stream.h"
#include "tool.h"
#include "vfs/base/cleanup.h"

enum {
	ANSWER_MS_MAX = 60000,
	EVENTS_PER_WAIT = 64,
	READS_OF_100 = 70,
	STREAM_APART_BLOCKS = 64, /* sequential streams that share a file begin this far apart */
};

struct slot {
	enum load_kind kind; /* never LOAD_MIX */
	struct file *file;
	uint64_t offset;
	uint32_t bytes;
	uint64_t generation; /* of the data written, or expected */
	uint8_t *data;       /* --verify: what is being written */
};

struct connection {
	struct stream stream;
	struct worker *worker;
	struct file *file;
	struct pattern pattern;
	unsigned calls_left; /* of options->calls_each, if that is not 0 */
	bool watches_out;
	struct slot *slots;
};

struct worker {
	pthread_t thread;
	const struct load_options *options;
	struct connection *connections;
	unsigned connection_count;
	int epoll;
	uint64_t calls, bytes;
	struct histogram latencies;
};

enum phase {
	WARMING,
	MEASURING,
	STOPPING
};

static _Atomic enum phase phase;
static pthread_barrier_t all_connected;
static uint8_t shared_data[NFS_BLOCK_BYTES_MAX] __attribute__((aligned(64)));

/* Which file, and where in it. */
static void choose_place(const struct load_options *options, struct connection *conn,
                         struct slot *slot)
{
	uint64_t block;

	slot->file = conn->file;
	if (options->any_file)
		slot->file =
			&options->files[random_next(&conn->pattern.random) % options->file_count];
	pattern_next(&conn->pattern, &slot->offset, &slot->bytes);
	if (!options->verify)
		return;
	block = slot->offset / options->block_bytes;
	while (slot->file->busy[block])
		block = (block + 1) % (slot->file->bytes / options->block_bytes);
	slot->file->busy[block] = true;
	slot->offset = block * options->block_bytes;
}

static enum load_kind choose_kind(const struct load_options *options, struct connection *conn)
{
	if (options->kind != LOAD_MIX)
		return options->kind;
	return (random_next(&conn->pattern.random) >> 32) % 100 < READS_OF_100 ? LOAD_READ
	                                                                       : LOAD_SYNC;
}

static void queue_write(const struct load_options *options, struct connection *conn,
                        struct slot *slot, struct stream_call *call)
{
	uint8_t *data = shared_data;
	size_t bytes;

	if (options->verify) {
		data = slot->data;
		slot->generation = slot->file->generations[slot->offset / options->block_bytes] + 1;
		stamp_fill(data, slot->bytes, slot->offset, slot->generation);
	}
	bytes = nfs_call_write(call->header, call->xid, &slot->file->handle, slot->offset,
	                       slot->bytes, slot->kind == LOAD_SYNC ? NFS_FILE_SYNC : NFS_UNSTABLE);
	stream_add(&conn->stream, call->header, bytes);
	stream_add(&conn->stream, data, slot->bytes);
}

static size_t put_lookup(const struct load_options *options, struct connection *conn,
                         struct stream_call *call)
{
	char name[NAME_MAX + 1];

	snprintf(name, sizeof name, LOAD_ENTRY_NAME,
	         (unsigned) (random_next(&conn->pattern.random) % options->entries));
	return nfs_call_lookup(call->header, call->xid, &options->folder, name);
}

static void queue_call(const struct load_options *options, struct connection *conn, unsigned number,
                       uint64_t now)
{
	struct slot *slot = &conn->slots[number];
	struct stream_call *call = stream_begin(&conn->stream, number, now);
	size_t bytes;

	slot->kind = choose_kind(options, conn);
	switch (slot->kind) {
	case LOAD_NULL:
		bytes = nfs_call_null(call->header, call->xid);
		break;
	case LOAD_LOOKUP:
		bytes = put_lookup(options, conn, call);
		break;
	case LOAD_GETATTR:
		choose_place(options, conn, slot);
		bytes = nfs_call_getattr(call->header, call->xid, &slot->file->handle);
		break;
	case LOAD_READ:
		choose_place(options, conn, slot);
		if (options->verify)
			slot->generation =
				slot->file->generations[slot->offset / options->block_bytes];
		bytes = nfs_call_read(call->header, call->xid, &slot->file->handle, slot->offset,
		                      slot->bytes);
		break;
	default:
		choose_place(options, conn, slot);
		return queue_write(options, conn, slot, call);
	}
	stream_add(&conn->stream, call->header, bytes);
}

static const char *check_read(const struct load_options *options, struct slot *slot,
                              struct wire_in *in)
{
	const uint8_t *data;
	const char *fault;
	uint32_t count;

	fault = nfs_reply_read(in, &count, &data);
	if (!fault && count != slot->bytes)
		fault = "READ gave fewer bytes than the file has there";
	if (fault || !options->verify)
		return fault;
	if (!wire_get_bytes(in, count))
		return "READ's data is shorter than it says";
	slot->file->busy[slot->offset / options->block_bytes] = false;
	return stamp_check(data, count, slot->offset, slot->generation);
}

static const char *check_write(const struct load_options *options, struct slot *slot,
                               struct wire_in *in)
{
	uint64_t block = slot->offset / options->block_bytes;
	uint32_t count, committed;
	const char *fault;

	fault = nfs_reply_write(in, &count, &committed);
	if (!fault && count != slot->bytes)
		fault = "WRITE took fewer bytes than it was given";
	if (!fault && slot->kind == LOAD_SYNC && committed != NFS_FILE_SYNC)
		fault = "a FILE_SYNC write was not committed";
	if (!fault && options->verify) {
		slot->file->generations[block] = (uint32_t) slot->generation;
		slot->file->busy[block] = false;
	}
	return fault;
}

static const char *check_lookup(struct wire_in *in)
{
	struct nfs_handle file;
	const char *fault;
	uint64_t bytes;
	uint32_t status;

	fault = nfs_reply_lookup(in, &status, &file, &bytes);
	return !fault && status != NFS_OK ? "LOOKUP finds no such name" : fault;
}

static const char *check_reply(const struct load_options *options, struct slot *slot,
                               struct wire_in *in)
{
	switch (slot->kind) {
	case LOAD_NULL:
		return NULL;
	case LOAD_GETATTR:
		return nfs_reply_getattr(in);
	case LOAD_LOOKUP:
		return check_lookup(in);
	case LOAD_READ:
		return check_read(options, slot, in);
	default:
		return check_write(options, slot, in);
	}
}

static bool wants_more(const struct load_options *options, struct connection *conn,
                       enum phase present)
{
	if (options->calls_each == 0)
		return present != STOPPING;
	if (conn->calls_left == 0)
		return false;
	conn->calls_left--;
	return true;
}

static void take_reply(struct stream *stream, unsigned number, struct wire_in in, uint64_t now)
{
	struct connection *conn = container_of(stream, struct connection, stream);
	struct worker *worker = conn->worker;
	struct slot *slot = &conn->slots[number];
	enum phase present = atomic_load_explicit(&phase, memory_order_relaxed);

	client_expect(check_reply(worker->options, slot, &in));
	if (present == MEASURING) {
		worker->calls++;
		worker->bytes += slot->kind <= LOAD_SYNC ? slot->bytes : 0;
		histogram_add(&worker->latencies, now - stream->calls[number].started_ns);
	}
	if (wants_more(worker->options, conn, present))
		queue_call(worker->options, conn, number, now);
}

/* Ask for writability only while something is queued. */
static void watch(struct worker *worker, struct connection *conn)
{
	bool wants_out = conn->stream.out_count > 0;
	struct epoll_event event = { .events = EPOLLIN | (wants_out ? EPOLLOUT : 0),
		                     .data.ptr = conn };

	if (wants_out == conn->watches_out)
		return;
	conn->watches_out = wants_out;
	if (epoll_ctl(worker->epoll, EPOLL_CTL_MOD, conn->stream.fd, &event) < 0)
		die("epoll_ctl: %s", strerror(errno));
}

static unsigned in_flight(const struct worker *worker)
{
	unsigned calls = 0;

	for (unsigned i = 0; i < worker->connection_count; i++)
		calls += worker->connections[i].stream.in_flight;
	return calls;
}

static void serve_events(struct worker *worker)
{
	struct epoll_event events[EVENTS_PER_WAIT];
	int count = epoll_wait(worker->epoll, events, EVENTS_PER_WAIT, ANSWER_MS_MAX);

	if (count == 0)
		die("no answer within %d s", ANSWER_MS_MAX / 1000);
	for (int i = 0; i < count; i++) {
		struct connection *conn = events[i].data.ptr;

		if (events[i].events & EPOLLOUT)
			stream_send(&conn->stream);
		if (events[i].events & ~(uint32_t) EPOLLOUT)
			stream_receive(&conn->stream);
		watch(worker, conn);
	}
}

static void connection_open(const struct load_options *options, struct connection *conn,
                            unsigned number)
{
	size_t reply_bytes_max = options->block_bytes + NFS_REPLY_HEAD_BYTES;

	if (reply_bytes_max < PATTERN_BOOT_BYTES_MAX + NFS_REPLY_HEAD_BYTES)
		reply_bytes_max = PATTERN_BOOT_BYTES_MAX + NFS_REPLY_HEAD_BYTES;
	stream_open(&conn->stream, &options->target, options->depth, reply_bytes_max,
	            options->verify ? reply_bytes_max : NFS_REPLY_HEAD_BYTES, take_reply);
	conn->file = options->files ? &options->files[number % options->file_count] : NULL;
	conn->pattern = (struct pattern){
		.kind = options->pattern,
		.file_bytes = options->file_bytes,
		.block_bytes = options->block_bytes,
		.random = random_seed(number),
	};
	if (options->files)
		conn->pattern.next_offset = (uint64_t) number / options->file_count *
		                            STREAM_APART_BLOCKS * options->block_bytes;
	conn->calls_left = options->calls_each;
	conn->slots = allocate_zeroed(options->depth, sizeof *conn->slots);
	for (unsigned i = 0; options->verify && i < options->depth; i++)
		conn->slots[i].data = allocate(options->block_bytes);
}

static void connection_close(const struct load_options *options, struct connection *conn)
{
	stream_close(&conn->stream);
	for (unsigned i = 0; i < options->depth; i++)
		free(conn->slots[i].data);
	free(conn->slots);
}

static void start_calls(struct worker *worker)
{
	const struct load_options *options = worker->options;
	uint64_t now = now_ns();

	for (unsigned i = 0; i < worker->connection_count; i++) {
		struct connection *conn = &worker->connections[i];

		for (unsigned k = 0; k < options->depth; k++)
			if (wants_more(options, conn, WARMING))
				queue_call(options, conn, k, now);
		stream_send(&conn->stream);
		watch(worker, conn);
	}
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;

	worker->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (unsigned i = 0; i < worker->connection_count; i++) {
		struct connection *conn = &worker->connections[i];
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };

		conn->worker = worker;
		if (epoll_ctl(worker->epoll, EPOLL_CTL_ADD, conn->stream.fd, &event) < 0)
			die("epoll_ctl: %s", strerror(errno));
	}
	pthread_barrier_wait(&all_connected);
	start_calls(worker);
	while (in_flight(worker) > 0) {
		if (worker->connection_count == 1)
			stream_wait(&worker->connections[0].stream);
		else
			serve_events(worker);
	}
	for (unsigned i = 0; i < worker->connection_count; i++)
		connection_close(worker->options, &worker->connections[i]);
	close(worker->epoll);
	return NULL;
}

static void start_workers(const struct load_options *options, struct worker *workers,
                          struct connection *connections)
{
	unsigned given = 0;

	for (unsigned i = 0; i < options->threads; i++) {
		unsigned left = options->threads - i;

		workers[i].options = options;
		workers[i].connections = connections + given;
		workers[i].connection_count = (options->connections - given + left - 1) / left;
		given += workers[i].connection_count;
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
			die("a thread could not be started");
	}
}

static void join_workers(const struct load_options *options, struct worker *workers)
{
	for (unsigned i = 0; i < options->threads; i++)
		pthread_join(workers[i].thread, NULL);
}

/* Until the time is over, or all calls are made. */
static void measure(const struct load_options *options, struct worker *workers,
                    struct measurement *result)
{
	if (options->calls_each == 0) {
		pthread_barrier_wait(&all_connected);
		sleep_s(options->warm_up_s);
		measurement_begin(result, &options->observed);
		atomic_store(&phase, MEASURING);
		sleep_s(options->seconds);
		atomic_store(&phase, STOPPING);
		measurement_end(result);
		join_workers(options, workers);
		return;
	}
	measurement_begin(result, &options->observed);
	atomic_store(&phase, MEASURING);
	pthread_barrier_wait(&all_connected);
	join_workers(options, workers);
	measurement_end(result);
}

void load_run(const struct load_options *options, struct measurement *ret_result)
{
	struct worker *workers = allocate_zeroed(options->threads, sizeof *workers);
	struct connection *connections = allocate_zeroed(options->connections, sizeof *connections);

	stamp_fill(shared_data, sizeof shared_data, 0, 2);
	for (unsigned i = 0; i < options->connections; i++)
		connection_open(options, &connections[i], i);
	pthread_barrier_init(&all_connected, NULL, options->threads + 1);
	start_workers(options, workers, connections);
	measure(options, workers, ret_result);
	for (unsigned i = 0; i < options->threads; i++) {
		ret_result->calls += workers[i].calls;
		ret_result->bytes += workers[i].bytes;
		histogram_merge(&ret_result->latencies, &workers[i].latencies);
	}
	pthread_barrier_destroy(&all_connected);
	free(workers);
	free(connections);
}
