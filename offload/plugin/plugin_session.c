/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/plugin/plugin_session.h"

#include <errno.h>
#include <netdb.h>
#include <rpc/pmap_clnt.h>
#include <rpc/pmap_prot.h>
#include <rpc/rpcb_prot.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "rpcgen/mount3.h"
#include "rpcgen/offload.h"
#include "vfs/base/cleanup.h"

enum {
	PORTMAPPER_PORT = 111,
	EXTEND_PROCEDURE = 22, /* the first behind RFC 1813's */
};

static const struct timeval rpc_wait = { .tv_sec = PLUGIN_RPC_S };

/* By way of the generic function type: xdr_void() takes nothing, and compilers mind. */
static const xdrproc_t void_proc = (xdrproc_t) (void (*)(void)) xdr_void;

int plugin_session_say(struct plugin_session *session, int error, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(session->why, sizeof session->why, format, values);
	va_end(values);
	return error;
}

/*
 * libtirpc's own makers of such texts keep one for all threads, and two threads that need it first
 * allocate it twice.
 */
static int say_rpc_error(struct plugin_session *session, const char *what, enum clnt_stat status,
                         int system_error)
{
	return plugin_session_say(session, -ECOMM, "%s: %s%s%s", what, clnt_sperrno(status),
	                          system_error ? ": " : "",
	                          system_error ? strerrordesc_np(system_error) : "");
}

/* Of a client that could not be made, this thread's last. */
static int create_failed(struct plugin_session *session, const char *what)
{
	enum clnt_stat status = rpc_createerr.cf_stat;

	return say_rpc_error(session, what, status,
	                     status == RPC_SYSTEMERROR ? rpc_createerr.cf_error.re_errno : 0);
}

static int call_failed(struct plugin_session *session, CLIENT *client, const char *name)
{
	bool system_failed;
	struct rpc_err error;

	clnt_geterr(client, &error);
	system_failed = error.re_status == RPC_CANTSEND || error.re_status == RPC_CANTRECV;
	return say_rpc_error(session, name, error.re_status, system_failed ? error.re_errno : 0);
}

/* ---- where ---- */

static void port_set(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *) address)->sin6_port = htons(port);
	else
		((struct sockaddr_in *) address)->sin_port = htons(port);
}

static int address_find(struct plugin_session *session, const char *host,
                        struct sockaddr_storage *ret_address, socklen_t *ret_bytes)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int r;

	r = getaddrinfo(host, NULL, &hints, &found);
	if (r != 0)
		return plugin_session_say(session, -ECOMM, "%s: %s", host, gai_strerror(r));
	memcpy(ret_address, found->ai_addr, found->ai_addrlen);
	*ret_bytes = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static int connect_from(struct plugin_session *session, int fd)
{
	struct sockaddr_storage local;
	socklen_t local_bytes;
	int r;

	if (!session->server->from)
		return 0;
	r = address_find(session, session->server->from, &local, &local_bytes);
	if (r < 0)
		return r;
	if (bind(fd, (struct sockaddr *) &local, local_bytes) < 0)
		return plugin_session_say(session, -ECOMM, "cannot connect from %s: %s",
		                          session->server->from, strerror(errno));
	return 0;
}

/* Not bindresvport(3): the kernel's choice of port is an unreserved one. */
static CLIENT *client_connect(struct plugin_session *session, uint16_t port, uint32_t program,
                              uint32_t version)
{
	struct netbuf buffer = {
		.maxlen = sizeof session->address,
		.len = session->address_bytes,
		.buf = &session->address,
	};
	AUTO(close_fd) int fd = socket(session->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CLIENT *client;

	if (fd < 0) {
		plugin_session_say(session, 0, "socket: %s", strerror(errno));
		return NULL;
	}
	if (connect_from(session, fd) < 0)
		return NULL;
	(void) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &rpc_wait, sizeof rpc_wait);
	port_set(&session->address, port);
	if (connect(fd, (struct sockaddr *) &session->address, session->address_bytes) < 0) {
		plugin_session_say(session, 0, "cannot connect to %s port %u: %s",
		                   session->server->host, port, strerror(errno));
		return NULL;
	}
	client = clnt_vc_create(fd, &buffer, program, version, 0, 0);
	if (!client) {
		create_failed(session, "no RPC client");
		return NULL;
	}
	clnt_control(client, CLSET_FD_CLOSE, NULL);
	(void) take_fd(&fd);
	return client;
}

static void client_close(CLIENT *client)
{
	if (!client)
		return;
	if (client->cl_auth)
		auth_destroy(client->cl_auth);
	clnt_destroy(client);
}

/* AUTH_SYS as uid 0, whoever runs us. */
static bool client_be_root(CLIENT *client, const char *machine)
{
	char name[MAX_MACHINE_NAME + 1];
	AUTH *auth;

	snprintf(name, sizeof name, "%s", machine);
	auth = authunix_create(name, 0, 0, 0, NULL);
	if (!auth)
		return false;
	auth_destroy(client->cl_auth);
	client->cl_auth = auth;
	return true;
}

