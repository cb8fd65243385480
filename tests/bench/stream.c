/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What arrived is taken in with one recv(), each reply in it makes the slot's next call, and all of
 * those leave with one sendmsg().
 *
 * A READ's data is left in the receive buffer and overwritten by what comes next, unless it is
 * wanted; so the buffer stays small enough for the processor's cache.
 */
#include "stream.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool.h"

enum {
	INPUT_BYTES = 256 << 10,
	ANSWER_MS_MAX = 60000,
	PARTS_PER_CALL = 2, /* header, data */
};

void stream_open(struct stream *stream, const struct target *target, unsigned depth,
                 size_t reply_bytes_max, size_t reply_bytes_wanted, stream_reply_fn *reply)
{
	memset(stream, 0, sizeof *stream);
	stream->fd = client_connect(target, target->nfs_port);
	stream->reply = reply;
	stream->calls_made = client_first_xid();
	stream->depth = depth;
	while (1u << stream->slot_bits < depth)
		stream->slot_bits++;
	stream->calls = allocate_zeroed(depth, sizeof *stream->calls);
	stream->out_slots = PARTS_PER_CALL * depth;
	stream->out = allocate_zeroed(stream->out_slots, sizeof *stream->out);
	stream->reply_bytes_max = reply_bytes_max;
	stream->reply_bytes_wanted = reply_bytes_wanted;
	stream->in_bytes_max = INPUT_BYTES;
	if (reply_bytes_wanted >= reply_bytes_max)
		stream->in_bytes_max += 2 * reply_bytes_max;
	stream->in = allocate(stream->in_bytes_max);
}

void stream_close(struct stream *stream)
{
	close(stream->fd);
	free(stream->calls);
	free(stream->out);
	free(stream->in);
}

struct stream_call *stream_begin(struct stream *stream, unsigned slot, uint64_t now_ns)
{
	struct stream_call *call = &stream->calls[slot];

	assert(slot < stream->depth);
	call->xid = stream->calls_made++ << stream->slot_bits | slot;
	call->started_ns = now_ns;
	stream->in_flight++;
	return call;
}

void stream_add(struct stream *stream, const void *bytes, size_t bytes_count)
{
	if (stream->out_count == stream->out_slots)
		die("a reply came before its call was sent");
	stream->out[(stream->out_first + stream->out_count++) % stream->out_slots] = (struct iovec){
		(void *) (uintptr_t) bytes, bytes_count
	};
}

void stream_send(struct stream *stream)
{
	while (stream->out_count > 0) {
		unsigned until_wrap = stream->out_slots - stream->out_first;
		unsigned count = stream->out_count < until_wrap ? stream->out_count : until_wrap;
		struct msghdr message = { .msg_iov = stream->out + stream->out_first,
			                  .msg_iovlen = count < IOV_MAX ? count : IOV_MAX };
		ssize_t sent = sendmsg(stream->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (sent < 0)
			die("sending: %s", strerror(errno));
		while (stream->out_count > 0) {
			struct iovec *part = &stream->out[stream->out_first];

			if ((size_t) sent < part->iov_len) {
				part->iov_base = (uint8_t *) part->iov_base + sent;
				part->iov_len -= (size_t) sent;
				break;
			}
			sent -= (ssize_t) part->iov_len;
			stream->out_first = (stream->out_first + 1) % stream->out_slots;
			stream->out_count--;
		}
	}
}

/* One reply, of which at least the part that is wanted is there. */
static void take_reply(struct stream *stream, struct wire_in in, uint64_t now)
{
	const char *fault;
	unsigned slot;
	uint32_t xid;

	fault = nfs_reply_header(&in, &xid);
	slot = xid & ((1u << stream->slot_bits) - 1);
	if (!fault && (slot >= stream->depth || stream->calls[slot].xid != xid))
		fault = "a reply answers no call that is under way";
	client_expect(fault);
	stream->calls[slot].xid = ~xid; /* a second reply to it would be a fault */
	stream->in_flight--;
	stream->reply(stream, slot, in, now);
}

/* Takes the replies that lie in the buffer; what is left of it moves to the front. */
static void take_replies(struct stream *stream, uint64_t now)
{
	size_t at = stream->skip_bytes < stream->in_used ? stream->skip_bytes : stream->in_used;

	stream->skip_bytes -= at;
	while (stream->in_used - at >= 4) {
		const uint8_t *record = stream->in + at + 4;
		size_t there = stream->in_used - at - 4;
		size_t record_bytes, needed;
		uint32_t mark;

		memcpy(&mark, stream->in + at, sizeof mark);
		mark = be32toh(mark);
		if (!(mark >> RPC_LAST_FRAGMENT))
			die("a reply came in several fragments, which this program does not read");
		record_bytes = mark & ~(1u << RPC_LAST_FRAGMENT);
		if (record_bytes > stream->reply_bytes_max)
			die("a reply of %zu bytes", record_bytes);
		needed = record_bytes;
		if (needed > stream->reply_bytes_wanted)
			needed = stream->reply_bytes_wanted;
		if (there < needed)
			break;
		if (there > record_bytes)
			there = record_bytes;
		take_reply(stream, (struct wire_in){ record, record + there, false }, now);
		stream->skip_bytes = record_bytes - there;
		at += 4 + there;
	}
	stream->in_used -= at;
	memmove(stream->in, stream->in + at, stream->in_used);
}

static void receive(struct stream *stream, int flags)
{
	ssize_t got = recv(stream->fd, stream->in + stream->in_used,
	                   stream->in_bytes_max - stream->in_used, flags);

	if (got < 0 && errno == EAGAIN && (flags & MSG_DONTWAIT))
		return;
	if (got < 0 && errno == EINTR)
		return;
	if (got < 0)
		die("receiving: %s", strerror(errno));
	if (got == 0)
		die("the server closed the connection");
	stream->in_used += (size_t) got;
	take_replies(stream, now_ns());
	stream_send(stream);
}

void stream_receive(struct stream *stream)
{
	receive(stream, MSG_DONTWAIT);
}

void stream_wait(struct stream *stream)
{
	struct pollfd ready = { .fd = stream->fd, .events = POLLIN | POLLOUT };

	/* With nothing to send, recv() is all the waiting there is; the socket has a timeout. */
	if (stream->out_count == 0)
		return receive(stream, 0);
	if (poll(&ready, 1, ANSWER_MS_MAX) == 0)
		die("no answer within %d s", ANSWER_MS_MAX / 1000);
	stream_send(stream);
	receive(stream, MSG_DONTWAIT);
}
