/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conn.c - a TCP connection's life: its place on the worker, its limits in time, its end.
 *
 * conn_receive.c takes bytes in and starts calls, conn_send.c sends replies. A connection is freed
 * at the end of a turn, when it is closing and no operation and no call refers to it any more.
 */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/conn_internal.h"
#include "nfsd/peers.h"
#include "nfsd/sockets.h"
#include "nfsd/throttle.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	IDLE_MS = 1000, /* without a byte for that long, the buffer goes back */
	REPLY_TIMEOUT_SCARCE_S = 5,
	KEEPALIVE_IDLE_S = 30,
	KEEPALIVE_INTERVAL_S = 10,
	KEEPALIVE_COUNT = 3,
	USER_TIMEOUT_MS = 30000,
};

static void conn_turn_ended(struct loop_task *task);

/* ---- the worker's table ---- */

static int conn_slot_take(struct worker *worker, uint32_t *ret_slot)
{
	unsigned slots;
	struct conn **grown;

	for (unsigned i = 0; i < worker->conn_slots; i++)
		if (!worker->conns[i]) {
			*ret_slot = i;
			return 0;
		}
	slots = worker->conn_slots ? worker->conn_slots * 2 : 64;
	grown = reallocarray(worker->conns, slots, sizeof *grown);
	if (!grown)
		return -ENOMEM;
	memset(grown + worker->conn_slots, 0, (slots - worker->conn_slots) * sizeof *grown);
	*ret_slot = worker->conn_slots;
	worker->conns = grown;
	worker->conn_slots = slots;
	return 0;
}

struct conn *conn_find(struct worker *worker, uint32_t slot, uint64_t generation)
{
	struct conn *conn = slot < worker->conn_slots ? worker->conns[slot] : NULL;

	return conn && conn->generation == generation && !conn->closing ? conn : NULL;
}

struct reply_target conn_target(const struct conn *conn)
{
	return (struct reply_target){
		.worker = conn->worker->number,
		.connection = conn->slot,
		.generation = conn->generation,
	};
}

static void conn_say(const struct conn *conn, const char *why)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];

	log_warn("%s port %u: %s; the connection is closed",
	         export_address_print(&conn->client, text), conn->client_port, why);
}

static void socket_tune(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT },
		/* A dead path must not hold the client's port: ESXi comes back from the same
		 * one. */
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS },
	};

	for (size_t i = 0; i < ARRAY_COUNT(options); i++)
		(void) setsockopt(fd, options[i].level, options[i].name, &options[i].value,
		                  sizeof options[i].value);
}

static struct tally_row *conn_row(struct worker *worker, const struct export_address *client)
{
	uint8_t key[TALLY_KEY_BYTES];
	struct tally_row *row;

	counters_client_key(client, key);
	row = tally_table_get(&worker->counters.clients, key);
	row->users++;
	return row;
}

void conn_open(struct worker *worker, int fd, enum socket_role role,
               const struct export_address *client, uint16_t client_port, uint64_t generation)
{
	struct conn *conn = calloc(1, sizeof *conn);

	if (!conn || worker->stopping || conn_slot_take(worker, &conn->slot) < 0) {
		free(conn);
		close_fd(&fd);
		peers_release(worker->server->peers, client);
		return;
	}
	worker->conns[conn->slot] = conn;
	atomic_fetch_add(&worker->conn_count, 1);
	conn->worker = worker;
	conn->generation = generation;
	conn->fd = fd;
	conn->role = role;
	conn->client = *client;
	conn->client_port = client_port;
	conn->row = conn_row(worker, client);
	conn->queue_last = &conn->queue;
	list_init(&conn->lanes);
	conn->turn_task.run = conn_turn_ended;
	conn->received_ms = loop_now_ms(worker->loop);
	list_node_init(&conn->starved_node);
	sockets_local(fd, &conn->local);
	socket_tune(fd);
	conn_wait(conn);
}

/* Frees it if it is closing and nothing refers to it any more. True: it is gone. */
static bool conn_free_if_done(struct conn *conn)
{
	struct worker *worker = conn->worker;

	if (!conn->closing || conn->call_count > 0 || conn->recv_op.in_flight ||
	    conn->send_op.in_flight || conn->turn_scheduled)
		return false;
	assert(!conn->queue && !conn->sending && conn->reply_bytes == 0);
	worker->conns[conn->slot] = NULL;
	atomic_fetch_sub(&worker->conn_count, 1);
	peers_release(worker->server->peers, &conn->client);
	conn->row->users--;
	buffer_unref(conn->in);
	close_fd(&conn->fd);
	free(conn);
	return true;
}

void conn_close(struct conn *conn, const char *why)
{
	if (conn->closing)
		return;
	if (why)
		conn_say(conn, why);
	conn->closing = true;
	if (list_linked(&conn->starved_node))
		list_remove(&conn->starved_node);
	(void) shutdown(conn->fd, SHUT_RDWR);
	ring_cancel(loop_ring(conn->worker->loop), &conn->recv_op);
	ring_cancel(loop_ring(conn->worker->loop), &conn->send_op);
	conn_turn_schedule(
		conn); /* what is queued is dropped there, not in somebody's loop over it */
}

void conn_close_over(struct conn *conn, enum counters_closed limit)
{
	static const char *const why[CLOSED_REASONS] = {
		[CLOSED_FIRST_CALL] = "made no call within first_call_timeout",
		[CLOSED_RECORD] = "did not finish a record in time",
		[CLOSED_REPLY] = "does not take its replies",
		[CLOSED_IDLE] = "was idle for longer than idle_timeout",
		[CLOSED_REAPED] = "was idle while others were refused",
		[CLOSED_TOO_LONG] = "sent a record longer than 1 MiB + 64 KiB",
	};

	if (!conn->closing)
		conn->worker->counters.closed[limit]++;
	conn_close(conn, why[limit]);
}

