/* SPDX-License-Identifier: Apache-2.0 */
/*
 * portmap.h - how clients find the port: telling rpcbind, or answering port 111 ourselves (RFC
 * 1833).
 */
#pragma once

#include "nfsd/call.h"
#include "rpcgen/portmap.h"

/* Port mapper version 2, rpcbind 3 and 4, for when no rpcbind runs. */
extern const struct program portmap2_program, rpcbind3_program, rpcbind4_program;

/* Does an rpcbind answer on this machine's (this network namespace's) loopback? Blocks for some
 * seconds at most. */
bool rpcbind_runs(void);

/* Tell rpcbind of everything that is served. 0, or a negative errno if it refused something: what
 * is logged already. */
int rpcbind_register(const struct server *server);

/* Take it back. Errors do not matter: rpcbind may be gone. */
void rpcbind_unregister(const struct server *server);

/* What is served: a program version on a transport. */
struct service {
	uint32_t program, version;
	const char *netid; /* "tcp", "udp", "tcp6", "udp6" */
};

/* Call @visit for each service of the server. */
void services_visit(const struct server *server,
                    void (*visit)(void *context, const struct service *service), void *context);
