/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_receive.c - bytes in, calls out.
 *
 *     conn_wait        waits for the socket to become readable, with no buffer
 *     conn_readable    takes a buffer and receives
 *     conn_received    parses whole records where they lie and starts their calls; receives on,
 *                      behind what is incomplete
 *
 * Receiving stops at any of these bounds until it is no longer reached: calls in flight, bytes of
 * their messages, bytes of replies, both of one client, the server's budget of buffers. A client
 * that does not read its replies runs into the third.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "nfsd/conn_internal.h"
#include "vfs/base/cleanup.h"

enum {
	RECEIVE_BYTES = 64 << 10,   /* a connection's buffer, at first */
	RECEIVE_ROOM_MIN = 8 << 10, /* with less room behind what came, take the next buffer */
	/* Held for one connection from a half and from three quarters of the budget on; while there
	 * is plenty, limits.reply_bytes_per_connection. */
	REPLY_BYTES_SCARCE = 2 << 20,
	REPLY_BYTES_VERY_SCARCE = 64 << 10,
	/* The same of what it sent and is not answered, as parts of the budget. */
	MESSAGE_PART = 4,
	MESSAGE_PART_SCARCE = 16,
	MESSAGE_PART_VERY_SCARCE = 64,
	/* And for one client, which may have many connections. */
	CLIENT_PART_SCARCE = 3,
	CLIENT_PART_VERY_SCARCE = 6,
	SCARCE_PERCENT = 50,
	VERY_SCARCE_PERCENT = 75,
};

static void conn_readable(struct ring_op *op, int result);
static void conn_receive(struct conn *conn);
static void conn_received(struct ring_op *op, int result);
static void conn_parse(struct conn *conn);

/* With nothing to receive, a connection costs no buffer. */
void conn_wait(struct conn *conn)
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

/*
 * The scarcer memory is, the less may be held: a connection's replies and messages, so that clients
 * that ask for much and read little, or send much to a slow disk, do not take away what the others
 * need; and both together of all of a client's connections on this worker. Each may have one call
 * under way all the same: a host's heartbeat shall not wait for its other connections, one of which
 * may be dead.
 */
static bool conn_holds_its_share(const struct conn *conn)
{
	const struct server *server = conn->worker->server;
	size_t limit = server->budget.limit_bytes;
	size_t replies = server->config->reply_bytes_per_connection;
	unsigned percent = buffer_budget_percent(&server->budget);
	bool very = percent >= VERY_SCARCE_PERCENT;
	size_t scarce = very ? REPLY_BYTES_VERY_SCARCE : REPLY_BYTES_SCARCE;

	if (percent < SCARCE_PERCENT)
		return conn->message_bytes < limit / MESSAGE_PART && conn->reply_bytes < replies;
	return conn->message_bytes <
	               limit / (very ? MESSAGE_PART_VERY_SCARCE : MESSAGE_PART_SCARCE) &&
	       conn->reply_bytes < (replies < scarce ? replies : scarce) &&
	       (conn->call_count == 0 ||
	        conn->row->held_bytes <
	                limit / (very ? CLIENT_PART_VERY_SCARCE : CLIENT_PART_SCARCE) /
	                        server->worker_count);
}

static bool conn_may_start(const struct conn *conn)
{
	const struct server *server = conn->worker->server;

	return conn->call_count < server->config->calls_per_connection &&
	       conn->worker->call_count < server->calls_per_worker && conn_holds_its_share(conn) &&
	       buffer_budget_has_room(&server->budget);
}

/* Take a buffer with room for @bytes from the first byte not consumed, and move what there is into
 * it. */
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

/* A record needs @need_bytes from in_start on. A mark alone gets no more than four times of what
 * was really sent, so that memory cannot be had for promises. */
static bool conn_make_room(struct conn *conn, size_t need_bytes)
{
	size_t have = conn->in_end - conn->in_start;
	size_t bytes = need_bytes;

	if (bytes > RECEIVE_BYTES && bytes > conn->large_bytes && bytes > 4 * have)
		bytes = 4 * have > RECEIVE_BYTES ? 4 * have : RECEIVE_BYTES;
	if (conn->in->capacity_bytes - conn->in_start >= bytes &&
	    conn->in->capacity_bytes > conn->in_end)
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
		if (conn->in && conn->in->refs == 1 &&
		    conn->in->capacity_bytes >= conn->large_bytes) {
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
	conn->received_ns = counters_now_ns(); /* once for many calls: it is not free */
	conn->in_end += (uint32_t) result;
	conn->drained = (uint32_t) result < conn->in_asked;
	conn_parse(conn);
}

static bool conn_call(struct conn *conn, const struct record *record)
{
	struct call *call = call_new(conn->worker);

	if (!call)
		return false;
	conn->has_called = true;
	call->conn = conn;
	call->role = conn->role;
	call->client = conn->client;
	call->local = conn->local;
	call->client_port = conn->client_port;
	call->message = buffer_ref(conn->in);
	call->message_bytes = record->payload_bytes;
	conn_message_held(conn, record->payload_bytes);
	call->begun_ns = conn->received_ns;
	conn_call_begun(conn);
	/* Halves slowly, so that one small call does not undo it. */
	if (record->payload_bytes + RPC_RECORD_MARK_BYTES > RECEIVE_BYTES)
		conn->large_bytes = record->payload_bytes + RPC_RECORD_MARK_BYTES +
		                    RECEIVE_ROOM_MIN;
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
			conn_close_over(conn, CLOSED_TOO_LONG);
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
	if (conn->closing || conn->stopping || conn->recv_op.in_flight)
		return;
	list_remove(&conn->starved_node);
	if (!conn_may_start(conn)) {
		conn_starve(conn); /* last now: it is others' turn to look */
		return;
	}
	if (conn->in_start < conn->in_end)
		conn_parse(conn);
	else
		conn_receive(conn);
}

bool conn_receives_idly(const struct conn *conn)
{
	return conn->recv_op.in_flight && conn->recv_op.done == conn_received &&
	       conn->in_start == conn->in_end;
}
