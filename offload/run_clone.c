/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_clone.c - a clone's life. The phases are job.h's; each is in the journal before what it names
 * is done.
 *
 *     run_clone        the source: is it a file, has it changed since an earlier run?
 *       into_new       an unnamed file is filled, flushed, noted (PLACING), linked
 *       into_existing  noted (FILLING), filled from durable_bytes on, flushed
 *       put_back       it failed: noted (EMPTYING), emptied to its former length
 *     fill             share extents; or copy, checked against changes; compared if asked for
 *
 * Every step may be the last one before the process is killed, and may run again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "offload/jobs_internal.h"
#include "offload/status.h"
#include "vfs/base/cleanup.h"

enum {
	STAT_BLOCK_BYTES = 512,
	SET_ID_BITS = 06000,
};

/* With larger holes there is no checksum unless it is needed: going over zeros would take longer
 * than copying what there is. */
static const uint64_t checksum_holes_max = 4ull << 30;

struct clone {
	struct job *job;
	struct job_record *record; /* the job's; changed under its lock */
	struct vfs_file *source, *destination, *dir;
	struct stat source_stat;
	uint64_t bytes;
	int to_fd; /* borrowed */
	bool slow;
	const char *step;
};

static void clone_done(struct clone *clone)
{
	vfs_file_put(clone->source);
	vfs_file_put(clone->destination);
	vfs_file_put(clone->dir);
}

static int enter(struct clone *clone, enum job_phase phase)
{
	clone->step = "writing to the journal";
	job_lock(clone->job);
	job_enter(clone->record, phase);
	job_unlock(clone->job);
	return job_save(clone->job);
}

static bool cancelled(const struct clone *clone)
{
	return atomic_load(&clone->job->control.cancel);
}

/* ---- filling ---- */

static int checkpoint(void *context, uint64_t durable_bytes)
{
	struct clone *clone = context;

	job_lock(clone->job);
	clone->record->durable_bytes = durable_bytes;
	job_unlock(clone->job);
	return job_save(clone->job);
}

static int source_unchanged(struct clone *clone)
{
	struct stat now;

	clone->step = "looking at the source again";
	if (fstat(vfs_file_fd(clone->source), &now) < 0)
		return -errno;
	return run_ctime_ns(&now) == clone->record->source.ctime_ns ? 0 : -OFFLOAD_ECHANGED;
}

/* A disk that would be full half way is not filled up first: others use it. */
static int room_for_copy(struct clone *clone)
{
	uint64_t need = (uint64_t) clone->source_stat.st_blocks * STAT_BLOCK_BYTES;

	clone->step = "copying";
	if (need > clone->bytes) /* metadata, and what is allocated ahead */
		need = clone->bytes;
	return vfs_has_room(clone->to_fd, need) ? 0 : -ENOSPC;
}

static bool wants_checksum(const struct clone *clone)
{
	uint64_t data = (uint64_t) clone->source_stat.st_blocks * STAT_BLOCK_BYTES;

	return (clone->record->flags & OFFLOAD_CLONE_VERIFY) ||
	       clone->bytes <= data + checksum_holes_max;
}

/* Up to @zero_to the destination may have old data where the source has holes. */
static int copy(struct clone *clone, uint64_t from, uint64_t zero_to)
{
	struct engine_control *control = &clone->job->control;
	struct engine_copy args = {
		.source_fd = vfs_file_fd(clone->source),
		.destination_fd = clone->to_fd,
		.bytes = clone->bytes,
		.from = from,
		.zero_to = zero_to,
		.skip_zeros = (clone->record->flags & OFFLOAD_CLONE_THIN) && !clone->record->thick,
		.checksum = from == 0 && wants_checksum(clone),
	};
	uint8_t checksum[ENGINE_CHECKSUM_BYTES];
	int r;

	clone->step = "copying";
	run_settle(clone->record->source.ctime_ns);
	control->checkpoint = clone->destination ? checkpoint : NULL;
	control->context = clone;
	if (engine_kernel_offloads(args.source_fd, args.destination_fd)) {
		job_engine(clone->job, "kernel");
		args.checksum = false;
		r = engine_kernel_copy(&args, control);
	} else {
		job_engine(clone->job, "copy");
		r = engine_ring_copy(&args, control, checksum);
	}
	if (r == 0)
		r = source_unchanged(clone);
	if (r == 0 && args.checksum) {
		job_lock(clone->job);
		memcpy(clone->record->checksum, checksum, sizeof checksum);
		clone->record->has_checksum = true;
		job_unlock(clone->job);
	}
	return r;
}

