/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_stream - any stream of bytes to the server, in parts of any size: connection, record
 * marking, call headers, argument decoders, procedures, reply cache, group commit, over a file
 * system and a ring in memory.
 *
 * The first two bytes of the input choose (enum below, a seed), the rest is the stream, or with
 * FRAMED a list of messages (message_of()). Whatever comes: replies are well formed and answer
 * what was asked; every call is answered, or the same call sent twice is; at the end all memory,
 * references and places have come back. Out of memory and failing disks included.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "rpcgen/rpc_call.h"
#include "support/nfsd_fake.h"
#include "support/random.h"
#include "support/stream_client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	FRAMED = 1 << 0,      /* the input is a list of messages, not bytes of a stream */
	TWICE = 1 << 1,       /* a second connection sends the same */
	SHORT_SENDS = 1 << 2, /* the socket takes replies in parts */
	BAD_DISK = 1 << 3,    /* reads, writes and flushes fail, or do a part */
	BAD_FILES = 1 << 4,   /* all else of the file system fails */
	SCARCE = 1 << 5,      /* memory for a handful of calls only */
	BAD_NET = 1 << 6,     /* sends and receives fail */
	TINY = 1 << 7,        /* received in parts of few bytes */

	STREAM_BYTES_MAX = 1 << 20,
	QUIET_RUNS = 40, /* with nothing done in so many runs, nothing will be */
	HANG_RUNS = 400,
	SCARCE_BYTES = 8 << 20,
	PLENTY_BYTES = 256 << 20,
};

struct client {
	int fd;
	const uint8_t *bytes; /* not sent yet */
	size_t left;
	struct stream_client *seen;
};

struct run {
	struct nfsd_fake fake;
	struct random random;
	unsigned flags;
	struct client clients[STREAM_CLIENTS_MAX];
	unsigned client_count;
	struct stream_book *book;
	bool must_close, broken; /* a record too long; the network failed */
	bool ending;
	unsigned quiet_runs;
};

static struct run run;

static bool chance(unsigned one_in)
{
	return random_below(&run.random, one_in) == 0;
}

/* ---- the network ---- */

static struct client *client_of(int fd)
{
	for (unsigned i = 0; i < run.client_count; i++)
		if (run.clients[i].fd == fd)
			return &run.clients[i];
	abort();
}

static int net_poll(const struct client *client)
{
	return client->left || run.ending ? POLLIN : RING_FAKE_LATER;
}

static int net_receive(struct client *client, const struct ring_fake_call *call)
{
	size_t count = 1 + random_below(&run.random, run.flags & TINY ? 7 : 70000);

	if ((run.flags & BAD_NET) && chance(50)) {
		run.broken = true;
		return -ECONNRESET;
	}
	if (chance(20))
		return chance(2) ? -EINTR : -EAGAIN;
	if (client->left == 0)
		return run.ending ? 0 : RING_FAKE_LATER;
	count = count < client->left ? count : client->left;
	count = count < call->count ? count : call->count;
	memcpy(call->bytes, client->bytes, count);
	client->bytes += count;
	client->left -= count;
	return (int) count;
}

static int net_send(struct client *client, const struct ring_fake_call *call)
{
	size_t total = 0, sent = 0;

	if ((run.flags & BAD_NET) && chance(50)) {
		run.broken = true;
		return -EPIPE;
	}
	for (size_t i = 0; i < call->message->msg_iovlen; i++)
		total += call->message->msg_iov[i].iov_len;
	assert(total > 0);
	if (run.flags & SHORT_SENDS) {
		if (chance(4))
			return RING_FAKE_LATER;
		total = 1 + random_below(&run.random, (unsigned) total);
	}
	for (size_t i = 0; i < call->message->msg_iovlen && sent < total; i++) {
		const struct iovec *part = &call->message->msg_iov[i];
		size_t count = part->iov_len < total - sent ? part->iov_len : total - sent;

		stream_client_receives(client->seen, part->iov_base, count);
		sent += count;
	}
	return (int) total;
}

/* ---- the disk ---- */

static int disk(const struct ring_fake_call *call)
{
	static const int errors[] = { -EIO, -ENOSPC, -EDQUOT, -EAGAIN, -EINTR, -ECANCELED, -EROFS };
	struct ring_fake_call part = *call;

	if (chance(4))
		return RING_FAKE_LATER;
	if ((run.flags & BAD_DISK) && chance(3))
		return errors[random_below(&run.random, sizeof errors / sizeof errors[0])];
	if ((run.flags & BAD_DISK) && call->count > 1 && chance(2))
		part.count = 1 + random_below(&run.random, (unsigned) call->count - 1);
	return vfs_fake_io(&part);
}

static int files_fail(void *context, const char *function)
{
	static const int errors[] = { -EIO,    -ENOENT, -ENOSPC,       -ESTALE,  -ENFILE,
		                      -ENOMEM, -EAGAIN, -ENAMETOOLONG, -EBADMSG, -EXDEV };

	(void) context;
	(void) function;
	return (run.flags & BAD_FILES) && chance(5)
	               ? errors[random_below(&run.random, sizeof errors / sizeof errors[0])]
	               : 0;
}

/* ---- the ring ---- */

static int answer(void *context, const struct ring_fake_call *call)
{
	int result;

	(void) context;
	switch (call->kind) {
	case RING_FAKE_POLL:
		result = net_poll(client_of(call->fd));
		break;
	case RING_FAKE_RECV:
		result = net_receive(client_of(call->fd), call);
		break;
	case RING_FAKE_SENDMSG:
		result = net_send(client_of(call->fd), call);
		break;
	case RING_FAKE_PREAD:
	case RING_FAKE_PWRITE:
	case RING_FAKE_PWRITE_DURABLE:
	case RING_FAKE_FDATASYNC:
		result = disk(call);
		break;
	default:
		return RING_FAKE_LATER; /* the loop's own */
	}
	if (result != RING_FAKE_LATER)
		run.quiet_runs = 0;
	return result;
}

