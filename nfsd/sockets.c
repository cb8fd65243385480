/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nfsd/conn.h"
#include "nfsd/peers.h"
#include "nfsd/worker.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	LISTEN_BACKLOG = 1024
};

int sockets_parse(const char *text, uint16_t port, union sockets_address *ret_address)
{
	memset(ret_address, 0, sizeof *ret_address);
	if (inet_pton(AF_INET, text, &ret_address->v4.sin_addr) == 1) {
		ret_address->v4.sin_family = AF_INET;
		ret_address->v4.sin_port = htons(port);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &ret_address->v6.sin6_addr) == 1) {
		ret_address->v6.sin6_family = AF_INET6;
		ret_address->v6.sin6_port = htons(port);
		return 0;
	}
	return -EINVAL;
}

void sockets_split(const union sockets_address *address, struct export_address *ret_address,
                   uint16_t *ret_port)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (address->any.sa_family == AF_INET6) {
		memcpy(ret_address->bytes, &address->v6.sin6_addr, 16);
		*ret_port = ntohs(address->v6.sin6_port);
		return;
	}
	memcpy(ret_address->bytes, mapped, sizeof mapped);
	memcpy(ret_address->bytes + sizeof mapped, &address->v4.sin_addr, 4);
	*ret_port = ntohs(address->v4.sin_port);
}

void sockets_local(int fd, struct export_address *ret_address)
{
	union sockets_address address = { 0 };
	socklen_t bytes = sizeof address;
	uint16_t port;

	(void) getsockname(fd, &address.any, &bytes);
	sockets_split(&address, ret_address, &port);
}

int sockets_bind(const union sockets_address *address, int type)
{
	AUTO(close_fd) int fd = socket(address->any.sa_family, type | SOCK_CLOEXEC, 0);
	static const int on = 1;
	socklen_t bytes = address->any.sa_family == AF_INET6 ? sizeof address->v6
	                                                     : sizeof address->v4;

	if (fd < 0)
		return -errno;
	if (address->any.sa_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0)
		return -errno;
	if (type == SOCK_STREAM && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
		return -errno;
	if (bind(fd, &address->any, bytes) < 0)
		return -errno;
	if (type == SOCK_STREAM && listen(fd, LISTEN_BACKLOG) < 0)
		return -errno;
	return take_fd(&fd);
}

struct listener {
	struct worker *worker;
	int fd;
	enum socket_role role;
	struct ring_op op;
	bool is_kept, closing;
	struct list_node node;
};

static void listener_accept(struct listener *listener);

static struct worker *least_busy(struct server *server)
{
	struct worker *best = server->workers[0];

	for (unsigned i = 1; i < server->worker_count; i++)
		if (atomic_load(&server->workers[i]->conn_count) < atomic_load(&best->conn_count))
			best = server->workers[i];
	return best;
}

struct gift {
	struct loop_task task;
	struct worker *worker;
	int fd;
	enum socket_role role;
	struct export_address client;
	uint16_t client_port;
	uint64_t generation;
};

static void gift_arrived(struct loop_task *task)
{
	struct gift *gift = container_of(task, struct gift, task);

	atomic_fetch_sub(&gift->worker->conn_count, 1); /* the place kept for it */
	conn_open(gift->worker, gift->fd, gift->role, &gift->client, gift->client_port,
	          gift->generation);
	free(gift);
}

static void refuse(int fd, const struct export_address *client, const char *why)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	const struct log_about about = { .client = export_address_print(client, text) };

	log_about(LOG_LEVEL_WARNING, &about, "a connection from %s is refused: %s", about.client,
	          why);
	close_fd(&fd);
}

static void listener_give(struct listener *listener, int fd)
{
	struct server *server = listener->worker->server;
	union sockets_address peer = { 0 };
	socklen_t peer_bytes = sizeof peer;
	struct gift *gift;
	struct export_address client;
	uint16_t port;

	if (getpeername(fd, &peer.any, &peer_bytes) < 0) { /* gone already */
		close_fd(&fd);
		return;
	}
	sockets_split(&peer, &client, &port);
	switch (peers_take(server->peers, &client)) {
	case PEERS_FULL:
		counters_refuse(listener->worker, REFUSED_CONNECTIONS);
		refuse(fd, &client,
		       "there are as many as limits.connections allows; idle ones are"
		       " closed now");
		workers_reap_idle(server);
		return;
	case PEERS_ADDRESS_FULL:
		counters_refuse(listener->worker, REFUSED_CONNECTIONS_ADDRESS);
		refuse(fd, &client,
		       "this address has as many as limits.connections_per_address"
		       " allows");
		return;
	case PEERS_TAKEN:
		break;
	}
	gift = malloc(sizeof *gift);
	if (!gift) {
		peers_release(server->peers, &client);
		close_fd(&fd);
		return;
	}
	*gift = (struct gift){
		.task.run = gift_arrived,
		.worker = least_busy(server),
		.fd = fd,
		.role = listener->role,
		.client = client,
		.client_port = port,
		.generation = ++listener->worker->accepted_count,
	};
	atomic_fetch_add(&gift->worker->conn_count, 1); /* so that the next one goes elsewhere */
	loop_post(gift->worker->loop, &gift->task);
}

static void listener_accepted(struct ring_op *op, int result)
{
	struct listener *listener = container_of(op, struct listener, op);

	if (listener->closing) {
		if (result >= 0) /* too late for us: it shall connect again */
			close_fd(&result);
		return;
	}
	if (result >= 0) {
		listener_give(listener, result);
	} else if (result == -EMFILE || result == -ENFILE || result == -ENOMEM ||
	           result == -ENOBUFS) {
		log_warn("cannot accept a connection: %s. Those there are go on; raise"
		         " LimitNOFILE= or lower limits.open_files",
		         strerror(-result));
		return; /* listeners_tick() tries again */
	}
	listener_accept(listener);
}

static void listener_accept(struct listener *listener)
{
	listener->op.done = listener_accepted;
	ring_accept(loop_ring(listener->worker->loop), &listener->op, listener->fd);
}

int listener_open(struct worker *worker, int fd, enum socket_role role, bool is_kept)
{
	struct listener *listener = calloc(1, sizeof *listener);

	if (!listener) {
		close_fd(&fd);
		return -ENOMEM;
	}
	listener->worker = worker;
	listener->fd = fd;
	listener->role = role;
	listener->is_kept = is_kept;
	list_node_init(&listener->node);
	list_add_tail(&worker->listeners, &listener->node);
	listener_accept(listener);
	return 0;
}

void listeners_close(struct worker *worker)
{
	list_for_each (node, &worker->listeners) {
		struct listener *listener = container_of(node, struct listener, node);

		listener->closing = true;
		if (!listener->is_kept) /* nobody waits in the backlog in vain */
			(void) shutdown(listener->fd, SHUT_RDWR);
		ring_cancel(loop_ring(worker->loop), &listener->op);
	}
}

bool listeners_gone(struct worker *worker)
{
	list_for_each_safe (node, &worker->listeners) {
		struct listener *listener = container_of(node, struct listener, node);

		if (!listener->closing || listener->op.in_flight)
			continue;
		list_remove(&listener->node);
		close_fd(&listener->fd);
		free(listener);
	}
	return list_empty(&worker->listeners);
}

void listeners_tick(struct worker *worker)
{
	list_for_each (node, &worker->listeners) {
		struct listener *listener = container_of(node, struct listener, node);

		if (!listener->closing && !listener->op.in_flight)
			listener_accept(listener);
	}
}
