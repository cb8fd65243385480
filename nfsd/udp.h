/* SPDX-License-Identifier: Apache-2.0 */
/*
 * udp.h - datagrams: MOUNT, NFS' NULL and the portmapper, which vendors' plug-ins and old tools ask
 * so. All functions run on worker 0.
 */
#pragma once

#include "nfsd/call.h"

struct udp_socket;

enum {
	UDP_IO_BYTES_MAX = 32 << 10
}; /* a READ over UDP, whatever it asks for */

/* Serve a bound socket; takes over @fd, also on failure. 0 or -ENOMEM. */
int udp_open(struct worker *worker, int fd, enum socket_role role);

/* Answer a call to where it came from. The call is gone. */
void udp_send(struct udp_socket *udp, struct call *call);

void udp_call_ended(struct udp_socket *udp);

void udp_close_all(struct worker *worker);
bool udp_gone(struct worker *worker); /* as listeners_gone() */
