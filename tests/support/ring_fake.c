/* SPDX-License-Identifier: Apache-2.0 */
#include "support/ring_fake.h"

#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct ring {
	struct ring_fake_call *first, **last;
	unsigned in_flight;
	bool running; /* inside ring_run(), before its callbacks */
};

static struct ring_fake_behaviour ring_behaviour;

void ring_fake_behave(const struct ring_fake_behaviour *behaviour)
{
	ring_behaviour = *behaviour;
}

int ring_open(unsigned entries, struct ring **ret_ring, const char **reterr_hint)
{
	struct ring *ring = calloc(1, sizeof *ring);

	assert(ring && entries > 0);
	(void) reterr_hint;
	ring->last = &ring->first;
	*ret_ring = ring;
	return 0;
}

struct ring *ring_close(struct ring *ring)
{
	if (!ring)
		return NULL;
	assert(ring->in_flight == 0);
	free(ring);
	return NULL;
}

void ring_busy_poll_set(struct ring *ring, unsigned span_us, bool (*may)(void *context),
                        void *context)
{
	(void) ring;
	(void) span_us;
	(void) may;
	(void) context;
}

unsigned ring_in_flight(const struct ring *ring)
{
	return ring->in_flight;
}

static struct ring_fake_call *ring_claim(struct ring *ring, struct ring_op *op,
                                         enum ring_fake_kind kind, int fd)
{
	struct ring_fake_call *call = calloc(1, sizeof *call);

	assert(call && op->done && !op->in_flight && !ring->running);
	op->in_flight = true;
	ring->in_flight++;
	call->kind = kind;
	call->op = op;
	call->fd = fd;
	*ring->last = call;
	ring->last = &call->next;
	return call;
}

static void ring_claim_bytes(struct ring *ring, struct ring_op *op, enum ring_fake_kind kind,
                             int fd, const void *bytes, size_t count, uint64_t offset)
{
	struct ring_fake_call *call = ring_claim(ring, op, kind, fd);

	assert(offset <= INT64_MAX && count > 0);
	call->bytes = (void *) (uintptr_t) bytes;
	call->count = count;
	call->offset = offset;
}

void ring_recv(struct ring *ring, struct ring_op *op, int fd, void *bytes, size_t bytes_max,
               bool expect_empty)
{
	(void) expect_empty;
	ring_claim_bytes(ring, op, RING_FAKE_RECV, fd, bytes, bytes_max, 0);
}

void ring_recvmsg(struct ring *ring, struct ring_op *op, int fd, struct msghdr *message)
{
	ring_claim(ring, op, RING_FAKE_RECVMSG, fd)->message = message;
}

void ring_sendmsg(struct ring *ring, struct ring_op *op, int fd, const struct msghdr *message)
{
	ring_claim(ring, op, RING_FAKE_SENDMSG, fd)->message = message;
}

void ring_accept(struct ring *ring, struct ring_op *op, int fd)
{
	(void) ring_claim(ring, op, RING_FAKE_ACCEPT, fd);
}

void ring_poll_readable(struct ring *ring, struct ring_op *op, int fd)
{
	(void) ring_claim(ring, op, RING_FAKE_POLL, fd);
}

void ring_read(struct ring *ring, struct ring_op *op, int fd, void *bytes, size_t bytes_max)
{
	ring_claim_bytes(ring, op, RING_FAKE_READ, fd, bytes, bytes_max, 0);
}

void ring_pread(struct ring *ring, struct ring_op *op, int fd, void *bytes, uint32_t bytes_max,
                uint64_t offset)
{
	ring_claim_bytes(ring, op, RING_FAKE_PREAD, fd, bytes, bytes_max, offset);
}

void ring_pwrite(struct ring *ring, struct ring_op *op, int fd, const void *bytes,
                 uint32_t bytes_count, uint64_t offset)
{
	ring_claim_bytes(ring, op, RING_FAKE_PWRITE, fd, bytes, bytes_count, offset);
}

void ring_pwrite_durable(struct ring *ring, struct ring_op *op, int fd, const void *bytes,
                         uint32_t bytes_count, uint64_t offset)
{
	ring_claim_bytes(ring, op, RING_FAKE_PWRITE_DURABLE, fd, bytes, bytes_count, offset);
}

void ring_fdatasync(struct ring *ring, struct ring_op *op, int fd)
{
	(void) ring_claim(ring, op, RING_FAKE_FDATASYNC, fd);
}

void ring_cancel(struct ring *ring, struct ring_op *op)
{
	for (struct ring_fake_call *call = ring->first; call; call = call->next)
		if (call->op == op)
			call->cancelled = true;
}

/* Takes the calls that have an answer out of the ring; their results go where the counts were. */
static struct ring_fake_call *ring_take_answered(struct ring *ring)
{
	struct ring_fake_call *answered = NULL, **answered_last = &answered;
	struct ring_fake_call **slot = &ring->first;

	while (*slot) {
		struct ring_fake_call *call = *slot;
		int result = call->cancelled ? -ECANCELED
		                             : ring_behaviour.answer(ring_behaviour.context, call);

		if (result == RING_FAKE_LATER) {
			slot = &call->next;
			continue;
		}
		*slot = call->next;
		call->next = NULL;
		call->fd = result;
		*answered_last = call;
		answered_last = &call->next;
	}
	ring->last = slot;
	return answered;
}

int ring_run(struct ring *ring, unsigned wait_ms)
{
	struct ring_fake_call *answered;
	int count = 0;

	(void) wait_ms;
	ring->running = true;
	answered = ring_take_answered(ring);
	ring->running = false;
	while (answered) {
		struct ring_fake_call *call = answered;
		struct ring_op *op = call->op;
		int result = call->fd;

		answered = call->next;
		free(call);
		assert(op->in_flight);
		op->in_flight = false;
		ring->in_flight--;
		count++;
		op->done(op, result); /* op may be gone */
	}
	if (count == 0 && ring_behaviour.idle)
		ring_behaviour.idle(ring_behaviour.context);
	return count;
}
