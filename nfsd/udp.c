/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nfsd/sockets.h"
#include "nfsd/worker.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	UDP_CALLS_MAX = 64, /* in flight on one socket; more are dropped, as datagrams may be */
	UDP_CALL_BYTES_MAX = 65536, /* what a datagram can carry */
	UDP_REPLY_BYTES_MAX = 65000,
};

/* Where a datagram came from, and to which of our addresses it was sent. */
struct udp_from {
	union sockets_address peer;
	socklen_t peer_bytes;
	char control[64] __attribute__((aligned(8)));
	size_t control_bytes;
};

struct udp_socket {
	struct worker *worker;
	int fd;
	enum socket_role role;
	bool closing;
	unsigned call_count;
	struct list_node node;

	struct ring_op op;
	struct msghdr message;
	struct iovec iov;
	struct udp_from from;
	uint8_t bytes[UDP_CALL_BYTES_MAX];
};

static void udp_receive(struct udp_socket *udp);

/* Which of our addresses the datagram was sent to (IP_PKTINFO). */
static void udp_local(struct msghdr *message, struct export_address *ret_address)
{
	union sockets_address address = { 0 };
	uint16_t port;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			address.v4.sin_family = AF_INET;
			address.v4.sin_addr = ((struct in_pktinfo *) CMSG_DATA(c))->ipi_addr;
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			address.v6.sin6_family = AF_INET6;
			address.v6.sin6_addr = ((struct in6_pktinfo *) CMSG_DATA(c))->ipi6_addr;
		}
	}
	sockets_split(&address, ret_address, &port);
}

/* A call's message buffer begins with struct udp_from; the message follows. */
static void udp_call(struct udp_socket *udp, uint32_t bytes_count)
{
	struct call *call = call_new(udp->worker);

	if (!call)
		return;
	call->udp = udp;
	call->role = udp->role;
	call->begun_ns = counters_now_ns();
	udp->call_count++;
	call->message = buffer_get(udp->worker->buffers, sizeof udp->from + bytes_count);
	if (!call->message) {
		call_free(call);
		return;
	}
	memcpy(call->message->bytes, &udp->from, sizeof udp->from);
	memcpy(call->message->bytes + sizeof udp->from, udp->bytes, bytes_count);
	sockets_split(&udp->from.peer, &call->client, &call->client_port);
	udp_local(&udp->message, &call->local);
	call_start(call, call->message->bytes + sizeof udp->from, bytes_count);
}

static void udp_received(struct ring_op *op, int result)
{
	struct udp_socket *udp = container_of(op, struct udp_socket, op);

	if (udp->closing)
		return;
	udp->from.peer_bytes = udp->message.msg_namelen;
	udp->from.control_bytes = udp->message.msg_controllen;
	if (result > 0 && !(udp->message.msg_flags & MSG_TRUNC) && udp->call_count < UDP_CALLS_MAX)
		udp_call(udp, (uint32_t) result);
	udp_receive(udp);
}

static void udp_receive(struct udp_socket *udp)
{
	udp->iov = (struct iovec){ .iov_base = udp->bytes, .iov_len = sizeof udp->bytes };
	udp->message = (struct msghdr){
		.msg_name = &udp->from.peer,
		.msg_namelen = sizeof udp->from.peer,
		.msg_iov = &udp->iov,
		.msg_iovlen = 1,
		.msg_control = udp->from.control,
		.msg_controllen = sizeof udp->from.control,
	};
	udp->op.done = udp_received;
	ring_recvmsg(loop_ring(udp->worker->loop), &udp->op, udp->fd, &udp->message);
}

int udp_open(struct worker *worker, int fd, enum socket_role role)
{
	struct udp_socket *udp = calloc(1, sizeof *udp);
	static const int on = 1;

	if (!udp) {
		close_fd(&fd);
		return -ENOMEM;
	}
	/* With several addresses, answer from the one that was asked. */
	(void) setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
	(void) setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
	udp->worker = worker;
	udp->fd = fd;
	udp->role = role;
	list_node_init(&udp->node);
	list_add_tail(&worker->udp_sockets, &udp->node);
	udp_receive(udp);
	return 0;
}

void udp_send(struct udp_socket *udp, struct call *call)
{
	struct udp_from *from = (void *) call->message->bytes;
	struct iovec iov = {
		.iov_base = call->reply->bytes + RPC_RECORD_MARK_BYTES,
		.iov_len = call->reply_bytes - RPC_RECORD_MARK_BYTES,
	};
	struct msghdr message = {
		.msg_name = &from->peer,
		.msg_namelen = from->peer_bytes,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = from->control_bytes ? from->control : NULL,
		.msg_controllen = from->control_bytes,
	};

	if (iov.iov_len > UDP_REPLY_BYTES_MAX) {
		log_warn("a list is too long for a datagram: the client must ask over TCP");
		(void) rpc_reply_accepted(iov.iov_base, call->rpc.xid, 5 /* SYSTEM_ERR */);
		iov.iov_len = RPC_ACCEPTED_BYTES;
	}
	/* Does not wait: a full socket buffer loses the datagram, and the client asks again. */
	(void) !sendmsg(udp->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	call_free(call);
}

void udp_call_ended(struct udp_socket *udp)
{
	udp->call_count--;
}

void udp_close_all(struct worker *worker)
{
	list_for_each (node, &worker->udp_sockets) {
		struct udp_socket *udp = container_of(node, struct udp_socket, node);

		udp->closing = true;
		ring_cancel(loop_ring(worker->loop), &udp->op);
	}
}

bool udp_gone(struct worker *worker)
{
	list_for_each_safe (node, &worker->udp_sockets) {
		struct udp_socket *udp = container_of(node, struct udp_socket, node);

		if (!udp->closing || udp->op.in_flight || udp->call_count > 0)
			continue;
		list_remove(&udp->node);
		close_fd(&udp->fd);
		free(udp);
	}
	return list_empty(&worker->udp_sockets);
}