void conn_stop(struct conn *conn)
{
	conn->stopping = true;
	ring_cancel(loop_ring(conn->worker->loop), &conn->recv_op);
	conn_turn_schedule(conn);
}

void conn_turn_schedule(struct conn *conn)
{
	if (conn->turn_scheduled)
		return;
	conn->turn_scheduled = true;
	loop_turn_end(conn->worker->loop, &conn->turn_task);
}

static void conn_turn_ended(struct loop_task *task)
{
	struct conn *conn = container_of(task, struct conn, turn_task);

	conn->turn_scheduled = false;
	if (conn->closing || conn->stopping)
		throttle_cancel(conn);
	if (!conn->closing && conn->queue && !conn->sending)
		conn_flush(conn);
	if (!conn->closing && list_linked(&conn->starved_node))
		conn_resume(conn);
	if (conn->stopping && !conn->closing && conn->call_count == 0)
		conn_close(conn, NULL);
	if (conn->closing) {
		conn_drop_replies(conn, &conn->queue);
		conn->queue_last = &conn->queue;
		(void) conn_free_if_done(conn); /* conn may be gone */
	}
}

/* ---- counting ---- */

struct tally *conn_tally(struct conn *conn)
{
	return &conn->row->tally;
}

void conn_call_begun(struct conn *conn)
{
	conn->call_count++;
}

void conn_call_ended(struct conn *conn)
{
	assert(conn->call_count > 0);
	conn->call_count--;
	if (conn->closing || conn->stopping || list_linked(&conn->starved_node))
		conn_turn_schedule(conn);
}

void conn_message_held(struct conn *conn, uint32_t bytes)
{
	conn->message_bytes += bytes;
	conn->row->held_bytes += bytes;
}

void conn_message_released(struct conn *conn, uint32_t bytes)
{
	assert(conn->message_bytes >= bytes && conn->row->held_bytes >= bytes);
	conn->message_bytes -= bytes;
	conn->row->held_bytes -= bytes;
}

void conn_reply_held(struct conn *conn, uint32_t bytes)
{
	conn->reply_bytes += bytes;
	conn->row->held_bytes += bytes;
}

void conn_reply_released(struct conn *conn, uint32_t bytes)
{
	assert(conn->reply_bytes >= bytes && conn->row->held_bytes >= bytes);
	conn->reply_bytes -= bytes;
	conn->row->held_bytes -= bytes;
}

bool conn_options_find(const struct conn *conn, uint32_t serial, struct export_options *ret_options)
{
	for (unsigned i = 0; i < CONN_OPTIONS_KEPT; i++)
		if (conn->options[i].serial == serial) {
			*ret_options = conn->options[i].options;
			return true;
		}
	return false;
}

void conn_options_keep(struct conn *conn, uint32_t serial, const struct export_options *options)
{
	struct export_options known;

	if (conn_options_find(conn, serial, &known))
		return;
	conn->options[conn->options_next].serial = serial;
	conn->options[conn->options_next].options = *options;
	conn->options_next = (conn->options_next + 1) % CONN_OPTIONS_KEPT;
}

/* ---- time ---- */

static bool over(uint64_t since_ms, uint64_t now_ms, uint64_t limit_s)
{
	return limit_s > 0 && now_ms - since_ms > limit_s * 1000;
}

/* While others wait for memory, a client that holds it without reading gets less patience. */
static uint64_t conn_reply_timeout_s(const struct conn *conn)
{
	const struct server *server = conn->worker->server;

	if (buffer_budget_has_room(&server->budget) ||
	    server->config->reply_timeout_s < REPLY_TIMEOUT_SCARCE_S)
		return server->config->reply_timeout_s;
	return REPLY_TIMEOUT_SCARCE_S;
}

void conn_tick(struct conn *conn)
{
	const struct config *config = conn->worker->server->config;
	uint64_t now_ms = loop_now_ms(conn->worker->loop);

	if (conn->closing)
		return;
	throttle_tick(conn);
	if (conn->record_since_ms && !list_linked(&conn->starved_node) &&
	    over(conn->record_since_ms, now_ms, config->record_timeout_s))
		conn_close_over(conn, CLOSED_RECORD);
	else if (conn->sending && over(conn->send_since_ms, now_ms, conn_reply_timeout_s(conn)))
		conn_close_over(conn, CLOSED_REPLY);
	else if (!conn->has_called && !conn->record_since_ms &&
	         over(conn->received_ms, now_ms, config->first_call_timeout_s))
		conn_close_over(conn, CLOSED_FIRST_CALL);
	else if (conn->call_count == 0 && !conn->record_since_ms &&
	         over(conn->received_ms, now_ms, config->idle_timeout_s))
		conn_close_over(conn, CLOSED_IDLE);
	else if (conn_receives_idly(conn) && now_ms - conn->received_ms > IDLE_MS)
		ring_cancel(loop_ring(conn->worker->loop), &conn->recv_op);
}

struct conn *conn_of_starved(struct list_node *node)
{
	return container_of(node, struct conn, starved_node);
}

uint64_t conn_idle_ms(const struct conn *conn)
{
	if (conn->closing || conn->call_count > 0 || conn->record_since_ms)
		return 0;
	return loop_now_ms(conn->worker->loop) - conn->received_ms;
}
