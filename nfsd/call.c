/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/call.h"

#include <assert.h>
#include <errno.h>
#include <rpc/auth.h>
#include <rpc/rpc_msg.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "nfsd/conn.h"
#include "nfsd/throttle.h"
#include "nfsd/trace.h"
#include "nfsd/udp.h"
#include "nfsd/worker.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

/* Longer messages are told apart by their ends: a checksum over a MiB would cost more than the rest
 * of the call, and two calls with one xid that differ only in the middle do not happen. */
enum {
	CHECKSUM_END_BYTES = 32 << 10
};

static void call_route(struct call *call, uint32_t message_bytes);
static void call_dispatch(struct call *call);
static void call_to_pool(struct call *call);
static void call_pool_work(struct pool_job *job);
static void call_pool_done(struct pool_job *job);
static void call_send(struct call *call, const struct reply_target *target);

struct call *call_new(struct worker *worker)
{
	struct call *call = worker->free_calls;

	if (call) {
		worker->free_calls = call->next;
		worker->free_call_count--;
		memset(call, 0, sizeof *call);
	} else {
		call = calloc(1, sizeof *call);
		if (!call)
			return NULL;
	}
	call->worker = worker;
	worker->call_count++;
	return call;
}

void call_message_release(struct call *call)
{
	if (call->conn && call->message)
		conn_message_released(call->conn, call->message_bytes);
	call->message = buffer_unref(call->message);
}

void call_free(struct call *call)
{
	struct worker *worker = call->worker;
	struct conn *conn = call->conn;

	vfs_file_put(call->file);
	vfs_file_put(call->file2);
	call_message_release(call);
	if (conn && call->reply)
		conn_reply_released(conn, call->reply->capacity_bytes);
	buffer_unref(call->reply);
	if (call->udp)
		udp_call_ended(call->udp);
	worker->call_count--;
	if (!list_empty(&worker->starved)) /* what this call held may be what another waits for */
		conn_turn_schedule(conn_of_starved(list_first(&worker->starved)));
	if (worker->free_call_count < WORKER_CALLS_KEPT_MAX) {
		call->next = worker->free_calls;
		worker->free_calls = call;
		worker->free_call_count++;
	} else {
		free(call);
	}
	if (conn)
		conn_call_ended(conn); /* the connection may be gone */
}

static bool call_reply_get(struct call *call, uint32_t result_bytes)
{
	call->reply = buffer_get(call->worker->buffers,
	                         (size_t) CALL_REPLY_HEAD_BYTES + result_bytes);
	if (!call->reply)
		return false;
	if (call->conn)
		conn_reply_held(call->conn, call->reply->capacity_bytes);
	return true;
}

static void call_out_reset(struct call *call)
{
	call->out = xdr_out(call->reply->bytes + CALL_REPLY_HEAD_BYTES,
	                    call->reply->capacity_bytes - CALL_REPLY_HEAD_BYTES);
}

/* ---- refusals of RPC itself ---- */

/* @bytes at the place after the record mark of call->reply. */
static void call_refuse(struct call *call, uint32_t bytes)
{
	rpc_record_mark(call->reply->bytes, bytes);
	call->reply_bytes = RPC_RECORD_MARK_BYTES + bytes;
	call_send(call, NULL);
}

static bool call_refusal_get(struct call *call)
{
	if (call->reply || call_reply_get(call, CALL_REPLY_BYTES_MIN))
		return true;
	call_free(call); /* no memory even for a refusal: the client sends again */
	return false;
}

static void call_refuse_accepted(struct call *call, uint32_t accept_stat)
{
	counters_refuse(call->worker, accept_stat == GARBAGE_ARGS   ? REFUSED_ARGUMENTS
	                              : accept_stat == PROC_UNAVAIL ? REFUSED_PROCEDURE
	                                                            : REFUSED_PROGRAM);
	if (call_refusal_get(call))
		call_refuse(call, rpc_reply_accepted(call->reply->bytes + RPC_RECORD_MARK_BYTES,
		                                     call->rpc.xid, accept_stat));
}