static void all_was_said(void)
{
	bool whole = !run.must_close && !run.broken;

	for (unsigned i = 0; whole && i < run.client_count; i++) {
		assert(run.clients[i].left == 0);
		assert(stream_client_is_between(run.clients[i].seen));
	}
	stream_book_check(run.book, whole);
}

static void idle(void *context)
{
	struct worker *worker = &run.fake.worker;

	(void) context;
	nfsd_fake_resume(&run.fake);
	run.quiet_runs++;
	assert(run.quiet_runs < HANG_RUNS); /* the server neither goes on nor ends */
	if (run.quiet_runs < QUIET_RUNS)
		return;
	if (!run.ending) {
		all_was_said();
		run.ending = true;
	} else if (atomic_load(&worker->conn_count) == 0 && worker->call_count == 0) {
		loop_stop(worker->loop);
	}
}

/* ---- the stream ---- */

static uint8_t stream[STREAM_BYTES_MAX + 4096];
static size_t stream_bytes;

static void put_word(uint32_t word)
{
	uint8_t bytes[4] = { (uint8_t) (word >> 24), (uint8_t) (word >> 16), (uint8_t) (word >> 8),
		             (uint8_t) word };

	memcpy(stream + stream_bytes, bytes, 4);
	stream_bytes += 4;
}

static void put_header(unsigned kind, unsigned procedure, uint32_t xid)
{
	static const struct {
		uint32_t program, version;
	} programs_called[] = { { NFS_PROGRAM, NFS_V3 }, { NFS_PROGRAM, NFS_V3 },
		                { NFS_PROGRAM, NFS_V3 }, { 100005, 3 },
		                { 100005, 1 },           { NFS_PROGRAM, 4 },
		                { 100000, 2 },           { 100005, 2 } };
	bool has_cred = kind & 0x20;

	put_word(xid);
	put_word(0); /* CALL */
	put_word(2);
	put_word(programs_called[kind >> 2 & 7].program);
	put_word(programs_called[kind >> 2 & 7].version);
	put_word(procedure & 31);
	put_word(has_cred ? 0 : 1); /* AUTH_NONE or AUTH_SYS */
	put_word(has_cred ? 0 : 20);
	if (!has_cred) {
		put_word(0);              /* stamp */
		put_word(0);              /* machine */
		put_word(procedure >> 5); /* uid: 0..7 */
		put_word(procedure >> 5);
		put_word(0);
	}
	put_word(0);
	put_word(0);
}

/*
 * One message of a FRAMED input: a byte of flags, a procedure, a count, and so many bytes. Flags:
 * 1 the bytes are the whole message, else a header is put before them; 2 with the same xid as the
 * last; 4, 8, 16 the program; 32 without credentials; 64 the record ends in a fragment of its own;
 * 128 1000 zeros follow.
 */
static size_t message_of(const uint8_t *data, size_t size, uint32_t *xid)
{
	size_t count = data[2] < size - 3 ? data[2] : size - 3, mark_at = stream_bytes;

	put_word(0);
	if (!(data[0] & 2))
		++*xid;
	if (!(data[0] & 1))
		put_header(data[0], data[1], *xid);
	memcpy(stream + stream_bytes, data + 3, count);
	stream_bytes += count;
	if (data[0] & 128) {
		memset(stream + stream_bytes, 0, 1000);
		stream_bytes += 1000;
	}
	rpc_record_mark(stream + mark_at, (uint32_t) (stream_bytes - mark_at - 4));
	if (data[0] & 64) {
		stream[mark_at] &= 0x7f;
		put_word(0x80000000);
	}
	return 3 + count;
}

static void stream_of(const uint8_t *data, size_t size)
{
	uint32_t xid = 1;
	size_t at = 0;

	stream_bytes = 0;
	if (!(run.flags & FRAMED)) {
		stream_bytes = size;
		memcpy(stream, data, size);
		return;
	}
	while (size - at >= 3 && stream_bytes < STREAM_BYTES_MAX)
		at += message_of(data + at, size - at, &xid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ring_fake_behaviour behaviour = { .answer = answer, .idle = idle };

	if (size < 2 || size - 2 > STREAM_BYTES_MAX)
		return 0;
	memset(&run, 0, sizeof run);
	run.flags = data[0];
	run.random = random_of(data[1]);
	stream_of(data + 2, size - 2);
	run.book = stream_book_new();
	run.client_count = run.flags & TWICE ? 2 : 1;
	for (unsigned i = 0; i < run.client_count; i++)
		run.must_close |= !stream_book_sends(run.book, stream, stream_bytes);
	if (stream_book_is_full(run.book))
		return 0;
	ring_fake_behave(&behaviour);
	vfs_fake_fault(files_fail, NULL);
	nfsd_fake_open(&run.fake, run.flags & SCARCE ? SCARCE_BYTES : PLENTY_BYTES);
	for (unsigned i = 0; i < run.client_count; i++)
		run.clients[i] = (struct client){
			.fd = nfsd_fake_connect(&run.fake, 1),
			.bytes = stream,
			.left = stream_bytes,
			.seen = stream_client_new(run.book),
		};
	assert(loop_run(run.fake.worker.loop) == 0);
	nfsd_fake_close(&run.fake);
	return 0;
}
