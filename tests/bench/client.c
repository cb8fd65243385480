/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tool.h"

enum {
	ANSWER_S_MAX = 60,
	RESERVED_PORT_FIRST = 665,
	RESERVED_PORT_LAST = 1023,
};

/* Servers may insist on a reserved port; who is not root does without. */
static void bind_reserved(int fd)
{
	static unsigned next;
	struct sockaddr_in local = { .sin_family = AF_INET };
	const unsigned count = RESERVED_PORT_LAST - RESERVED_PORT_FIRST + 1;

	if (next == 0)
		next = (unsigned) getpid();
	for (unsigned i = 0; i < count; i++) {
		local.sin_port = htons((uint16_t) (RESERVED_PORT_FIRST + next++ % count));
		if (bind(fd, (struct sockaddr *) &local, sizeof local) == 0 || errno == EACCES)
			return;
	}
}

int client_connect(const struct target *target, uint16_t port)
{
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct timeval patience = { .tv_sec = ANSWER_S_MAX };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		die("socket: %s", strerror(errno));
	if (inet_pton(AF_INET, target->address, &server.sin_addr) != 1)
		die("%s is not an IPv4 address", target->address);
	bind_reserved(fd);
	if (connect(fd, (struct sockaddr *) &server, sizeof server) < 0)
		die("%s port %u: %s", target->address, port, strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	return fd;
}

uint32_t client_first_xid(void)
{
	uint32_t xid;

	if (getrandom(&xid, sizeof xid, 0) != sizeof xid)
		die("getrandom: %s", strerror(errno));
	return xid;
}

static void receive_all(int fd, uint8_t *to, size_t bytes)
{
	ssize_t got = recv(fd, to, bytes, MSG_WAITALL);

	if (got < 0)
		die("no answer: %s", strerror(errno));
	if ((size_t) got != bytes)
		die("the server closed the connection");
}

struct wire_in client_transact(struct client *client, size_t call_bytes, const uint8_t *data,
                               size_t data_bytes)
{
	struct iovec parts[2] = { { client->call, call_bytes },
		                  { (void *) (uintptr_t) data, data_bytes } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	struct wire_in in = { 0 };
	uint32_t mark, xid;
	const char *fault;

	if (sendmsg(client->fd, &message, MSG_NOSIGNAL) != (ssize_t) (call_bytes + data_bytes))
		die("a call was not sent: %s", strerror(errno));
	receive_all(client->fd, (uint8_t *) &mark, sizeof mark);
	mark = be32toh(mark);
	if (!(mark >> RPC_LAST_FRAGMENT))
		die("a reply came in several fragments, which this program does not read");
	mark &= ~(1u << RPC_LAST_FRAGMENT);
	if (mark > CLIENT_REPLY_BYTES_MAX)
		die("a reply of %u bytes", mark);
	receive_all(client->fd, client->reply, mark);
	in = (struct wire_in){ client->reply, client->reply + mark, false };
	fault = nfs_reply_header(&in, &xid);
	if (!fault && xid != client->xid)
		fault = "a reply has another call's xid";
	if (fault)
		die("%s", fault);
	return in;
}

void client_expect(const char *fault)
{
	if (fault)
		die("%s", fault);
}

struct client *client_new(const struct target *target, uint16_t port)
{
	struct client *client = allocate_zeroed(1, sizeof *client);

	client->fd = client_connect(target, port);
	client->xid = client_first_xid();
	return client;
}

struct client *client_free(struct client *client)
{
	close(client->fd);
	free(client);
	return NULL;
}

struct nfs_handle client_mount(const struct target *target)
{
	struct client *client = client_new(target, target->mount_port);
	struct nfs_handle root;
	struct wire_in in;

	in = client_transact(client, nfs_call_mount(client->call, ++client->xid, target->export),
	                     NULL, 0);
	client_expect(nfs_reply_mount(&in, &root));
	client_free(client);
	return root;
}

struct nfs_handle client_folder(struct client *client, const struct nfs_handle *parent,
                                const char *name)
{
	struct nfs_handle folder;
	uint64_t bytes;
	uint32_t status;
	struct wire_in in;

	in = client_transact(client, nfs_call_lookup(client->call, ++client->xid, parent, name),
	                     NULL, 0);
	client_expect(nfs_reply_lookup(&in, &status, &folder, &bytes));
	if (status == NFS_ERROR_NOENT) {
		in = client_transact(
			client, nfs_call_mkdir(client->call, ++client->xid, parent, name), NULL, 0);
		client_expect(nfs_reply_mkdir(&in, &folder));
	}
	return folder;
}
