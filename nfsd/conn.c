/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn.c - a TCP connection: bytes in, calls out; replies in, bytes out.
 *
 * Its life:
 *
 *     conn_open           waits for the socket to become readable, with no buffer
 *     conn_readable       takes a buffer and receives
 *     conn_received       parses whole records where they lie and starts their calls; receives on,
 *                         behind what is incomplete
 *     conn_send           a reply is ready: queued, and sent with all others of the turn
 *     conn_sent           gives back what was sent; sends what has come up meanwhile
 *     conn_close          says so to the socket; the last completion or call frees the connection
 *
 * Bounds, each of which stops receiving until it is no longer reached: calls in flight, bytes of replies,
 * the server's budget of buffers. A client that does not read its replies runs into the second.
 */
#include "nfsd/conn.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nfsd/peers.h"
#include "nfsd/sockets.h"
#include "rpcgen/record.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	RECEIVE_BYTES = 64 << 10,       /* a connection's buffer, at first */
	RECEIVE_ROOM_MIN = 8 << 10,     /* with less room behind what came, take the next buffer */
	REPLY_BYTES_MAX = 8 << 20,      /* held for one connection */
	SEND_REPLIES_MAX = 64,          /* in one sendmsg(2) */
	IDLE_MS = 1000,                 /* without a byte for that long, the buffer goes back */
	OPTIONS_KEPT = 8,
	KEEPALIVE_IDLE_S = 30, KEEPALIVE_INTERVAL_S = 10, KEEPALIVE_COUNT = 3,
	USER_TIMEOUT_MS = 30000,
};

struct conn {
	struct worker *worker;
	uint32_t slot;
	uint64_t generation;
	int fd;
	enum socket_role role;
	struct export_address client, local;
	uint16_t client_port;
	bool closing, stopping;

	struct ring_op recv_op;
	struct buffer *in; /* bytes in_start..in_end are received and not consumed */
	uint32_t in_start, in_end;
	uint32_t in_asked;      /* the receive in flight asked for so many */
	uint32_t large_bytes;   /* the largest record lately: buffers are made for it */
	bool drained;           /* the last receive took all there was */
	struct record_state record;
	uint64_t received_ms, record_since_ms; /* record_since_ms 0: no record is incomplete */

	struct ring_op send_op;
	struct call *sending, *queue, **queue_last;
	uint32_t sent_bytes; /* of what is being sent */
	uint64_t send_since_ms;
	struct msghdr message;
	struct iovec iov[SEND_REPLIES_MAX];
	struct loop_task turn_task; /* at the turn's end: send, parse what waited, perhaps free */
	bool turn_scheduled;

	unsigned call_count;
	size_t reply_bytes;
	struct list_node starved_node;

	struct {
		uint32_t serial;
		struct export_options options;
	} options[OPTIONS_KEPT];
	unsigned options_next;
};

static void conn_wait(struct conn *conn);
static void conn_readable(struct ring_op *op, int result);
static void conn_receive(struct conn *conn);
static void conn_received(struct ring_op *op, int result);
static void conn_parse(struct conn *conn);
static void conn_flush(struct conn *conn);
static void conn_sent(struct ring_op *op, int result);
static void conn_turn_ended(struct loop_task *task);

/* ---- the worker's table ---- */

static int conn_slot_take(struct worker *worker, uint32_t *ret_slot)
{
	unsigned slots;
	struct conn **grown;

	for (unsigned i = 0; i < worker->conn_slots; i++)
		if (!worker->conns[i]) {
			*ret_slot = i;
			return 0;
		}
	slots = worker->conn_slots ? worker->conn_slots * 2 : 64;
	grown = reallocarray(worker->conns, slots, sizeof *grown);
	if (!grown)
		return -ENOMEM;
	memset(grown + worker->conn_slots, 0, (slots - worker->conn_slots) * sizeof *grown);
	*ret_slot = worker->conn_slots;
	worker->conns = grown;
	worker->conn_slots = slots;
	return 0;
}

struct conn *conn_find(struct worker *worker, uint32_t slot, uint64_t generation)
{
	struct conn *conn = slot < worker->conn_slots ? worker->conns[slot] : NULL;

