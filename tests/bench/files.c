/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "stamp.h"

enum {
	ANSWER_S_MAX = 60,
	RESERVED_PORT_FIRST = 665,
	RESERVED_PORT_LAST = 1023,
	REPLY_BYTES_MAX = NFS_BLOCK_BYTES_MAX + 4096,
};

/* One connection, one call at a time. */
struct client {
	int fd;
	uint32_t xid;
	uint8_t call[NFS_CALL_BYTES_MAX];
	uint8_t reply[REPLY_BYTES_MAX];
};

void die(const char *format, ...)
{
	va_list arguments;

	fputs("nfsbench: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

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

/* Sends client->call, and data after it; gives the reply's arguments. */
static struct wire_in transact(struct client *client, size_t call_bytes, const uint8_t *data,
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
	if (mark > REPLY_BYTES_MAX)
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

static void expect(const char *fault)
{
	if (fault)
		die("%s", fault);
}

static struct client *client_new(const struct target *target, uint16_t port)
{
	struct client *client = calloc(1, sizeof *client);

	if (!client)
		die("no memory");
	client->fd = client_connect(target, port);
	client->xid = client_first_xid();
	return client;
}

static struct client *client_free(struct client *client)
{
	close(client->fd);
	free(client);
	return NULL;
}

static struct nfs_handle mount_export(const struct target *target)
{
	struct client *client = client_new(target, target->mount_port);
	struct nfs_handle root;
	struct wire_in in;

	in = transact(client, nfs_call_mount(client->call, ++client->xid, target->export), NULL, 0);
	expect(nfs_reply_mount(&in, &root));
	client_free(client);
	return root;
}

static void fill(struct client *client, struct file *file)
{
	uint32_t piece_bytes = NFS_BLOCK_BYTES_MAX - NFS_BLOCK_BYTES_MAX % file->block_bytes;
	uint8_t *piece = malloc(piece_bytes);
	uint32_t count, committed;

	if (!piece)
		die("no memory");
	for (uint64_t offset = 0; offset < file->bytes; offset += count) {
		uint32_t rest_bytes = piece_bytes;
		struct wire_in in;

		if (rest_bytes > file->bytes - offset)
			rest_bytes = (uint32_t) (file->bytes - offset);
		for (uint32_t at = 0; at < rest_bytes; at += file->block_bytes)
			stamp_fill(piece + at, file->block_bytes, offset + at, 1);
		in = transact(client,
		              nfs_call_write(client->call, ++client->xid, &file->handle, offset,
		                             rest_bytes, NFS_UNSTABLE),
		              piece, rest_bytes);
		expect(nfs_reply_write(&in, &count, &committed));
		if (count == 0 || count > rest_bytes || count % file->block_bytes != 0)
			die("WRITE of %u bytes took %u", rest_bytes, count);
	}
	free(piece);
}

static void commit(struct client *client, const struct file *file)
{
	struct wire_in in = transact(
		client, nfs_call_commit(client->call, ++client->xid, &file->handle), NULL, 0);

	expect(nfs_reply_commit(&in));
}

static void prepare(struct client *client, const struct nfs_handle *root, struct file *file,
                    const char *name, bool stamped)
{
	uint64_t present_bytes = 0, blocks = file->bytes / file->block_bytes;
	uint32_t status;
	struct wire_in in;

	in = transact(client, nfs_call_lookup(client->call, ++client->xid, root, name), NULL, 0);
	expect(nfs_reply_lookup(&in, &status, &file->handle, &present_bytes));
	if (status == NFS_ERROR_NOENT) {
		in = transact(client, nfs_call_create(client->call, ++client->xid, root, name),
		              NULL, 0);
		expect(nfs_reply_create(&in, &file->handle));
	}
	if (stamped || present_bytes < file->bytes) {
		fill(client, file);
		commit(client, file);
	}
	if (!stamped)
		return;
	file->generations = malloc(blocks * sizeof *file->generations);
	file->busy = calloc(blocks, sizeof *file->busy);
	if (!file->generations || !file->busy)
		die("no memory");
	for (uint64_t i = 0; i < blocks; i++)
		file->generations[i] = 1;
}

struct file *files_prepare(const struct target *target, unsigned count, uint64_t file_bytes,
                           uint32_t block_bytes, bool stamped)
{
	struct nfs_handle root = mount_export(target);
	struct client *client = client_new(target, target->nfs_port);
	struct file *files = calloc(count, sizeof *files);
	char name[32];

	if (!files)
		die("no memory");
	for (unsigned i = 0; i < count; i++) {
		files[i].block_bytes = block_bytes;
		files[i].bytes = file_bytes - file_bytes % block_bytes;
		snprintf(name, sizeof name, "nfsbench.%u", i);
		prepare(client, &root, &files[i], name, stamped);
	}
	client_free(client);
	return files;
}

void files_commit(const struct target *target, const struct file *files, unsigned count)
{
	struct client *client = client_new(target, target->nfs_port);

	for (unsigned i = 0; i < count; i++)
		commit(client, &files[i]);
	client_free(client);
}

void files_check(const struct target *target, const struct file *files, unsigned count)
{
	struct client *client = client_new(target, target->nfs_port);

	for (unsigned i = 0; i < count; i++) {
		const struct file *file = &files[i];

		for (uint64_t offset = 0; offset < file->bytes; offset += file->block_bytes) {
			const uint8_t *data;
			uint32_t got_bytes;
			struct wire_in in;

			in = transact(client,
			              nfs_call_read(client->call, ++client->xid, &file->handle,
			                            offset, file->block_bytes),
			              NULL, 0);
			expect(nfs_reply_read(&in, &got_bytes, &data));
			if (got_bytes != file->block_bytes)
				die("READ at %ju gave %u bytes", (uintmax_t) offset, got_bytes);
			expect(stamp_check(data, got_bytes, offset,
			                   file->generations[offset / file->block_bytes]));
		}
	}
	client_free(client);
}

void files_free(struct file *files, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		free(files[i].generations);
		free(files[i].busy);
	}
	free(files);
}
