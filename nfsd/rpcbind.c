/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpcbind.c - telling a running rpcbind(8) where we are, with libtirpc's client.
 *
 * Over TCP on the loopback, not through /run/rpcbind.sock: the socket's file is shared by all
 * network namespaces that see the same /run, and clients ask the one of ours. rpcbind takes
 * registrations from there if they come from a reserved port, which bindresvport(3) gives us.
 */
#include <errno.h>
#include <netinet/in.h>
#include <rpc/rpc.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "nfsd/portmap.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

/* By way of the generic function type: xdr_void() takes nothing, and compilers mind. */
static const xdrproc_t void_proc = (xdrproc_t) (void (*)(void)) xdr_void;

static const struct timeval rpcbind_wait = { .tv_sec = 3 };

struct rpcbind_client {
	CLIENT *client;
	const struct server *server;
	int result;
};

static CLIENT *rpcbind_connect(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(PORTMAP_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct netbuf buffer = {
		.maxlen = sizeof address,
		.len = sizeof address,
		.buf = &address,
	};
	AUTO(close_fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CLIENT *client;

	if (fd < 0)
		return NULL;
	(void) bindresvport(fd, NULL); /* without the right to, rpcbind refuses, and says so */
	(void) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &rpcbind_wait, sizeof rpcbind_wait);
	if (connect(fd, (struct sockaddr *) &address, sizeof address) < 0)
		return NULL;
	client = clnt_vc_create(fd, &buffer, PORTMAP_PROGRAM, RPCBIND_V4, 0, 0);
	if (!client)
		return NULL;
	clnt_control(client, CLSET_FD_CLOSE, NULL);
	(void) take_fd(&fd);
	return client;
}

bool rpcbind_runs(void)
{
	CLIENT *client = rpcbind_connect();
	bool runs;

	if (!client)
		return false;
	runs = clnt_call(client, RPCBIND_NULL, void_proc, NULL, void_proc, NULL, rpcbind_wait) ==
	       RPC_SUCCESS;
	clnt_destroy(client);
	return runs;
}

static void text_set(rpcbind_string *to, const char *text)
{
	to->rpcbind_string_val = (char *) (uintptr_t) text;
	to->rpcbind_string_len = (u_int) strlen(text);
}

static bool rpcbind_ask(struct rpcbind_client *rpcbind, uint32_t procedure,
                        const struct service *service)
{
	rpcbind_mapping mapping = {
		.program_number = service->program,
		.version_number = service->version,
	};
	char address[64];
	bool_t done = 0;

	snprintf(address, sizeof address, "%s.%u.%u", service->netid[3] == '6' ? "::" : "0.0.0.0",
	         rpcbind->server->port >> 8, rpcbind->server->port & 0xff);
	text_set(&mapping.netid, service->netid);
	text_set(&mapping.address, address);
	text_set(&mapping.owner, "superuser");
	return clnt_call(rpcbind->client, procedure, (xdrproc_t) xdr_rpcbind_mapping,
	                 (caddr_t) &mapping, (xdrproc_t) xdr_bool, (caddr_t) &done,
	                 rpcbind_wait) == RPC_SUCCESS &&
	       done;
}

static void service_unset(void *context, const struct service *service)
{
	(void) rpcbind_ask(context, RPCBIND_UNSET, service);
}

static void service_set(void *context, const struct service *service)
{
	struct rpcbind_client *rpcbind = context;

	/* What a server that was killed left behind, or another one's that no longer runs. */
	(void) rpcbind_ask(rpcbind, RPCBIND_UNSET, service);
	if (rpcbind_ask(rpcbind, RPCBIND_SET, service))
		return;
	rpcbind->result = -EADDRINUSE;
	log_error(
		"rpcbind refuses program %u version %u on %s: another NFS server is registered, or"
		" this one may not (run as root or with CAP_NET_BIND_SERVICE). Look at 'rpcinfo "
		"-p';"
		" with --no-rpcbind nothing is registered and clients must name the port",
		service->program, service->version, service->netid);
}

int rpcbind_register(const struct server *server)
{
	struct rpcbind_client rpcbind = { .server = server, .client = rpcbind_connect() };

	if (!rpcbind.client)
		return -ECONNREFUSED;
	services_visit(server, service_set, &rpcbind);
	clnt_destroy(rpcbind.client);
	return rpcbind.result;
}

void rpcbind_unregister(const struct server *server)
{
	struct rpcbind_client rpcbind = { .server = server, .client = rpcbind_connect() };

	if (!rpcbind.client)
		return;
	services_visit(server, service_unset, &rpcbind);
	clnt_destroy(rpcbind.client);
}
