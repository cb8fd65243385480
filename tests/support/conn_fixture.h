/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn_fixture.h - for test_conn.c: clients whose bytes are in memory, behind a ring that does what
 * a socket would.
 */
#pragma once

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "nfsd/conn_internal.h"
#include "support/check_main.h"
#include "support/nfsd_fake.h"
#include "vfs/base/cleanup.h"

enum {
	CONNS = 10,
	WIRE_BYTES = 2 << 20,
	LARGE_BYTES = 16 << 10, /* of a large WRITE */
	QUIET_RUNS = 20,
	CALL_WORDS = 15, /* of a header with AUTH_SYS */
	DAY_MS = 24 * 3600 * 1000,
};

struct client {
	int fd;
	uint8_t wire[WIRE_BYTES]; /* what it sends */
	size_t bytes, taken;
	unsigned replies;
	bool no_reading; /* takes no reply */
	bool gone;       /* the server's poll or receive tells the end */
};

static struct {
	struct nfsd_fake fake;
	struct client clients[CONNS];
	unsigned client_count, quiet_runs;
	bool hold_disk;
	unsigned disk_count;
	void (*quiet)(void); /* what the test does when all is quiet; NULL: end */
} t;

static struct client *client_of(int fd)
{
	for (unsigned i = 0; i < t.client_count; i++)
		if (t.clients[i].fd == fd)
			return &t.clients[i];
	ck_abort_msg("no client has that socket");
}

static int answer_recv(struct client *client, const struct ring_fake_call *call)
{
	size_t left = client->bytes - client->taken;

	if (left == 0)
		return client->gone ? 0 : RING_FAKE_LATER;
	left = left < call->count ? left : call->count;
	memcpy(call->bytes, client->wire + client->taken, left);
	client->taken += left;
	return (int) left;
}

static int answer_send(struct client *client, const struct msghdr *message)
{
	int total = 0;

	if (client->no_reading)
		return RING_FAKE_LATER;
	for (size_t i = 0; i < message->msg_iovlen; i++)
		total += (int) message->msg_iov[i].iov_len;
	client->replies += (unsigned) message->msg_iovlen; /* one part a reply */
	return total;
}

static int answer(void *context, const struct ring_fake_call *call)
{
	int result = RING_FAKE_LATER;

	(void) context;
	switch (call->kind) {
	case RING_FAKE_POLL:
		if (client_of(call->fd)->gone ||
		    client_of(call->fd)->bytes > client_of(call->fd)->taken)
			result = POLLIN;
		break;
	case RING_FAKE_RECV:
		result = answer_recv(client_of(call->fd), call);
		break;
	case RING_FAKE_SENDMSG:
		result = answer_send(client_of(call->fd), call->message);
		break;
	case RING_FAKE_READ:
		break;
	default:
		if (!t.hold_disk) {
			result = vfs_fake_io(call);
			t.disk_count++;
		}
	}
	if (result != RING_FAKE_LATER)
		t.quiet_runs = 0;
	return result;
}

static unsigned conn_count(void)
{
	return atomic_load(&t.fake.worker.conn_count);
}

static void idle(void *context)
{
	void (*quiet)(void) = t.quiet;

	(void) context;
	nfsd_fake_resume(&t.fake);
	if (++t.quiet_runs < QUIET_RUNS)
		return;
	t.quiet_runs = 0;
	if (quiet) {
		t.quiet = NULL;
		quiet();
		return;
	}
	t.hold_disk = false;
	for (unsigned i = 0; i < t.client_count; i++) {
		t.clients[i].gone = true;
		t.clients[i].no_reading = false;
	}
	if (conn_count() == 0 && t.fake.worker.call_count == 0)
		loop_stop(t.fake.worker.loop);
}
