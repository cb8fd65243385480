/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - one call on its way from a connection (or datagram) to its reply.
 *
 * A call has one owner at a time: its worker, or a thread of the pool between call_to_pool() and
 * its return. It outlives its connection: closing marks that, the steps still run, the reply is
 * dropped.
 *
 *     call_start      the header is decoded, the procedure found, the reply cache asked
 *     throttle_call   its export has limits: now, or in its turn
 *     run()           inline on the worker, or on the pool; or start() for the ring's procedures
 *     call_finish     the reply is complete: remembered if it must be, and sent
 */
#pragma once

#include "nfsd/counters.h"
#include "nfsd/program.h"
#include "nfsd/reply_cache.h"
#include "nfsd/server.h"
#include "rpcgen/nfs3_args.h"
#include "rpcgen/rpc_call.h"
#include "rpcgen/vaai.h"
#include "rpcgen/xdr_cursor.h"
#include "vfs/io/buffer.h"
#include "vfs/io/pool.h"
#include "vfs/vfs.h"

struct conn;
struct udp_socket;

struct call {
	struct worker *worker;
	struct conn *conn;      /* NULL for datagrams */
	struct udp_socket *udp; /* NULL for streams */
	struct call *next;      /* in a connection's queue, a lane's, or the free list */

	struct buffer *message;
	uint32_t message_bytes; /* of it; counted on the connection */
	struct rpc_call rpc;
	const struct program *program;
	const struct proc *proc;
	struct export_address client, local; /* local: ours, that the client asked */
	uint16_t client_port;
	enum socket_role role;
	bool may_block;
	bool admitted; /* its export's limits let it go (throttle.h) */
	bool forget;   /* do not keep the reply: the client is told to try again */
	bool failed;   /* the reply tells an error */
	enum counters_refusal refusal;
	nfsstat3 status;   /* of NFS's programs, when it tells an error */
	uint64_t begun_ns; /* its last bytes came; of counters_now_ns() */
	int result;        /* of the pool's work */

	union nfs3_args args;
	struct vaai_call vaai;         /* procedure 22 of NFS */
	struct vfs_file *file, *file2; /* of the first and second handle */
	struct vfs_caller caller;      /* after squashing */
	struct export_options options;
	uint32_t options_serial; /* != 0: learnt on the pool, for the connection to keep */
	bool authorised;         /* the host may use the first handle's export */

	struct reply_entry *entry; /* NULL: not in the reply cache */
	struct buffer *reply;      /* record mark, header, results */
	struct xdr_out out;        /* results are put here */
	uint32_t accept_stat;
	uint32_t reply_bytes; /* with record mark, once finished */

	struct pool_job job;
	struct ring_op op;
	struct vfs_bulk bulk;
	struct vfs_write write;
	struct vfs_commit commit;
	uint32_t io_bytes;       /* READ, WRITE: done so far */
	bool all_durable;        /* WRITE: what is done so far needs no flush */
	uint64_t write_verifier; /* WRITE: when it began */
};

/* The record mark and an accepted header come first in a reply. */
enum {
	CALL_REPLY_HEAD_BYTES = RPC_RECORD_MARK_BYTES + RPC_ACCEPTED_BYTES,
	CALL_REPLY_BYTES_MIN = 1024 - CALL_REPLY_HEAD_BYTES, /* of results */
};

/* From the worker's free list, zeroed. NULL: memory is short. */
struct call *call_new(struct worker *worker);

/* Nobody reads the message any more. */
void call_message_release(struct call *call);

/* Gives back everything it holds. The end of a call. */
void call_free(struct call *call);

/**
 * call_start() - begin with one message
 * @call: conn or udp, client, message, begun_ns set
 * @bytes, @bytes_count: the message, in call->message
 *
 * The call is gone when this returns, or others will finish it.
 */
void call_start(struct call *call, const uint8_t *bytes, uint32_t bytes_count);

/* Go on with a call that throttle_call() was given; not @admitted: look at it anew. The call may be
 * gone when this returns. */
void call_resume(struct call *call, bool admitted);

/* The results are in call->out (or accept_stat says why there are none): send. The call is gone. */
void call_finish(struct call *call);

/* run() or the I/O failed: let the program say so, then call_finish(). */
void call_fail(struct call *call, int error);
