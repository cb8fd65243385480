/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - the only file that sees liburing.
 *
 * Always holds: in_flight counts operations whose done() has not been called; a cancellation is not
 * counted and its own completion carries no cookie.
 */
#include "vfs/io/ring.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"
#include "vfs/io/busy_poll.h"

enum {
	RING_BATCH_MAX = 256, /* completions taken in one turn */
	RING_CQ_FACTOR = 4,   /* completion entries per submission entry */
	/* Operations on files at once, and threads of the kernel for those that must wait. Its own
	 * limit, four a processor, would let a few slow files hold up all others. */
	RING_FILES_MAX = 512,
	/* What is written is copied to the page cache: more than this by a thread of the kernel, or
	 * a few connections' bulk data would hold up every other call of the loop. */
	RING_COPY_BYTES_MAX = 64 << 10,
};

struct ring {
	struct io_uring uring;
	unsigned in_flight;
	struct share files;
	struct busy_poll busy;
	bool (*busy_may)(void *context);
	void *busy_context;
};

/* Newest first: each set of flags is what one kernel generation added (5.19 has the last). */
static const unsigned ring_setup_flags[] = {
	IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CLAMP,
	IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP,
	IORING_SETUP_CLAMP,
};

/* And no others: the ring is limited to them, since seccomp does not see what a ring does. */
static const int ring_ops_needed[] = {
	IORING_OP_RECV,   IORING_OP_RECVMSG,  IORING_OP_SENDMSG,
	IORING_OP_ACCEPT, IORING_OP_POLL_ADD, IORING_OP_ASYNC_CANCEL,
	IORING_OP_READ,   IORING_OP_WRITE,    IORING_OP_FSYNC,
};

static const char *ring_hint(int error)
{
	switch (error) {
	case -EPERM:
	case -EACCES:
		return "io_uring is switched off for this process. Look at 'sysctl "
		       "kernel.io_uring_disabled'"
		       " and set it with 'sysctl -w kernel.io_uring_disabled=0'; in a container, "
		       "allow"
		       " io_uring_setup, io_uring_enter and io_uring_register in its seccomp "
		       "profile";
	case -ENOSYS:
		return "this kernel has no io_uring. Use Linux 5.19 or newer with "
		       "CONFIG_IO_URING=y; in"
		       " a container, allow io_uring_setup in its seccomp profile";
	case -EOPNOTSUPP:
		return "this kernel's io_uring lacks an operation that is needed. Use Linux 5.19 "
		       "or newer";
	case -ENOMEM:
		return "no memory for the ring. Raise the limit of locked memory (LimitMEMLOCK= in "
		       "the"
		       " unit, 'ulimit -l') or of the service (MemoryMax=)";
	case -EMFILE:
	case -ENFILE:
		return "too many open files. Raise LimitNOFILE= in the unit, or 'ulimit -n'";
	default:
		return "io_uring_setup(2) failed in a way this program does not know";
	}
}

static int ring_probe(struct ring *ring)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(&ring->uring);
	int r = 0;

	if (!probe)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < ARRAY_COUNT(ring_ops_needed); i++)
		if (!io_uring_opcode_supported(probe, ring_ops_needed[i]))
			r = -EOPNOTSUPP;
	io_uring_free_probe(probe);
	if (!(ring->uring.features & IORING_FEAT_EXT_ARG) ||
	    !(ring->uring.features & IORING_FEAT_NODROP))
		r = -EOPNOTSUPP;
	return r;
}

