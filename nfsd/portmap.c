/* SPDX-License-Identifier: Apache-2.0 */
/*
 * portmap.c - the port mapper, version 2, and rpcbind, versions 3 and 4 (RFC 1833): only what tells
 * clients where we are. Nothing can be registered with it, and it forwards no calls.
 */
#include "nfsd/portmap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "nfsd/locks.h"
#include "nfsd/worker.h"
#include "rpcgen/mount3.h"
#include "rpcgen/nlm4_args.h"
#include "rpcgen/xdr_cursor.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	PORTMAP_LIST_BYTES = 8 << 10,
	UNIVERSAL_ADDRESS_BYTES = EXPORT_ADDRESS_TEXT_BYTES + 8, /* "ADDRESS.p1.p2" (RFC 5665) */
};

static const struct {
	uint32_t program, version;
} served[] = {
	{ NFS_PROGRAM, NFS_V3 },     { MOUNT_PROGRAM, MOUNT_V1 }, { MOUNT_PROGRAM, MOUNT_V2 },
	{ MOUNT_PROGRAM, MOUNT_V3 }, { NLM4_PROGRAM, NLM4_V4 },   { NSM_PROGRAM, NSM_V1 },
};

/* Locks may be off, and clients' restarts rpc.statd's business. */
static bool is_served(const struct server *server, uint32_t program)
{
	if (program == NLM4_PROGRAM)
		return server->locks != NULL;
	return program != NSM_PROGRAM || locks_serve_nsm(server->locks);
}

void services_visit(const struct server *server,
                    void (*visit)(void *context, const struct service *service), void *context)
{
	static const char *const netids[] = { "tcp", "udp", "tcp6", "udp6" };

	for (size_t n = 0; n < ARRAY_COUNT(netids); n++) {
		bool is_v6 = netids[n][3] == '6';

		if (is_v6 ? !server->serves_ipv6 : !server->serves_ipv4)
			continue;
		for (size_t i = 0; i < ARRAY_COUNT(served); i++) {
			struct service service = { served[i].program, served[i].version,
				                   netids[n] };

			if (is_served(server, service.program))
				visit(context, &service);
		}
	}
}

/* The transport that a call came over. */
static const char *netid_of(const struct call *call)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool is_v4 = memcmp(call->client.bytes, mapped, sizeof mapped) == 0;

	if (call->udp)
		return is_v4 ? "udp" : "udp6";
	return is_v4 ? "tcp" : "tcp6";
}

static uint32_t protocol_of(const char *netid)
{
	return strncmp(netid, "tcp", 3) == 0 ? PORTMAP_TCP : PORTMAP_UDP;
}

/* The port of a program, on any version that is served (as rpcbind does), or 0. */
static uint16_t port_of(const struct server *server, uint32_t program)
{
	if (program == PORTMAP_PROGRAM)
		return PORTMAP_PORT;
	for (size_t i = 0; i < ARRAY_COUNT(served); i++)
		if (served[i].program == program && is_served(server, program))
			return server->port;
	return 0;
}

static bool version_served(const struct server *server, uint32_t program, uint32_t version)
{
	if (program == PORTMAP_PROGRAM)
		return version >= PORTMAP_V2 && version <= RPCBIND_V4;
	for (size_t i = 0; i < ARRAY_COUNT(served); i++)
		if (served[i].program == program && served[i].version == version)
			return is_served(server, program);
	return false;
}

static int portmap_null(struct call *call)
{
	return 0;
}

/* SET and UNSET: the mapping of others is not ours to keep. */
static int portmap_refuse(struct call *call)
{
	log_info("a program wants to register with our port mapper, which keeps no other programs."
	         " Install rpcbind and restart lodestore-nfsd if you need that");
	xdr_put_u32(&call->out, 0); /* FALSE */
	return 0;
}

static int portmap_getport(struct call *call)
{
	struct xdr_in in = xdr_in(call->rpc.args, call->rpc.args_bytes);
	uint32_t program = xdr_get_u32(&in);
	uint32_t protocol;

	(void) xdr_get_u32(&in); /* version */
	protocol = xdr_get_u32(&in);
	(void) xdr_get_u32(&in); /* port: ignored (RFC 1833 section 3.2) */
	if (!xdr_in_done(&in))
		return -EBADMSG;
	if (protocol != PORTMAP_TCP && protocol != PORTMAP_UDP)
		xdr_put_u32(&call->out, 0);
	else
		xdr_put_u32(&call->out, port_of(call->worker->server, program));
	return 0;
}

