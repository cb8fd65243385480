/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - io_uring(7): start an operation, be called when it is done.
 *
 * One ring belongs to one thread, which opens it, submits to it and runs it. An operation is
 * embedded in whoever waits for it and its address is the cookie; the caller keeps it, the buffers
 * and the descriptor alive until done() was called. done() is never called from inside a ring_
 * function other than ring_run(); it may start further operations, and it may free the operation
 * itself.
 *
 * Results are those of the system call: a count, or a negative errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "vfs/io/share.h"

struct ring;

enum ring_file_kind {
	RING_FILE_READ,
	RING_FILE_WRITE,
	RING_FILE_WRITE_DURABLE,
	RING_FILE_FLUSH,
};

struct ring_op {
	void (*done)(struct ring_op *op, int result);
	/* For files: what file system it may wait for; the kernel's threads are shared out by
	 * that (share.h). 0: it never waits. */
	uint64_t group;
	bool in_flight;
	/* The ring's, while it waits for its turn. */
	struct share_node node;
	struct {
		enum ring_file_kind kind;
		int fd;
		void *bytes;
		uint32_t bytes_count;
		uint64_t offset;
	} file;
};

/**
 * ring_open() - make a ring for the calling thread
 * @entries:  submissions gathered before the kernel is asked; more are sent early, not refused
 * @ret_ring: set on success; ring_close() in the end
 * @reterr_hint: on failure what the administrator can do about it, a constant text
 *
 * Return: 0, or a negative errno: -EPERM io_uring is disabled or filtered, -ENOSYS the kernel has
 * none,
 *         -EOPNOTSUPP it lacks an operation we need, -ENOMEM.
 */
int ring_open(unsigned entries, struct ring **ret_ring, const char **reterr_hint);

/* No operation may be in flight. Takes NULL. */
struct ring *ring_close(struct ring *ring);

void ring_recv(struct ring *ring, struct ring_op *op, int fd, void *bytes, size_t bytes_max,
               bool expect_empty);
void ring_recvmsg(struct ring *ring, struct ring_op *op, int fd, struct msghdr *message);
void ring_sendmsg(struct ring *ring, struct ring_op *op, int fd, const struct msghdr *message);
void ring_accept(struct ring *ring, struct ring_op *op, int fd);
void ring_poll_readable(struct ring *ring, struct ring_op *op, int fd);
void ring_read(struct ring *ring, struct ring_op *op, int fd, void *bytes, size_t bytes_max);
void ring_pread(struct ring *ring, struct ring_op *op, int fd, void *bytes, uint32_t bytes_max,
                uint64_t offset);
void ring_pwrite(struct ring *ring, struct ring_op *op, int fd, const void *bytes,
                 uint32_t bytes_count, uint64_t offset);
/* The same, and it is durable when it ends (RWF_DSYNC). */
void ring_pwrite_durable(struct ring *ring, struct ring_op *op, int fd, const void *bytes,
                         uint32_t bytes_count, uint64_t offset);
void ring_fdatasync(struct ring *ring, struct ring_op *op, int fd);

/* Ask for the end of an operation in flight; its done() comes, with -ECANCELED if it was in
 * time. */
void ring_cancel(struct ring *ring, struct ring_op *op);

/* For how long to look for completions before going to sleep, where that is worth it (busy_poll.h)
 * and @may says so. As it is at first, never. */
void ring_busy_poll_set(struct ring *ring, unsigned span_us, bool (*may)(void *context),
                        void *context);

/* Operations in flight, for the loop's end. */
unsigned ring_in_flight(const struct ring *ring);

/**
 * ring_run() - hand over what was started, wait for completions, call back
 * @wait_ms: longest wait if nothing is done yet; 0 does not wait
 *
 * What a callback starts is handed over by the next call, so one busy client cannot starve the
 * rest.
 *
 * Return: completions handled, or a negative errno from io_uring_enter(2).
 */
int ring_run(struct ring *ring, unsigned wait_ms);
