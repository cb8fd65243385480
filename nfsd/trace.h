/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h - single calls of one client, for who looks at them: on a Unix socket beside the status
 * socket, "trace ADDRESS" is answered with a JSON line a call, until that side closes.
 *
 * Nobody waits for the reader: a worker puts a call into a ring of its own, and where that is full
 * the call is counted and left out. While nobody looks, a call costs one relaxed load.
 */
#pragma once

struct call;
struct server;
struct trace;

/* All workers run. @status_path: the socket is that with ".trace" behind it; "none": no tracing.
 * It becomes server->trace; what is wrong is logged: the server does without (NULL). */
void trace_open(struct server *server, const char *status_path);

/* Before the workers end. Takes NULL. */
void trace_stop(struct trace *trace);

/* After that. Takes NULL, returns NULL. */
struct trace *trace_close(struct trace *trace);

/* server->tracing; the call has ended, its reply stands in call->reply. On its worker. */
void trace_call(const struct call *call);
