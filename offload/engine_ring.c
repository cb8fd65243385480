/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_ring.c - our own sparse copy.
 *
 * Slots, begun in the order of the file and finished in it:
 *
 *     copy_begin    the next piece of data, if the window (window.h) and the rate allow -> read
 *     slot_read     all of it?                                                 -> write
 *     slot_written  all of it?
 *     copy_settle   from the oldest slot on: hashed, written -> done, free again
 *     copy_synced   the destination is durable up to where it was done before  -> checkpoint
 *
 * It is flushed now and then even if nobody wants a checkpoint: who else flushes the disk waits for
 * what its cache holds of ours, too.
 *
 * Always holds: slots settled..begun are in use, and what lies before the oldest is done. Once
 * something failed nothing new is begun and what is in flight comes back.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "offload/engine.h"
#include "vfs/base/cleanup.h"
#include "vfs/io/ring.h"
#include "vfs/space.h"

enum {
	SLOTS = 16,
	SLOT_BYTES = WINDOW_BYTES_MAX / SLOTS,
	SYNC_BYTES_BUFFERED = 32 << 20, /* what the page cache holds of ours at most */
	RING_ENTRIES = 32, /* a slot has one operation in flight, and there is one flush */
	TURN_MS_MAX = 100, /* then look whether to stop */
	ZERO_BYTES = 1 << 16,
	NS_PER_MS = 1000000,
};

struct ring_copy;

struct slot {
	struct ring_op op;
	struct ring_copy *copy;
	uint8_t *bytes;
	uint64_t offset;
	uint32_t count;    /* bytes of the file in it */
	uint32_t done;     /* of them, read or written so far */
	uint32_t write_to; /* the write in flight ends there */
	bool read, written;
};

struct ring_copy {
	const struct engine_copy *args;
	struct engine_control *control;
	struct ring *ring;
	int source_fd, destination_fd;
	bool direct, destination_direct;
	struct slot slots[SLOTS];
	uint8_t *memory;
	struct engine_disks disks;
	uint64_t begun, hashed, settled; /* counts of slots */
	uint32_t flying_bytes;           /* begun and not written */
	struct vfs_range data;           /* being read */
	uint64_t scan_at;                /* look for data from here on */
	bool scanned;                    /* there is no more */
	XXH3_state_t *hash;              /* NULL: not wanted */
	uint64_t hashed_bytes;
	struct ring_op sync_op;
	uint64_t sync_bytes, synced_ns;
	uint64_t wait_ns; /* for the rate */
	int error;
};

static void slot_read(struct ring_op *op, int result);
static void slot_written(struct ring_op *op, int result);
static void copy_synced(struct ring_op *op, int result);

static void copy_failed(struct ring_copy *copy, int error)
{
	if (copy->error == 0)
		copy->error = error;
}

/* ---- a slot's life ---- */

static void slot_read_go_on(struct slot *slot)
{
	slot->op.done = slot_read;
	ring_pread(slot->copy->ring, &slot->op, slot->copy->source_fd, slot->bytes + slot->done,
	           (uint32_t) engine_align_up(slot->count) - slot->done, slot->offset + slot->done);
}

/* The run of pieces from @from on that are zeros, or that are not: where it ends. */
static uint32_t slot_run(const struct slot *slot, uint32_t from, bool zeros)
{
	while (from < slot->count) {
		const uint8_t *piece = slot->bytes + from;
		uint32_t left = slot->count - from, count = left < ZERO_BYTES ? left : ZERO_BYTES;

		if ((piece[0] == 0 && memcmp(piece, piece + 1, count - 1) == 0) != zeros)
			break;
		from += count;
	}
	return from;
}

static void slot_end(struct slot *slot)
{
	slot->written = true;
	slot->copy->flying_bytes -= slot->count;
}

/* Whole blocks, also at the end of the file: its length is set in the end. */
static void slot_write_go_on(struct slot *slot)
{
	slot->write_to = slot->count;
	if (slot->copy->args->skip_zeros) {
		slot->done = slot_run(slot, slot->done, true);
		slot->write_to = slot_run(slot, slot->done, false);
	}
	if (slot->done == slot->count)
		return slot_end(slot);
	slot->op.done = slot_written;
	ring_pwrite(
		slot->copy->ring, &slot->op, slot->copy->destination_fd, slot->bytes + slot->done,
		(uint32_t) engine_align_up(slot->write_to) - slot->done, slot->offset + slot->done);
}

static void slot_read(struct ring_op *op, int result)
{
	struct slot *slot = container_of(op, struct slot, op);
	struct ring_copy *copy = slot->copy;

	/* Nothing where there was data: the source is shorter now. */
	if (result < 0 || engine_advance(&slot->done, slot->count, result) < 0)
		return copy_failed(copy, result < 0 ? result : -ETXTBSY);
	if (slot->done < slot->count)
		return slot_read_go_on(slot);
	memset(slot->bytes + slot->count, 0, engine_align_up(slot->count) - slot->count);
	slot->read = true;
	slot->done = 0;
	atomic_fetch_add(&copy->control->moved_bytes, slot->count);
	if (copy->error == 0)
		slot_write_go_on(slot);
}

