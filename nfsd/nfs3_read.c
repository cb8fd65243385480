/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READ - RFC 1813 section 3.3.6.
 *
 * One call's life, in the order of this file:
 *
 *     nfs3_read_room      the reply's buffer has room for the data behind its head
 *     nfs3_read_prepare   file open, caller allowed
 *     nfs3_read           range                     -> pread into the reply
 *     nfs3_read_done      short of the end?         -> pread again, or the head, and finished
 */
#include <assert.h>
#include <errno.h>

#include "nfsd/nfs3.h"
#include "nfsd/udp.h"
#include "nfsd/worker.h"
#include "vfs/base/cleanup.h"

static void nfs3_read_start(struct call *call);
static void nfs3_read_done(struct ring_op *op, int result);
static void nfs3_read_reply(struct call *call, const struct vfs_attr *attr);

/* What is read at most: never more than asked, rtmax, or up to the largest offset there is. */
static uint32_t read_bytes(const struct call *call)
{
	const struct nfs3_read_args *args = &call->args.read;
	uint64_t most = call->udp ? UDP_IO_BYTES_MAX : NFS3_IO_BYTES_MAX;
	uint64_t bytes = args->count < most ? args->count : most;

	if (args->offset >= INT64_MAX)
		return 0;
	if (bytes > INT64_MAX - args->offset)
		bytes = INT64_MAX - args->offset;
	return (uint32_t) bytes;
}

uint32_t nfs3_read_room(const struct call *call)
{
	return NFS3_READ_OK_BYTES + read_bytes(call) + 3;
}

static uint8_t *read_data(struct call *call)
{
	return call->reply->bytes + CALL_REPLY_HEAD_BYTES + NFS3_READ_OK_BYTES;
}

int nfs3_read_prepare(struct call *call)
{
	return nfs3_data_prepare(call, false);
}

void nfs3_read(struct call *call)
{
	call->io_bytes = 0;
	nfs3_read_start(call);
}

static void nfs3_read_start(struct call *call)
{
	const struct nfs3_read_args *args = &call->args.read;
	uint32_t left = read_bytes(call) - call->io_bytes;
	struct vfs_attr attr;
	int r;

	if (left == 0) { /* nothing asked, or so far behind every file's end that it is no offset */
		r = vfs_file_attr(call->file, &attr);
		if (r < 0)
			call_fail(call, r);
		else
			nfs3_read_reply(call, &attr);
		return;
	}
	call->op.done = nfs3_read_done;
	call->op.group = vfs_file_device(call->file);
	ring_pread(loop_ring(call->worker->loop), &call->op, vfs_file_fd(call->file),
	           read_data(call) + call->io_bytes, left, args->offset + call->io_bytes);
}

static void nfs3_read_done(struct ring_op *op, int result)
{
	struct call *call = container_of(op, struct call, op);
	const struct nfs3_read_args *args = &call->args.read;
	struct vfs_attr attr;
	int r;

	if (result < 0) {
		call_fail(call, result);
		return;
	}
	call->io_bytes += (uint32_t) result;
	assert(call->io_bytes <= read_bytes(call));
	r = vfs_file_attr(call->file, &attr);
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	/* Short only at the end of the file: otherwise go on. */
	if (result > 0 && call->io_bytes < read_bytes(call) &&
	    args->offset + call->io_bytes < attr.size) {
		nfs3_read_start(call);
		return;
	}
	nfs3_read_reply(call, &attr);
}

static void nfs3_read_reply(struct call *call, const struct vfs_attr *attr)
{
	const struct nfs3_read_args *args = &call->args.read;
	uint8_t *data = read_data(call);
	uint32_t padding = (uint32_t) (xdr_padded(call->io_bytes) - call->io_bytes);
	bool eof = args->offset >= attr->size || attr->size - args->offset <= call->io_bytes;
	fattr3 fattr;

	nfs3_fattr(attr, &fattr);
	nfs3_put_read_ok(call->reply->bytes + CALL_REPLY_HEAD_BYTES, &fattr, call->io_bytes, eof);
	for (uint32_t i = 0; i < padding; i++)
		data[call->io_bytes + i] = 0;
	call->out.at = data + call->io_bytes + padding;
	assert(call->out.at <= call->out.end);
	call_finish(call); /* call is gone */
}