void call_start(struct call *call, const uint8_t *bytes, uint32_t bytes_count)
{
	struct rpc_reply refusal;

	switch (rpc_call_decode(bytes, bytes_count, &call->rpc, &refusal)) {
	case RPC_DROP:
		call_free(call);
		return;
	case RPC_REFUSE:
		counters_refuse(call->worker, REFUSED_CREDENTIAL);
		if (!call_refusal_get(call))
			return;
		memcpy(call->reply->bytes + RPC_RECORD_MARK_BYTES, refusal.bytes,
		       refusal.bytes_count);
		call_refuse(call, refusal.bytes_count);
		return;
	case RPC_CALL:
		call_route(call, bytes_count);
		return;
	}
}

/* ---- which program, which procedure ---- */

/* The program in the version asked for, or NULL and the versions there are (low > high: none). */
static const struct program *program_find(const struct call *call, uint32_t *ret_low,
                                          uint32_t *ret_high)
{
	*ret_low = UINT32_MAX;
	*ret_high = 0;
	for (size_t i = 0; programs[i]; i++) {
		const struct program *program = programs[i];

		if (program->number != call->rpc.program || program->role != call->role)
			continue;
		if (program->is_served && !program->is_served(call->worker->server))
			continue;
		if (program->version == call->rpc.version)
			return program;
		if (program->version < *ret_low)
			*ret_low = program->version;
		if (program->version > *ret_high)
			*ret_high = program->version;
	}
	return NULL;
}

static void call_refuse_program(struct call *call, uint32_t low, uint32_t high)
{
	if (low > high) {
		call_refuse_accepted(call, PROG_UNAVAIL);
		return;
	}
	counters_refuse(call->worker, REFUSED_PROGRAM);
	if (call_refusal_get(call))
		call_refuse(call,
		            rpc_reply_program_mismatch(call->reply->bytes + RPC_RECORD_MARK_BYTES,
		                                       call->rpc.xid, low, high));
}

static void call_refuse_auth(struct call *call)
{
	counters_refuse(call->worker, REFUSED_CREDENTIAL);
	if (call_refusal_get(call))
		call_refuse(call, rpc_reply_auth_error(call->reply->bytes + RPC_RECORD_MARK_BYTES,
		                                       call->rpc.xid, AUTH_TOOWEAK));
}

static uint64_t message_checksum(const uint8_t *bytes, uint32_t bytes_count)
{
	if (bytes_count <= 2 * CHECKSUM_END_BYTES)
		return XXH3_64bits(bytes, bytes_count);
	return XXH3_64bits_withSeed(bytes + bytes_count - CHECKSUM_END_BYTES, CHECKSUM_END_BYTES,
	                            XXH3_64bits(bytes, CHECKSUM_END_BYTES));
}

/* True: go on with the call. Else it was answered from the cache, or waits for the first to end. */
static bool call_is_new(struct call *call, enum reply_class class, uint32_t message_bytes)
{
	const uint8_t *after_xid = call->rpc.args + call->rpc.args_bytes - message_bytes + 4;
	struct reply_target target = call->conn ? conn_target(call->conn)
	                                        : (struct reply_target){ 0 };
	struct reply_key key = {
		.xid = call->rpc.xid,
		.program = call->rpc.program,
		.procedure = call->rpc.procedure,
		.message_bytes = message_bytes,
		.checksum = message_checksum(after_xid, message_bytes - 4),
	};

	memcpy(key.address, call->client.bytes, sizeof key.address);
	switch (reply_cache_begin(call->worker->server->replies, class, &key, &target,
	                          loop_now_ms(call->worker->loop) / 1000, &call->entry,
	                          call->reply->bytes, &call->reply_bytes)) {
	case REPLY_RUNNING:
		call_free(call);
		return false;
	case REPLY_KNOWN:
		call_send(call, NULL);
		return false;
	default:
		return true;
	}
}

