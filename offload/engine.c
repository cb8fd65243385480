/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c - what the engines share.
 */
#include "offload/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"
#include "vfs/space.h"

enum {
	NS_PER_MS = 1000000,
	PACE_SLEEP_NS_MAX = 100 * NS_PER_MS, /* then look whether to stop */
	IDLE_NICE = 10,
};

int engine_zero_hole(const struct engine_copy *copy, uint64_t from, uint64_t to)
{
	to = to < copy->zero_to ? to : copy->zero_to;
	return from < to ? vfs_zero(copy->destination_fd, from, to - from) : 0;
}

uint64_t engine_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* io_uring takes the priority of the thread that submits. Neither call can fail in a way that
 * matters: without it the copy is merely less polite. */
void engine_thread_idle(void)
{
	(void) syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
	               IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	(void) setpriority(PRIO_PROCESS, (id_t) syscall(SYS_gettid), IDLE_NICE);
}

/* Some file systems take O_DIRECT at open and refuse it at the first read. */
static bool direct_works(int fd)
{
	AUTO(free_ptr) void *bytes = aligned_alloc(ENGINE_ALIGN_BYTES, ENGINE_ALIGN_BYTES);

	return bytes && pread(fd, bytes, ENGINE_ALIGN_BYTES, 0) >= 0;
}

int engine_open_direct(int fd, int flags, int *ret_fd, bool *ret_direct)
{
	AUTO(close_fd) int opened = -EBADF;
	int r;

	*ret_direct = false;
	if (vfs_reopen(fd, flags | O_DIRECT, &opened) == 0 && direct_works(opened)) {
		*ret_fd = take_fd(&opened);
		*ret_direct = true;
		return 0;
	}
	close_fd(&opened);
	opened = -EBADF;
	r = vfs_reopen(fd, flags, &opened);
	if (r == 0)
		*ret_fd = take_fd(&opened);
	return r;
}

/* Both may be on one disk. */
void engine_disks_enter(struct engine_disks *use, struct disks *disks, int fd, int other_fd)
{
	*use = (struct engine_disks){ disks, { disks_enter(disks, fd) } };
	if (other_fd < 0)
		return;
	use->at[1] = disks_enter(disks, other_fd);
	if (use->at[1] == use->at[0]) {
		disks_leave(disks, use->at[1]);
		use->at[1] = NULL;
	}
}

void engine_disks_leave(struct engine_disks *use)
{
	for (size_t i = 0; i < ARRAY_COUNT(use->at); i++) {
		disks_leave(use->disks, use->at[i]);
		use->at[i] = NULL;
	}
}

uint32_t engine_disks_window(const struct engine_disks *use)
{
	uint32_t one = disks_window(use->disks, use->at[0]);
	uint32_t other = disks_window(use->disks, use->at[1]);

	return one < other ? one : other;
}

int engine_advance(uint32_t *done, uint32_t count, int result)
{
	uint32_t now = *done + (uint32_t) result;

	if (now >= count)
		now = count;
	else
		now &= ~(uint32_t) (ENGINE_ALIGN_BYTES - 1);
	if (now == *done)
		return -EAGAIN;
	*done = now;
	return 0;
}

uint64_t engine_pace_ns(struct engine_control *control, uint64_t bytes)
{
	uint64_t wait_ns;

	if (!control->rate)
		return 0;
	pthread_mutex_lock(&control->rate->lock);
	wait_ns = rate_take(&control->rate->rate, engine_now_ns(), bytes);
	pthread_mutex_unlock(&control->rate->lock);
	return wait_ns;
}

int engine_pace(struct engine_control *control, uint64_t bytes)
{
	uint64_t wait_ns;

	for (;;) {
		if (atomic_load(&control->cancel))
			return -ECANCELED;
		wait_ns = engine_pace_ns(control, bytes);
		if (wait_ns == 0)
			return 0;
		wait_ns = wait_ns < PACE_SLEEP_NS_MAX ? wait_ns : PACE_SLEEP_NS_MAX;
		(void) nanosleep(&(struct timespec){ .tv_nsec = (long) wait_ns }, NULL);
	}
}