	return conn && conn->generation == generation && !conn->closing ? conn : NULL;
}

struct reply_target conn_target(const struct conn *conn)
{
	return (struct reply_target){
		.worker = conn->worker->number,
		.connection = conn->slot,
		.generation = conn->generation,
	};
}

static void conn_say(const struct conn *conn, const char *why)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];

	log_warn("%s port %u: %s; the connection is closed",
	         export_address_print(&conn->client, text), conn->client_port, why);
}

static void socket_tune(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT },
		/* A dead path must not hold the client's port: ESXi comes back from the same one. */
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS },
	};

	for (size_t i = 0; i < ARRAY_COUNT(options); i++)
		(void) setsockopt(fd, options[i].level, options[i].name, &options[i].value,
		                  sizeof options[i].value);
}

void conn_open(struct worker *worker, int fd, enum socket_role role,
               const struct export_address *client, uint16_t client_port)
{
	struct conn *conn = calloc(1, sizeof *conn);

	if (!conn || worker->stopping || conn_slot_take(worker, &conn->slot) < 0) {
		free(conn);
		close_fd(&fd);
		peers_release(worker->server->peers, client);
		return;
	}
	worker->conns[conn->slot] = conn;
	atomic_fetch_add(&worker->conn_count, 1);
	conn->worker = worker;
	conn->generation = ++worker->conn_generation;
	conn->fd = fd;
	conn->role = role;
	conn->client = *client;
	conn->client_port = client_port;
	conn->queue_last = &conn->queue;
	conn->turn_task.run = conn_turn_ended;
	conn->received_ms = loop_now_ms(worker->loop);
	list_node_init(&conn->starved_node);
	sockets_local(fd, &conn->local);
	socket_tune(fd);
	conn_wait(conn);
}

/* Frees it if it is closing and nothing refers to it any more. True: it is gone. */
static bool conn_free_if_done(struct conn *conn)
{
	struct worker *worker = conn->worker;

	if (!conn->closing || conn->call_count > 0 || conn->recv_op.in_flight ||
	    conn->send_op.in_flight || conn->turn_scheduled)
		return false;
	assert(!conn->queue && !conn->sending && conn->reply_bytes == 0);
	worker->conns[conn->slot] = NULL;
	atomic_fetch_sub(&worker->conn_count, 1);
	peers_release(worker->server->peers, &conn->client);
	buffer_unref(conn->in);
	close_fd(&conn->fd);
	free(conn);
	return true;
}

static void conn_drop_replies(struct conn *conn, struct call **list)
{
	struct call *call = take_ptr(*list);

	while (call) {
		struct call *next = call->next;

		call_free(call);
		call = next;
	}
}

void conn_close(struct conn *conn, const char *why)
{
	if (conn->closing)
		return;
	if (why)
		conn_say(conn, why);
	conn->closing = true;
	if (list_linked(&conn->starved_node))
		list_remove(&conn->starved_node);
	(void) shutdown(conn->fd, SHUT_RDWR);
	ring_cancel(loop_ring(conn->worker->loop), &conn->recv_op);
	ring_cancel(loop_ring(conn->worker->loop), &conn->send_op);
	conn_turn_schedule(conn); /* what is queued is dropped there, not in somebody's loop over it */
}

void conn_stop(struct conn *conn)
{
	conn->stopping = true;
	ring_cancel(loop_ring(conn->worker->loop), &conn->recv_op);
	conn_turn_schedule(conn);
}

void conn_turn_schedule(struct conn *conn)
{
	if (conn->turn_scheduled)
		return;
	conn->turn_scheduled = true;
	loop_turn_end(conn->worker->loop, &conn->turn_task);
}

static void conn_turn_ended(struct loop_task *task)
{
	struct conn *conn = container_of(task, struct conn, turn_task);

	conn->turn_scheduled = false;
	if (!conn->closing && conn->queue && !conn->sending)
		conn_flush(conn);
	if (!conn->closing && list_linked(&conn->starved_node))
		conn_resume(conn);
	if (conn->stopping && !conn->closing && conn->call_count == 0)
		conn_close(conn, NULL);
	if (conn->closing) {
		conn_drop_replies(conn, &conn->queue);
		conn->queue_last = &conn->queue;
		(void) conn_free_if_done(conn); /* conn may be gone */
	}
}

