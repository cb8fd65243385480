/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_send.c - replies in, bytes out.
 *
 *     conn_send    a reply is ready: queued, and sent with all others of the turn
 *     conn_flush   one sendmsg(2) for many replies, at the turn's end
 *     conn_sent    gives back what was sent; the rest, and what has come up meanwhile, follows
 */
#include <assert.h>
#include <errno.h>

#include "nfsd/conn_internal.h"
#include "vfs/base/cleanup.h"

static void conn_sent(struct ring_op *op, int result);

void conn_drop_replies(struct conn *conn, struct call **list)
{
	struct call *call = take_ptr(*list);

	while (call) {
		struct call *next = call->next;

		call_free(call);
		call = next;
	}
}

void conn_send(struct conn *conn, struct call *call)
{
	assert(call->conn == conn && call->reply && call->reply_bytes > 0);
	call->next = NULL;
	call_message_release(call);
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
	assert(count > 0 && count <= CONN_SEND_REPLIES_MAX);
	conn->message = (struct msghdr){ .msg_iov = conn->iov, .msg_iovlen = count };
	conn->send_op.done = conn_sent;
	conn->send_since_ms = loop_now_ms(conn->worker->loop);
	ring_sendmsg(loop_ring(conn->worker->loop), &conn->send_op, conn->fd, &conn->message);
}

/* Everything that is ready, up to CONN_SEND_REPLIES_MAX, in one go. */
void conn_flush(struct conn *conn)
{
	struct call *last = conn->queue;

	assert(conn->queue && !conn->sending && !conn->send_op.in_flight);
	for (unsigned count = 1; count < CONN_SEND_REPLIES_MAX && last->next; count++)
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
