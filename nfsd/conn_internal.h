/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_internal.h - a connection's inside, for conn.c, conn_receive.c and conn_send.c.
 */
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include "nfsd/conn.h"
#include "rpcgen/record.h"

enum {
	CONN_SEND_REPLIES_MAX = 64, /* in one sendmsg(2) */
	CONN_OPTIONS_KEPT = 8,      /* exports whose options a connection remembers */
};

struct conn {
	struct worker *worker;
	uint32_t slot;
	uint64_t generation;
	int fd;
	enum socket_role role;
	struct export_address client, local;
	uint16_t client_port;
	struct tally_row *row; /* its client's; the connection is one of its users */
	bool closing, stopping;
	bool has_called; /* a whole call has come */

	struct ring_op recv_op;
	struct buffer *in; /* bytes in_start..in_end are received and not consumed */
	uint32_t in_start, in_end;
	uint32_t in_asked;    /* the receive in flight asked for so many */
	uint32_t large_bytes; /* the largest record lately: buffers are made for it */
	bool drained;         /* the last receive took all there was */
	struct record_state record;
	uint64_t received_ms, record_since_ms; /* record_since_ms 0: no record is incomplete */
	uint64_t received_ns;                  /* the same moment, of counters_now_ns() */

	struct ring_op send_op;
	struct call *sending, *queue, **queue_last;
	uint32_t sent_bytes; /* of what is being sent */
	uint64_t send_since_ms;
	struct msghdr message;
	struct iovec iov[CONN_SEND_REPLIES_MAX];
	struct loop_task turn_task; /* at the turn's end: send, parse what waited, perhaps free */
	bool turn_scheduled;

	unsigned call_count;
	size_t reply_bytes, message_bytes; /* held by its calls */
	struct list_node starved_node;
	struct list_node lanes; /* calls that wait for their turn (throttle.c) */

	struct {
		uint32_t serial;
		struct export_options options;
	} options[CONN_OPTIONS_KEPT];
	unsigned options_next;
};

/* conn_receive.c: wait for bytes without holding a buffer. */
void conn_wait(struct conn *conn);

/* Is a receive in flight that a buffer lies ready for, and nothing of a record has come? */
bool conn_receives_idly(const struct conn *conn);

/* conn_send.c: send what is queued, up to CONN_SEND_REPLIES_MAX, in one go. */
void conn_flush(struct conn *conn);

/* Give back the calls of a list that were answered, or never will be. */
void conn_drop_replies(struct conn *conn, struct call **list);
