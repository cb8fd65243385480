/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - a daemon as a process: signals, memory, leaving the terminal, and what systemd hears.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* Before any thread: SIGTERM, SIGINT and SIGHUP are blocked, to be waited for; writes to what is
 * closed or too long fail instead of ending us; memory that was freed goes back to the system. */
void process_prepare(sigset_t *ret_signals);

/* Until the daemon ends; its exit status. It calls process_ready(@ready_fd) when it serves. */
typedef int process_serve_fn(void *context, int ready_fd);

/**
 * process_run() - serve here, or in a process of its own that has left the terminal
 * @name: of its lines in the journal
 * @foreground: here; so it is under systemd's Type=notify as well
 *
 * Return: the exit status for main(), of the new process's parent 0 as soon as it serves; or a
 *         negative errno if there is no new process.
 */
int process_run(const char *name, bool foreground, process_serve_fn *serve, void *context);

/* sd_notify(3), and @ready_fd for the parent that waits (-1: none). */
void process_ready(int ready_fd);
void process_alive(void); /* the watchdog's sign of life */
void process_reloading(void);
void process_ending(void);

/* Descriptors that the service manager kept over a restart (sd_listen_fds(3)): each is @take's, to
 * close or to use. Before there are threads: it takes them out of the environment. */
void process_take_fds(void (*take)(void *context, int fd, const char *name), void *context);

/* Have the manager keep a copy of @fd when we end, under a name without ':'; or forget what it
 * keeps under that name (FDSTORE=1 and FDSTOREREMOVE=1 in sd_notify(3)). False if nobody was told.
 */
bool process_keep_fd(int fd, const char *name);
void process_forget_fd(const char *name);

/* bind(2) a stream socket to @path. What a process that was killed left there is taken away; where
 * somebody listens it is -EADDRINUSE, and no file but a socket is touched. -ENAMETOOLONG. */
int process_bind_socket(int fd, const char *path);
