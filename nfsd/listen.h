/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen.h - on which addresses the server answers: those of the configuration, each by TCP and
 * UDP, with the sockets that the service manager kept for it.
 */
#pragma once

#include "nfsd/call.h"
#include "nfsd/server.h"

/* Answer @port as @role on every address of the configuration. For ROLE_NFS what is wrong is
 * logged, and what was kept is used up. 0 or a negative errno. */
int server_listen(struct server *server, uint16_t port, enum socket_role role);