/* Read what is on the disk, and the source as well if that has not been read whole. */
static int verify(struct clone *clone)
{
	struct engine_control *control = &clone->job->control;
	uint8_t source[ENGINE_CHECKSUM_BYTES], destination[ENGINE_CHECKSUM_BYTES];
	int r = 0;

	clone->step = "verifying";
	r = run_flush(clone->job, clone->to_fd);
	if (r < 0)
		return r;
	control->checkpoint = NULL;
	if (clone->record->has_checksum)
		memcpy(source, clone->record->checksum, sizeof source);
	else
		r = engine_read(vfs_file_fd(clone->source), clone->bytes, control, source);
	if (r == 0)
		r = engine_read(clone->to_fd, clone->bytes, control, destination);
	if (r == 0)
		r = source_unchanged(clone);
	if (r == 0 && memcmp(source, destination, sizeof source) != 0)
		r = -OFFLOAD_EDIFFERS;
	if (r == 0) {
		job_lock(clone->job);
		memcpy(clone->record->checksum, source, sizeof source);
		clone->record->has_checksum = true;
		job_unlock(clone->job);
	}
	return r;
}

/* 0: shared. -EOPNOTSUPP: cannot be, nothing was changed. */
static int share(struct clone *clone)
{
	int r;

	clone->step = "sharing extents";
	r = vfs_share(vfs_file_fd(clone->source), clone->to_fd);
	if (r == -EXDEV)
		r = -EOPNOTSUPP;
	if (r == 0) {
		job_engine(clone->job, "reflink");
		atomic_store(&clone->job->control.done_bytes, clone->bytes);
	}
	return r;
}

static bool verifies(const struct clone *clone)
{
	return clone->record->flags & OFFLOAD_CLONE_VERIFY;
}

/* ---- a new destination ---- */

/* After a restart in PLACING: is the name ours already? */
static int find_placed(struct clone *clone)
{
	AUTO(run_put) struct vfs_file *found = NULL;
	const struct vfs_handle *noted = &clone->record->destination.handle, *handle;
	int r;

	clone->step = "looking for the destination";
	r = vfs_lookup(clone->dir, clone->record->destination.name, &found);
	if (r < 0)
		return r;
	handle = vfs_file_handle(found);
	if (handle->count != noted->count || memcmp(handle->bytes, noted->bytes, noted->count) != 0)
		return -EEXIST;
	return run_flush(clone->job, vfs_file_fd(clone->dir));
}

static int fill_new(struct clone *clone)
{
	int r = share(clone);

	if (r == -EOPNOTSUPP && (clone->record->flags & OFFLOAD_CLONE_FAST))
		return r;
	if ((r == -EOPNOTSUPP || (r == 0 && verifies(clone))) && !clone->slow)
		return -EAGAIN;
	if (r == -EOPNOTSUPP) {
		r = room_for_copy(clone);
		if (r == 0)
			r = enter(clone, JOB_FILLING);
		if (r == 0 && ftruncate(clone->to_fd, (off_t) clone->bytes) < 0)
			r = -errno;
		if (r == 0)
			r = copy(clone, 0, 0);
	}
	if (r == 0 && verifies(clone))
		r = verify(clone);
	return r;
}

/* The source's mode but set-id bits, which no disk image has and the unit does not let us give; its
 * owner, too, if the caller may give files away. */