/* The last two numbers of "h.h.h.h.p.p" or "::1.p.p" are the port's bytes. */
static uint16_t port_of_universal(const char *address)
{
	const char *low = strrchr(address, '.'), *high = low;
	unsigned port;

	while (high && high > address && *--high != '.')
		continue;
	if (!high || *high != '.')
		return 0;
	port = (unsigned) strtoul(high + 1, NULL, 10) << 8 | (unsigned) strtoul(low + 1, NULL, 10);
	return port <= UINT16_MAX ? (uint16_t) port : 0;
}

/* IPv6: rpcbind version 3, GETADDR, over TCP. */
static int port_ask_rpcbind(struct plugin_session *session, uint32_t program, uint16_t *ret_port)
{
	static char netid[] = "tcp6", none[] = "";
	RPCB asked = {
		.r_prog = program, .r_vers = 3, .r_netid = netid, .r_addr = none, .r_owner = none
	};
	char *address = NULL;
	CLIENT *client;
	int r = 0;

	client = client_connect(session, PORTMAPPER_PORT, RPCBPROG, RPCBVERS);
	if (!client)
		return -ECOMM;
	*ret_port = 0;
	if (clnt_call(client, RPCBPROC_GETADDR, (xdrproc_t) xdr_rpcb, &asked,
	              (xdrproc_t) xdr_wrapstring, &address, rpc_wait) != RPC_SUCCESS)
		r = call_failed(session, client, "rpcbind GETADDR");
	else
		*ret_port = port_of_universal(address ? address : "");
	xdr_free((xdrproc_t) xdr_wrapstring, (char *) &address);
	client_close(client);
	return r;
}

static int port_ask(struct plugin_session *session, uint32_t program, const char *name,
                    uint16_t *ret_port)
{
	char portmapper[64];
	int r = 0;

	*ret_port = session->server->port;
	if (*ret_port)
		return 0;
	if (session->address.ss_family == AF_INET6) {
		r = port_ask_rpcbind(session, program, ret_port);
	} else {
		snprintf(portmapper, sizeof portmapper, "portmapper of %s", session->server->host);
		port_set(&session->address, PORTMAPPER_PORT);
		*ret_port = pmap_getport((struct sockaddr_in *) &session->address, program, 3,
		                         IPPROTO_TCP);
		if (*ret_port == 0 && rpc_createerr.cf_stat != RPC_PROGNOTREGISTERED)
			r = create_failed(session, portmapper);
	}
	if (r == 0 && *ret_port == 0)
		return plugin_session_say(session, -ECOMM,
		                          "the portmapper of %s knows no %s version 3 over TCP",
		                          session->server->host, name);
	return r;
}

/* ---- mount ---- */

static int mount_root(struct plugin_session *session, CLIENT *mount)
{
	const char *path = session->server->path;
	dirpath asked = { (u_int) strlen(path), (char *) (uintptr_t) path };
	mountres3 result = { 0 };
	int r = 0;

	if (clnt_call(mount, MOUNTPROC3_NULL, void_proc, NULL, void_proc, NULL, rpc_wait) !=
	    RPC_SUCCESS)
		return call_failed(session, mount, "MOUNT NULL");
	if (clnt_call(mount, MOUNTPROC3_MNT, (xdrproc_t) xdr_dirpath, &asked,
	              (xdrproc_t) xdr_mountres3, &result, rpc_wait) != RPC_SUCCESS)
		return call_failed(session, mount, "MNT");
	if (result.fhs_status != MNT3_OK) {
		session->status = result.fhs_status; /* the numbers mean the same as nfsstat3's */
		r = plugin_session_say(session, -EREMOTEIO, "MNT %s: %s", path,
		                       plugin_status_name(result.fhs_status));
	} else {
		session->root.bytes = result.mountres3_u.mountinfo.fhandle.fhandle3_len;
		memcpy(session->root.data, result.mountres3_u.mountinfo.fhandle.fhandle3_val,
		       session->root.bytes);
	}
	xdr_free((xdrproc_t) xdr_mountres3, (char *) &result);
	return r;
}

static int session_mount(struct plugin_session *session)
{
	uint16_t port;
	CLIENT *mount;
	int r;

	r = port_ask(session, MOUNT_PROGRAM, "MOUNT", &port);
	if (r < 0)
		return r;
	mount = client_connect(session, port, MOUNT_PROGRAM, MOUNT_V3);
	if (!mount)
		return -ECOMM;
	r = client_be_root(mount, session->server->machine) ? mount_root(session, mount) : -ECOMM;
	client_close(mount);
	return r;
}

