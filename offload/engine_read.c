/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_read.c - reading a file through: its checksum, and its zeros.
 *
 * Two buffers: while one is looked at, the next piece is being read into the other by a ring.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "offload/engine.h"
#include "vfs/base/cleanup.h"
#include "vfs/io/ring.h"
#include "vfs/space.h"

enum {
	PIECES = 8,
	PIECE_BYTES = 512 << 10,
	RING_ENTRIES = 8,
	TURN_MS = 100,
	ZERO_BYTES = 1 << 16,
	PUNCH_RUN_BYTES_MIN = 64 << 10, /* shorter runs are not worth an extent more */
};

/* Told of all data in order; what lies between is holes. Negative stops. */
typedef int piece_fn(void *context, uint64_t offset, const uint8_t *bytes, uint32_t count);

struct piece {
	struct ring_op op;
	struct reader *reader;
	uint8_t *bytes;
	uint64_t offset;
	uint32_t count, done;
	bool ready;
};

struct reader {
	struct engine_control *control;
	struct ring *ring;
	int fd;
	bool direct;
	uint64_t end, scan_at;
	struct vfs_range data;
	struct piece pieces[PIECES];
	struct engine_disks disks;
	uint64_t begun, seen; /* counts of pieces */
	uint32_t flying_bytes;
	uint8_t *memory;
	int error;
};

static void piece_read(struct ring_op *op, int result);

static void piece_go_on(struct piece *piece)
{
	piece->op.done = piece_read;
	ring_pread(piece->reader->ring, &piece->op, piece->reader->fd, piece->bytes + piece->done,
	           (uint32_t) engine_align_up(piece->count) - piece->done,
	           piece->offset + piece->done);
}

static void piece_read(struct ring_op *op, int result)
{
	struct piece *piece = container_of(op, struct piece, op);

	if (result < 0 || engine_advance(&piece->done, piece->count, result) < 0) {
		piece->reader->error = result < 0 ? result : -ETXTBSY;
		return;
	}
	if (piece->done < piece->count)
		return piece_go_on(piece);
	piece->ready = true;
	piece->reader->flying_bytes -= piece->count;
	atomic_fetch_add(&piece->reader->control->moved_bytes, piece->count);
}

/* False: nothing more to begin. */
static bool reader_begin(struct reader *reader)
{
	struct piece *piece = &reader->pieces[reader->begun % PIECES];
	uint32_t window = engine_disks_window(&reader->disks);
	uint64_t left;
	int r;

	if (reader->flying_bytes >= window)
		return false;
	if (reader->data.from >= reader->data.to) {
		r = vfs_next_data(reader->fd, reader->scan_at, reader->end, &reader->data);
		if (r < 0) {
			reader->error = r == -ENXIO ? reader->error : r;
			reader->scan_at = reader->end;
			return false;
		}
		/* In whole blocks: on file systems with smaller ones the next range may begin in
		 * the block that this one ends in. */
		reader->data.from &= ~(uint64_t) (ENGINE_ALIGN_BYTES - 1);
		reader->data.to = engine_align_up(reader->data.to);
		if (reader->data.to > reader->end)
			reader->data.to = reader->end;
		reader->scan_at = reader->data.to;
	}
	left = reader->data.to - reader->data.from;
	piece->count = window < PIECE_BYTES ? window : PIECE_BYTES;
	if (left < piece->count)
		piece->count = (uint32_t) left;
	r = engine_pace(reader->control, piece->count);
	if (r < 0) {
		reader->error = r;
		return false;
	}
	piece->offset = reader->data.from;
	piece->done = 0;
	piece->ready = false;
	reader->data.from += piece->count;
	reader->flying_bytes += piece->count;
	reader->begun++;
	piece_go_on(piece);
	return true;
}

static int reader_loop(struct reader *reader, piece_fn *look, void *context)
{
	int r;

	for (;;) {
		struct piece *piece = &reader->pieces[reader->seen % PIECES];

		if (atomic_load(&reader->control->cancel))
			reader->error = -ECANCELED;
		while (reader->error == 0 && reader->begun - reader->seen < PIECES &&
		       reader_begin(reader))
			;
		if (reader->error < 0 ? ring_in_flight(reader->ring) == 0
		                      : reader->seen == reader->begun)
			return reader->error;
		r = ring_run(reader->ring, TURN_MS);
		if (r < 0)
			return r;
		for (; reader->error == 0 && reader->seen < reader->begun && piece->ready;
		     piece = &reader->pieces[reader->seen % PIECES]) {
			piece->ready = false;
			r = look(context, piece->offset, piece->bytes, piece->count);
			if (r < 0)
				reader->error = r;
			reader->seen++;
			atomic_store(&reader->control->done_bytes, piece->offset + piece->count);
		}
	}
}

static int read_through(int fd, uint64_t bytes, struct engine_control *control, piece_fn *look,
                        void *context)
{
	struct reader reader = { .control = control, .fd = -EBADF, .end = bytes };
	const char *hint;
	int r;

	r = engine_open_direct(fd, O_RDONLY, &reader.fd, &reader.direct);
	if (r == 0)
		r = ring_open(RING_ENTRIES, &reader.ring, &hint);
	if (r == 0) {
		reader.memory = aligned_alloc(ENGINE_ALIGN_BYTES, (size_t) PIECES * PIECE_BYTES);
		r = reader.memory ? 0 : -ENOMEM;
	}
	for (unsigned i = 0; r == 0 && i < PIECES; i++) {
		reader.pieces[i].reader = &reader;
		reader.pieces[i].bytes = reader.memory + (size_t) i * PIECE_BYTES;
	}
	engine_disks_enter(&reader.disks, control->disks, fd, -1);
	if (r == 0)
		r = reader_loop(&reader, look, context);
	engine_disks_leave(&reader.disks);
	if (reader.fd >= 0 && !reader.direct)
		(void) posix_fadvise(reader.fd, 0, 0, POSIX_FADV_DONTNEED);
	if (!reader.ring || ring_in_flight(reader.ring) == 0) { /* as in engine_ring.c */
		ring_close(reader.ring);
		free(reader.memory);
	}
	close_fd(&reader.fd);
	return r;
}