static int dress(struct clone *clone)
{
	const struct stat *like = &clone->source_stat;
	mode_t mode = like->st_mode & 07777 & ~(mode_t) SET_ID_BITS;
	bool is_root = clone->record->cred.uid == 0;

	clone->step = "giving it the source's mode";
	if (is_root && fchown(clone->to_fd, like->st_uid, like->st_gid) < 0)
		return -errno;
	if (fchmod(clone->to_fd, mode) < 0)
		return -errno;
	clone->step = "flushing the destination";
	return run_flush(clone->job, clone->to_fd);
}

static int place(struct clone *clone)
{
	struct vfs_handle handle;
	int r;

	clone->step = "naming the destination";
	r = vfs_unnamed_handle(clone->dir, clone->to_fd, &handle);
	if (r < 0)
		return r;
	job_lock(clone->job);
	clone->record->destination.handle = handle;
	job_unlock(clone->job);
	r = enter(clone, JOB_PLACING);
	if (r == 0) {
		clone->step = "naming the destination";
		vfs_identity_assume(&clone->record->cred);
		r = vfs_unnamed_link(clone->to_fd, vfs_file_fd(clone->dir),
		                     clone->record->destination.name);
		vfs_identity_server();
	}
	return r < 0 ? r : run_flush(clone->job, vfs_file_fd(clone->dir));
}

static int open_dir(struct clone *clone)
{
	const struct vfs_handle *handle = &clone->record->destination.dir;
	int r;

	clone->step = "opening the destination's directory";
	r = vfs_file_open(clone->job->jobs->vfs, handle->bytes, handle->count, &clone->dir);
	if (r == 0 && vfs_file_type(clone->dir) != VFS_DIRECTORY)
		r = -ENOTDIR;
	return r < 0 ? r : vfs_file_need(clone->dir, VFS_OPEN_READ);
}

static bool name_is_taken(struct clone *clone)
{
	AUTO(run_put) struct vfs_file *found = NULL;

	return vfs_lookup(clone->dir, clone->record->destination.name, &found) == 0;
}

static void forget_placed(struct clone *clone)
{
	job_lock(clone->job);
	if (clone->record->phase == JOB_PLACING)
		job_enter(clone->record, JOB_ACCEPTED);
	clone->record->destination.handle.count = 0;
	job_unlock(clone->job);
}

static int into_new(struct clone *clone)
{
	AUTO(close_fd) int fd = -EBADF;
	int r = open_dir(clone);

	if (r < 0)
		return r;
	if (clone->record->phase == JOB_PLACING) {
		r = find_placed(clone);
		if (r == -ENOENT || r == -EEXIST)
			forget_placed(clone); /* the unnamed file went with the process */
		if (r != -ENOENT)
			return r;
	}
	clone->step = "making the destination";
	if (cancelled(clone))
		return -ECANCELED;
	if (name_is_taken(clone))
		return -EEXIST;
	vfs_identity_assume(&clone->record->cred);
	r = vfs_unnamed_open(vfs_file_fd(clone->dir), 0600, &fd);
	vfs_identity_server();
	clone->to_fd = fd;
	if (r == 0)
		r = fill_new(clone);
	if (r == 0)
		r = dress(clone);
	if (r == 0 && cancelled(clone))
		r = -ECANCELED;
	if (r == 0)
		r = place(clone);
	if (r < 0)
		forget_placed(clone);
	return r;
}

/* ---- an existing destination ---- */

/* Everything out, its length and its reservation as they were. */
static int empty(struct clone *clone)
{
	off_t former = (off_t) clone->record->former_bytes;
	bool keep = clone->record->thick && former > 0;

	/* Zeros in place where the file system can (ext4): space that is given up may be somebody
	 * else's when it is wanted back. */
	if (!keep || vfs_zero(clone->to_fd, 0, (uint64_t) former) < 0) {
		if (ftruncate(clone->to_fd, 0) < 0)
			return -errno;
	}
	if (ftruncate(clone->to_fd, former) < 0 ||
	    (keep && fallocate(clone->to_fd, 0, 0, former) < 0))
		return -errno;
	return run_flush(clone->job, clone->to_fd);
}

