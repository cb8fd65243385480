/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_run.h - what main.c does with a server.
 */
#pragma once

#include "nfsd/server.h"

/* Start everything; when this returns 0 clients are answered. What is wrong is logged. In any case
 * server_stop() takes apart what there is. @server: zeroed. */
int server_start(struct server *server, const struct config *config);

/* Read the exports again. On failure, which is logged, the old ones stay. */
int server_exports_load(struct server *server);

/* Has every worker turned since the last time this was asked? */
bool server_is_alive(struct server *server);

/* Finish what runs, send the replies, close: within some seconds if the disks answer. */
void server_stop(struct server *server);
