/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.c - data into a file, through the page cache or past it.
 *
 * One write's life:
 *
 *     vfs_file_write   which way? through the gate (data_gate.h), perhaps after a wait
 *     write_start      pwrite(2) from where the data lies; or from an aligned copy, with O_DIRECT
 *                      and RWF_DSYNC, so that it is durable when it ends
 *     write_ended      out of the gate; refused by the device? then once more through the cache
 *
 * Past the cache go writes that are to be durable, are aligned as the file system asks, and do not
 * change what is allocated: to a file without holes, not beyond its end. Allocating is what a
 * shared flush does better (docs/performance.md).
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "vfs/base/cleanup.h"
#include "vfs/vfs_internal.h"

static void write_start(struct vfs_write *write);
static void write_ended(struct ring_op *op, int result);

static bool fits_direct(const struct vfs_file *file, const struct vfs_write *write)
{
	uint32_t align = file->export->fs.direct_align_bytes;
	struct vfs_attr attr;

	if (atomic_load(&file->direct_fd) < 0 || !atomic_load(&file->export->direct))
		return false;
	if (write->offset % align != 0 || write->count % align != 0)
		return false;
	if (vfs_file_attr(file, &attr) < 0)
		return false;
	return write->offset + write->count <= attr.size && attr.used_bytes >= attr.size;
}

/* ---- the gate ---- */

static void gate_passed(struct loop_task *task)
{
	write_start(container_of(task, struct vfs_write, task));
}

static void gate_enter(struct vfs_write *write, bool direct)
{
	struct vfs_file *file = write->file;
	bool inside = true;

	write->direct = direct;
	if (file->export->gated) {
		pthread_mutex_lock(&file->commit_lock);
		inside = data_gate_enter(&file->data_gate, direct, &write->waiter);
		pthread_mutex_unlock(&file->commit_lock);
	}
	if (inside)
		write_start(write);
}

static void gate_leave(struct vfs_file *file)
{
	struct data_gate_waiter *let_in;

	if (!file->export->gated)
		return;
	pthread_mutex_lock(&file->commit_lock);
	let_in = data_gate_leave(&file->data_gate);
	pthread_mutex_unlock(&file->commit_lock);
	while (let_in) {
		struct vfs_write *next = container_of(let_in, struct vfs_write, waiter);

		let_in = let_in->next;
		next->task.run = gate_passed;
		loop_post(next->loop, &next->task);
	}
}

/* ---- the write ---- */

static size_t aligned_bytes(uint32_t count)
{
	return count < BUFFER_ALIGN_BYTES ? BUFFER_ALIGN_BYTES : count;
}

void vfs_file_write(struct vfs_file *file, struct vfs_write *write, const void *bytes,
                    uint32_t count, uint64_t offset)
{
	assert(write->done && write->loop && write->buffers);
	assert(count > 0 && offset <= (uint64_t) INT64_MAX - count);
	write->file = file;
	write->bytes = bytes;
	write->count = count;
	write->offset = offset;
	write->aligned = NULL;
	if (write->durable && fits_direct(file, write))
		write->aligned = buffer_get(write->buffers, aligned_bytes(count));
	gate_enter(write, write->aligned != NULL);
}

static void write_start(struct vfs_write *write)
{
	struct ring *ring = loop_ring(write->loop);

	write->op.done = write_ended;
	write->op.group = write->file->export->fs.device;
	if (write->direct) {
		memcpy(write->aligned->bytes, write->bytes, write->count);
		ring_pwrite_durable(ring, &write->op, atomic_load(&write->file->direct_fd),
		                    write->aligned->bytes, write->count, write->offset);
		return;
	}
	ring_pwrite(ring, &write->op, write->file->fd, write->bytes, write->count, write->offset);
}

/* The file system said it could, the device cannot: from now on not any more. */
static void direct_refused(struct vfs_file *file, int error)
{
	struct vfs *vfs = file->vfs;

	if (atomic_exchange(&file->export->direct, false) && vfs->direct_refused)
		vfs->direct_refused(vfs->told_context, file->export, error);
}

static void write_ended(struct ring_op *op, int result)
{
	struct vfs_write *write = container_of(op, struct vfs_write, op);
	bool direct = write->direct;

	gate_leave(write->file);
	write->aligned = buffer_unref(write->aligned);
	if (direct && (result == -EINVAL || result == -EOPNOTSUPP)) {
		direct_refused(write->file, result);
		gate_enter(write, false);
		return;
	}
	if (direct && result < 0)
		vfs_flush_failed(write->file->vfs, result);
	if (!direct && result > 0)
		vfs_file_dirtied(write->file); /* also if the caller's rest fails */
	write->durable = direct && result > 0;
	write->done(write, result); /* write may be gone */
}
