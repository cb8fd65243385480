/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unix_service.h - a thread that answers on a Unix socket of its own, one connection after another.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct unix_service;

/* A connection, which the thread closes after it. Return soon when @stop_fd is readable. */
typedef void unix_service_fn(void *context, int fd, int stop_fd);

/* @path as unix_socket_listen() takes it, and its errors; @name: the thread's, which is kept. */
int unix_service_open(const char *path, const char *name, unix_service_fn *serve, void *context,
                      struct unix_service **ret_service);

/* The thread has ended, the socket is gone. Takes NULL; returns NULL. */
struct unix_service *unix_service_close(struct unix_service *service);

/* Waits for @events of @fd, for the end, or @wait_ms (-1: for ever): what of @events is there;
 * -1: it is the end. */
int unix_service_wait(int fd, int stop_fd, short events, int wait_ms);

/* All of it, as fast as the reader takes it. False: it is gone, or took nothing for @wait_ms (-1:
 * it may), or it is the end. */
bool unix_service_send(int fd, int stop_fd, const char *text, size_t bytes, int wait_ms);

/* One line, without its end, within two seconds. False: none came. */
bool unix_service_line(int fd, int stop_fd, char *ret_line, size_t room);
