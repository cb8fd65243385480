/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - what moves bytes: each a plain function that blocks until it is done.
 *
 * They know files by descriptors, nothing of jobs. They return 0 or a negative errno; two have a
 * meaning of their own here: -ECANCELED, and -ETXTBSY: the source changed.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "offload/disks.h"
#include "offload/rate.h"

enum {
	ENGINE_CHECKSUM_BYTES = 16, /* XXH3-128, canonical */
	ENGINE_ALIGN_BYTES = 4096,  /* of memory and offsets for O_DIRECT */
	ENGINE_CHECKPOINT_MS = 2000,
};

/* One limit for all engines that run. */
struct engine_rate {
	pthread_mutex_t lock;
	struct rate rate;
};

/* Between an engine and who watches it. */
struct engine_control {
	atomic_bool cancel;
	atomic_uint_fast64_t done_bytes;  /* of the file: everything before is dealt with */
	atomic_uint_fast64_t moved_bytes; /* read or written by us */
	struct engine_rate *rate;         /* NULL: no limit */
	struct disks *disks;              /* NULL: nobody else is there */
	/* All before @durable_bytes is on disk; NULL: nobody wants to know. Negative stops. */
	int (*checkpoint)(void *context, uint64_t durable_bytes);
	void *context;
};

struct engine_copy {
	int source_fd, destination_fd;
	uint64_t bytes;   /* the source's length; the destination has it already */
	uint64_t from;    /* begin here, aligned: what is before was copied by an earlier run */
	uint64_t zero_to; /* before this the destination may have old data where the source has
	                     holes: zeros go there, and its space is not given up */
	bool skip_zeros;  /* runs of zeros in the data become holes; the destination is all hole */
	bool checksum;    /* only with from == 0 */
};

/* io_uring, O_DIRECT where possible, several requests in flight; holes stay holes. */
int engine_ring_copy(const struct engine_copy *copy, struct engine_control *control,
                     uint8_t ret_checksum[ENGINE_CHECKSUM_BYTES]);

/* copy_file_range(2), for file systems that do it themselves. No checksum. */
int engine_kernel_copy(const struct engine_copy *copy, struct engine_control *control);

/* Would copy_file_range(2) between these be done by the file system (or its server)? */
bool engine_kernel_offloads(int source_fd, int destination_fd);

int engine_read(int fd, uint64_t bytes, struct engine_control *control,
                uint8_t ret_checksum[ENGINE_CHECKSUM_BYTES]);

/* Blocks of zeros become holes; @scratch_fd as for vfs_punch(). @ret_zero_bytes: how many there
 * were (and, unless @dry_run, are holes now). */
int engine_punch(int fd, int scratch_fd, uint64_t bytes, bool dry_run,
                 struct engine_control *control, uint64_t *ret_zero_bytes);

/* ---- shared by the engines ---- */

uint64_t engine_now_ns(void);

/* A hole of the source, as far as the destination may have old data there: zeros. */
int engine_zero_hole(const struct engine_copy *copy, uint64_t from, uint64_t to);

/* This thread's I/O gives way to everybody else's. */
void engine_thread_idle(void);

static inline uint64_t engine_align_up(uint64_t value)
{
	return (value + ENGINE_ALIGN_BYTES - 1) & ~(uint64_t) (ENGINE_ALIGN_BYTES - 1);
}

/* How far a read or write of @count bytes has come with @result more: whole blocks, as direct I/O
 * goes on from there, or all of it. -EAGAIN: not a block further, so going on would not end. */
int engine_advance(uint32_t *done, uint32_t count, int result);

/* The disks of one copy; beside NULL in both there is no limit but the largest window. */
struct engine_disks {
	struct disks *disks;
	struct disk *at[2];
};
void engine_disks_enter(struct engine_disks *use, struct disks *disks, int fd, int other_fd);
void engine_disks_leave(struct engine_disks *use);

/* Bytes that the copy may have in flight now. */
uint32_t engine_disks_window(const struct engine_disks *use);

/* Open once more for direct I/O if the file takes it (*ret_direct), else as it is. */
int engine_open_direct(int fd, int flags, int *ret_fd, bool *ret_direct);

/* Wait until the rate allows @bytes more. -ECANCELED. */
int engine_pace(struct engine_control *control, uint64_t bytes);

/* Nanoseconds until it does; 0: taken. */
uint64_t engine_pace_ns(struct engine_control *control, uint64_t bytes);
