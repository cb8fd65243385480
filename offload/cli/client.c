/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/client.h"

#include <assert.h>
#include <errno.h>
#include <rpc/rpc_msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/cli/link.h"
#include "rpcgen/rpc_call.h"
#include "rpcgen/xdr_cursor.h"
#include "rpcgen/xdr_generated.h"
#include "vfs/base/cleanup.h"

enum {
	CALL_BYTES_MAX = 8 << 10,    /* two paths and a header */
	REPLY_BYTES_MAX = 128 << 10, /* a page of JOBS */
	CONNECT_MS = 5000,           /* an address */
	ANSWER_MS = 15000,           /* beyond the wait that is asked for; nfsd's relay: 5000 */
	RETRY_MS = 500,
	MS_PER_S = 1000,
};

#define say(client, ...) snprintf((client)->why, sizeof(client)->why, __VA_ARGS__)

/* ---- opening ---- */

static int find_addresses(struct client *client, const char *host)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char port[8];
	int error;

	snprintf(port, sizeof port, "%u", client->port);
	error = getaddrinfo(host, port, &hints, &client->addresses);
	if (error == 0)
		return 0;
	client->addresses = NULL;
	say(client, "cannot find the host '%s': %s", host,
	    error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
	return -EHOSTUNREACH;
}

int client_open(struct client *client, const struct place *place, const struct arguments *arguments)
{
	bool brackets = strchr(place->host, ':') != NULL;

	*client = (struct client){
		.socket_path = arguments->socket,
		.port = arguments->port,
		.timeout_ms = (uint64_t) arguments->timeout_s * MS_PER_S,
		.fd = -EBADF,
		.xid = (uint32_t) getpid() << 16,
	};
	snprintf(client->name, sizeof client->name, "%s%s%s", brackets ? "[" : "", place->host,
	         brackets ? "]" : "");
	client->reply = malloc(REPLY_BYTES_MAX);
	if (!client->reply) {
		say(client, "no memory is left");
		return -EHOSTUNREACH;
	}
	return place->host[0] ? find_addresses(client, place->host) : 0;
}

void client_close(struct client *client)
{
	close_fd(&client->fd);
	free(client->reply);
	client->reply = NULL;
	if (client->addresses)
		freeaddrinfo(client->addresses);
	client->addresses = NULL;
}

/* ---- connecting ---- */

static void say_unix_error(struct client *client, int error)
{
	if (error == -EACCES || error == -EPERM)
		say(client,
		    "only root may use %s: use sudo, or ask through the network as HOST:/path",
		    client->socket_path);
	else if (error == -ENOENT || error == -ECONNREFUSED)
		say(client,
		    "the offload service does not answer on %s: systemctl status"
		    " lodestore-offloadd. Files of another machine are written HOST:/path",
		    client->socket_path);
	else
		say(client, "cannot connect to %s: %s", client->socket_path, strerror(-error));
}

static void say_tcp_error(struct client *client, int error)
{
	if (error == -ECONNREFUSED)
		say(client,
		    "nothing listens on port %u of %s: does lodestore-nfsd run there, on this"
		    " port (--port)?",
		    client->port, client->name);
	else
		say(client, "%s cannot be reached on port %u: %s", client->name, client->port,
		    strerror(-error));
}

static int client_connect(struct client *client)
{
	int r = -EHOSTUNREACH;

	if (!client->addresses) {
		r = link_connect_unix(client->socket_path, link_now_ms() + CONNECT_MS, &client->fd);
		if (r < 0)
			say_unix_error(client, r);
		return r;
	}
	for (struct addrinfo *at = client->addresses; at; at = at->ai_next) {
		r = link_connect_tcp(at, link_now_ms() + CONNECT_MS, &client->fd);
		if (r == 0 || r == -EINTR)
			return r;
	}
	say_tcp_error(client, r);
	return r;
}

/* ---- one call, one answer ---- */

static void put_cred(struct xdr_out *out)
{
	gid_t groups[256];
	int group_count = getgroups(ARRAY_COUNT(groups), groups);
	char machine[65] = "";

	(void) gethostname(machine, sizeof machine - 1);
	if (group_count < 0)
		group_count = 0;
	if (group_count > RPC_GROUPS_MAX)
		group_count = RPC_GROUPS_MAX;
	xdr_put_u32(out, AUTH_SYS);
	xdr_put_u32(out, (uint32_t) (4 * (5 + group_count) + xdr_padded(strlen(machine))));
	xdr_put_u32(out, 0); /* stamp */
	xdr_put_opaque(out, machine, (uint32_t) strlen(machine));
	xdr_put_u32(out, geteuid());
	xdr_put_u32(out, getegid());
	xdr_put_u32(out, (uint32_t) group_count);
	for (int i = 0; i < group_count; i++)
		xdr_put_u32(out, groups[i]);
	xdr_put_u32(out, AUTH_NONE); /* the verifier */
	xdr_put_u32(out, 0);
}