static uint32_t portmap_list_room(const struct call *call)
{
	return PORTMAP_LIST_BYTES;
}

struct portmap_dump {
	struct call *call;
	uint16_t port;
};

static void portmap_put(void *context, const struct service *service)
{
	struct portmap_dump *dump = context;
	struct xdr_out *out = &dump->call->out;

	if (service->netid[3] == '6') /* version 2 knows IPv4 only */
		return;
	xdr_put_u32(out, 1);
	xdr_put_u32(out, service->program);
	xdr_put_u32(out, service->version);
	xdr_put_u32(out, protocol_of(service->netid));
	xdr_put_u32(out, dump->port);
}

static void portmap_visit_itself(void (*visit)(void *context, const struct service *service),
                                 void *context)
{
	static const char *const netids[] = { "tcp", "udp" };

	for (uint32_t version = RPCBIND_V4; version >= PORTMAP_V2; version--)
		for (size_t n = 0; n < ARRAY_COUNT(netids); n++) {
			struct service service = { PORTMAP_PROGRAM, version, netids[n] };

			visit(context, &service);
		}
}

static int portmap_dump(struct call *call)
{
	struct portmap_dump dump = { .call = call, .port = PORTMAP_PORT };

	portmap_visit_itself(portmap_put, &dump);
	dump.port = call->worker->server->port;
	services_visit(call->worker->server, portmap_put, &dump);
	xdr_put_u32(&call->out, 0);
	return 0;
}

/* ---- rpcbind 3 and 4 ---- */

/* RFC 5665 section 5.2.3.3: the address, then the port's two bytes. */
static void universal_address(const struct export_address *address, uint16_t port,
                              char to[UNIVERSAL_ADDRESS_BYTES])
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];

	snprintf(to, UNIVERSAL_ADDRESS_BYTES, "%s.%u.%u", export_address_print(address, text),
	         port >> 8, port & 0xff);
}

static void put_text(struct xdr_out *out, const char *text)
{
	xdr_put_opaque(out, text, (uint32_t) strlen(text));
}

static int rpcbind_get(struct call *call, bool exact_version)
{
	struct xdr_in in = xdr_in(call->rpc.args, call->rpc.args_bytes);
	uint32_t program = xdr_get_u32(&in), version = xdr_get_u32(&in);
	char address[UNIVERSAL_ADDRESS_BYTES] = "";
	uint16_t port;

	for (int i = 0; i < 3; i++) /* netid, address, owner: the call's own transport counts */
		(void) xdr_get_opaque(&in, RPCBIND_STRING_BYTES_MAX);
	if (!xdr_in_done(&in))
		return -EBADMSG;
	port = port_of(call->worker->server, program);
	if (port && (!exact_version || version_served(call->worker->server, program, version)))
		universal_address(&call->local, port, address);
	put_text(&call->out, address);
	return 0;
}

static int rpcbind_getaddr(struct call *call)
{
	return rpcbind_get(call, false);
}

static int rpcbind_getversaddr(struct call *call)
{
	return rpcbind_get(call, true);
}

struct rpcbind_dump {
	struct call *call;
	uint16_t port;
};

static void rpcbind_put(void *context, const struct service *service)
{
	static const struct export_address any_v4 = { { [10] = 0xff, [11] = 0xff } }, any_v6;
	struct rpcbind_dump *dump = context;
	struct xdr_out *out = &dump->call->out;
	char address[UNIVERSAL_ADDRESS_BYTES];

	universal_address(service->netid[3] == '6' ? &any_v6 : &any_v4, dump->port, address);
	xdr_put_u32(out, 1);
	xdr_put_u32(out, service->program);
	xdr_put_u32(out, service->version);
	put_text(out, service->netid);
	put_text(out, address);
	put_text(out, "superuser");
}

static int rpcbind_dump(struct call *call)
{
	struct rpcbind_dump dump = { .call = call, .port = PORTMAP_PORT };

	portmap_visit_itself(rpcbind_put, &dump);
	dump.port = call->worker->server->port;
	services_visit(call->worker->server, rpcbind_put, &dump);
	xdr_put_u32(&call->out, 0);
	return 0;
}

static int rpcbind_gettime(struct call *call)
{
	xdr_put_u32(&call->out, (uint32_t) time(NULL));
	return 0;
}

struct rpcbind_list {
	struct call *call;
	uint32_t program, version;
	const char *netid;
};