static int call_decode(struct call *call)
{
	int (*decode)(struct call * call) = call->proc->decode ? call->proc->decode
	                                                       : call->program->decode;

	return decode ? decode(call) : 0;
}

static void call_route(struct call *call, uint32_t message_bytes)
{
	const struct program *program;
	const struct proc *proc;
	uint32_t low, high;
	int r;

	program = program_find(call, &low, &high);
	if (!program) {
		call_refuse_program(call, low, high);
		return;
	}
	proc = call->rpc.procedure < program->proc_count ? &program->procs[call->rpc.procedure]
	                                                 : NULL;
	if (!proc || !proc->name) {
		call_refuse_accepted(call, PROC_UNAVAIL);
		return;
	}
	call->program = program;
	call->proc = proc;
	if (!call->rpc.cred.has_identity && !(proc->flags & PROC_OPEN)) {
		call_refuse_auth(call);
		return;
	}
	r = call_decode(call);
	if (r < 0) {
		call_refuse_accepted(call, r == -ENOSYS ? PROC_UNAVAIL : GARBAGE_ARGS);
		return;
	}
	if (!call_reply_get(call,
	                    proc->reply_room ? proc->reply_room(call) : CALL_REPLY_BYTES_MIN)) {
		if (call->conn) /* silence would leave the client waiting */
			conn_close(call->conn, "no memory for a reply");
		call_free(call);
		return;
	}
	if ((proc->flags & PROC_ONCE_NAMES) &&
	    !call_is_new(call, REPLY_CLASS_NAMESPACE, message_bytes))
		return;
	if ((proc->flags & PROC_ONCE_WRITE) && !call_is_new(call, REPLY_CLASS_WRITE, message_bytes))
		return;
	call_dispatch(call);
}

/* ---- running ---- */

/* Before the procedure's own part: 0, -EAGAIN, a failure; or -EINPROGRESS: throttle_call() must say
 * when. */
static int call_prepare(struct call *call)
{
	int r = 0;

	if (call->program->prepare && !(call->proc->flags & PROC_ELSEWHERE))
		r = call->program->prepare(call);
	if (r == 0 && !call->admitted && throttle_applies(call))
		return -EINPROGRESS;
	return r;
}

/* The common part and the procedure's own: as call_prepare(); -EAGAIN if it must go to the pool. */
static int call_run(struct call *call)
{
	int r;

	call->accept_stat = SUCCESS;
	call_out_reset(call);
	r = call_prepare(call);
	if (r == 0 && call->proc->run)
		r = call->proc->run(call);
	if (r == -EAGAIN && call->may_block)
		r = -EINTR; /* the file system's own: a lease is being broken, try later */
	return r;
}

static void call_ran(struct call *call, int result)
{
	if (result == -EINPROGRESS)
		throttle_call(call); /* call may be gone */
	else if (result < 0)
		call_fail(call, result);
	else if (call->proc->kind == CALL_RING)
		call->proc->start(call);
	else
		call_finish(call);
}

static void call_dispatch(struct call *call)
{
	int r;

	/* What can be refused without a disk is; what the connection knows of its host goes
	 * along. */
	if (call->proc->kind == CALL_BLOCKING)
		r = call_prepare(call);
	else
		r = call_run(call);
	if (r == -EAGAIN || (r == 0 && call->proc->kind == CALL_BLOCKING))
		call_to_pool(call);
	else
		call_ran(call, r);
}

void call_resume(struct call *call, bool admitted)
{
	call->admitted = admitted;
	call->may_block = false;
	call_dispatch(call);
}

static void call_to_pool(struct call *call)
{
	call->may_block = true;
	call->job.work = call_pool_work;
	call->job.done = call_pool_done;
	call->job.loop = call->worker->loop;
	call->job.group = call->program->waits_for ? call->program->waits_for(call)
	                                           : call->program->number;
	pool_submit(call->worker->server->pool, &call->job);
}

