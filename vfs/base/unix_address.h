/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unix_address.h - paths of Unix sockets (unix(7)).
 */
#pragma once

#include <sys/un.h>

/* @path as an address. 0, or -ENAMETOOLONG. */
int unix_address(const char *path, struct sockaddr_un *ret_address);

/* A stream socket that is connected to the one at @path, and does not block. It is connected at
 * once, or its listener's queue is full: -EAGAIN. */
int unix_connect(const char *path, int *ret_fd);
