/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_common.c - the jobs that have one file: reserve, checksum, punch; and what all share.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "offload/jobs_internal.h"
#include "offload/status.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"

enum {
	STAT_BLOCK_BYTES = 512,
	/* ESXi writes to a lock every 10 s and takes one for stale after about 35. */
	LOCK_FRESH_S = 60,
	LOCK_NAME_BYTES = 32,
	SETTLE_STEP_US = 1000,
	SETTLE_TRIES = 100,          /* a tick is 1 to 10 ms */
	SETTLE_AHEAD_NS = 500000000, /* more: the clock was set back, no write has that time */
};

void job_engine(struct job *job, const char *engine)
{
	job_lock(job);
	snprintf(job->record.engine, sizeof job->record.engine, "%s", engine);
	job_unlock(job);
}

void job_note_failure(struct job *job, const char *step, int error)
{
	job_lock(job);
	if (job->record.status == OFFLOAD_OK) {
		job->record.status = offload_status_of(error);
		snprintf(job->record.text, sizeof job->record.text, "%s: %s", step,
		         offload_error_text(error));
	}
	job_unlock(job);
}

int run_flush(struct job *job, int fd)
{
	int r;

	disks_flush_begin(&job->jobs->disks);
	r = fsync(fd) < 0 ? -errno : 0;
	disks_flush_end(&job->jobs->disks);
	return r;
}

uint64_t run_ctime_ns(const struct stat *stat)
{
	return (uint64_t) stat->st_ctim.tv_sec * 1000000000u + (uint64_t) stat->st_ctim.tv_nsec;
}

void run_settle(uint64_t ctime_ns)
{
	for (unsigned i = 0; i < SETTLE_TRIES; i++) {
		/* The clock that files have their times of. */
		uint64_t now_ns = clock_ns(CLOCK_REALTIME_COARSE);

		if (now_ns > ctime_ns || ctime_ns - now_ns > SETTLE_AHEAD_NS)
			return;
		usleep(SETTLE_STEP_US);
	}
}

int run_open(struct job *job, const struct vfs_handle *handle, enum vfs_open open,
             struct vfs_file **ret_file, struct stat *ret_stat)
{
	int r = vfs_file_open(job->jobs->vfs, handle->bytes, handle->count, ret_file);

	if (r < 0)
		return r;
	if (vfs_file_type(*ret_file) != VFS_REGULAR)
		r = -OFFLOAD_ENOTFILE;
	if (r == 0)
		r = vfs_file_need(*ret_file, open);
	if (r == 0 && fstat(vfs_file_fd(*ret_file), ret_stat) < 0)
		r = -errno;
	if (r < 0)
		*ret_file = vfs_file_put(*ret_file);
	return r;
}

void run_put(struct vfs_file **file)
{
	*file = vfs_file_put(*file);
}

static void set_total(struct job *job, uint64_t bytes)
{
	job_lock(job);
	job->record.bytes_total = bytes;
	job_unlock(job);
}

/* How the file is left: what a call that is sent again compares with. */
static int note_end(struct job *job, int fd)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -errno;
	job_lock(job);
	job->record.source.ctime_ns = run_ctime_ns(&stat);
	job_unlock(job);
	run_settle(run_ctime_ns(&stat));
	return 0;
}

/* ---- reserve ---- */

static bool reserve_step(void *context, uint64_t bytes)
{
	struct job *job = context;

	atomic_fetch_add(&job->control.done_bytes, bytes);
	return !atomic_load(&job->control.cancel);
}

int run_reserve(struct job *job, bool slow, const char **ret_step)
{
	AUTO(run_put) struct vfs_file *file = NULL;
	AUTO(close_fd) int scratch_fd = -EBADF;
	struct vfs_steps steps = { reserve_step, job };
	uint64_t bytes, holes, shared, allocated = 0;
	struct stat stat;
	int r;

	*ret_step = "opening the file";
	r = run_open(job, &job->record.source.handle, VFS_OPEN_READ_WRITE, &file, &stat);
	if (r < 0)
		return r;
	bytes = job->record.reserve_bytes ? job->record.reserve_bytes : (uint64_t) stat.st_size;
	set_total(job, bytes);
	job_engine(job, "allocate");
	*ret_step = "reserving space";
	if (bytes == 0)
		return note_end(job, vfs_file_fd(file));
	r = vfs_reserve_need(vfs_file_fd(file), bytes, &holes, &shared);
	if (r == 0 && shared > 0 && !slow)
		return -EAGAIN;
	/* Without it (not every file system has such files) only some cannot unshare. */
	if (r == 0 && shared > 0)
		(void) vfs_scratch_open(vfs_file_export(file), &scratch_fd);
	if (r == 0)
		r = vfs_reserve(vfs_file_fd(file), scratch_fd, bytes, &steps, &allocated);
	if (r < 0)
		return r;
	atomic_store(&job->control.done_bytes, bytes);
	atomic_store(&job->control.moved_bytes, allocated);
	return note_end(job, vfs_file_fd(file));
}

