/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unix_socket.h - a listening Unix socket that is its owner's and root's alone.
 */
#pragma once

#include <sys/un.h>

/* What a server that was killed has left at @path is taken over, a living one's is not
 * (-EADDRINUSE). @ret_address: to unlink(2) in the end. 0 or a negative errno. */
int unix_socket_listen(const char *path, struct sockaddr_un *ret_address, int *ret_fd);
