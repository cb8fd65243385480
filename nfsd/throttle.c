/* SPDX-License-Identifier: Apache-2.0 */
/*
 * throttle.c - a lane is what waits of one connection for one export, in the order of arrival.
 *
 * Only the first of a lane has taken from the accounts (rates.h), and its timer runs. So clients
 * that share a limit take turns, however much each has asked for, and little has to be given back
 * when a connection ends or a reload changes the limits.
 *
 * Always holds: a lane has calls; it is freed with its last.
 */
#include "nfsd/throttle.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "nfsd/conn_internal.h"
#include "nfsd/nfs3.h"
#include "nfsd/rates.h"
#include "vfs/base/cleanup.h"

enum {
	SECTOR_BYTES = 512,
	/* Shorter waits are not worth a timer: what is taken counts for those that come after. */
	WAIT_NS_MIN = 1000000,
};

struct lane {
	struct list_node node;
	struct conn *conn;
	uint32_t export_id, serial;
	struct call *first, **last;
	struct rates_call taken; /* by the first */
	struct loop_timer timer;
};

static uint32_t data_bytes(const struct call *call)
{
	uint32_t bytes = 0;

	if (call->rpc.procedure == NFSPROC3_READ)
		bytes = call->args.read.count;
	else if (call->rpc.procedure == NFSPROC3_WRITE)
		bytes = call->args.write.data.count;
	return bytes < NFS3_IO_BYTES_MAX ? bytes : NFS3_IO_BYTES_MAX;
}

static bool is_limited(const struct export_rate *rate)
{
	return rate->iops || rate->mbps;
}

bool throttle_applies(const struct call *call)
{
	if (!(call->proc->flags & PROC_COUNTED) ||
	    (!is_limited(&call->options.rate) && !is_limited(&call->options.total_rate)))
		return false;
	return (call->rpc.procedure != NFSPROC3_READ && call->rpc.procedure != NFSPROC3_WRITE) ||
	       data_bytes(call) >= SECTOR_BYTES;
}

static struct rates_call rates_of(const struct call *call)
{
	return (struct rates_call){
		.export_id = vfs_export_id(vfs_file_export(call->file)),
		.bytes = data_bytes(call),
		.client = call->client,
		.each = call->options.rate,
		.total = call->options.total_rate,
	};
}

static uint64_t take(const struct call *call, const struct rates_call *rates)
{
	return rates_take(call->worker->server->rates, rates,
	                  loop_now_ms(call->worker->loop) * 1000000);
}

/* ---- lanes ---- */

static struct lane *lane_find(struct conn *conn, uint32_t export_id)
{
	list_for_each (node, &conn->lanes) {
		struct lane *lane = container_of(node, struct lane, node);

		if (lane->export_id == export_id)
			return lane;
	}
	return NULL;
}

static void lane_add(struct lane *lane, struct call *call)
{
	call->worker->counters.delayed++;
	call->next = NULL;
	*lane->last = call;
	lane->last = &call->next;
}

static struct call *lane_pop(struct lane *lane)
{
	struct call *call = lane->first;

	lane->first = call->next;
	if (!lane->first)
		lane->last = &lane->first;
	return call;
}

static void lane_wait(struct lane *lane, const struct rates_call *taken, uint64_t wait_ns)
{
	struct loop *loop = lane->conn->worker->loop;

	lane->taken = *taken;
	loop_timer_set(loop, &lane->timer, loop_now_ms(loop) + (wait_ns + 999999) / 1000000);
}

/* The lane is gone; the calls it had. */
static struct call *lane_end(struct lane *lane)
{
	struct call *calls = lane->first;

	loop_timer_clear(&lane->timer);
	list_remove(&lane->node);
	free(lane);
	return calls;
}

/* The first's turn has come; then whose turn it is by now. */
static void lane_turn(struct loop_timer *timer)
{
	struct lane *lane = container_of(timer, struct lane, timer);
	struct rates_call rates;
	uint64_t wait_ns;

	call_resume(lane_pop(lane), true);
	while (lane->first) {
		rates = rates_of(lane->first);
		wait_ns = take(lane->first, &rates);
		if (wait_ns >= WAIT_NS_MIN) {
			lane_wait(lane, &rates, wait_ns);
			return;
		}
		call_resume(lane_pop(lane), true);
	}
	(void) lane_end(lane);
}

/* The first to wait; NULL: memory is short. */
static struct lane *lane_new(struct call *call, const struct rates_call *taken)
{
	struct lane *lane = calloc(1, sizeof *lane);

	if (!lane)
		return NULL;
	lane->conn = call->conn;
	lane->export_id = taken->export_id;
	lane->serial = call->options_serial;
	lane->last = &lane->first;
	lane->timer.run = lane_turn;
	list_node_init(&lane->timer.node);
	list_node_init(&lane->node);
	list_add_tail(&call->conn->lanes, &lane->node);
	return lane;
}

/* ---- calls ---- */

static void call_begin_lane(struct call *call)
{
	struct rates_call rates = rates_of(call);
	uint64_t wait_ns = take(call, &rates);
	struct lane *lane;

	if (wait_ns < WAIT_NS_MIN) {
		call_resume(call, true);
		return;
	}
	lane = call->conn ? lane_new(call, &rates) : NULL;
	if (!lane) {
		rates_give_back(call->worker->server->rates, &rates);
		call_fail(call, -EAGAIN);
		return;
	}
	lane_add(lane, call);
	lane_wait(lane, &rates, wait_ns);
}

void throttle_call(struct call *call)
{
	struct conn *conn = call->conn;
	struct lane *lane;

	assert(!call->admitted && throttle_applies(call));
	if (conn && (conn->closing || conn->stopping)) {
		call_fail(call, -EAGAIN);
		return;
	}
	lane = conn ? lane_find(conn, vfs_export_id(vfs_file_export(call->file))) : NULL;
	if (lane)
		lane_add(lane, call);
	else
		call_begin_lane(call);
}

static struct call *lane_give_up(struct lane *lane)
{
	rates_give_back(lane->conn->worker->server->rates, &lane->taken);
	return lane_end(lane);
}

void throttle_tick(struct conn *conn)
{
	list_for_each_safe (node, &conn->lanes) {
		struct lane *lane = container_of(node, struct lane, node);
		struct call *call = lane->first, *next;

		if (vfs_export_serial(vfs_file_export(call->file)) == lane->serial)
			continue;
		for (call = lane_give_up(lane); call; call = next) {
			next = call->next;
			call_resume(call, false); /* it may begin a new lane, at the list's end */
		}
	}
}

void throttle_cancel(struct conn *conn)
{
	list_for_each_safe (node, &conn->lanes) {
		struct call *next;

		for (struct call *call = lane_give_up(container_of(node, struct lane, node)); call;
		     call = next) {
			next = call->next;
			call_fail(call, -EAGAIN);
		}
	}
}