static void call_pool_work(struct pool_job *job)
{
	struct call *call = container_of(job, struct call, job);

	vfs_identity_server();
	call->result = call_run(call);
	vfs_identity_server();
}

static void call_pool_done(struct pool_job *job)
{
	struct call *call = container_of(job, struct call, job);

	if (call->conn && call->options_serial)
		conn_options_keep(call->conn, call->options_serial, &call->options);
	call_ran(call, call->result);
}

/* ---- ending ---- */

void call_fail(struct call *call, int error)
{
	call->failed = true;
	call_out_reset(call);
	if (call->proc->failed)
		call->proc->failed(call, error);
	else
		call->program->failed(call, error);
	call_finish(call);
}

void call_finish(struct call *call)
{
	uint8_t *bytes = call->reply->bytes;
	struct reply_target target;
	uint32_t result_bytes;

	if (call->out.failed) { /* a bug in reply_room(): the client shall not see half an answer */
		log_error("%s: the reply does not fit its buffer", call->proc->name);
		call->accept_stat = SYSTEM_ERR;
	}
	result_bytes = call->accept_stat == SUCCESS
	                       ? (uint32_t) (call->out.at - bytes) - CALL_REPLY_HEAD_BYTES
	                       : 0;
	(void) rpc_reply_accepted(bytes + RPC_RECORD_MARK_BYTES, call->rpc.xid, call->accept_stat);
	rpc_record_mark(bytes, RPC_ACCEPTED_BYTES + result_bytes);
	call->reply_bytes = CALL_REPLY_HEAD_BYTES + result_bytes;
	counters_call(call);
	if (atomic_load_explicit(&call->worker->server->tracing, memory_order_relaxed))
		trace_call(call);

	if (!call->entry) {
		call_send(call, NULL);
		return;
	}
	target = reply_cache_finish(call->worker->server->replies, call->entry, bytes,
	                            call->reply_bytes, !call->forget,
	                            loop_now_ms(call->worker->loop) / 1000);
	call->entry = NULL;
	call_send(call, &target);
}

/* ---- a reply for another connection than the call's own ---- */

struct redirect {
	struct loop_task task;
	struct worker *worker;
	struct reply_target target;
	uint32_t bytes_count;
	uint8_t bytes[];
};

static void redirect_arrived(struct loop_task *task)
{
	struct redirect *redirect = container_of(task, struct redirect, task);
	struct worker *worker = redirect->worker;
	struct conn *conn = conn_find(worker, redirect->target.connection,
	                              redirect->target.generation);
	struct call *call = conn ? call_new(worker) : NULL;

	if (call) {
		call->conn = conn;
		conn_call_begun(conn);
		if (call_reply_get(call, redirect->bytes_count)) {
			memcpy(call->reply->bytes, redirect->bytes, redirect->bytes_count);
			call->reply_bytes = redirect->bytes_count;
			conn_send(conn, call);
		} else {
			call_free(call);
		}
	}
	free(redirect);
}

static void call_redirect(struct call *call, const struct reply_target *target)
{
	struct redirect *redirect = malloc(sizeof *redirect + call->reply_bytes);

	if (redirect) {
		redirect->task.run = redirect_arrived;
		redirect->worker = call->worker->server->workers[target->worker];
		redirect->target = *target;
		redirect->bytes_count = call->reply_bytes;
		memcpy(redirect->bytes, call->reply->bytes, call->reply_bytes);
		loop_post(redirect->worker->loop, &redirect->task);
	}
	call_free(call);
}

static bool targets_equal(const struct reply_target *a, const struct reply_target *b)
{
	return a->worker == b->worker && a->connection == b->connection &&
	       a->generation == b->generation;
}

static void call_send(struct call *call, const struct reply_target *target)
{
	struct reply_target own;

	if (call->udp) {
		udp_send(call->udp, call); /* call is gone */
		return;
	}
	own = conn_target(call->conn);
	if (target && !targets_equal(target, &own))
		call_redirect(call, target);
	else
		conn_send(call->conn, call);
}