/* The bytes of the record with its mark. */
static size_t put_call(struct client *client, const struct client_call *call,
                       uint8_t message[CALL_BYTES_MAX])
{
	struct xdr_out out = xdr_out(message + RPC_RECORD_MARK_BYTES,
	                             CALL_BYTES_MAX - RPC_RECORD_MARK_BYTES);
	size_t header_bytes;
	int args_bytes;

	xdr_put_u32(&out, ++client->xid);
	xdr_put_u32(&out, CALL);
	xdr_put_u32(&out, RPC_VERSION);
	xdr_put_u32(&out, OFFLOAD_PROGRAM);
	xdr_put_u32(&out, OFFLOAD_V1);
	xdr_put_u32(&out, call->procedure);
	put_cred(&out);
	assert(!out.failed);
	header_bytes = (size_t) (out.at - message);
	args_bytes = xdr_result_encode(call->encode, call->args, message + header_bytes,
	                               CALL_BYTES_MAX - header_bytes);
	assert(args_bytes >= 0); /* place.h bounds what is written */
	rpc_record_mark(message,
	                (uint32_t) (header_bytes + (size_t) args_bytes) - RPC_RECORD_MARK_BYTES);
	return header_bytes + (size_t) args_bytes;
}

static int refuse(struct client *client, uint32_t accept_stat)
{
	const char *who = client->addresses ? client->name : client->socket_path;

	switch (accept_stat) {
	case PROG_UNAVAIL:
	case PROG_MISMATCH:
		say(client,
		    "what answers on %s does not serve lodestore's offload program: is it another"
		    " NFS server, or too old?",
		    who);
		break;
	case PROC_UNAVAIL:
		say(client, "the server %s is older than this command and cannot do that", who);
		break;
	default:
		say(client, "the server %s cannot read the call (accept_stat %u)", who,
		    accept_stat);
		break;
	}
	return -EPROTO;
}

static int take_reply(struct client *client, const struct client_call *call, const uint8_t *payload,
                      uint32_t payload_bytes, void *ret_result)
{
	struct rpc_answer answer;

	if (rpc_answer_decode(payload, payload_bytes, &answer) < 0 || answer.xid != client->xid) {
		say(client, "what answers there does not speak ONC RPC as NFS servers do");
		return -EPROTO;
	}
	if (answer.denied) {
		say(client, "the server turns this user away: %s",
		    client->addresses ? "it asks for another kind of credentials"
		                      : "only root may use its socket");
		return -EPROTO;
	}
	if (answer.accept_stat != SUCCESS)
		return refuse(client, answer.accept_stat);
	if (xdr_args_decode(call->decode, ret_result, call->result_bytes, answer.results,
	                    answer.results_bytes) < 0) {
		say(client, "the server's answer cannot be read: it may be newer than this"
		            " command");
		return -EPROTO;
	}
	return 0;
}

static int exchange(struct client *client, const struct client_call *call, void *ret_result)
{
	uint64_t until_ms = link_now_ms() + ANSWER_MS + (uint64_t) call->wait_s * MS_PER_S;
	uint8_t message[CALL_BYTES_MAX];
	const uint8_t *payload;
	uint32_t payload_bytes;
	int r;

	r = link_send(client->fd, message, put_call(client, call, message), until_ms);
	if (r == 0)
		r = link_receive(client->fd, client->reply, REPLY_BYTES_MAX, until_ms, &payload,
		                 &payload_bytes);
	if (r == -EBADMSG) {
		say(client, "what answers there does not speak ONC RPC as NFS servers do");
		return -EPROTO;
	}
	if (r == 0)
		return take_reply(client, call, payload, payload_bytes, ret_result);
	say(client, "%s %s", client->addresses ? client->name : client->socket_path,
	    r == -ETIMEDOUT ? "does not answer" : "has closed the connection");
	return r;
}

/* ---- calls ---- */

static int call_once(struct client *client, const struct client_call *call, void *ret_result)
{
	int r = client->fd < 0 ? client_connect(client) : 0;

	if (r == 0)
		r = exchange(client, call, ret_result);
	if (r == 0)
		client->answered = true;
	else
		close_fd(&client->fd); /* what it still says belongs to this call */
	return r;
}

struct client_call client_jobs_call(const offload_jobs_args *args)
{
	return (struct client_call){
		.procedure = OFFLOAD_JOBS,
		.encode = (xdrproc_t) xdr_offload_jobs_args,
		.args = args,
		.decode = (xdrproc_t) xdr_offload_jobs_result,
		.result_bytes = sizeof(offload_jobs_result),
	};
}

int client_call(struct client *client, const struct client_call *call, void *ret_result)
{
	uint64_t until_ms = link_now_ms() + client->timeout_ms;
	bool told = false;

	for (;;) {
		int r = call_once(client, call, ret_result);

		if (r == 0 || r == -EINTR || r == -EPROTO || !client->answered)
			return r;
		if (link_now_ms() >= until_ms)
			return r;
		if (!told && client->lost)
			client->lost(client->context, client->why);
		told = true;
		if (link_sleep(link_now_ms() + RETRY_MS) < 0)
			return -EINTR;
	}
}