/* ---- receiving ---- */

/* With nothing to receive, a connection costs no buffer. */
static void conn_wait(struct conn *conn)
{
	assert(conn->in_start == conn->in_end);
	conn->in = buffer_unref(conn->in);
	conn->in_start = conn->in_end = 0;
	conn->recv_op.done = conn_readable;
	ring_poll_readable(loop_ring(conn->worker->loop), &conn->recv_op, conn->fd);
}

static void conn_readable(struct ring_op *op, int result)
{
	struct conn *conn = container_of(op, struct conn, recv_op);

	if (conn->closing || conn->stopping) {
		conn_turn_schedule(conn);
		return;
	}
	if (result < 0 && result != -EINTR) {
		conn_close(conn, NULL);
		return;
	}
	conn->drained = false;
	conn_receive(conn);
}

/* Stop receiving until memory or replies allow it again. */
static void conn_starve(struct conn *conn)
{
	if (!list_linked(&conn->starved_node))
		list_add_tail(&conn->worker->starved, &conn->starved_node);
}

static bool conn_may_start(const struct conn *conn)
{
	const struct server *server = conn->worker->server;

	return conn->call_count < server->config->calls_per_connection &&
	       conn->reply_bytes < REPLY_BYTES_MAX && buffer_budget_has_room(&server->budget);
}

/* Take a buffer with room for @bytes from the first byte not consumed, and move what there is into it. */
static bool conn_buffer_take(struct conn *conn, size_t bytes)
{
	uint32_t have = conn->in_end - conn->in_start;
	struct buffer *buffer;

	if (bytes < RECEIVE_BYTES)
		bytes = RECEIVE_BYTES;
	if (bytes < conn->large_bytes)
		bytes = conn->large_bytes;
	if (!buffer_budget_has_room(&conn->worker->server->budget))
		return false;
	buffer = buffer_get(conn->worker->buffers, bytes);
	if (!buffer)
		return false;
	if (have)
		memcpy(buffer->bytes, conn->in->bytes + conn->in_start, have);
	buffer_unref(conn->in);
	conn->in = buffer;
	conn->in_start = 0;
	conn->in_end = have;
	return true;
}

/* A record needs @need_bytes from in_start on. A mark alone gets no more than four times of what was really
 * sent, so that memory cannot be had for promises. */
static bool conn_make_room(struct conn *conn, size_t need_bytes)
{
	size_t have = conn->in_end - conn->in_start;
	size_t bytes = need_bytes;

	if (bytes > RECEIVE_BYTES && bytes > conn->large_bytes && bytes > 4 * have)
		bytes = 4 * have > RECEIVE_BYTES ? 4 * have : RECEIVE_BYTES;
	if (conn->in->capacity_bytes - conn->in_start >= bytes && conn->in->capacity_bytes > conn->in_end)
		return true;
	return conn_buffer_take(conn, bytes);
}

static void conn_receive(struct conn *conn)
{
	uint32_t room;

	assert(!conn->recv_op.in_flight);
	room = conn->in ? conn->in->capacity_bytes - conn->in_end : 0;
	if (conn->in_start == conn->in_end) {
		/* Nothing incomplete: from the start if no call uses the buffer any more. */
		if (conn->in && conn->in->refs == 1 && conn->in->capacity_bytes >= conn->large_bytes) {
			conn->in_start = conn->in_end = 0;
		} else if (room < RECEIVE_ROOM_MIN || room < conn->large_bytes) {
			if (!conn_buffer_take(conn, RECEIVE_BYTES)) {
				conn_starve(conn);
				return;
			}
		}
	}
	conn->in_asked = conn->in->capacity_bytes - conn->in_end;
	conn->recv_op.done = conn_received;
	ring_recv(loop_ring(conn->worker->loop), &conn->recv_op, conn->fd,
	          conn->in->bytes + conn->in_end, conn->in_asked, conn->drained);
}

