/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/listen.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd/kept.h"
#include "nfsd/sockets.h"
#include "nfsd/udp.h"
#include "nfsd/worker.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	/* The kernel closes the sockets of a server that was killed a moment after its end. */
	LISTEN_TRIES = 40,
	LISTEN_WAIT_US = 50000,
};

/* An address of the configuration; missing IPv6 is no mistake when everything is meant. */
struct place {
	union sockets_address address;
	char text[INET6_ADDRSTRLEN];
	bool is_optional;
	int tcp_fd, udp_fd; /* kept; -ENOENT: to be bound */
};

/* ---- addresses ---- */

static int place_add(struct place *places, unsigned *count, const char *text, uint16_t port)
{
	struct place *place = &places[*count];

	if (*count == CONFIG_LISTEN_MAX) {
		log_error("--listen: there are more than %u addresses. To answer on all of this"
		          " machine's, leave it out",
		          CONFIG_LISTEN_MAX);
		return -E2BIG;
	}
	if (sockets_parse(text, port, &place->address) < 0) {
		log_error("--listen: '%s' is no address. Write IPv4 or IPv6 addresses with commas"
		          " between them, for example 192.0.2.10,::1",
		          text);
		return -EINVAL;
	}
	snprintf(place->text, sizeof place->text, "%s", text);
	place->is_optional = false;
	place->tcp_fd = place->udp_fd = -ENOENT;
	(*count)++;
	return 0;
}

static int places_parse(const char *listen, uint16_t port, struct place *places,
                        unsigned *ret_count)
{
	AUTO(free_ptr) char *list = NULL;
	char *rest, *text;
	int r = 0;

	*ret_count = 0;
	if (!listen || !listen[0]) {
		r = place_add(places, ret_count, "0.0.0.0", port);
		if (r == 0)
			r = place_add(places, ret_count, "::", port);
		places[1].is_optional = true;
		return r;
	}
	list = strdup(listen);
	if (!list)
		return -ENOMEM;
	for (text = strtok_r(list, ", ", &rest); r == 0 && text; text = strtok_r(NULL, ", ", &rest))
		r = place_add(places, ret_count, text, port);
	return r;
}

/* ---- sockets ---- */

/* First all that is wanted is taken, then the rest goes: a socket for 0.0.0.0 would be in the way
 * of one for 192.0.2.10. */
static void places_take_kept(struct kept *kept, struct place *places, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		places[i].tcp_fd = kept_take(kept, &places[i].address, SOCK_STREAM);
		places[i].udp_fd = kept_take(kept, &places[i].address, SOCK_DGRAM);
	}
	kept_drop(kept);
}

static int bind_patiently(const union sockets_address *address, int type)
{
	int fd = sockets_bind(address, type);

	for (int i = 0; fd == -EADDRINUSE && i < LISTEN_TRIES; i++) {
		usleep(LISTEN_WAIT_US);
		fd = sockets_bind(address, type);
	}
	return fd;
}

static int place_bind(struct place *place)
{
	if (place->tcp_fd < 0)
		place->tcp_fd = bind_patiently(&place->address, SOCK_STREAM);
	if (place->tcp_fd < 0)
		return place->tcp_fd;
	if (place->udp_fd < 0)
		place->udp_fd = bind_patiently(&place->address, SOCK_DGRAM);
	return place->udp_fd < 0 ? place->udp_fd : 0;
}

/* Sockets are bound here and handed to worker 0, whose ring accepts. */
struct listen_task {
	struct loop_task task;
	struct worker *worker;
	int tcp_fd, udp_fd;
	enum socket_role role;
	bool is_kept;
	int result;
	sem_t done;
};

static void listen_begin(struct loop_task *task)
{
	struct listen_task *listen = container_of(task, struct listen_task, task);

	listen->result = listener_open(listen->worker, listen->tcp_fd, listen->role,
	                               listen->is_kept);
	if (listen->result == 0)
		listen->result = udp_open(listen->worker, listen->udp_fd, listen->role);
	else
		close_fd(&listen->udp_fd);
	sem_post(&listen->done); /* listen is gone */
}

static int place_serve(struct server *server, struct place *place, enum socket_role role)
{
	struct listen_task listen = {
		.task.run = listen_begin,
		.worker = server->workers[0],
		.tcp_fd = take_fd(&place->tcp_fd),
		.udp_fd = take_fd(&place->udp_fd),
		.role = role,
	};

	/* Not port 111: rpcbind may have come up meanwhile, and then it is its own. */
	if (role == ROLE_NFS) {
		listen.is_kept = kept_keep(listen.tcp_fd, &place->address, SOCK_STREAM);
		(void) kept_keep(listen.udp_fd, &place->address, SOCK_DGRAM);
	}
	sem_init(&listen.done, 0, 0);
	loop_post(server->workers[0]->loop, &listen.task);
	while (sem_wait(&listen.done) < 0)
		;
	sem_destroy(&listen.done);
	return listen.result;
}

/* ---- all of it ---- */

static void say_cannot_listen(const char *text, uint16_t port, int error)
{
	const char *what =
		error == -EADDRINUSE
			? "another server has it: stop it (nfs-kernel-server and nfs-ganesha"
			  " use 2049 too), or choose another with --port"
		: error == -EACCES        ? "ports below 1024 need root or CAP_NET_BIND_SERVICE"
		: error == -EADDRNOTAVAIL ? "this machine has no such address (--listen)"
					  : "see ip(7)";

	log_error("cannot listen on %s port %u: %s; %s", text, port, strerror(-error), what);
}

static int place_open(struct server *server, struct place *place, uint16_t port,
                      enum socket_role role)
{
	int r = place_bind(place);

	if (r == -EAFNOSUPPORT && place->is_optional)
		return 0;
	if (r == 0)
		r = place_serve(server, place, role);
	if (r < 0) {
		if (role == ROLE_NFS)
			say_cannot_listen(place->text, port, r);
		return r;
	}
	if (place->address.any.sa_family == AF_INET6)
		server->serves_ipv6 = true;
	else
		server->serves_ipv4 = true;
	return 0;
}

int server_listen(struct server *server, uint16_t port, enum socket_role role)
{
	struct place places[CONFIG_LISTEN_MAX];
	unsigned count;
	int r = places_parse(server->config->listen, port, places, &count);

	if (r == 0 && role == ROLE_NFS)
		places_take_kept(&server->kept, places, count);
	for (unsigned i = 0; r == 0 && i < count; i++)
		r = place_open(server, &places[i], port, role);
	for (unsigned i = 0; i < count; i++) { /* what a failure left over */
		close_fd(&places[i].tcp_fd);
		close_fd(&places[i].udp_fd);
	}
	return r;
}