static void slot_written(struct ring_op *op, int result)
{
	struct slot *slot = container_of(op, struct slot, op);

	if (result < 0 || engine_advance(&slot->done, slot->write_to, result) < 0)
		return copy_failed(slot->copy, result < 0 ? result : -EIO);
	if (slot->done < slot->count)
		return slot_write_go_on(slot);
	slot_end(slot);
}

/* ---- beginning ---- */

/* The next range of data, in whole blocks. False: none is left, or an error. */
static bool copy_scan(struct ring_copy *copy)
{
	uint64_t hole_from = copy->scan_at, end = copy->args->bytes;
	int r = 0;

	if (copy->data.from < copy->data.to)
		return true;
	if (copy->scanned)
		return false;
	r = vfs_next_data(copy->args->source_fd, copy->scan_at, end, &copy->data);
	if (r == -ENXIO) {
		copy->scanned = true;
		copy->data = (struct vfs_range){ end, end };
	} else if (r < 0) {
		copy_failed(copy, r);
		return false;
	} else {
		copy->data.from &= ~(uint64_t) (ENGINE_ALIGN_BYTES - 1);
		copy->data.to = engine_align_up(copy->data.to);
		copy->data.to = copy->data.to < end ? copy->data.to : end;
	}
	copy->scan_at = copy->data.to;
	r = engine_zero_hole(copy->args, hole_from, copy->data.from);
	if (r < 0)
		copy_failed(copy, r);
	return r >= 0 && !copy->scanned;
}

static bool copy_begin(struct ring_copy *copy)
{
	struct slot *slot = &copy->slots[copy->begun % SLOTS];
	uint32_t window = engine_disks_window(&copy->disks);
	uint64_t left;

	copy->wait_ns = 0;
	if (copy->begun - copy->settled == SLOTS || copy->flying_bytes >= window ||
	    !copy_scan(copy))
		return false;
	left = copy->data.to - copy->data.from;
	slot->count = window < SLOT_BYTES ? window : SLOT_BYTES;
	if (left < slot->count)
		slot->count = (uint32_t) left;
	copy->wait_ns = engine_pace_ns(copy->control, slot->count);
	if (copy->wait_ns > 0)
		return false;
	slot->offset = copy->data.from;
	slot->done = 0;
	slot->read = slot->written = false;
	copy->data.from += slot->count;
	copy->flying_bytes += slot->count;
	copy->begun++;
	slot_read_go_on(slot);
	return true;
}

/* ---- settling ---- */

static void hash_zeros(struct ring_copy *copy, uint64_t to)
{
	static const uint8_t zeros[ZERO_BYTES];

	while (copy->hashed_bytes < to) {
		uint64_t count = to - copy->hashed_bytes;

		if (atomic_load(&copy->control->cancel))
			return copy_failed(copy, -ECANCELED);
		count = count < ZERO_BYTES ? count : ZERO_BYTES;
		XXH3_128bits_update(copy->hash, zeros, count);
		copy->hashed_bytes += count;
	}
}

static void copy_hash(struct ring_copy *copy)
{
	for (; copy->hashed < copy->begun; copy->hashed++) {
		struct slot *slot = &copy->slots[copy->hashed % SLOTS];

		if (!slot->read)
			return;
		if (!copy->hash)
			continue;
		hash_zeros(copy, slot->offset);
		XXH3_128bits_update(copy->hash, slot->bytes, slot->count);
		copy->hashed_bytes += slot->count;
	}
}

static void copy_settle(struct ring_copy *copy)
{
	copy_hash(copy);
	for (; copy->settled < copy->hashed; copy->settled++) {
		struct slot *slot = &copy->slots[copy->settled % SLOTS];

		if (!slot->written)
			return;
		atomic_store(&copy->control->done_bytes, slot->offset + slot->count);
	}
}

static bool is_time_to_sync(const struct ring_copy *copy, uint64_t done, uint64_t now_ns)
{
	if (copy->sync_op.in_flight || copy->error < 0 || done == copy->sync_bytes)
		return false;
	return now_ns - copy->synced_ns >= (uint64_t) ENGINE_CHECKPOINT_MS * NS_PER_MS ||
	       (!copy->destination_direct && done - copy->sync_bytes >= SYNC_BYTES_BUFFERED);
}

static void copy_sync(struct ring_copy *copy)
{
	uint64_t done = atomic_load(&copy->control->done_bytes);
	uint64_t now_ns = engine_now_ns();

	if (!is_time_to_sync(copy, done, now_ns))
		return;
	disks_flush_begin(copy->disks.disks);
	copy->sync_bytes = done;
	copy->synced_ns = now_ns;
	copy->sync_op.done = copy_synced;
	ring_fdatasync(copy->ring, &copy->sync_op, copy->destination_fd);
}

