/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - a connection with many calls under way.
 *
 * It has as many slots as the depth, one a call: stream_begin() gives a slot's next call, whose
 * header is written in place; stream_add() queues it and any data after it; stream_send() sends
 * what is queued. stream_receive() takes in what came and hands each reply to its slot's owner, who
 * may begin the slot's next call at once; then it sends.
 *
 * Nothing is copied. What must not change until the reply came is the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "client.h"

enum {
	STREAM_HEADER_BYTES = 256, /* the longest call header: CREATE with a name of 40 bytes */
};

struct stream;

/* `in` begins after the RPC header and reaches as far as the stream was told to wait for. */
typedef void stream_reply_fn(struct stream *stream, unsigned slot, struct wire_in in,
                             uint64_t now_ns);

struct stream_call {
	uint32_t xid;
	uint64_t started_ns;
	uint8_t header[STREAM_HEADER_BYTES];
};

struct stream {
	int fd;
	stream_reply_fn *reply;
	unsigned in_flight;
	/* An xid counts calls, from anywhere; its lowest bits say which slot. */
	uint32_t calls_made;
	unsigned depth, slot_bits;
	struct stream_call *calls;
	/* to be sent: a ring of parts */
	struct iovec *out;
	unsigned out_first, out_count, out_slots;
	/* received, not yet understood; and bytes of the present record that nobody wants */
	uint8_t *in;
	size_t in_bytes_max, in_used, skip_bytes;
	size_t reply_bytes_max, reply_bytes_wanted;
};

/* Replies longer than reply_bytes_max are a fault. Of each, only the first reply_bytes_wanted need
 * be there before it is handed over; the rest is dropped unread. */
void stream_open(struct stream *stream, const struct target *target, unsigned depth,
                 size_t reply_bytes_max, size_t reply_bytes_wanted, stream_reply_fn *reply);
void stream_close(struct stream *stream);

struct stream_call *stream_begin(struct stream *stream, unsigned slot, uint64_t now_ns);
void stream_add(struct stream *stream, const void *bytes, size_t bytes_count);

/* Sends what the socket takes; the rest stays queued. */
void stream_send(struct stream *stream);

/* Takes in what is there, without waiting. */
void stream_receive(struct stream *stream);

/* The same, but waits until something came or, if something is queued, can be sent. */
void stream_wait(struct stream *stream);
