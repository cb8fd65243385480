/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - the program of offload.x on a Unix socket, for local root and for nfsd's relay.
 *
 * One thread, libtirpc's connections, a poll loop of our own: a call that waits for a job keeps its
 * connection out of the loop until its answer has been sent, so that nobody else waits with it.
 */
#pragma once

#include <signal.h>

#include "offload/jobs.h"
#include "offload/totals.h"

struct caller;

struct service_refusal {
	const char *asked; /* what for, in a word: "CLONE" */
	const char *what;  /* which part of it; "": all */
	int error;
	const struct caller *caller;
};

struct service_settings {
	const char *socket_path;
	struct vfs *vfs;
	struct jobs *jobs;
	struct totals *totals;
	/* Told of each request that is refused: @what (or ""), and which error. NULL: nobody. */
	void (*refused)(const struct service_refusal *refusal);
	/* Between calls. @reload: SIGHUP came. */
	void (*reload)(void *context);
	void (*tick)(void *context); /* every SERVICE_TICK_MS */
	void *context;
};

enum {
	SERVICE_TICK_MS = 2000
};

/* Listens from now on. Only one service in a process. Errors are as bind(2) and the like say;
 * -EADDRINUSE: another sidecar has the socket. */
int service_open(const struct service_settings *settings);

/* Until SIGTERM or SIGINT; @signals are blocked in all threads. */
int service_run(const sigset_t *signals);
void service_close(void);
