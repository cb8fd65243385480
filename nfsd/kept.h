/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.h - listening sockets that the service manager keeps while the server restarts: who connects
 * meanwhile waits in their backlog instead of being refused (FileDescriptorStoreMax= in
 * systemd.service(5)).
 *
 * A socket is known by its type and what it is bound to, so that a changed configuration finds only
 * what it still wants. Names are for the manager to forget a socket by.
 */
#pragma once

#include <stdbool.h>

union sockets_address; /* nfsd/sockets.h */

enum {
	KEPT_SOCKETS_MAX = 64 /* FileDescriptorStoreMax= of the unit */
};

struct kept {
	struct kept_socket {
		int fd; /* -EBADF: taken */
		char name[80];
	} sockets[KEPT_SOCKETS_MAX];
	unsigned count;
};

/* What the manager hands over. Before there are threads: it changes the environment. */
void kept_receive(struct kept *kept);

/* The socket of @type (SOCK_STREAM: that listens) bound to @address, which is the caller's then; or
 * -ENOENT. */
int kept_take(struct kept *kept, const union sockets_address *address, int type);

/* Close those that nobody took and have the manager forget them: they may be bound to what is to be
 * bound now. */
void kept_drop(struct kept *kept);

/* Have the manager keep @fd, a socket of @type bound to @address, when we end; false if there is
 * nobody to ask. */
bool kept_keep(int fd, const union sockets_address *address, int type);
