/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sockets.h - listening: TCP listeners that hand connections to the workers, and addresses.
 */
#pragma once

#include <netinet/in.h>
#include <stdint.h>

#include "nfsd/call.h"

/* An address to listen on, or to answer from. */
union sockets_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* "192.0.2.1", "::", with the port in host order. 0 or -EINVAL. */
int sockets_parse(const char *text, uint16_t port, union sockets_address *ret_address);

void sockets_split(const union sockets_address *address, struct export_address *ret_address,
                   uint16_t *ret_port);

/* The address that a connected socket has on our side. */
void sockets_local(int fd, struct export_address *ret_address);

/* A bound socket (SOCK_STREAM: listening), or a negative errno. */
int sockets_bind(const union sockets_address *address, int type);

/* Accept on @fd from worker 0's loop, for all workers. Takes over @fd. @is_kept: another process
 * has it too, and who waits in its backlog is served later. 0 or -ENOMEM. */
int listener_open(struct worker *worker, int fd, enum socket_role role, bool is_kept);

/* Stop accepting; for worker 0's end. */
void listeners_close(struct worker *worker);

/* Try again after descriptors ran out. */
void listeners_tick(struct worker *worker);

/* Frees those whose last completion has come; true if none is left. */
bool listeners_gone(struct worker *worker);