static void conn_received(struct ring_op *op, int result)
{
	struct conn *conn = container_of(op, struct conn, recv_op);

	if (conn->closing || conn->stopping) {
		conn_turn_schedule(conn);
		return;
	}
	if (result == -ECANCELED) { /* conn_tick() found it idle */
		if (conn->in_start == conn->in_end)
			conn_wait(conn);
		else
			conn_receive(conn);
		return;
	}
	if (result == -EINTR || result == -EAGAIN || result == -ENOBUFS) {
		conn_receive(conn);
		return;
	}
	if (result <= 0) { /* the client closed it, or the network did */
		conn_close(conn, NULL);
		return;
	}
	conn->received_ms = loop_now_ms(conn->worker->loop);
	conn->in_end += (uint32_t) result;
	conn->drained = (uint32_t) result < conn->in_asked;
	conn_parse(conn);
}

static bool conn_call(struct conn *conn, const struct record *record)
{
	struct call *call = call_new(conn->worker);

	if (!call)
		return false;
	call->conn = conn;
	call->role = conn->role;
	call->client = conn->client;
	call->local = conn->local;
	call->client_port = conn->client_port;
	call->message = buffer_ref(conn->in);
	conn_call_begun(conn);
	/* Halves slowly, so that one small call does not undo it. */
	if (record->payload_bytes + RPC_RECORD_MARK_BYTES > RECEIVE_BYTES)
		conn->large_bytes = record->payload_bytes + RPC_RECORD_MARK_BYTES + RECEIVE_ROOM_MIN;
	else
		conn->large_bytes -= conn->large_bytes / 16;
	call_start(call, record->payload, record->payload_bytes); /* call may be gone */
	return true;
}

/* Start every whole call, then receive on. */
static void conn_parse(struct conn *conn)
{
	struct record record;

	while (conn->in_start < conn->in_end) {
		if (!conn_may_start(conn)) {
			conn_starve(conn);
			return;
		}
		record = record_next(&conn->record, conn->in->bytes + conn->in_start,
		                     conn->in_end - conn->in_start, RPC_RECORD_BYTES_MAX);
		conn->in_end = conn->in_start + (uint32_t) record.have_bytes;
		if (record.status == RECORD_BAD) {
			conn_close(conn, "sent a record longer than 1 MiB + 64 KiB");
			return;
		}
		if (record.status == RECORD_MORE) {
			if (!conn->record_since_ms)
				conn->record_since_ms = loop_now_ms(conn->worker->loop);
			if (!conn_make_room(conn, record.need_bytes)) {
				conn_starve(conn);
				return;
			}
			break;
		}
		conn->record_since_ms = 0;
		conn->in_start += (uint32_t) record.consumed_bytes;
		if (!conn_call(conn, &record)) {
			conn_close(conn, "no memory for a call");
			return;
		}
	}
	if (!conn->closing && !conn->stopping)
		conn_receive(conn);
}

void conn_resume(struct conn *conn)
{
	if (conn->closing || conn->stopping || conn->recv_op.in_flight || !conn_may_start(conn))
		return;
	list_remove(&conn->starved_node);
	if (conn->in_start < conn->in_end)
		conn_parse(conn);
	else
		conn_receive(conn);
}

/* ---- sending ---- */

void conn_send(struct conn *conn, struct call *call)
{
	assert(call->conn == conn && call->reply && call->reply_bytes > 0);
	call->next = NULL;
	call->message = buffer_unref(call->message); /* answered: nobody reads it any more */
	*conn->queue_last = call;
	conn->queue_last = &call->next;
	conn_turn_schedule(conn);
}

static void conn_send_rest(struct conn *conn)
{
	uint32_t skip = conn->sent_bytes;
	size_t count = 0;

	for (struct call *call = conn->sending; call; call = call->next) {
		if (skip >= call->reply_bytes) {
			skip -= call->reply_bytes;
			continue;
		}
		conn->iov[count++] = (struct iovec){
			.iov_base = call->reply->bytes + skip,
			.iov_len = call->reply_bytes - skip,
		};
		skip = 0;
	}
	assert(count > 0 && count <= SEND_REPLIES_MAX);
	conn->message = (struct msghdr){ .msg_iov = conn->iov, .msg_iovlen = count };
	conn->send_op.done = conn_sent;
	conn->send_since_ms = loop_now_ms(conn->worker->loop);
	ring_sendmsg(loop_ring(conn->worker->loop), &conn->send_op, conn->fd, &conn->message);
}