/* ---- checksum ---- */

int run_checksum(struct job *job, bool slow, const char **ret_step)
{
	AUTO(run_put) struct vfs_file *file = NULL;
	uint8_t checksum[ENGINE_CHECKSUM_BYTES];
	struct stat before, after;
	int r;

	*ret_step = "opening the file";
	if (!slow)
		return -EAGAIN;
	r = run_open(job, &job->record.source.handle, VFS_OPEN_READ, &file, &before);
	if (r < 0)
		return r;
	set_total(job, (uint64_t) before.st_size);
	job_engine(job, "read");
	*ret_step = "reading";
	run_settle(run_ctime_ns(&before));
	r = engine_read(vfs_file_fd(file), (uint64_t) before.st_size, &job->control, checksum);
	if (r == 0 && fstat(vfs_file_fd(file), &after) < 0)
		r = -errno;
	if (r == 0 && run_ctime_ns(&before) != run_ctime_ns(&after))
		r = -OFFLOAD_ECHANGED;
	if (r < 0)
		return r;
	job_lock(job);
	memcpy(job->record.checksum, checksum, sizeof checksum);
	job->record.has_checksum = true;
	job_unlock(job);
	return note_end(job, vfs_file_fd(file));
}

/* ---- punch ---- */

/* A host's lock: ".lck-" and the file's id in 16 hexadecimal digits, the lowest byte first. */
static int lock_check(struct job *job, const struct vfs_file *file)
{
	AUTO(run_put) struct vfs_file *dir = NULL;
	AUTO(run_put) struct vfs_file *lock = NULL;
	const struct vfs_handle *handle = &job->record.source.dir;
	char name[LOCK_NAME_BYTES];
	struct vfs_attr attr;
	int r;

	r = vfs_file_open(job->jobs->vfs, handle->bytes, handle->count, &dir);
	if (r == 0)
		r = vfs_file_attr(file, &attr);
	if (r < 0)
		return r;
	snprintf(name, sizeof name, ".lck-%016llx",
	         (unsigned long long) __builtin_bswap64(attr.fileid));
	r = vfs_lookup(dir, name, &lock);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = vfs_file_attr(lock, &attr);
	if (r < 0)
		return r;
	return attr.mtime.tv_sec + LOCK_FRESH_S > time(NULL) ? -OFFLOAD_ELOCKED : 0;
}

/* All hole, and as long as what is punched at once: what the kernel compares with. */
static int punch_scratch(const struct vfs_file *file)
{
	int fd = -EBADF;

	if (!vfs_can_share(vfs_file_export(file)) ||
	    vfs_scratch_open(vfs_file_export(file), &fd) < 0)
		return -EBADF;
	if (ftruncate(fd, VFS_PUNCH_BYTES_MAX) < 0) {
		close_fd(&fd);
		return -EBADF;
	}
	return fd;
}

int run_punch(struct job *job, bool slow, const char **ret_step)
{
	bool dry_run = job->record.flags & OFFLOAD_PUNCH_DRY_RUN;
	AUTO(run_put) struct vfs_file *file = NULL;
	AUTO(close_fd) int scratch_fd = -EBADF;
	struct stat before, after;
	uint64_t zero_bytes, freed;
	int r;

	*ret_step = "looking for a lock";
	r = run_open(job, &job->record.source.handle, VFS_OPEN_READ_WRITE, &file, &before);
	if (r == 0)
		r = lock_check(job, file);
	if (r < 0)
		return r;
	if (!slow)
		return -EAGAIN;
	set_total(job, (uint64_t) before.st_size);
	job_engine(job, "read");
	*ret_step = "punching";
	if (!dry_run)
		scratch_fd = punch_scratch(file);
	r = run_flush(job, vfs_file_fd(file));
	if (r == 0 && fstat(vfs_file_fd(file), &before) < 0)
		r = -errno;
	if (r == 0)
		r = engine_punch(vfs_file_fd(file), scratch_fd, (uint64_t) before.st_size, dry_run,
		                 &job->control, &zero_bytes);
	if (r == 0 && fstat(vfs_file_fd(file), &after) < 0)
		r = -errno;
	if (r < 0)
		return r;
	freed = after.st_blocks < before.st_blocks
	                ? (uint64_t) (before.st_blocks - after.st_blocks) * STAT_BLOCK_BYTES
	                : 0;
	atomic_store(&job->control.moved_bytes, dry_run ? zero_bytes : freed);
	return note_end(job, vfs_file_fd(file));
}