/* One of GETADDRLIST's: an address of the program on the family that the call came over. */
static void rpcbind_put_address(void *context, const struct service *service)
{
	struct rpcbind_list *list = context;
	bool is_v6 = service->netid[3] == '6';
	bool is_tcp = strncmp(service->netid, "tcp", 3) == 0;
	struct xdr_out *out = &list->call->out;
	char address[UNIVERSAL_ADDRESS_BYTES];

	if (service->program != list->program || service->version != list->version ||
	    is_v6 != (list->netid[3] == '6'))
		return;
	universal_address(&list->call->local, list->call->worker->server->port, address);
	xdr_put_u32(out, 1);
	put_text(out, address);
	put_text(out, service->netid);
	xdr_put_u32(out, is_tcp ? 3 : 1); /* NC_TPI_COTS_ORD, NC_TPI_CLTS */
	put_text(out, is_v6 ? "inet6" : "inet");
	put_text(out, is_tcp ? "tcp" : "udp");
}

static int rpcbind_getaddrlist(struct call *call)
{
	struct xdr_in in = xdr_in(call->rpc.args, call->rpc.args_bytes);
	struct rpcbind_list list = { .call = call, .netid = netid_of(call) };

	list.program = xdr_get_u32(&in);
	list.version = xdr_get_u32(&in);
	for (int i = 0; i < 3; i++)
		(void) xdr_get_opaque(&in, RPCBIND_STRING_BYTES_MAX);
	if (!xdr_in_done(&in))
		return -EBADMSG;
	services_visit(call->worker->server, rpcbind_put_address, &list);
	xdr_put_u32(&call->out, 0);
	return 0;
}

static void portmap_failed(struct call *call, int error)
{
	call->accept_stat = error == -EBADMSG ? 4 /* GARBAGE_ARGS */ : 5 /* SYSTEM_ERR */;
}

/* clang-format off */
#define PORTMAP_ROW(id, room_, run_) \
	[id] = { .name = #id, .kind = CALL_INLINE, .flags = PROC_OPEN, \
		 .reply_room = room_, .run = run_ }

static const struct proc portmap2_procs[] = {
	PORTMAP_ROW(PORTMAP_NULL, NULL, portmap_null),
	PORTMAP_ROW(PORTMAP_SET, NULL, portmap_refuse),
	PORTMAP_ROW(PORTMAP_UNSET, NULL, portmap_refuse),
	PORTMAP_ROW(PORTMAP_GETPORT, NULL, portmap_getport),
	PORTMAP_ROW(PORTMAP_DUMP, portmap_list_room, portmap_dump),
};

static const struct proc rpcbind_procs[] = {
	PORTMAP_ROW(RPCBIND_NULL, NULL, portmap_null),
	PORTMAP_ROW(RPCBIND_SET, NULL, portmap_refuse),
	PORTMAP_ROW(RPCBIND_UNSET, NULL, portmap_refuse),
	PORTMAP_ROW(RPCBIND_GETADDR, NULL, rpcbind_getaddr),
	PORTMAP_ROW(RPCBIND_DUMP, portmap_list_room, rpcbind_dump),
	PORTMAP_ROW(RPCBIND_GETTIME, NULL, rpcbind_gettime),
	PORTMAP_ROW(RPCBIND_GETVERSADDR, NULL, rpcbind_getversaddr),
	PORTMAP_ROW(RPCBIND_GETADDRLIST, portmap_list_room, rpcbind_getaddrlist),
};
/* clang-format on */

const struct program portmap2_program = {
	.number = PORTMAP_PROGRAM,
	.version = PORTMAP_V2,
	.procs = portmap2_procs,
	.proc_count = ARRAY_COUNT(portmap2_procs),
	.failed = portmap_failed,
	.role = ROLE_PORTMAP,
};

const struct program rpcbind3_program = {
	.number = PORTMAP_PROGRAM,
	.version = RPCBIND_V3,
	.procs = rpcbind_procs,
	.proc_count = RPCBIND_GETTIME + 1,
	.failed = portmap_failed,
	.role = ROLE_PORTMAP,
};

const struct program rpcbind4_program = {
	.number = PORTMAP_PROGRAM,
	.version = RPCBIND_V4,
	.procs = rpcbind_procs,
	.proc_count = ARRAY_COUNT(rpcbind_procs),
	.failed = portmap_failed,
	.role = ROLE_PORTMAP,
};
