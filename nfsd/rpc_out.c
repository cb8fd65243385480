/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc_out.c - a call's life:
 *
 *     rpc_out_submit   anywhere: handed to the thread
 *     stages           the thread: the port over UDP, else over TCP, then the call itself; each is
 *                      sent again when its time is up, and after some tries the port is asked anew
 *     call_end         done() with what came, or with why nothing did
 */
#include "nfsd/rpc_out.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rpc/rpc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nfsd/rpc_out_wire.h"
#include "nfsd/sockets.h"
#include "rpcgen/portmap.h"
#include "rpcgen/rpc_call.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"

enum {
	TICK_MS = 1000,
	AGAIN_MS = 100,
	WAIT_FIRST_MS = 500,
	WAIT_MAX_MS = 8000,
	TRIES_PER_PORT = 4,
	STREAMS_MAX = 64, /* TCP connections at once */
	DATAGRAM_BYTES_MAX = 4096,
};

enum stage {
	ASK_UDP, /* the port mapper: is it there over UDP? */
	ASK_TCP,
	CALL_UDP,
	CALL_TCP,
};

struct rpc_out {
	pthread_t thread;
	int wake_fd, udp_fds[2]; /* IPv4, IPv6 */
	void (*tick)(void *context);
	void *context;
	pthread_mutex_t lock;
	struct list_node fresh; /* under lock */
	unsigned count;         /* under lock: of all */
	bool stop;              /* under lock */
	/* The thread's: */
	struct list_node calls;
	unsigned stream_count;
	uint32_t xid_last;
	uint64_t tick_due_ms;
};

uint64_t rpc_out_now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

struct rpc_out_call *rpc_out_new(const uint8_t *args, size_t args_bytes)
{
	struct rpc_out_call *call = calloc(1, sizeof *call + args_bytes);

	assert(args_bytes <= RPC_OUT_ARGS_BYTES_MAX);
	if (!call)
		return NULL;
	if (args_bytes)
		memcpy(call->args, args, args_bytes);
	call->args_bytes = (uint32_t) args_bytes;
	call->fd = -EBADF;
	list_node_init(&call->node);
	return call;
}

int rpc_out_submit(struct rpc_out *out, struct rpc_out_call *call)
{
	static const uint64_t one = 1;
	int r = 0;

	pthread_mutex_lock(&out->lock);
	if (out->stop)
		r = -ESHUTDOWN;
	else if (out->count == RPC_OUT_CALLS_MAX)
		r = -EBUSY;
	if (r == 0) {
		out->count++;
		list_add_tail(&out->fresh, &call->node);
	}
	pthread_mutex_unlock(&out->lock);
	if (r == 0)
		(void) !write(out->wake_fd, &one, sizeof one);
	else
		free(call);
	return r;
}

/* ---- addresses ---- */

static socklen_t address_of(const struct export_address *from, uint16_t port,
                            union sockets_address *to)
{
	memset(to, 0, sizeof *to);
	if (export_address_is_ipv4(from)) {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = htons(port);
		memcpy(&to->v4.sin_addr, from->bytes + 12, 4);
		return sizeof to->v4;
	}
	to->v6.sin6_family = AF_INET6;
	to->v6.sin6_port = htons(port);
	memcpy(&to->v6.sin6_addr, from->bytes, 16);
	return sizeof to->v6;
}

static bool is_any(const struct export_address *address)
{
	static const struct export_address any;

	return memcmp(address, &any, sizeof any) == 0;
}

/* ---- streams ---- */

static void stream_close(struct rpc_out *out, struct rpc_out_call *call)
{
	if (call->fd < 0)
		return;
	close_fd(&call->fd);
	out->stream_count--;
}

static void stream_open(struct rpc_out *out, struct rpc_out_call *call)
{
	union sockets_address to, from;
	socklen_t bytes = address_of(&call->to, call->port, &to);

	stream_close(out, call);
	if (out->stream_count == STREAMS_MAX)
		return; /* in its next turn */
	call->fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (call->fd < 0)
		return;
	out->stream_count++;
	call->sent_bytes = call->received_bytes = 0;
	if (!is_any(&call->from)) {
		address_of(&call->from, 0, &from);
		(void) bind(call->fd, &from.any, bytes);
	}
	if (connect(call->fd, &to.any, bytes) < 0 && errno != EINPROGRESS)
		stream_close(out, call);
}

/* ---- stages ---- */

static void call_end(struct rpc_out *out, struct rpc_out_call *call, int error,
                     struct xdr_view results)
{
	list_remove(&call->node);
	stream_close(out, call);
	pthread_mutex_lock(&out->lock);
	out->count--;
	pthread_mutex_unlock(&out->lock);
	if (call->done)
		call->done(call, error, results);
	free(call);
}