/* The failure stays the one that was noted, whatever happens here. */
static void put_back(struct clone *clone, int error)
{
	job_note_failure(clone->job, clone->step, error);
	(void) enter(clone, JOB_EMPTYING);
	(void) empty(clone);
}

static int mark(struct clone *clone, const struct stat *stat)
{
	if (clone->record->phase != JOB_ACCEPTED)
		return 0;
	job_lock(clone->job);
	clone->record->former_bytes = (uint64_t) stat->st_size;
	clone->record->thick = stat->st_size > 0 && (uint64_t) stat->st_blocks * STAT_BLOCK_BYTES >=
	                                                    (uint64_t) stat->st_size;
	job_unlock(clone->job);
	return enter(clone, JOB_FILLING);
}

/* All the space a thick destination is to have, first: if there is none, and nothing of it has been
 * touched, it stays as it is. */
static int allocate(struct clone *clone)
{
	int r = clone->bytes > 0 ? vfs_allocate(clone->to_fd, clone->bytes) : 0;

	if (r < 0 && !clone->job->touched) /* gives back what lies behind the end */
		(void) !ftruncate(clone->to_fd, (off_t) clone->record->former_bytes);
	return r;
}

/* Thick: its own blocks are written, so the space cannot run out and stays its own. */
static int copy_into(struct clone *clone)
{
	uint64_t from = clone->record->durable_bytes & ~(uint64_t) (ENGINE_ALIGN_BYTES - 1);
	bool thick = clone->record->thick;
	/* What it grows by holds nothing, unless somebody began before. */
	uint64_t zero_to = clone->job->touched ? clone->bytes : clone->record->former_bytes;
	int r;

	clone->step = "preparing the destination";
	r = thick ? allocate(clone) : 0;
	if (r < 0)
		return r;
	clone->job->touched = true;
	if (from == 0 && !thick) {
		if (ftruncate(clone->to_fd, 0) < 0)
			return -errno;
		r = room_for_copy(clone);
	}
	if (r == 0 && ftruncate(clone->to_fd, (off_t) clone->bytes) < 0)
		r = -errno;
	return r < 0 ? r : copy(clone, from, thick ? zero_to : 0);
}

static int fill_existing(struct clone *clone)
{
	bool fast = clone->record->flags & OFFLOAD_CLONE_FAST;
	bool keep_thick = clone->record->thick && !fast && !clone->job->jobs->settings.thick_share;
	int r = -EOPNOTSUPP;

	/* What was half copied is copied on; sharing would be as right, but it was refused then. */
	if (!keep_thick && clone->record->durable_bytes == 0)
		r = share(clone);
	clone->job->touched |= r != -EOPNOTSUPP;
	if (r == -EOPNOTSUPP && fast)
		return r;
	if ((r == -EOPNOTSUPP || (r == 0 && verifies(clone))) && !clone->slow)
		return -EAGAIN;
	if (r == 0 && clone->record->thick) {
		job_lock(clone->job);
		snprintf(clone->record->text, sizeof clone->record->text,
		         "the destination's space is not reserved any more");
		job_unlock(clone->job);
	}
	if (r == -EOPNOTSUPP)
		r = copy_into(clone);
	if (r == 0 && verifies(clone))
		r = verify(clone);
	return r;
}

static int settle(struct clone *clone)
{
	AUTO(run_put) struct vfs_file *again = NULL;
	const struct vfs_handle *handle = &clone->record->destination.handle;
	struct stat stat;
	int r;

	clone->step = "flushing the destination";
	if (clone->record->cred.uid != 0)
		(void) vfs_drop_set_id(clone->destination);
	r = run_flush(clone->job, clone->to_fd);
	if (r == 0 && fstat(clone->to_fd, &stat) < 0)
		r = -errno;
	if (r < 0)
		return r;
	if (stat.st_nlink == 0)
		return -OFFLOAD_EGONE;
	/* Nobody may look at what an export holds that has been taken away. */
	r = vfs_file_open(clone->job->jobs->vfs, handle->bytes, handle->count, &again);
	return r == 0 && cancelled(clone) ? -ECANCELED : r;
}