static void copy_synced(struct ring_op *op, int result)
{
	struct ring_copy *copy = container_of(op, struct ring_copy, sync_op);

	if (result == 0 && copy->control->checkpoint)
		result = copy->control->checkpoint(copy->control->context, copy->sync_bytes);
	disks_flush_end(copy->disks.disks);
	if (result < 0)
		copy_failed(copy, result);
}

/* ---- the whole ---- */

static unsigned copy_turn_ms(const struct ring_copy *copy)
{
	uint64_t wait_ms = copy->wait_ns / NS_PER_MS + 1;

	return copy->wait_ns && wait_ms < TURN_MS_MAX ? (unsigned) wait_ms : TURN_MS_MAX;
}

static int copy_loop(struct ring_copy *copy)
{
	for (;;) {
		int r;

		if (atomic_load(&copy->control->cancel))
			copy_failed(copy, -ECANCELED);
		while (copy->error == 0 && copy_begin(copy))
			;
		copy_sync(copy);
		if (ring_in_flight(copy->ring) == 0 && (copy->error < 0 || copy->wait_ns == 0))
			break;
		r = ring_run(copy->ring, copy_turn_ms(copy));
		if (r < 0)
			return r;
		copy_settle(copy);
	}
	return copy->error;
}

static int copy_finish_hash(struct ring_copy *copy, uint8_t ret_checksum[ENGINE_CHECKSUM_BYTES])
{
	XXH128_canonical_t canonical;

	if (!copy->hash)
		return 0;
	hash_zeros(copy, copy->args->bytes);
	if (copy->error < 0)
		return copy->error;
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(copy->hash));
	memcpy(ret_checksum, canonical.digest, ENGINE_CHECKSUM_BYTES);
	return 0;
}

static int copy_open(struct ring_copy *copy)
{
	const char *hint;
	int r;

	r = engine_open_direct(copy->args->source_fd, O_RDONLY, &copy->source_fd, &copy->direct);
	if (r == 0)
		r = engine_open_direct(copy->args->destination_fd, O_RDWR, &copy->destination_fd,
		                       &copy->destination_direct);
	if (r == 0)
		r = ring_open(RING_ENTRIES, &copy->ring, &hint);
	if (r < 0)
		return r;
	copy->memory = mmap(NULL, (size_t) SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy->memory == MAP_FAILED) {
		copy->memory = NULL;
		return -ENOMEM;
	}
	for (unsigned i = 0; i < SLOTS; i++) {
		copy->slots[i].copy = copy;
		copy->slots[i].bytes = copy->memory + (size_t) i * SLOT_BYTES;
	}
	engine_disks_enter(&copy->disks, copy->control->disks, copy->source_fd,
	                   copy->destination_fd);
	copy->hash = copy->args->checksum ? XXH3_createState() : NULL;
	if (copy->args->checksum && !copy->hash)
		return -ENOMEM;
	if (copy->hash)
		XXH3_128bits_reset(copy->hash);
	return 0;
}

static void copy_close(struct ring_copy *copy)
{
	/* What was read past the cache left no trace; what went through it shall not stay. */
	if (copy->source_fd >= 0 && !copy->direct)
		(void) posix_fadvise(copy->source_fd, 0, 0, POSIX_FADV_DONTNEED);
	if (copy->sync_op.in_flight)
		disks_flush_end(copy->disks.disks);
	engine_disks_leave(&copy->disks);
	/* If the ring itself failed the kernel may still write to the slots: left alone. */
	if (!copy->ring || ring_in_flight(copy->ring) == 0) {
		ring_close(copy->ring);
		if (copy->memory)
			(void) munmap(copy->memory, (size_t) SLOTS * SLOT_BYTES);
	}
	XXH3_freeState(copy->hash);
	close_fd(&copy->source_fd);
	close_fd(&copy->destination_fd);
}

int engine_ring_copy(const struct engine_copy *args, struct engine_control *control,
                     uint8_t ret_checksum[ENGINE_CHECKSUM_BYTES])
{
	struct ring_copy copy = {
		.args = args,
		.control = control,
		.source_fd = -EBADF,
		.destination_fd = -EBADF,
		.scan_at = args->from,
		.synced_ns = engine_now_ns(),
		.sync_bytes = args->from,
	};
	int r;

	assert(args->from % ENGINE_ALIGN_BYTES == 0);
	assert(!args->checksum || args->from == 0);
	atomic_store(&control->done_bytes, args->from);
	r = copy_open(&copy);
	if (r == 0)
		r = copy_loop(&copy);
	if (r == 0)
		r = copy_finish_hash(&copy, ret_checksum);
	if (r == 0) {
		atomic_store(&control->done_bytes, args->bytes);
		/* The last block was written whole. */
		if (ftruncate(args->destination_fd, (off_t) args->bytes) < 0)
			r = -errno;
	}
	copy_close(&copy);
	return r;
}