/* From the address that the client knows us by, if there is one. */
static void datagram_send(struct rpc_out *out, const struct rpc_out_call *call, uint16_t port,
                          uint8_t *bytes, uint32_t bytes_count)
{
	char control[64] __attribute__((aligned(8))) = { 0 };
	union sockets_address to, from;
	struct iovec iov = { bytes, bytes_count };
	struct msghdr message = {
		.msg_name = &to,
		.msg_namelen = address_of(&call->to, port, &to),
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	struct cmsghdr *c = (struct cmsghdr *) control;
	bool is_v4 = to.any.sa_family == AF_INET;

	if (!is_any(&call->from)) {
		address_of(&call->from, 0, &from);
		message.msg_control = control;
		if (is_v4) {
			struct in_pktinfo info = { .ipi_spec_dst = from.v4.sin_addr };

			*c = (struct cmsghdr){ CMSG_LEN(sizeof info), IPPROTO_IP, IP_PKTINFO };
			memcpy(CMSG_DATA(c), &info, sizeof info);
			message.msg_controllen = CMSG_SPACE(sizeof info);
		} else {
			struct in6_pktinfo info = { .ipi6_addr = from.v6.sin6_addr };

			*c = (struct cmsghdr){ CMSG_LEN(sizeof info), IPPROTO_IPV6, IPV6_PKTINFO };
			memcpy(CMSG_DATA(c), &info, sizeof info);
			message.msg_controllen = CMSG_SPACE(sizeof info);
		}
	}
	(void) !sendmsg(out->udp_fds[!is_v4], &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void stage_send(struct rpc_out *out, struct rpc_out_call *call, uint64_t now_ms)
{
	uint8_t bytes[RPC_OUT_MESSAGE_BYTES_MAX];

	if (call->wanted && !call->wanted(call)) {
		call_end(out, call, -ECANCELED, (struct xdr_view){ 0 });
		return;
	}
	call->due_ms = now_ms + call->wait_ms;
	switch (call->stage) {
	case ASK_UDP:
	case ASK_TCP:
		datagram_send(out, call, PORTMAP_PORT, bytes,
		              rpc_out_question(call, call->stage == ASK_TCP, bytes));
		break;
	case CALL_UDP:
		datagram_send(out, call, call->port, bytes, rpc_out_message(call, bytes));
		if (call->is_message)
			call_end(out, call, 0, (struct xdr_view){ 0 }); /* call is gone */
		break;
	case CALL_TCP:
		stream_open(out, call);
		break;
	}
}

static void stage_begin(struct rpc_out *out, struct rpc_out_call *call, enum stage stage,
                        uint32_t wait_ms)
{
	call->stage = (uint8_t) stage;
	call->xid = ++out->xid_last;
	call->tries = 1;
	call->wait_ms = wait_ms;
	stage_send(out, call, rpc_out_now_ms()); /* call may be gone */
}

/* Nothing came in time. */
static void stage_again(struct rpc_out *out, struct rpc_out_call *call, uint64_t now_ms)
{
	call->wait_ms = call->wait_ms * 2 < WAIT_MAX_MS ? call->wait_ms * 2 : WAIT_MAX_MS;
	if (call->stage >= CALL_UDP && call->tries++ >= TRIES_PER_PORT) {
		stream_close(out, call);
		stage_begin(out, call, ASK_UDP, call->wait_ms); /* another port by now? */
		return;
	}
	if (call->stage == ASK_TCP) {
		call->stage = ASK_UDP;
		call->xid = ++out->xid_last;
	}
	stage_send(out, call, now_ms); /* call may be gone */
}

static void port_answered(struct rpc_out *out, struct rpc_out_call *call, struct xdr_view results)
{
	uint16_t port = 0;

	if (rpc_out_answer(call, results, &port) < 0)
		return; /* asked again later */
	if (port) {
		call->port = port;
		stage_begin(out, call, call->stage == ASK_UDP ? CALL_UDP : CALL_TCP, WAIT_FIRST_MS);
	} else if (call->stage == ASK_UDP) {
		call->stage = ASK_TCP;
		call->xid = ++out->xid_last;
		stage_send(out, call, rpc_out_now_ms());
	} else if (call->ask_once) {
		call_end(out, call, -ENOENT, (struct xdr_view){ 0 }); /* call is gone */
	} /* else: it is not there now; asked again later */
}

static void answered(struct rpc_out *out, struct rpc_out_call *call, const uint8_t *bytes,
                     size_t bytes_count)
{
	struct xdr_view results = { 0 };
	int r = rpc_out_results(bytes, bytes_count, &results);

	if (call->stage >= CALL_UDP)
		call_end(out, call, r, results); /* call is gone */
	else if (r == 0)
		port_answered(out, call, results);
}

/* ---- what comes in ---- */

static struct rpc_out_call *call_of(struct rpc_out *out, uint32_t xid,
                                    const struct export_address *from)
{
	list_for_each (node, &out->calls) {
		struct rpc_out_call *call = container_of(node, struct rpc_out_call, node);

		if (call->xid == xid && memcmp(&call->to, from, sizeof *from) == 0)
			return call;
	}
	return NULL;
}

static void datagrams_receive(struct rpc_out *out, int fd)
{
	uint8_t bytes[DATAGRAM_BYTES_MAX];
	union sockets_address peer;
	struct export_address from;
	struct rpc_out_call *call;
	ssize_t count;
	uint16_t port;
	uint32_t xid;

	for (;;) {
		socklen_t peer_bytes = sizeof peer;

		count = recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT, &peer.any, &peer_bytes);
		if (count < 0)
			return;
		sockets_split(&peer, &from, &port);
		if (rpc_out_xid(bytes, (size_t) count, &xid) < 0)
			continue;
		call = call_of(out, xid, &from);
		if (call && port == (call->stage == CALL_UDP ? call->port : PORTMAP_PORT))
			answered(out, call, bytes, (size_t) count);
	}
}

/* All at once: it is shorter than any socket's buffer. */
static bool stream_send(struct rpc_out_call *call)
{
	uint8_t bytes[RPC_RECORD_MARK_BYTES + RPC_OUT_MESSAGE_BYTES_MAX];
	uint32_t all = rpc_out_message(call, bytes + RPC_RECORD_MARK_BYTES);
	ssize_t count;

	rpc_record_mark(bytes, all);
	all += RPC_RECORD_MARK_BYTES;
	count = send(call->fd, bytes, all, MSG_NOSIGNAL);
	call->sent_bytes = all;
	return count == (ssize_t) all;
}

/* A reply is one short record in one fragment. */
static void stream_receive(struct rpc_out *out, struct rpc_out_call *call)
{
	ssize_t count = recv(call->fd, call->received + call->received_bytes,
	                     sizeof call->received - call->received_bytes, MSG_DONTWAIT);
	struct xdr_in in = xdr_in(call->received, sizeof call->received);
	uint32_t bytes, xid;

	if (count < 0 && errno == EAGAIN)
		return;
	if (count <= 0) {
		stream_close(out, call); /* once more when its time has come */
		return;
	}
	call->received_bytes += (uint32_t) count;
	bytes = xdr_get_u32(&in) & INT32_MAX;
	if (call->received_bytes < RPC_RECORD_MARK_BYTES ||
	    (call->received_bytes < sizeof call->received &&
	     call->received_bytes - RPC_RECORD_MARK_BYTES < bytes))
		return;
	if (bytes > call->received_bytes - RPC_RECORD_MARK_BYTES ||
	    rpc_out_xid(in.at, bytes, &xid) < 0 || xid != call->xid)
		stream_close(out, call);
	else
		answered(out, call, in.at, bytes); /* call is gone */
}

static void stream_ready(struct rpc_out *out, struct rpc_out_call *call, short events)
{
	if (events & (POLLIN | POLLERR | POLLHUP)) {
		stream_receive(out, call); /* call may be gone */
	} else if (!stream_send(call)) {
		stream_close(out, call);
	} else if (call->is_message) {
		call_end(out, call, 0, (struct xdr_view){ 0 });
	}
}

/* ---- the thread ---- */

static bool fresh_begin(struct rpc_out *out)
{
	struct list_node fresh = LIST_INIT(fresh);
	bool stop;

	pthread_mutex_lock(&out->lock);
	list_splice(&fresh, &out->fresh);
	stop = out->stop;
	pthread_mutex_unlock(&out->lock);
	list_for_each_safe (node, &fresh) {
		struct rpc_out_call *call = container_of(node, struct rpc_out_call, node);

		list_remove(node);
		list_add_tail(&out->calls, node);
		call->until_ms = rpc_out_now_ms() + call->patience_ms;
		stage_begin(out, call, ASK_UDP, WAIT_FIRST_MS);
	}
	return !stop;
}

/* Until when poll(2) may wait. */
static int timers_run(struct rpc_out *out)
{
	uint64_t now = rpc_out_now_ms(), due;

	if (now >= out->tick_due_ms) {
		out->tick_due_ms = now + TICK_MS;
		out->tick(out->context);
	}
	due = out->tick_due_ms;
	list_for_each_safe (node, &out->calls) {
		struct rpc_out_call *call = container_of(node, struct rpc_out_call, node);

		if (now >= call->until_ms) {
			call_end(out, call, -ETIMEDOUT, (struct xdr_view){ 0 });
			continue;
		}
		if (now >= call->due_ms)
			stage_again(out, call, now); /* call may be gone: looked at next time */
		else if (call->due_ms < due)
			due = call->due_ms;
	}
	now = rpc_out_now_ms();
	return due > now ? (int) (due - now) : 0;
}

static void streams_run(struct rpc_out *out, const struct pollfd *fds, unsigned count,
                        struct rpc_out_call **calls)
{
	for (unsigned i = 0; i < count; i++)
		if (fds[i].revents && calls[i]->fd == fds[i].fd)
			stream_ready(out, calls[i], fds[i].revents);
}

static void *rpc_out_run(void *arg)
{
	enum {
		FIXED = 3 /* wake_fd and the two for datagrams */
	};
	struct rpc_out *out = arg;
	struct pollfd fds[FIXED + STREAMS_MAX];
	struct rpc_out_call *calls[STREAMS_MAX];
	uint64_t count;

	pthread_setname_np(pthread_self(), "rpc-out");
	while (fresh_begin(out)) {
		int wait_ms = timers_run(out);
		unsigned streams = 0;

		fds[0] = (struct pollfd){ .fd = out->wake_fd, .events = POLLIN };
		for (int i = 0; i < 2; i++)
			fds[1 + i] = (struct pollfd){ .fd = out->udp_fds[i], .events = POLLIN };
		list_for_each (node, &out->calls) {
			struct rpc_out_call *call = container_of(node, struct rpc_out_call, node);

			if (call->fd < 0)
				continue;
			calls[streams] = call;
			fds[FIXED + streams++] = (struct pollfd){
				.fd = call->fd,
				.events = POLLIN | (call->sent_bytes ? 0 : POLLOUT),
			};
		}
		if (poll(fds, FIXED + streams, wait_ms) < 0 && errno != EINTR)
			(void) poll(NULL, 0,
			            wait_ms); /* short of memory: nobody else would go on */
		if (fds[0].revents)
			(void) !read(out->wake_fd, &count, sizeof count);
		streams_run(out, fds + FIXED, streams, calls);
		for (int i = 0; i < 2; i++)
			if (out->udp_fds[i] >= 0)
				datagrams_receive(out, out->udp_fds[i]);
	}
	return NULL;
}

/* ---- the whole ---- */

/* From a reserved port if we may: some lock managers want to see one. */
static int datagrams_open(int family)
{
	static const int on = 1;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (family == AF_INET6)
		(void) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	(void) bindresvport_sa(fd, NULL);
	return fd;
}

int rpc_out_open(void (*tick)(void *context), void *context, struct rpc_out **ret_out)
{
	struct rpc_out *out = calloc(1, sizeof *out);
	int r;

	if (!out)
		return -ENOMEM;
	pthread_mutex_init(&out->lock, NULL);
	list_init(&out->fresh);
	list_init(&out->calls);
	out->tick = tick;
	out->context = context;
	(void) !getrandom(&out->xid_last, sizeof out->xid_last, 0);
	out->udp_fds[0] = datagrams_open(AF_INET);
	out->udp_fds[1] = datagrams_open(AF_INET6);
	out->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = out->wake_fd < 0 ? -errno : -pthread_create(&out->thread, NULL, rpc_out_run, out);
	if (r < 0) {
		close_fd(&out->wake_fd);
		close_fd(&out->udp_fds[0]);
		close_fd(&out->udp_fds[1]);
		free(out);
		return r;
	}
	*ret_out = out;
	return 0;
}

struct rpc_out *rpc_out_close(struct rpc_out *out)
{
	static const uint64_t one = 1;

	if (!out)
		return NULL;
	pthread_mutex_lock(&out->lock);
	out->stop = true;
	pthread_mutex_unlock(&out->lock);
	(void) !write(out->wake_fd, &one, sizeof one);
	pthread_join(out->thread, NULL);
	list_splice(&out->calls, &out->fresh);
	while (!list_empty(&out->calls))
		call_end(out, container_of(list_first(&out->calls), struct rpc_out_call, node),
		         -ECONNRESET, (struct xdr_view){ 0 });
	close_fd(&out->wake_fd);
	close_fd(&out->udp_fds[0]);
	close_fd(&out->udp_fds[1]);
	pthread_mutex_destroy(&out->lock);
	free(out);
	return NULL;
}
