/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread owns its connections; a connection owns its slots, one a call under way. What arrived
 * is taken in with one recv(), each reply in it makes the slot's next call, and all of those leave
 * with one sendmsg(). Calls are never copied: the header lies in the slot, WRITE's data follows
 * from the slot's own block (--verify) or from one that all share.
 *
 * A READ's data is left in the receive buffer and overwritten by what comes next, unless it is to
 * be checked; so the buffer stays small enough for the processor's cache.
 */
#include "load.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "stamp.h"

enum {
	INPUT_BYTES = 256 << 10,
	ANSWER_MS_MAX = 60000,
	EVENTS_PER_WAIT = 64,
	READS_OF_100 = 70,
};

struct slot {
	enum load_kind kind; /* never LOAD_MIX */
	uint32_t xid;
	uint64_t block;
	uint64_t generation; /* of the data written, or expected */
	uint64_t started_ns;
	uint8_t *data; /* --verify: what is being written */
	uint8_t header[256];
};

struct connection {
	int fd;
	unsigned in_flight;
	bool wants_out;
	struct file *file;
	uint64_t random;
	uint64_t next_block;
	/* An xid counts calls, from anywhere; its lowest bits say which slot. */
	uint32_t calls_made;
	unsigned slot_bits;
	struct slot *slots;
	/* to be sent: a ring of parts */
	struct iovec *out;
	unsigned out_first, out_count, out_slots;
	/* received, not yet understood; and bytes of the present record that nobody wants */
	uint8_t *in;
	size_t in_bytes_max, in_used, skip_bytes;
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

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/* xorshift64, by George Marsaglia: public domain. */
static uint64_t random_next(struct connection *conn)
{
	conn->random ^= conn->random << 13;
	conn->random ^= conn->random >> 7;
	conn->random ^= conn->random << 17;
	return conn->random;
}

static void out_add(struct connection *conn, void *bytes, size_t count)
{
	if (conn->out_count == conn->out_slots)
		die("a reply came before its call was sent");
	conn->out[(conn->out_first + conn->out_count++) % conn->out_slots] = (struct iovec){
		bytes, count
	};
}

static uint64_t choose_block(const struct load_options *options, struct connection *conn)
{
	uint64_t blocks = conn->file->bytes / options->block_bytes;
	uint64_t block = options->sequential ? conn->next_block++ : random_next(conn);

	block %= blocks;
	if (options->verify) {
		while (conn->file->busy[block])
			block = (block + 1) % blocks;
		conn->file->busy[block] = true;
	}
	return block;
}

static enum load_kind choose_kind(const struct load_options *options, struct connection *conn)
{
	if (options->kind != LOAD_MIX)
		return options->kind;
	return (random_next(conn) >> 32) % 100 < READS_OF_100 ? LOAD_READ : LOAD_SYNC;
}

static void queue_write(const struct load_options *options, struct connection *conn,
                        struct slot *slot)
{
	uint64_t offset = slot->block * options->block_bytes;
	uint8_t *data = shared_data;
	size_t bytes;

