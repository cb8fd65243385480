/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/kept.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "nfsd/sockets.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/process.h"

static void kept_add(void *context, int fd, const char *name)
{
	struct kept *kept = context;
	struct kept_socket *socket;

	if (kept->count == KEPT_SOCKETS_MAX) {
		close_fd(&fd);
		return;
	}
	socket = &kept->sockets[kept->count++];
	socket->fd = fd;
	snprintf(socket->name, sizeof socket->name, "%s", name);
}

void kept_receive(struct kept *kept)
{
	kept->count = 0;
	process_take_fds(kept_add, kept);
}

static bool option_is(int fd, int level, int option, int expected)
{
	int value = -1;
	socklen_t bytes = sizeof value;

	return getsockopt(fd, level, option, &value, &bytes) == 0 && value == expected;
}

static bool is_bound_to(int fd, const union sockets_address *address)
{
	union sockets_address bound = { 0 };
	socklen_t bytes = sizeof bound;
	struct export_address wanted_ip, bound_ip;
	uint16_t wanted_port, bound_port;

	if (getsockname(fd, &bound.any, &bytes) < 0 ||
	    bound.any.sa_family != address->any.sa_family)
		return false;
	sockets_split(address, &wanted_ip, &wanted_port);
	sockets_split(&bound, &bound_ip, &bound_port);
	return wanted_port == bound_port &&
	       memcmp(wanted_ip.bytes, bound_ip.bytes, sizeof wanted_ip.bytes) == 0;
}

/* As sockets_bind() makes them. */
static bool is_like(int fd, const union sockets_address *address, int type)
{
	return option_is(fd, SOL_SOCKET, SO_TYPE, type) &&
	       option_is(fd, SOL_SOCKET, SO_ACCEPTCONN, type == SOCK_STREAM) &&
	       is_bound_to(fd, address) &&
	       (address->any.sa_family != AF_INET6 || option_is(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1));
}

int kept_take(struct kept *kept, const union sockets_address *address, int type)
{
	for (unsigned i = 0; i < kept->count; i++)
		if (kept->sockets[i].fd >= 0 && is_like(kept->sockets[i].fd, address, type))
			return take_fd(&kept->sockets[i].fd);
	return -ENOENT;
}

void kept_drop(struct kept *kept)
{
	for (unsigned i = 0; i < kept->count; i++) {
		if (kept->sockets[i].fd < 0)
			continue;
		close_fd(&kept->sockets[i].fd);
		process_forget_fd(kept->sockets[i].name);
	}
	kept->count = 0;
}

/* Such as "tcp-192.0.2.10-2049"; ':' is not allowed in one. */
static void name_of(const union sockets_address *address, int type, char *to, size_t to_bytes)
{
	bool is_v6 = address->any.sa_family == AF_INET6;
	const void *ip = is_v6 ? (const void *) &address->v6.sin6_addr : &address->v4.sin_addr;
	in_port_t port = is_v6 ? address->v6.sin6_port : address->v4.sin_port;
	char text[INET6_ADDRSTRLEN] = "";

	(void) inet_ntop(address->any.sa_family, ip, text, sizeof text);
	for (char *c = strchr(text, ':'); c; c = strchr(c, ':'))
		*c = '_';
	snprintf(to, to_bytes, "%s-%s-%u", type == SOCK_STREAM ? "tcp" : "udp", text, ntohs(port));
}

bool kept_keep(int fd, const union sockets_address *address, int type)
{
	char name[80];

	name_of(address, type, name, sizeof name);
	return process_keep_fd(fd, name);
}
