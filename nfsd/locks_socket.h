/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks_socket.h - the locks for 'lodestore locks', on a Unix socket beside the status socket, with
 * ".locks" behind its name. A line asks, and a JSON object in one line is the answer:
 *
 *     list               "locks", a list as locks_put_list() has it, and "omitted"
 *     release ADDRESS    "released", how many locks; or "unknown": the client has none
 */
#pragma once

struct locks;
struct locks_socket;

/* What is wrong is logged: the server does without (NULL). "none" and no locks: NULL as well. */
struct locks_socket *locks_socket_open(struct locks *locks, const char *status_path);

/* Before locks_close(). Takes NULL; returns NULL. */
struct locks_socket *locks_socket_close(struct locks_socket *socket);