	if (options->verify) {
		data = slot->data;
		slot->generation = conn->file->generations[slot->block] + 1;
		stamp_fill(data, options->block_bytes, offset, slot->generation);
	}
	bytes = nfs_call_write(slot->header, slot->xid, &conn->file->handle, offset,
	                       options->block_bytes,
	                       slot->kind == LOAD_SYNC ? NFS_FILE_SYNC : NFS_UNSTABLE);
	out_add(conn, slot->header, bytes);
	out_add(conn, data, options->block_bytes);
}

static void queue_call(const struct load_options *options, struct connection *conn, unsigned number,
                       uint64_t now)
{
	struct slot *slot = &conn->slots[number];
	const struct nfs_handle *file = &conn->file->handle;
	size_t bytes;

	slot->kind = choose_kind(options, conn);
	slot->xid = conn->calls_made++ << conn->slot_bits | number;
	slot->started_ns = now;
	conn->in_flight++;
	switch (slot->kind) {
	case LOAD_GETATTR:
		bytes = nfs_call_getattr(slot->header, slot->xid, file);
		return out_add(conn, slot->header, bytes);
	case LOAD_NULL:
		bytes = nfs_call_null(slot->header, slot->xid);
		return out_add(conn, slot->header, bytes);
	case LOAD_READ:
		slot->block = choose_block(options, conn);
		if (options->verify)
			slot->generation = conn->file->generations[slot->block];
		bytes = nfs_call_read(slot->header, slot->xid, file,
		                      slot->block * options->block_bytes, options->block_bytes);
		return out_add(conn, slot->header, bytes);
	default:
		slot->block = choose_block(options, conn);
		return queue_write(options, conn, slot);
	}
}

/* Sends what the socket takes; the rest stays queued. */
static void send_queued(struct connection *conn)
{
	while (conn->out_count > 0) {
		unsigned until_wrap = conn->out_slots - conn->out_first;
		unsigned count = conn->out_count < until_wrap ? conn->out_count : until_wrap;
		struct msghdr message = { .msg_iov = conn->out + conn->out_first,
			                  .msg_iovlen = count < IOV_MAX ? count : IOV_MAX };
		ssize_t sent = sendmsg(conn->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (sent < 0)
			die("sending: %s", strerror(errno));
		while (conn->out_count > 0) {
			struct iovec *part = &conn->out[conn->out_first];

			if ((size_t) sent < part->iov_len) {
				part->iov_base = (uint8_t *) part->iov_base + sent;
				part->iov_len -= (size_t) sent;
				break;
			}
			sent -= (ssize_t) part->iov_len;
			conn->out_first = (conn->out_first + 1) % conn->out_slots;
			conn->out_count--;
		}
	}
}

static const char *check_read(const struct load_options *options, struct connection *conn,
                              struct slot *slot, struct wire_in *in)
{
	const uint8_t *data;
	const char *fault;
	uint32_t count;

	fault = nfs_reply_read(in, &count, &data);
	if (!fault && count != options->block_bytes)
		fault = "READ gave fewer bytes than the file has there";
	if (fault || !options->verify)
		return fault;
	if (!wire_get_bytes(in, count))
		return "READ's data is shorter than it says";
	conn->file->busy[slot->block] = false;
	return stamp_check(data, count, slot->block * options->block_bytes, slot->generation);
}

static const char *check_write(const struct load_options *options, struct connection *conn,
                               struct slot *slot, struct wire_in *in)
{
	uint32_t count, committed;
	const char *fault;

	fault = nfs_reply_write(in, &count, &committed);
	if (!fault && count != options->block_bytes)
		fault = "WRITE took fewer bytes than it was given";
	if (!fault && slot->kind == LOAD_SYNC && committed != NFS_FILE_SYNC)
		fault = "a FILE_SYNC write was not committed";
	if (!fault && options->verify) {
		conn->file->generations[slot->block] = (uint32_t) slot->generation;
		conn->file->busy[slot->block] = false;
	}
	return fault;
}

/* One reply, of which at least the part before READ's data is there. */
static void take_reply(struct worker *worker, struct connection *conn, struct wire_in in,
                       uint64_t now)
{
	const struct load_options *options = worker->options;
	enum phase present = atomic_load_explicit(&phase, memory_order_relaxed);
	const char *fault;
	struct slot *slot;
	unsigned number;
	uint32_t xid;

	fault = nfs_reply_header(&in, &xid);
	number = xid & ((1u << conn->slot_bits) - 1);
	if (!fault && (number >= options->depth || conn->slots[number].xid != xid))
		fault = "a reply answers no call that is under way";
	if (fault)
		die("%s", fault);
	slot = &conn->slots[number];
	if (slot->kind == LOAD_READ)
		fault = check_read(options, conn, slot, &in);
	else if (slot->kind == LOAD_GETATTR)
		fault = nfs_reply_getattr(&in);
	else if (slot->kind != LOAD_NULL)
		fault = check_write(options, conn, slot, &in);
	if (fault)
		die("%s", fault);
	slot->xid = ~xid; /* a second reply to it would be a fault */
	conn->in_flight--;
	if (present == MEASURING) {
		worker->calls++;
		worker->bytes += slot->kind <= LOAD_SYNC ? options->block_bytes : 0;
		histogram_add(&worker->latencies, now - slot->started_ns);
	}
	if (present != STOPPING)
		queue_call(options, conn, number, now);
}

/* Takes the replies that lie in the buffer; what is left of it moves to the front. */
static void take_replies(struct worker *worker, struct connection *conn, uint64_t now)
{
	size_t at = conn->skip_bytes < conn->in_used ? conn->skip_bytes : conn->in_used;

	conn->skip_bytes -= at;
	while (conn->in_used - at >= 4) {
		const uint8_t *record = conn->in + at + 4;
		size_t there = conn->in_used - at - 4;
		size_t record_bytes, needed;
		uint32_t mark;

		memcpy(&mark, conn->in + at, sizeof mark);
		mark = be32toh(mark);
		if (!(mark >> RPC_LAST_FRAGMENT))
			die("a reply came in several fragments, which this program does not read");
		record_bytes = mark & ~(1u << RPC_LAST_FRAGMENT);
		if (record_bytes > worker->options->block_bytes + NFS_REPLY_HEAD_BYTES)
			die("a reply of %zu bytes", record_bytes);
		needed = record_bytes;
		if (!worker->options->verify && needed > NFS_REPLY_HEAD_BYTES)
			needed = NFS_REPLY_HEAD_BYTES;
		if (there < needed)
			break;
		if (there > record_bytes)
			there = record_bytes;
		take_reply(worker, conn, (struct wire_in){ record, record + there, false }, now);
		conn->skip_bytes = record_bytes - there;
		at += 4 + there;
	}
	conn->in_used -= at;
	memmove(conn->in, conn->in + at, conn->in_used);
}

static void receive(struct worker *worker, struct connection *conn, int flags)
{
	ssize_t got = recv(conn->fd, conn->in + conn->in_used, conn->in_bytes_max - conn->in_used,
	                   flags);

	if (got < 0 && errno == EAGAIN && (flags & MSG_DONTWAIT))
		return;
	if (got < 0 && errno == EINTR)
		return;
	if (got < 0)
		die("receiving: %s", strerror(errno));
	if (got == 0)
		die("the server closed the connection");
	conn->in_used += (size_t) got;
	take_replies(worker, conn, now_ns());
	send_queued(conn);
}

/* Ask for writability only while something is queued. */
static void watch(struct worker *worker, struct connection *conn)
{
	bool wants_out = conn->out_count > 0;
	struct epoll_event event = { .events = EPOLLIN | (wants_out ? EPOLLOUT : 0),
		                     .data.ptr = conn };

	if (wants_out == conn->wants_out)
		return;
	conn->wants_out = wants_out;
	if (epoll_ctl(worker->epoll, EPOLL_CTL_MOD, conn->fd, &event) < 0)
		die("epoll_ctl: %s", strerror(errno));
}

static unsigned in_flight(const struct worker *worker)
{
	unsigned calls = 0;

	for (unsigned i = 0; i < worker->connection_count; i++)
		calls += worker->connections[i].in_flight;
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
			send_queued(conn);
		if (events[i].events & ~(uint32_t) EPOLLOUT)
			receive(worker, conn, MSG_DONTWAIT);
		watch(worker, conn);
	}
}

static void connection_open(const struct load_options *options, struct connection *conn,
                            unsigned number)
{
	conn->fd = client_connect(&options->target, options->target.nfs_port);
	conn->file = &options->files[number % options->file_count];
	conn->random = UINT64_C(88172645463325252) + number * UINT64_C(0x9e3779b97f4a7c15);
	conn->calls_made = client_first_xid();
	while (1u << conn->slot_bits < options->depth)
		conn->slot_bits++;
	/* Sequential streams that share a file begin at different places. */
	conn->next_block = options->sequential ? number / options->file_count * 64 : 0;
	conn->slots = calloc(options->depth, sizeof *conn->slots);
	conn->out_slots = 2 * options->depth;
	conn->out = calloc(conn->out_slots, sizeof *conn->out);
	conn->in_bytes_max = INPUT_BYTES + (options->verify ? 2 * options->block_bytes : 0);
	conn->in = malloc(conn->in_bytes_max);
	if (!conn->slots || !conn->out || !conn->in)
		die("no memory");
	for (unsigned i = 0; options->verify && i < options->depth; i++) {
		conn->slots[i].data = malloc(options->block_bytes);
		if (!conn->slots[i].data)
			die("no memory");
	}
}

static void connection_close(const struct load_options *options, struct connection *conn)
{
	close(conn->fd);
	for (unsigned i = 0; i < options->depth; i++)
		free(conn->slots[i].data);
	free(conn->slots);
	free(conn->out);
	free(conn->in);
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	const struct load_options *options = worker->options;
	uint64_t now;

	worker->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (unsigned i = 0; i < worker->connection_count; i++) {
		struct connection *conn = &worker->connections[i];
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };

		if (epoll_ctl(worker->epoll, EPOLL_CTL_ADD, conn->fd, &event) < 0)
			die("epoll_ctl: %s", strerror(errno));
	}
	pthread_barrier_wait(&all_connected);
	now = now_ns();
	for (unsigned i = 0; i < worker->connection_count; i++) {
		for (unsigned k = 0; k < options->depth; k++)
			queue_call(options, &worker->connections[i], k, now);
		send_queued(&worker->connections[i]);
		watch(worker, &worker->connections[i]);
	}
	while (in_flight(worker) > 0) {
		/* With one connection and nothing to send, recv() is all the waiting there is. */
		if (worker->connection_count == 1 && worker->connections[0].out_count == 0)
			receive(worker, &worker->connections[0], 0);
		else
			serve_events(worker);
		watch(worker, &worker->connections[0]);
	}
	for (unsigned i = 0; i < worker->connection_count; i++)
		connection_close(options, &worker->connections[i]);
	close(worker->epoll);
	return NULL;
}