int plugin_session_open(struct plugin_session *session, const struct plugin_server *server)
{
	uint16_t port;
	int r;

	memset(session, 0, sizeof *session);
	session->server = server;
	r = address_find(session, server->host, &session->address, &session->address_bytes);
	if (r == 0)
		r = port_ask(session, NFS_PROGRAM, "NFS", &port);
	if (r == 0)
		r = session_mount(session);
	if (r < 0)
		return r;
	session->nfs = client_connect(session, port, NFS_PROGRAM, NFS_V3);
	if (!session->nfs || !client_be_root(session->nfs, server->machine))
		return -ECOMM;
	return plugin_session_call(session, "NULL", NFSPROC3_NULL, void_proc, NULL, void_proc, NULL,
	                           0);
}

void plugin_session_close(struct plugin_session *session)
{
	client_close(session->nfs);
	session->nfs = NULL;
}

/* ---- calls ---- */

int plugin_session_call(struct plugin_session *session, const char *name, uint32_t procedure,
                        xdrproc_t encode, void *args, xdrproc_t decode, void *ret_results,
                        size_t results_bytes)
{
	if (ret_results)
		memset(ret_results, 0, results_bytes);
	if (!session->nfs)
		return plugin_session_say(session, -ECOMM, "%s: not connected", name);
	if (clnt_call(session->nfs, procedure, encode, args, decode, ret_results, rpc_wait) ==
	    RPC_SUCCESS)
		return 0;
	if (ret_results)
		xdr_free(decode, (char *) ret_results);
	return call_failed(session, session->nfs, name);
}

struct raw_bytes {
	uint8_t *bytes;
	u_int bytes_count;
};

static bool_t raw_encode(XDR *xdr, struct raw_bytes *raw)
{
	return xdr_opaque(xdr, (char *) raw->bytes, raw->bytes_count);
}

/* All that is left of the record, word by word: the stream tells its end by failing. */
static bool_t raw_decode(XDR *xdr, struct raw_bytes *raw)
{
	if (xdr->x_op != XDR_DECODE)
		return TRUE;
	while (raw->bytes_count <= PLUGIN_REPLY_BYTES_MAX - 4 &&
	       xdr_opaque(xdr, (char *) raw->bytes + raw->bytes_count, 4))
		raw->bytes_count += 4;
	return TRUE;
}

int plugin_session_extend(struct plugin_session *session, const uint8_t *args, size_t args_bytes,
                          uint8_t ret_reply[PLUGIN_REPLY_BYTES_MAX], size_t *ret_reply_bytes)
{
	struct raw_bytes call = { (uint8_t *) (uintptr_t) args, (u_int) args_bytes };
	struct raw_bytes reply = { ret_reply, 0 };

	if (!session->nfs)
		return plugin_session_say(session, -ECOMM, "procedure 22: not connected");
	switch (clnt_call(session->nfs, EXTEND_PROCEDURE, (xdrproc_t) raw_encode, &call,
	                  (xdrproc_t) raw_decode, &reply, rpc_wait)) {
	case RPC_SUCCESS:
		*ret_reply_bytes = reply.bytes_count;
		return 0;
	case RPC_PROCUNAVAIL:
		session->status = NFS3ERR_NOTSUPP;
		return plugin_session_say(session, -EREMOTEIO,
		                          "%s has no procedure 22: no plug-in can offload there",
		                          session->server->host);
	case RPC_CANTDECODEARGS:
		session->status = NFS3ERR_INVAL;
		return plugin_session_say(session, -EREMOTEIO,
		                          "the server knows no such arguments of procedure 22"
		                          " (GARBAGE_ARGS): not this dialect");
	default:
		return call_failed(session, session->nfs, "procedure 22");
	}
}

static void job_engine(const offload_job_result *result, char ret_engine[32])
{
	const offload_job *job = &result->offload_job_result_u.job;

	if (result->status == OFFLOAD_OK)
		snprintf(ret_engine, 32, "%.*s", (int) job->engine.offload_engine_len,
		         job->engine.offload_engine_val);
}

void plugin_session_engine(struct plugin_session *session, const struct plugin_handle *file,
                           char ret_engine[32])
{
	struct offload_which which = { .kind = OFFLOAD_WHICH_FILE };
	offload_handle *handle = &which.offload_which_u.file.offload_file_u.handle;
	offload_job_result result = { 0 };
	CLIENT *client;
	uint16_t port;

	ret_engine[0] = '\0';
	which.offload_which_u.file.kind = OFFLOAD_FILE_HANDLE;
	handle->offload_handle_len = file->bytes;
	handle->offload_handle_val = (char *) (uintptr_t) file->data;
	if (port_ask(session, NFS_PROGRAM, "NFS", &port) < 0)
		return;
	client = client_connect(session, port, OFFLOAD_PROGRAM, OFFLOAD_V1);
	if (!client)
		return;
	if (client_be_root(client, session->server->machine) &&
	    clnt_call(client, OFFLOAD_JOB, (xdrproc_t) xdr_offload_which, &which,
	              (xdrproc_t) xdr_offload_job_result, &result, rpc_wait) == RPC_SUCCESS)
		job_engine(&result, ret_engine);
	xdr_free((xdrproc_t) xdr_offload_job_result, (char *) &result);
	client_close(client);
}
