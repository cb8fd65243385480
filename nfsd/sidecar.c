/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/sidecar.h"

#include <errno.h>
#include <poll.h>
#include <rpc/rpc_msg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpcgen/record.h"
#include "rpcgen/rpc_call.h"
#include "rpcgen/xdr_cursor.h"
#include "rpcgen/xdr_generated.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"
#include "vfs/base/unix_address.h"

enum {
	AGAIN_MS = 1000,        /* after an answer */
	AGAIN_SILENT_MS = 5000, /* after none */
	ANSWER_MS = 500,
	CALL_BYTES_MAX = 128,
	REPLY_BYTES_MAX = 256 << 10, /* OFFLOAD_JOBS_MAX jobs with the longest names */
	ENVELOPE_WORDS = 4 + 4, /* an address, port, uid, gid, no groups: all zero, ourselves */
	XID = 1,                /* one call a connection */
};

struct sidecar {
	char *socket_path;
	struct sidecar_seen seen;
	uint64_t ask_ms; /* not before */
};

/* ---- one call ---- */

/* A socket that was just made takes so little at once. */
static int send_call(int fd)
{
	uint8_t message[CALL_BYTES_MAX];
	struct xdr_out out = xdr_out(message + RPC_RECORD_MARK_BYTES,
	                             sizeof message - RPC_RECORD_MARK_BYTES);
	static const uint32_t head[] = { XID,
		                         CALL,
		                         RPC_VERSION,
		                         OFFLOAD_RELAY_PROGRAM,
		                         OFFLOAD_RELAY_V1,
		                         OFFLOAD_RELAY_TOTALS };
	size_t bytes;

	for (size_t i = 0; i < ARRAY_COUNT(head); i++)
		xdr_put_u32(&out, head[i]);
	for (unsigned i = 0; i < 4; i++)
		xdr_put_u32(&out, 0); /* AUTH_NONE twice: who we are the socket tells */
	for (unsigned i = 0; i < ENVELOPE_WORDS; i++)
		xdr_put_u32(&out, 0);
	bytes = (size_t) (out.at - message);
	rpc_record_mark(message, (uint32_t) bytes - RPC_RECORD_MARK_BYTES);
	return send(fd, message, bytes, MSG_NOSIGNAL) == (ssize_t) bytes ? 0 : -EIO;
}

static int receive_some(int fd, uint8_t *to, size_t room, uint64_t until_ms, size_t *have_bytes)
{
	struct pollfd set = { .fd = fd, .events = POLLIN };
	uint64_t now = clock_ms(CLOCK_MONOTONIC);
	ssize_t count;

	if (now >= until_ms || poll(&set, 1, (int) (until_ms - now)) == 0)
		return -ETIMEDOUT;
	count = recv(fd, to + *have_bytes, room - *have_bytes, 0);
	if (count < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	*have_bytes += (size_t) count;
	return count == 0 ? -ECONNRESET : 0;
}

static int decode_reply(const struct record *record, offload_totals *ret_totals)
{
	struct rpc_answer answer;

	if (rpc_answer_decode(record->payload, record->payload_bytes, &answer) < 0 ||
	    answer.denied || answer.xid != XID || answer.accept_stat != SUCCESS)
		return -EPROTO;
	return xdr_args_decode((xdrproc_t) xdr_offload_totals, ret_totals, sizeof *ret_totals,
	                       answer.results, answer.results_bytes);
}

static int receive_reply(int fd, uint64_t until_ms, offload_totals *ret_totals)
{
	AUTO(free_ptr) uint8_t *reply = malloc(REPLY_BYTES_MAX);
	struct record_state state = { 0 };
	size_t have_bytes = 0;
	int r = reply ? 0 : -ENOMEM;

	while (r == 0) {
		struct record record;

		if (have_bytes == REPLY_BYTES_MAX)
			return -EMSGSIZE;
		r = receive_some(fd, reply, REPLY_BYTES_MAX, until_ms, &have_bytes);
		if (r < 0)
			break;
		record = record_next(&state, reply, have_bytes,
		                     REPLY_BYTES_MAX - RPC_RECORD_MARK_BYTES);
		have_bytes = record.have_bytes;
		if (record.status == RECORD_READY)
			return decode_reply(&record, ret_totals);
		if (record.status == RECORD_BAD)
			r = -EPROTO;
	}
	return r;
}

static int ask(const char *socket_path, offload_totals *ret_totals)
{
	uint64_t until_ms = clock_ms(CLOCK_MONOTONIC) + ANSWER_MS;
	AUTO(close_fd) int fd = -EBADF;
	int r = unix_connect(socket_path, &fd);

	if (r == 0)
		r = send_call(fd);
	return r == 0 ? receive_reply(fd, until_ms, ret_totals) : r;
}

/* ---- looking ---- */

static void forget(struct sidecar *sidecar)
{
	if (sidecar->seen.answers)
		xdr_free((xdrproc_t) xdr_offload_totals, (char *) &sidecar->seen.totals);
	sidecar->seen = (struct sidecar_seen){ 0 };
}

struct sidecar *sidecar_new(const char *socket_path)
{
	struct sidecar *sidecar = calloc(1, sizeof *sidecar);

	if (!sidecar)
		return NULL;
	sidecar->socket_path = strdup(socket_path);
	return sidecar->socket_path ? sidecar : sidecar_free(sidecar);
}

const struct sidecar_seen *sidecar_look(struct sidecar *sidecar)
{
	struct sidecar_seen *seen = &sidecar->seen;

	if (clock_ms(CLOCK_MONOTONIC) < sidecar->ask_ms)
		return seen;
	forget(sidecar);
	seen->answers = ask(sidecar->socket_path, &seen->totals) == 0;
	if (!seen->answers)
		*seen = (struct sidecar_seen){ 0 };
	sidecar->ask_ms = clock_ms(CLOCK_MONOTONIC) + (seen->answers ? AGAIN_MS : AGAIN_SILENT_MS);
	return seen;
}

struct sidecar *sidecar_free(struct sidecar *sidecar)
{
	if (!sidecar)
		return NULL;
	forget(sidecar);
	free(sidecar->socket_path);
	free(sidecar);
	return NULL;
}
