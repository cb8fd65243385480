/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WRITE - RFC 1813 section 3.3.7.
 *
 * One call's life, in the order of this file:
 *
 *     nfs3_write_prepare  arguments, file open, caller allowed
 *     nfs3_write          bulk waits for room (vfs/bulk.c)
 *     nfs3_write_start    -> written from the receive buffer (vfs/write.c)
 *     nfs3_write_written  short? stable?  -> the rest, group commit, or the reply
 *     nfs3_write_synced   -> the reply
 *
 * FILE_SYNC and DATA_SYNC are both answered FILE_SYNC after an fdatasync(2), or a direct write that
 * is durable by itself: data, size and extents are on stable storage. Only the times may be older
 * after a power cut (docs/architecture.md says why).
 */
#include <assert.h>
#include <errno.h>

#include "nfsd/nfs3.h"
#include "nfsd/worker.h"
#include "vfs/base/cleanup.h"

static void nfs3_write_let_in(struct vfs_bulk *bulk);
static void nfs3_write_start(struct call *call);
static void nfs3_write_written(struct vfs_write *write, int result);
static void nfs3_write_synced(struct vfs_commit *commit, int error);
static void nfs3_write_fail(struct call *call, int error);
static void nfs3_write_reply(struct call *call, stable_how committed);

/* RFC 1813: a server may write less than asked; more than wtmax is never taken. */
static uint32_t write_bytes(const struct nfs3_write_args *args)
{
	return args->count < NFS3_IO_BYTES_MAX ? args->count : NFS3_IO_BYTES_MAX;
}

int nfs3_write_prepare(struct call *call)
{
	const struct nfs3_write_args *args = &call->args.write;

	/* count repeats the length of data; they differ only in a broken or hostile call. */
	if (args->count != args->data.count)
		return -EINVAL;
	if (args->offset > INT64_MAX || args->count > INT64_MAX - args->offset)
		return -EFBIG;
	return nfs3_data_prepare(call, true);
}

void nfs3_write(struct call *call)
{
	call->io_bytes = 0;
	call->all_durable = true;
	/* Not the one at the end: a flush that fails meanwhile may lose this data, and the client
	 * must find that COMMIT answers with another. */
	call->write_verifier = atomic_load(&call->worker->server->write_verifier);
	call->bulk.let_in = nfs3_write_let_in;
	call->bulk.loop = call->worker->loop;
	if (call->args.write.count == 0)
		nfs3_write_reply(call, FILE_SYNC);
	else if (vfs_bulk_enter(call->file, &call->bulk, write_bytes(&call->args.write)))
		nfs3_write_start(call);
}

static void nfs3_write_let_in(struct vfs_bulk *bulk)
{
	nfs3_write_start(container_of(bulk, struct call, bulk));
}

static void nfs3_write_start(struct call *call)
{
	const struct nfs3_write_args *args = &call->args.write;

	assert(call->io_bytes < write_bytes(args));
	call->write.done = nfs3_write_written;
	call->write.loop = call->worker->loop;
	call->write.buffers = call->worker->buffers;
	call->write.durable = args->stable != UNSTABLE && !call->caller.async;
	vfs_file_write(call->file, &call->write, args->data.bytes + call->io_bytes,
	               write_bytes(args) - call->io_bytes, args->offset + call->io_bytes);
}

static void nfs3_write_written(struct vfs_write *write, int result)
{
	struct call *call = container_of(write, struct call, write);
	const struct nfs3_write_args *args = &call->args.write;

	if (result <= 0) {
		/* No progress: going again would not end. */
		nfs3_write_fail(call, result < 0 ? result : -EIO);
		return;
	}
	call->io_bytes += (uint32_t) result;
	call->all_durable &= write->durable;
	if (call->io_bytes < write_bytes(args)) {
		nfs3_write_start(call);
		return;
	}
	if (args->stable == UNSTABLE || call->caller.async) {
		nfs3_write_reply(call, args->stable == UNSTABLE ? UNSTABLE : FILE_SYNC);
		return;
	}
	if (call->all_durable) {
		nfs3_write_synced(&call->commit, 0);
		return;
	}
	call->commit.loop = call->worker->loop;
	call->commit.done = nfs3_write_synced;
	vfs_file_commit(call->file, &call->commit);
}

static void nfs3_write_synced(struct vfs_commit *commit, int error)
{
	struct call *call = container_of(commit, struct call, commit);

	/* A flush of others failed since this write began, and the kernel tells an error once: it
	 * may have been this data's, whatever our own flush says. The client writes again. */
	if (error == 0 &&
	    call->write_verifier != atomic_load(&call->worker->server->write_verifier))
		error = -EINTR;
	if (error < 0) {
		nfs3_write_fail(call, error); /* the verifier has changed: server_flush_failed() */
		return;
	}
	nfs3_write_reply(call, FILE_SYNC);
}

static void nfs3_write_fail(struct call *call, int error)
{
	vfs_bulk_leave(&call->bulk);
	call_fail(call, error);
}

static void nfs3_write_reply(struct call *call, stable_how committed)
{
	struct xdr_out *out = &call->out;

	vfs_bulk_leave(&call->bulk);
	nfs3_put_ok(out);
	nfs3_put_wcc_of(out, call->file);
	xdr_put_u32(out, call->io_bytes);
	xdr_put_u32(out, committed);
	xdr_put_u64(out, call->write_verifier);
	call_finish(call); /* call is gone */
}
