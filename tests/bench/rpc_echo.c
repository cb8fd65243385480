/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc_echo PORT - answers MOUNT and NFS calls with replies of the right shape and nothing behind.
 *
 * What nfsbench gets out of it is what the network alone costs: the ceiling for any server on this
 * machine. A thread a connection; all calls that one recv() brings are answered by one sendmsg().
 * It has one file of endless zeros, does not look at handles or offsets, and keeps no data.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nfs.h"

enum {
	INPUT_BYTES = 256 << 10,
	CALL_HEAD_BYTES = 512, /* more than any call we answer has before WRITE's data */
	REPLY_HEAD_BYTES = 160,
	REPLIES_PER_SEND = 256,
	HANDLE_BYTES = 32,
	FATTR3_BYTES = 84,
};

/* Calls taken from one connection, and their replies until they are sent. */
struct conversation {
	int fd;
	size_t in_used, skip_bytes;
	unsigned reply_count, part_count;
	struct iovec parts[2 * REPLIES_PER_SEND];
	uint8_t heads[REPLIES_PER_SEND][REPLY_HEAD_BYTES];
	uint8_t in[INPUT_BYTES];
};

static const uint8_t zeros[NFS_BLOCK_BYTES_MAX];

static bool send_replies(struct conversation *talk)
{
	unsigned first = 0;

	while (first < talk->part_count) {
		struct msghdr message = { .msg_iov = talk->parts + first,
			                  .msg_iovlen = talk->part_count - first };
		ssize_t sent = sendmsg(talk->fd, &message, MSG_NOSIGNAL);

		if (sent < 0)
			return false;
		while (first < talk->part_count && (size_t) sent >= talk->parts[first].iov_len)
			sent -= (ssize_t) talk->parts[first++].iov_len;
		if (first < talk->part_count) {
			struct iovec *part = &talk->parts[first];

			part->iov_base = (uint8_t *) part->iov_base + sent;
			part->iov_len -= (size_t) sent;
		}
	}
	talk->reply_count = talk->part_count = 0;
	return true;
}

/* fattr3 */
static uint8_t *put_attributes(uint8_t *to)
{
	to = wire_put_u32(to, 1); /* a regular file */
	to = wire_put_u32(to, 0644);
	to = wire_put_u32(to, 1);
	to = wire_put_u64(to, 0);                 /* uid, gid */
	to = wire_put_u64(to, UINT64_C(1) << 40); /* size: large enough for every load */
	memset(to, 0, FATTR3_BYTES - 28);
	return to + FATTR3_BYTES - 28;
}

/* post_op_attr */
static uint8_t *put_attributes_follow(uint8_t *to)
{
	return put_attributes(wire_put_u32(to, 1));
}

static uint8_t *put_handle(uint8_t *to)
{
	static const uint8_t handle[HANDLE_BYTES];

	return wire_put_opaque(to, handle, sizeof handle);
}

/* The results of one call; *ret_data_bytes zeros follow them on the wire. */
static uint8_t *put_nfs_results(uint8_t *to, uint32_t procedure, struct wire_in *in,
                                uint32_t *ret_data_bytes)
{
	uint32_t count;

	if (procedure == NFS_NULL)
		return to;
	(void) wire_get_bytes(in, wire_padded(wire_get_u32(in))); /* the handle */
	to = wire_put_u32(to, NFS_OK);
	switch (procedure) {
	case NFS_GETATTR:
		return put_attributes(to);
	case NFS_LOOKUP:
		return put_attributes_follow(put_handle(to));
	case NFS_READ:
		(void) wire_get_u64(in);
		count = wire_get_u32(in);
		if (count > sizeof zeros)
			count = sizeof zeros;
		to = wire_put_u32(put_attributes_follow(to), count);
		to = wire_put_u32(to, 0); /* not the end */
		*ret_data_bytes = count;
		return wire_put_u32(to, count);
	case NFS_WRITE:
		(void) wire_get_u64(in);
		count = wire_get_u32(in);
		to = put_attributes_follow(
			wire_put_u32(to, 0)); /* wcc: nothing before, all after */
		to = wire_put_u32(to, count);
		to = wire_put_u32(to, NFS_FILE_SYNC);
		return wire_put_u64(to, 1);
	default: /* COMMIT */
		return wire_put_u64(put_attributes_follow(wire_put_u32(to, 0)), 1);
	}
}