/* It was made disabled, and does nothing before this. */
static int ring_limit(struct ring *ring)
{
	struct io_uring_restriction limits[ARRAY_COUNT(ring_ops_needed) + 1] = { 0 };
	size_t count = 0;
	int r;

	for (; count < ARRAY_COUNT(ring_ops_needed); count++) {
		limits[count].opcode = IORING_RESTRICTION_SQE_OP;
		limits[count].sqe_op = (uint8_t) ring_ops_needed[count];
	}
	limits[count].opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED;
	limits[count++].sqe_flags = IOSQE_ASYNC;
	/* liburing 2.3 has functions of their names, and does not export them. */
	r = io_uring_register((unsigned) ring->uring.ring_fd, IORING_REGISTER_RESTRICTIONS, limits,
	                      (unsigned) count);
	return r < 0 ? r
	             : io_uring_register((unsigned) ring->uring.ring_fd,
	                                 IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

int ring_open(unsigned entries, struct ring **ret_ring, const char **reterr_hint)
{
	unsigned kernel_threads[2] = { RING_FILES_MAX, RING_FILES_MAX };
	struct ring *ring;
	int r = -EINVAL;

	assert(entries > 0);
	ring = calloc(1, sizeof *ring);
	if (!ring) {
		*reterr_hint = ring_hint(-ENOMEM);
		return -ENOMEM;
	}
	for (size_t i = 0; r == -EINVAL && i < ARRAY_COUNT(ring_setup_flags); i++) {
		struct io_uring_params params = {
			.flags = ring_setup_flags[i] | IORING_SETUP_CQSIZE |
			         IORING_SETUP_R_DISABLED,
			.cq_entries = entries * RING_CQ_FACTOR,
		};

		r = io_uring_queue_init_params(entries, &ring->uring, &params);
	}
	if (r < 0) {
		free(ring);
		*reterr_hint = ring_hint(r);
		return r;
	}
	(void) io_uring_register_iowq_max_workers(&ring->uring, kernel_threads);
	r = ring_probe(ring);
	if (r == 0)
		r = ring_limit(ring);
	if (r < 0) {
		ring_close(ring);
		*reterr_hint = ring_hint(r);
		return r;
	}
	share_init(&ring->files, RING_FILES_MAX);
	*ret_ring = ring;
	return 0;
}

struct ring *ring_close(struct ring *ring)
{
	if (!ring)
		return NULL;
	assert(ring->in_flight == 0);
	io_uring_queue_exit(&ring->uring);
	free(ring);
	return NULL;
}

void ring_busy_poll_set(struct ring *ring, unsigned span_us, bool (*may)(void *context),
                        void *context)
{
	ring->busy.span_ns = span_us * 1000u;
	ring->busy_may = may;
	ring->busy_context = context;
}

unsigned ring_in_flight(const struct ring *ring)
{
	return ring->in_flight;
}

/* A full submission queue is handed over early; the kernel takes everything or says EBUSY while
 * completions overflow, and those it keeps for us. */
static struct io_uring_sqe *ring_sqe(struct ring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);

	while (!sqe) {
		(void) io_uring_submit(&ring->uring);
		sqe = io_uring_get_sqe(&ring->uring);
	}
	return sqe;
}

static struct io_uring_sqe *ring_claim(struct ring *ring, struct ring_op *op)
{
	struct io_uring_sqe *sqe;

	assert(op->done);
	assert(!op->in_flight);
	sqe = ring_sqe(ring);
	op->in_flight = true;
	ring->in_flight++;
	return sqe;
}

void ring_recv(struct ring *ring, struct ring_op *op, int fd, void *bytes, size_t bytes_max,
               bool expect_empty)
{
	struct io_uring_sqe *sqe = ring_claim(ring, op);

	io_uring_prep_recv(sqe, fd, bytes, bytes_max, 0);
	if (expect_empty) /* do not try first: the socket was just drained */
		sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
	io_uring_sqe_set_data(sqe, op);
}

void ring_recvmsg(struct ring *ring, struct ring_op *op, int fd, struct msghdr *message)
{
	struct io_uring_sqe *sqe = ring_claim(ring, op);

	io_uring_prep_recvmsg(sqe, fd, message, 0);
	io_uring_sqe_set_data(sqe, op);
}

void ring_sendmsg(struct ring *ring, struct ring_op *op, int fd, const struct msghdr *message)
{
	struct io_uring_sqe *sqe = ring_claim(ring, op);

	io_uring_prep_sendmsg(sqe, fd, message, MSG_NOSIGNAL | MSG_WAITALL);
	io_uring_sqe_set_data(sqe, op);
}

void ring_accept(struct ring *ring, struct ring_op *op, int fd)
{
	struct io_uring_sqe *sqe = ring_claim(ring, op);

	io_uring_prep_accept(sqe, fd, NULL, NULL, SOCK_CLOEXEC);
	io_uring_sqe_set_data(sqe, op);
}

void ring_poll_readable(struct ring *ring, struct ring_op *op, int fd)
{
	struct io_uring_sqe *sqe = ring_claim(ring, op);

	io_uring_prep_poll_add(sqe, fd, POLLIN | POLLRDHUP);
	io_uring_sqe_set_data(sqe, op);
}

void ring_read(struct ring *ring, struct ring_op *op, int fd, void *bytes, size_t bytes_max)
{
	struct io_uring_sqe *sqe = ring_claim(ring, op);

	io_uring_prep_read(sqe, fd, bytes, (unsigned) bytes_max, (uint64_t) -1);
	io_uring_sqe_set_data(sqe, op);
}

/* ---- files ---- */

static void ring_file_submit(struct ring *ring, struct ring_op *op)
{
	struct io_uring_sqe *sqe = ring_sqe(ring);

	switch (op->file.kind) {
	case RING_FILE_READ:
		io_uring_prep_read(sqe, op->file.fd, op->file.bytes, op->file.bytes_count,
		                   op->file.offset);
		break;
	case RING_FILE_WRITE:
		io_uring_prep_write(sqe, op->file.fd, op->file.bytes, op->file.bytes_count,
		                    op->file.offset);
		if (op->file.bytes_count > RING_COPY_BYTES_MAX)
			sqe->flags |= IOSQE_ASYNC;
		break;
	case RING_FILE_WRITE_DURABLE:
		io_uring_prep_write(sqe, op->file.fd, op->file.bytes, op->file.bytes_count,
		                    op->file.offset);
		sqe->rw_flags = RWF_DSYNC;
		break;
	case RING_FILE_FLUSH:
		io_uring_prep_fsync(sqe, op->file.fd, IORING_FSYNC_DATASYNC);
		break;
	}
	io_uring_sqe_set_data(sqe, op);
}

static void ring_files_begin(struct ring *ring)
{
	struct share_node *node;

	while ((node = share_take(&ring->files)))
		ring_file_submit(ring, container_of(node, struct ring_op, node));
}

/* op->file is set. */
static void ring_file(struct ring *ring, struct ring_op *op)
{
	assert(op->done);
	assert(!op->in_flight);
	op->in_flight = true;
	ring->in_flight++;
	if (op->group) {
		share_add(&ring->files, &op->node, op->group);
		ring_files_begin(ring);
	} else {
		ring_file_submit(ring, op);
	}
}

static void ring_file_data(struct ring *ring, struct ring_op *op, enum ring_file_kind kind, int fd,
                           const void *bytes, uint32_t bytes_count, uint64_t offset)
{
	assert(offset <= INT64_MAX);
	op->file.kind = kind;
	op->file.fd = fd;
	op->file.bytes = (void *) (uintptr_t) bytes;
	op->file.bytes_count = bytes_count;
	op->file.offset = offset;
	ring_file(ring, op);
}

void ring_pread(struct ring *ring, struct ring_op *op, int fd, void *bytes, uint32_t bytes_max,
                uint64_t offset)
{
	ring_file_data(ring, op, RING_FILE_READ, fd, bytes, bytes_max, offset);
}

void ring_pwrite(struct ring *ring, struct ring_op *op, int fd, const void *bytes,
                 uint32_t bytes_count, uint64_t offset)
{
	ring_file_data(ring, op, RING_FILE_WRITE, fd, bytes, bytes_count, offset);
}

void ring_pwrite_durable(struct ring *ring, struct ring_op *op, int fd, const void *bytes,
                         uint32_t bytes_count, uint64_t offset)
{
	ring_file_data(ring, op, RING_FILE_WRITE_DURABLE, fd, bytes, bytes_count, offset);
}

void ring_fdatasync(struct ring *ring, struct ring_op *op, int fd)
{
	op->file.kind = RING_FILE_FLUSH;
	op->file.fd = fd;
	ring_file(ring, op);
}

void ring_cancel(struct ring *ring, struct ring_op *op)
{
	struct io_uring_sqe *sqe;

	if (!op->in_flight)
		return;
	sqe = ring_sqe(ring);
	io_uring_prep_cancel(sqe, op, 0);
	io_uring_sqe_set_data(sqe, NULL);
}

static void ring_file_ended(struct ring *ring, struct ring_op *op)
{
	share_end(&ring->files, op->node.group);
	op->node.group = 0;
	ring_files_begin(ring);
}

/* Submits, and looks for completions for a moment if that is worth it. True: there are some. */
static bool ring_poll_busily(struct ring *ring)
{
	uint64_t span_ns, begun_ns;
	bool found = false;

	span_ns = ring->busy_may && ring->busy_may(ring->busy_context)
	                  ? busy_poll_begin(&ring->busy)
	                  : 0;
	if (span_ns == 0)
		return false;
	begun_ns = clock_ns(CLOCK_MONOTONIC);
	(void) io_uring_submit_and_get_events(&ring->uring);
	if (io_uring_cq_ready(&ring->uring) > 0)
		return true; /* nothing was waited for */
	while (!found && clock_ns(CLOCK_MONOTONIC) - begun_ns < span_ns) {
		(void) io_uring_get_events(&ring->uring);
		found = io_uring_cq_ready(&ring->uring) > 0;
	}
	busy_poll_end(&ring->busy, found);
	return found;
}

int ring_run(struct ring *ring, unsigned wait_ms)
{
	struct __kernel_timespec wait = {
		.tv_sec = wait_ms / 1000,
		.tv_nsec = (wait_ms % 1000) * 1000000LL,
	};
	struct {
		struct ring_op *op;
		int result;
	} batch[RING_BATCH_MAX];
	struct io_uring_cqe *cqes[RING_BATCH_MAX];
	unsigned count;
	int r = 0;

	if (wait_ms == 0 || !ring_poll_busily(ring))
		r = io_uring_submit_and_wait_timeout(&ring->uring, cqes, 1, &wait, NULL);
	if (r < 0 && r != -ETIME && r != -EINTR && r != -EBUSY && r != -EAGAIN)
		return r;

	count = io_uring_peek_batch_cqe(&ring->uring, cqes, RING_BATCH_MAX);
	for (unsigned i = 0; i < count; i++) {
		batch[i].op = io_uring_cqe_get_data(cqes[i]);
		batch[i].result = cqes[i]->res;
	}
	io_uring_cq_advance(&ring->uring, count);

	for (unsigned i = 0; i < count; i++) {
		if (!batch[i].op) /* a cancellation's own */
			continue;
		assert(batch[i].op->in_flight);
		batch[i].op->in_flight = false;
		ring->in_flight--;
		if (batch[i].op->node.group)
			ring_file_ended(ring, batch[i].op);
		batch[i].op->done(batch[i].op, batch[i].result); /* may free the op's owner */
	}
	return (int) count;
}
