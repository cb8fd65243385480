/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc_out.h - calls that the server makes itself: to the lock manager and the status monitor of its
 * clients, and to the status monitor of this machine.
 *
 * One thread makes them all: it asks the other host's port mapper (RFC 1833) for the port, calls
 * over UDP, or over TCP where the program is there only, and asks again, with growing pauses, until
 * its patience is over. Who submits never waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpcgen/xdr_cursor.h"
#include "vfs/base/list.h"
#include "vfs/export_address.h"

enum {
	RPC_OUT_ARGS_BYTES_MAX = 4096,
	RPC_OUT_CALLS_MAX = 16384, /* at once; more are refused */
};

struct rpc_out;

struct rpc_out_call {
	/* Set before rpc_out_submit(): */
	struct export_address to, from; /* from: the address of ours to call from; zeros: any */
	uint32_t program, version, procedure;
	uint32_t patience_ms;
	bool is_message; /* sent once, and no answer is waited for */
	bool ask_once;   /* not registered there now: done() with -ENOENT */
	/* On the thread; @error 0 and the results, or why not (-ETIMEDOUT, -ECONNRESET: we stop,
	 * -EPROTO: refused). The call is freed afterwards. NULL: nobody wants to know. */
	void (*done)(struct rpc_out_call *call, int error, struct xdr_view results);
	/* On the thread, before each time that it is sent: is it still wanted? If not, done() is
	 * called with -ECANCELED. NULL: always. */
	bool (*wanted)(const struct rpc_out_call *call);
	void *context;
	uint64_t id; /* the caller's */
	/* rpc_out.c's: */
	struct list_node node;
	uint8_t stage;
	uint16_t port;
	unsigned tries;
	uint32_t xid;
	uint64_t due_ms, until_ms;
	uint32_t wait_ms;
	int fd; /* TCP */
	uint32_t sent_bytes, received_bytes;
	uint8_t received[256];
	uint32_t args_bytes;
	uint8_t args[];
};

/* @tick is called about once a second on the thread. 0 or a negative errno. */
int rpc_out_open(void (*tick)(void *context), void *context, struct rpc_out **ret_out);

/* With a copy of the arguments, the rest zeroed; NULL if memory is short. */
struct rpc_out_call *rpc_out_new(const uint8_t *args, size_t args_bytes);

/* Takes it over, also on failure: 0, -EBUSY or -ESHUTDOWN, and done() is not called then. */
int rpc_out_submit(struct rpc_out *out, struct rpc_out_call *call);

/* Ends the thread: done() of all that were not answered. Takes NULL. */
struct rpc_out *rpc_out_close(struct rpc_out *out);

/* Milliseconds of the clock that the thread goes by. */
uint64_t rpc_out_now_ms(void);
