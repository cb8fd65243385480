/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit.c - group commit: the gate of group_commit.h, driven by the ring.
 *
 * One flush's life:
 *
 *     vfs_file_commit  joins the gate; the first to join schedules a flush for the turn's end, so
 *                      that all writes completing in this turn share it
 *     flush_start      fdatasync(2) on the ring of the loop that scheduled it
 *     flush_ended      answers whom it covered, each on its own loop; starts the next one
 */
#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/vfs_internal.h"

static void flush_start(struct loop_task *task);
static void flush_ended(struct ring_op *op, int result);

void vfs_file_dirtied(struct vfs_file *file)
{
	if (!atomic_exchange(&file->dirty, true))
		atomic_store(&file->dirty_ms, vfs_now_ms());
}

void vfs_flush_failed(struct vfs *vfs, int error)
{
	if (vfs->flush_failed)
		vfs->flush_failed(vfs->told_context, error);
}

static void flush_schedule(struct vfs_file *file, struct loop *loop)
{
	file->flush_loop = loop;
	file->flush_task.run = flush_start;
	loop_turn_end(loop, &file->flush_task);
}

void vfs_file_commit(struct vfs_file *file, struct vfs_commit *commit)
{
	bool begin;

	assert(commit->done && commit->loop);
	assert(vfs_file_is(file, VFS_OPEN_READ));
	pthread_mutex_lock(&file->commit_lock);
	begin = group_commit_join(&file->gate, &commit->waiter);
	pthread_mutex_unlock(&file->commit_lock);
	if (begin) {
		atomic_fetch_add(&file->refs, 1); /* the flush's */
		flush_schedule(file, commit->loop);
	}
}

static void flush_start(struct loop_task *task)
{
	struct vfs_file *file = container_of(task, struct vfs_file, flush_task);

	pthread_mutex_lock(&file->commit_lock);
	group_commit_flush_begins(&file->gate);
	pthread_mutex_unlock(&file->commit_lock);
	/* Before, not after: what is written while the flush runs makes the file dirty again. */
	atomic_store(&file->dirty, false);
	file->flush_op.done = flush_ended;
	file->flush_op.group = file->export->fs.device;
	ring_fdatasync(loop_ring(file->flush_loop), &file->flush_op, file->fd);
}

static void commit_answer(struct loop_task *task)
{
	struct vfs_commit *commit = container_of(task, struct vfs_commit, task);

	commit->done(commit, commit->error); /* commit may be gone */
}

static void flush_ended(struct ring_op *op, int result)
{
	struct vfs_file *file = container_of(op, struct vfs_file, flush_op);
	struct loop *loop = file->flush_loop;
	struct group_commit_waiter *waiter;
	unsigned covered = 0;
	bool again;

	/* The kernel tells an error once: everybody must hear of it before anybody is answered. */
	if (result < 0)
		vfs_flush_failed(file->vfs, result);
	pthread_mutex_lock(&file->commit_lock);
	waiter = group_commit_flush_ends(&file->gate, &again);
	pthread_mutex_unlock(&file->commit_lock);
	while (waiter) {
		struct vfs_commit *commit = container_of(waiter, struct vfs_commit, waiter);

		waiter = waiter->next;
		covered++;
		commit->error = result < 0 ? result : 0;
		commit->task.run = commit_answer;
		if (commit->loop == loop)
			commit_answer(&commit->task);
		else
			loop_post(commit->loop, &commit->task);
	}
	atomic_fetch_add_explicit(&file->vfs->flushes, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&file->vfs->flush_waiters, covered, memory_order_relaxed);
	if (again)
		flush_schedule(file, loop);
	else
		vfs_file_put(file);
}

int vfs_file_flush(struct vfs_file *file)
{
	int r;

	atomic_store(&file->dirty, false);
	r = fsync(file->fd) < 0 ? -errno : 0;
	if (r < 0)
		vfs_flush_failed(file->vfs, r);
	return r;
}
