/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn.h - TCP connections. All functions run on the connection's worker.
 */
#pragma once

#include "nfsd/call.h"
#include "nfsd/worker.h"

struct conn;

/* Serve a connected socket from now on; takes over @fd and the peer's place (peers.h), also on
 * failure. @generation: the how manieth connection of all it is. */
void conn_open(struct worker *worker, int fd, enum socket_role role,
               const struct export_address *client, uint16_t client_port, uint64_t generation);

/* The connection of that slot, if it is still the same one; else NULL. */
struct conn *conn_find(struct worker *worker, uint32_t slot, uint64_t generation);

/* Where replies to this connection's calls go. */
struct reply_target conn_target(const struct conn *conn);

/* A call's reply is complete: queue it; it goes out with all others of this turn. If the connection
 * is closing it is dropped. The call is the connection's. */
void conn_send(struct conn *conn, struct call *call);

/* A call belongs to the connection from begun to ended (call_free()); the connection may be gone
 * after that. Bytes of messages and of reply buffers that its calls hold. */
void conn_call_begun(struct conn *conn);
void conn_call_ended(struct conn *conn);
void conn_message_held(struct conn *conn, uint32_t bytes);
void conn_message_released(struct conn *conn, uint32_t bytes);
void conn_reply_held(struct conn *conn, uint32_t bytes);
void conn_reply_released(struct conn *conn, uint32_t bytes);

/* What the connection's client may do with an export, remembered by serial: true and
 * *ret_options. */
bool conn_options_find(const struct conn *conn, uint32_t serial,
                       struct export_options *ret_options);
void conn_options_keep(struct conn *conn, uint32_t serial, const struct export_options *options);

/* Where its client's calls are counted. */
struct tally *conn_tally(struct conn *conn);

/* Every tick: time limits, idle memory. */
void conn_tick(struct conn *conn);

/* Try again what waited for memory; at the end of the turn. */
void conn_resume(struct conn *conn);
void conn_turn_schedule(struct conn *conn);

/* Take no further calls; close once everything is answered. */
void conn_stop(struct conn *conn);

/* Close now, because a limit was reached: told and counted. */
void conn_close_over(struct conn *conn, enum counters_closed limit);

/* Close now; what runs still ends, its reply is dropped. */
void conn_close(struct conn *conn, const char *why);

/* The connection whose place in worker->starved this is. */
struct conn *conn_of_starved(struct list_node *node);

/* For how long it has had nothing to do; 0 if it is busy. */
uint64_t conn_idle_ms(const struct conn *conn);