/* Everything that is ready, up to SEND_REPLIES_MAX, in one go. */
static void conn_flush(struct conn *conn)
{
	struct call *last = conn->queue;

	assert(conn->queue && !conn->sending && !conn->send_op.in_flight);
	for (unsigned count = 1; count < SEND_REPLIES_MAX && last->next; count++)
		last = last->next;
	conn->sending = conn->queue;
	conn->queue = last->next;
	last->next = NULL;
	if (!conn->queue)
		conn->queue_last = &conn->queue;
	conn->sent_bytes = 0;
	conn_send_rest(conn);
}

static void conn_sent(struct ring_op *op, int result)
{
	struct conn *conn = container_of(op, struct conn, send_op);
	uint32_t total = 0;

	for (struct call *call = conn->sending; call; call = call->next)
		total += call->reply_bytes;
	if (result > 0)
		conn->sent_bytes += (uint32_t) result;
	if (!conn->closing && conn->sent_bytes < total) {
		if (result > 0 || result == -EINTR || result == -EAGAIN) {
			conn_send_rest(conn);
			return;
		}
		conn_close(conn, NULL);
	}
	conn_turn_schedule(conn);
	conn_drop_replies(conn, &conn->sending);
}

/* ---- counting ---- */

void conn_call_begun(struct conn *conn)
{
	conn->call_count++;
}

void conn_call_ended(struct conn *conn)
{
	assert(conn->call_count > 0);
	conn->call_count--;
	if (conn->closing || conn->stopping || list_linked(&conn->starved_node))
		conn_turn_schedule(conn);
}

void conn_reply_held(struct conn *conn, uint32_t bytes)
{
	conn->reply_bytes += bytes;
}

void conn_reply_released(struct conn *conn, uint32_t bytes)
{
	assert(conn->reply_bytes >= bytes);
	conn->reply_bytes -= bytes;
}

bool conn_options_find(const struct conn *conn, uint32_t serial,
                       struct export_options *ret_options)
{
	for (unsigned i = 0; i < OPTIONS_KEPT; i++)
		if (conn->options[i].serial == serial) {
			*ret_options = conn->options[i].options;
			return true;
		}
	return false;
}

void conn_options_keep(struct conn *conn, uint32_t serial, const struct export_options *options)
{
	struct export_options known;

	if (conn_options_find(conn, serial, &known))
		return;
	conn->options[conn->options_next].serial = serial;
	conn->options[conn->options_next].options = *options;
	conn->options_next = (conn->options_next + 1) % OPTIONS_KEPT;
}

/* ---- time ---- */

static bool over(uint64_t since_ms, uint64_t now_ms, uint64_t limit_s)
{
	return limit_s > 0 && now_ms - since_ms > limit_s * 1000;
}

void conn_tick(struct conn *conn)
{
	const struct config *config = conn->worker->server->config;
	uint64_t now_ms = loop_now_ms(conn->worker->loop);

	if (conn->closing)
		return;
	if (conn->record_since_ms && !list_linked(&conn->starved_node) &&
	    over(conn->record_since_ms, now_ms, config->record_timeout_s))
		conn_close(conn, "did not finish a record in time");
	else if (conn->sending && over(conn->send_since_ms, now_ms, config->reply_timeout_s))
		conn_close(conn, "does not take its replies");
	else if (conn->call_count == 0 && !conn->record_since_ms &&
	         over(conn->received_ms, now_ms, config->idle_timeout_s))
		conn_close(conn, "was idle for longer than idle_timeout");
	else if (conn->recv_op.in_flight && conn->recv_op.done == conn_received &&
	         conn->in_start == conn->in_end && now_ms - conn->received_ms > IDLE_MS)
		ring_cancel(loop_ring(conn->worker->loop), &conn->recv_op);
}

struct conn *conn_of_starved(struct list_node *node)
{
	return container_of(node, struct conn, starved_node);
}

uint64_t conn_idle_ms(const struct conn *conn)
{
	if (conn->closing || conn->call_count > 0 || conn->record_since_ms)
		return 0;
	return loop_now_ms(conn->worker->loop) - conn->received_ms;
}