static void sleep_s(double seconds)
{
	struct timespec rest = { .tv_sec = (time_t) seconds };

	rest.tv_nsec = (long) ((seconds - (double) rest.tv_sec) * 1e9);
	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		;
}

static uint64_t own_cpu_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
	       (uint64_t) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void measure(const struct load_options *options, struct load_result *result)
{
	struct process_usage before = { 0 };
	uint64_t client_us, began_ns;

	sleep_s(options->warm_up_s);
	if (options->server) {
		process_forget_peak(options->server);
		if (process_usage(options->server, &before) < 0)
			die("there is no process %d", (int) options->server);
	}
	client_us = own_cpu_us();
	began_ns = now_ns();
	atomic_store(&phase, MEASURING);
	sleep_s(options->seconds);
	atomic_store(&phase, STOPPING);
	result->seconds = (double) (now_ns() - began_ns) / 1e9;
	result->client_cpu_us = own_cpu_us() - client_us;
	if (options->server) {
		if (process_usage(options->server, &result->server) < 0)
			die("the server died");
		result->server.cpu_us -= before.cpu_us;
	}
}

void load_run(const struct load_options *options, struct load_result *ret_result)
{
	struct worker *workers = calloc(options->threads, sizeof *workers);
	struct connection *connections = calloc(options->connections, sizeof *connections);
	unsigned given = 0;

	if (!workers || !connections)
		die("no memory");
	memset(ret_result, 0, sizeof *ret_result);
	stamp_fill(shared_data, sizeof shared_data, 0, 2);
	for (unsigned i = 0; i < options->connections; i++)
		connection_open(options, &connections[i], i);
	pthread_barrier_init(&all_connected, NULL, options->threads + 1);
	for (unsigned i = 0; i < options->threads; i++) {
		unsigned left = options->threads - i;

		workers[i].options = options;
		workers[i].connections = connections + given;
		workers[i].connection_count = (options->connections - given + left - 1) / left;
		given += workers[i].connection_count;
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
			die("a thread could not be started");
	}
	pthread_barrier_wait(&all_connected);
	measure(options, ret_result);
	for (unsigned i = 0; i < options->threads; i++) {
		pthread_join(workers[i].thread, NULL);
		ret_result->calls += workers[i].calls;
		ret_result->bytes += workers[i].bytes;
		histogram_merge(&ret_result->latencies, &workers[i].latencies);
	}
	pthread_barrier_destroy(&all_connected);
	free(workers);
	free(connections);
}