/* ---- checksum ---- */

struct digest {
	XXH3_state_t *state;
	struct engine_control *control;
	uint64_t at;
};

/* There may be more of them than can be gone over in a year. */
static int digest_zeros(struct digest *digest, uint64_t to)
{
	static const uint8_t zeros[ZERO_BYTES];

	while (digest->at < to) {
		uint64_t count = to - digest->at < ZERO_BYTES ? to - digest->at : ZERO_BYTES;

		if (atomic_load(&digest->control->cancel))
			return -ECANCELED;
		XXH3_128bits_update(digest->state, zeros, count);
		digest->at += count;
	}
	return 0;
}

static int digest_piece(void *context, uint64_t offset, const uint8_t *bytes, uint32_t count)
{
	struct digest *digest = context;
	int r = digest_zeros(digest, offset);

	if (r < 0)
		return r;
	XXH3_128bits_update(digest->state, bytes, count);
	digest->at += count;
	return 0;
}

int engine_read(int fd, uint64_t bytes, struct engine_control *control,
                uint8_t ret_checksum[ENGINE_CHECKSUM_BYTES])
{
	struct digest digest = { .state = XXH3_createState(), .control = control };
	XXH128_canonical_t canonical;
	int r;

	if (!digest.state)
		return -ENOMEM;
	XXH3_128bits_reset(digest.state);
	r = read_through(fd, bytes, control, digest_piece, &digest);
	if (r == 0)
		r = digest_zeros(&digest, bytes);
	if (r == 0) {
		XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(digest.state));
		memcpy(ret_checksum, canonical.digest, ENGINE_CHECKSUM_BYTES);
		atomic_store(&control->done_bytes, bytes);
	}
	XXH3_freeState(digest.state);
	return r;
}

/* ---- punch ---- */

struct puncher {
	int fd, scratch_fd;
	bool dry_run;
	struct vfs_range run; /* of zeros, so far */
	uint64_t zero_bytes;
};

static bool is_zero(const uint8_t *bytes, uint32_t count)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

/* Where the kernel cannot compare, look once more right before: what is read ahead is some
 * milliseconds old. */
static int punch_after_look(int fd, uint64_t from, uint64_t bytes)
{
	AUTO(free_ptr) uint8_t *look = malloc(ZERO_BYTES);

	if (!look)
		return -ENOMEM;
	for (uint64_t at = from; at < from + bytes; at += ZERO_BYTES) {
		uint64_t count = from + bytes - at < ZERO_BYTES ? from + bytes - at : ZERO_BYTES;

		if (pread(fd, look, count, (off_t) at) != (ssize_t) count ||
		    !is_zero(look, (uint32_t) count))
			return -EAGAIN;
	}
	return vfs_punch(fd, -1, from, bytes);
}

static int run_end(struct puncher *puncher)
{
	struct vfs_range run = puncher->run;
	int r = 0;

	puncher->run = (struct vfs_range){ 0, 0 };
	if (run.to - run.from < PUNCH_RUN_BYTES_MIN)
		return 0;
	while (!puncher->dry_run && r == 0 && run.from < run.to) {
		uint64_t bytes = run.to - run.from;

		bytes = bytes < VFS_PUNCH_BYTES_MAX ? bytes : VFS_PUNCH_BYTES_MAX;
		r = vfs_punch(puncher->fd, puncher->scratch_fd, run.from, bytes);
		if (r == -EOPNOTSUPP && puncher->scratch_fd >= 0)
			r = punch_after_look(puncher->fd, run.from, bytes);
		if (r == -EAGAIN) { /* somebody writes there just now: it stays */
			puncher->zero_bytes -= bytes;
			r = 0;
		}
		puncher->zero_bytes += bytes;
		run.from += bytes;
	}
	if (puncher->dry_run)
		puncher->zero_bytes += run.to - run.from;
	return r;
}

static int punch_piece(void *context, uint64_t offset, const uint8_t *bytes, uint32_t count)
{
	struct puncher *puncher = context;
	int r = 0;

	for (uint32_t at = 0; r == 0 && at < count; at += ENGINE_ALIGN_BYTES) {
		uint32_t part = count - at < ENGINE_ALIGN_BYTES ? count - at : ENGINE_ALIGN_BYTES;

		if (puncher->run.to != offset + at)
			r = run_end(puncher);
		if (r < 0 || part < ENGINE_ALIGN_BYTES || !is_zero(bytes + at, part))
			continue;
		if (puncher->run.from == puncher->run.to)
			puncher->run.from = offset + at;
		puncher->run.to = offset + at + part;
	}
	return r;
}

int engine_punch(int fd, int scratch_fd, uint64_t bytes, bool dry_run,
                 struct engine_control *control, uint64_t *ret_zero_bytes)
{
	struct puncher puncher = { .fd = fd, .scratch_fd = scratch_fd, .dry_run = dry_run };
	int r;

	r = read_through(fd, bytes, control, punch_piece, &puncher);
	if (r == 0)
		r = run_end(&puncher);
	*ret_zero_bytes = puncher.zero_bytes;
	disks_flush_begin(control->disks);
	if (r == 0 && !dry_run && fsync(fd) < 0)
		r = -errno;
	disks_flush_end(control->disks);
	if (r == 0)
		atomic_store(&control->done_bytes, bytes);
	return r;
}