static int into_existing(struct clone *clone)
{
	struct stat stat;
	int r;

	clone->step = "opening the destination";
	r = run_open(clone->job, &clone->record->destination.handle, VFS_OPEN_READ_WRITE,
	             &clone->destination, &stat);
	if (r < 0)
		return r == -ESTALE ? -OFFLOAD_EGONE : r;
	clone->to_fd = vfs_file_fd(clone->destination);
	/* Exports with an fsid= of their own make handles that do not tell. */
	if (stat.st_dev == clone->source_stat.st_dev && stat.st_ino == clone->source_stat.st_ino)
		return -OFFLOAD_ESAME;
	if (clone->record->phase == JOB_EMPTYING) {
		(void) empty(clone);
		return -ECANCELED; /* why it failed is noted already */
	}
	if (cancelled(clone) && clone->record->phase == JOB_ACCEPTED)
		return -ECANCELED;
	r = mark(clone, &stat);
	if (r == 0)
		r = cancelled(clone) ? -ECANCELED : fill_existing(clone);
	if (r == 0)
		r = settle(clone);
	/* Stopped with the process: it goes on from here after the next start. */
	if (r == -ECANCELED && job_is_only_stopped(clone->job))
		return r;
	if (r < 0 && clone->job->touched && (r != -EAGAIN || clone->slow))
		put_back(clone, r);
	return r;
}

/* ---- the whole ---- */

static int open_source(struct clone *clone)
{
	uint64_t ctime_ns;
	int r;

	clone->step = "opening the source";
	r = run_open(clone->job, &clone->record->source.handle, VFS_OPEN_READ, &clone->source,
	             &clone->source_stat);
	if (r < 0)
		return r;
	clone->bytes = (uint64_t) clone->source_stat.st_size;
	ctime_ns = run_ctime_ns(&clone->source_stat);
	job_lock(clone->job);
	/* Another source than the half that was copied before a restart: from the beginning. */
	if (clone->record->source.ctime_ns != ctime_ns)
		clone->record->durable_bytes = 0;
	clone->record->source.ctime_ns = ctime_ns;
	clone->record->bytes_total = clone->bytes;
	job_unlock(clone->job);
	return 0;
}

static int note_end(struct clone *clone)
{
	struct stat stat;
	AUTO(run_put) struct vfs_file *file = NULL;
	int r;

	r = run_open(clone->job, &clone->record->destination.handle, VFS_OPEN_PATH, &file, &stat);
	if (r < 0)
		return r == -ESTALE ? -OFFLOAD_EGONE : r;
	job_lock(clone->job);
	clone->record->destination.ctime_ns = run_ctime_ns(&stat);
	job_unlock(clone->job);
	/* Asked for again, it is this clone only while neither file has changed. */
	run_settle(clone->record->source.ctime_ns);
	run_settle(clone->record->destination.ctime_ns);
	atomic_store(&clone->job->control.done_bytes, clone->bytes);
	return 0;
}

int run_clone(struct job *job, bool slow, const char **ret_step)
{
	AUTO(clone_done)
	struct clone clone = {
		.job = job,
		.record = &job->record,
		.to_fd = -EBADF,
		.slow = slow,
	};
	int r = 0;

	/* To put a destination back no source is needed. */
	if (job->record.phase != JOB_EMPTYING)
		r = open_source(&clone);
	if (r < 0 && job->record.phase == JOB_FILLING && job_is_into_existing(&job->record)) {
		job_note_failure(job, clone.step, r);
		r = 0;
		job_lock(job);
		job_enter(&job->record, JOB_EMPTYING);
		job_unlock(job);
	}
	if (r == 0)
		r = job_is_into_existing(&job->record) ? into_existing(&clone) : into_new(&clone);
	if (r == 0)
		r = note_end(&clone);
	*ret_step = clone.step;
	return r;
}