static bool answer(struct conversation *talk, struct wire_in in)
{
	uint8_t *head = talk->heads[talk->reply_count++];
	uint32_t xid = wire_get_u32(&in), program, procedure, data_bytes = 0;
	uint8_t *to = wire_put_u32(head + 4, xid);

	(void) wire_get_u64(&in); /* CALL, RPC version */
	program = wire_get_u32(&in);
	(void) wire_get_u32(&in);
	procedure = wire_get_u32(&in);
	for (int i = 0; i < 2; i++) { /* credential and verifier */
		(void) wire_get_u32(&in);
		(void) wire_get_bytes(&in, wire_padded(wire_get_u32(&in)));
	}
	to = wire_put_u32(to, 1); /* a reply, accepted, without a verifier, successful */
	to = wire_put_u64(wire_put_u64(to, 0), 0);
	if (program == MOUNT_PROGRAM)
		to = wire_put_u32(put_handle(wire_put_u32(to, NFS_OK)), 0);
	else
		to = put_nfs_results(to, procedure, &in, &data_bytes);
	wire_put_u32(head, 1u << RPC_LAST_FRAGMENT | (uint32_t) (to - head - 4 + data_bytes));
	talk->parts[talk->part_count++] = (struct iovec){ head, (size_t) (to - head) };
	if (data_bytes)
		talk->parts[talk->part_count++] = (struct iovec){ (void *) (uintptr_t) zeros,
			                                          data_bytes };
	return !in.bad && (talk->reply_count < REPLIES_PER_SEND || send_replies(talk));
}

/* Answers the calls that lie in the buffer; what is left of it moves to the front. */
static bool answer_all(struct conversation *talk)
{
	size_t at = talk->skip_bytes < talk->in_used ? talk->skip_bytes : talk->in_used;

	talk->skip_bytes -= at;
	while (talk->in_used - at >= 4) {
		const uint8_t *record = talk->in + at + 4;
		size_t there = talk->in_used - at - 4;
		size_t record_bytes, needed;
		uint32_t mark;

		memcpy(&mark, talk->in + at, sizeof mark);
		record_bytes = be32toh(mark) & ~(1u << RPC_LAST_FRAGMENT);
		needed = record_bytes < CALL_HEAD_BYTES ? record_bytes : CALL_HEAD_BYTES;
		if (there < needed)
			break;
		if (there > record_bytes)
			there = record_bytes;
		if (!answer(talk, (struct wire_in){ record, record + there, false }))
			return false;
		talk->skip_bytes = record_bytes - there;
		at += 4 + there;
	}
	talk->in_used -= at;
	memmove(talk->in, talk->in + at, talk->in_used);
	return talk->skip_bytes > 0 || send_replies(talk);
}

static void *converse(void *argument)
{
	struct conversation *talk = argument;
	ssize_t got;

	for (;;) {
		got = recv(talk->fd, talk->in + talk->in_used, sizeof talk->in - talk->in_used, 0);
		if (got <= 0)
			break;
		talk->in_used += (size_t) got;
		if (!answer_all(talk))
			break;
	}
	close(talk->fd);
	free(talk);
	return NULL;
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in local = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (struct sockaddr *) &local, sizeof local) < 0 || listen(fd, 1024) < 0) {
		perror("rpc_echo");
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	unsigned long port = 0;
	char *end = NULL;
	int listener, on = 1;

	if (argc == 2)
		port = strtoul(argv[1], &end, 10);
	if (port < 1 || port > 65535 || *end) {
		fputs("usage: rpc_echo PORT\n", stderr);
		return 2;
	}
	listener = listen_on((uint16_t) port);
	for (;;) {
		struct conversation *talk = calloc(1, sizeof *talk);
		pthread_t thread;

		if (!talk)
			return 1;
		talk->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (talk->fd < 0) {
			perror("rpc_echo: accept");
			return 1;
		}
		setsockopt(talk->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		if (pthread_create(&thread, NULL, converse, talk) != 0)
			return 1;
		pthread_detach(thread);
	}
}
