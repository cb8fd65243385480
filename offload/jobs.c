/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.c - the table of jobs and the threads that run them.
 *
 * A job is in jobs->all from its acceptance until its result has expired. The lock is never held
 * over a system call that may wait, the journal's included.
 */
#include "offload/jobs.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "offload/jobs_internal.h"
#include "offload/status.h"
#include "vfs/base/cleanup.h"

enum {
	QUICK_THREADS = 4,
	NOTE_AGAIN_US = 200000,
};

static const char unnoted_end[] = "its end cannot be written down: %s";

uint64_t jobs_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

void job_lock(struct job *job)
{
	pthread_mutex_lock(&job->jobs->lock);
}

void job_unlock(struct job *job)
{
	pthread_mutex_unlock(&job->jobs->lock);
}

bool job_is_only_stopped(struct job *job)
{
	bool only;

	job_lock(job);
	only = job->jobs->stopping && !job->record.cancel;
	job_unlock(job);
	return only;
}

void job_copy(const struct job *job, struct job_record *ret_record)
{
	*ret_record = job->record;
	if (!job_is_live(&job->record))
		return;
	ret_record->bytes_done = atomic_load(&job->control.done_bytes);
	ret_record->bytes_moved = atomic_load(&job->control.moved_bytes);
}

int job_save(struct job *job)
{
	AUTO(free_ptr) struct job_record *copy = malloc(sizeof *copy);
	int r;

	if (!copy)
		return -ENOMEM;
	job_lock(job);
	job_copy(job, copy);
	job_unlock(job);
	disks_flush_begin(&job->jobs->disks);
	r = journal_write(&job->jobs->journal, copy);
	disks_flush_end(&job->jobs->disks);
	return r;
}

/* ---- the table, under the lock ---- */

static struct job *find_id(struct jobs *jobs, uint64_t id)
{
	list_for_each (node, &jobs->all) {
		struct job *job = container_of(node, struct job, node);

		if (job->record.id == id)
			return job;
	}
	return NULL;
}

static struct job *job_new(struct jobs *jobs, const struct job_record *record)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job)
		return NULL;
	/* Of an earlier process's job nothing better is known than that it may have begun. */
	*job = (struct job){
		.jobs = jobs,
		.record = *record,
		.control = { .rate = &jobs->rate, .disks = &jobs->disks },
	};
	job->touched = record->phase != JOB_ACCEPTED;
	atomic_store(&job->control.cancel, record->cancel);
	list_node_init(&job->node);
	list_node_init(&job->queue_node);
	return job;
}

/* By id: the last ones are the newest. */
static void insert(struct jobs *jobs, struct job *job)
{
	struct list_node *after = jobs->all.prev;

	while (after != &jobs->all &&
	       container_of(after, struct job, node)->record.id > job->record.id)
		after = after->prev;
	list_add_head(after, &job->node);
	if (job->record.id > jobs->last_id)
		jobs->last_id = job->record.id;
	if (job_is_live(&job->record))
		jobs->live_count++;
	else
		jobs->ended_count++;
}

static void job_remove(struct job *job)
{
	struct jobs *jobs = job->jobs;

	assert(!job->busy && !list_linked(&job->queue_node));
	if (job_is_live(&job->record))
		jobs->live_count--;
	else
		jobs->ended_count--;
	list_remove(&job->node);
	free(job);
}

static void enqueue(struct job_queue *queue, struct job *job)
{
	list_add_tail(&queue->jobs, &job->queue_node);
	pthread_cond_signal(&queue->more);
}

/* ---- running ---- */

static int job_run(struct job *job, bool slow, const char **ret_step)
{
	switch (job->record.kind) {
	case OFFLOAD_KIND_CLONE:
		return run_clone(job, slow, ret_step);
	case OFFLOAD_KIND_RESERVE:
		return run_reserve(job, slow, ret_step);
	case OFFLOAD_KIND_CHECKSUM:
		return run_checksum(job, slow, ret_step);
	case OFFLOAD_KIND_PUNCH:
		return run_punch(job, slow, ret_step);
	}
	return -EINVAL;
}

/* Into the journal; or out of it, if that is full: without a record it is not done again. False:
 * neither, and the process ends. */
static bool job_note_end(struct job *job, const struct job_record *ended, int *ret_error)
{
	bool stopping;

	for (;;) {
		*ret_error = journal_write(&job->jobs->journal, ended);
		if (*ret_error == 0 || journal_withdraw(&job->jobs->journal, ended->id) == 0)
			return true;
		job_lock(job);
		stopping = job->jobs->stopping;
		snprintf(job->record.text, sizeof job->record.text, unnoted_end,
		         strerror(-*ret_error));
		job_unlock(job);
		if (stopping)
			return false;
		(void) usleep(NOTE_AGAIN_US);
	}
}

/* Callers hear of the end when it is noted: who does may write to the destination at once, and a
 * start that finds the job half done would write over that. */
static void job_finish(struct job *job)
{
	struct jobs *jobs = job->jobs;
	struct job_record ended;
	uint64_t one = 1;
	bool noted;
	int r;

	job_lock(job);
	job_copy(job, &ended);
	job_unlock(job);
	job_end(&ended, ended.status, jobs_now_ms());
	disks_flush_begin(&jobs->disks);
	noted = job_note_end(job, &ended, &r);
	disks_flush_end(&jobs->disks);
	if (!noted)
		return; /* its end is found again after the next start */
	job_lock(job);
	job->record = ended;
	jobs->live_count--;
	jobs->ended_count++;
	job->busy = false;
	job_unlock(job);
	if (r < 0)
		snprintf(ended.text, sizeof ended.text, unnoted_end, strerror(-r));
	if (jobs->settings.told)
		jobs->settings.told(jobs->settings.context, &ended);
	(void) !write(jobs->event_fd, &one, sizeof one);
}

static void job_work(struct job *job, bool slow)
{
	struct jobs *jobs = job->jobs;
	const char *step = "waiting";
	int r;

	/* A clone may have something to put back, and looks itself. */
	if (atomic_load(&job->control.cancel) && job->record.kind != OFFLOAD_KIND_CLONE)
		r = -ECANCELED;
	else
		r = job_run(job, slow, &step);
	if (r == -EAGAIN && !slow) {
		job_lock(job);
		job->record.state = OFFLOAD_STATE_QUEUED;
		job->busy = false;
		enqueue(&jobs->slow, job);
		job_unlock(job);
		return;
	}
	if (r == -ECANCELED && job_is_only_stopped(job))
		return; /* it goes on after the next start */
	if (r < 0)
		job_note_failure(job, step, r);
	job_finish(job);
}

static struct job *dequeue(struct jobs *jobs, struct job_queue *queue)
{
	struct job *job = NULL;
	struct list_node *node;

	pthread_mutex_lock(&jobs->lock);
	while (!jobs->stopping && list_empty(&queue->jobs))
		pthread_cond_wait(&queue->more, &jobs->lock);
	node = jobs->stopping ? NULL : list_pop(&queue->jobs);
	if (node) {
		job = container_of(node, struct job, queue_node);
		job->busy = true;
		job_start(&job->record, jobs_now_ms());
	}
	pthread_mutex_unlock(&jobs->lock);
	return job;
}

static void *quick_thread(void *arg)
{
	struct jobs *jobs = arg;
	struct job *job;

	pthread_setname_np(pthread_self(), "quick");
	while ((job = dequeue(jobs, &jobs->quick)))
		job_work(job, false);
	return NULL;
}

static void *slow_thread(void *arg)
{
	struct jobs *jobs = arg;
	struct job *job;

	pthread_setname_np(pthread_self(), "copy");
	engine_thread_idle();
	while ((job = dequeue(jobs, &jobs->slow)))
		job_work(job, true);
	return NULL;
}

/* ---- beginning ---- */

static bool unchanged(struct jobs *jobs, const struct vfs_handle *handle, uint64_t ctime_ns)
{
	struct vfs_file *file;
	struct vfs_attr attr;
	bool same;

	if (vfs_file_open(jobs->vfs, handle->bytes, handle->count, &file) < 0)
		return false;
	same = vfs_file_attr(file, &attr) == 0 &&
	       (uint64_t) attr.ctime.tv_sec * 1000000000u + (uint64_t) attr.ctime.tv_nsec ==
	               ctime_ns;
	vfs_file_put(file);
	return same;
}

/* The same work that ended well just now: is all still as it left it? */
static bool is_resent(struct jobs *jobs, const struct job_record *wanted, uint64_t *ret_id)
{
	AUTO(free_ptr) struct job_record *fresh = calloc(1, sizeof *fresh);
	uint64_t now_ms = jobs_now_ms();

	if (!fresh)
		return false;
	pthread_mutex_lock(&jobs->lock);
	for (struct list_node *node = jobs->all.prev; node != &jobs->all; node = node->prev) {
		struct job *job = container_of(node, struct job, node);

		if (!job_is_fresh(&job->record, now_ms) || !job_is_same(&job->record, wanted))
			continue;
		*fresh = job->record;
		break;
	}
	pthread_mutex_unlock(&jobs->lock);
	*ret_id = fresh->id;
	return fresh->id != 0 && unchanged(jobs, &fresh->source.handle, fresh->source.ctime_ns) &&
	       (fresh->kind != OFFLOAD_KIND_CLONE ||
	        unchanged(jobs, &fresh->destination.handle, fresh->destination.ctime_ns));
}

/* Under the lock. 0: *ret_job is new, or NULL if *ret_id was joined. */
static int admit(struct jobs *jobs, const struct job_record *wanted, struct job **ret_job,
                 uint64_t *ret_id)
{
	uint64_t now_ms = jobs_now_ms();
	bool busy = false;

	list_for_each (node, &jobs->all) {
		struct job *job = container_of(node, struct job, node);

		if (job_is_live(&job->record) && !job->record.cancel &&
		    job_is_same(&job->record, wanted)) {
			*ret_job = NULL;
			*ret_id = job->record.id;
			return 0;
		}
		busy |= job_conflicts(&job->record, wanted);
	}
	if (busy)
		return -EBUSY;
	if (wanted->kind == OFFLOAD_KIND_CLONE && (wanted->flags & OFFLOAD_CLONE_NEW) &&
	    wanted->destination.handle.count > 0)
		return -EEXIST;
	if (jobs->live_count >= JOBS_LIVE_MAX)
		return -OFFLOAD_EMANY;
	*ret_job = job_new(jobs, wanted);
	if (!*ret_job)
		return -ENOMEM;
	/* Microseconds since 1970, but never one twice: unique over restarts, too. */
	(*ret_job)->record.id = now_ms * 1000 > jobs->last_id ? now_ms * 1000 : jobs->last_id + 1;
	(*ret_job)->record.created_ms = now_ms;
	(*ret_job)->busy = true;
	*ret_id = (*ret_job)->record.id;
	insert(jobs, *ret_job);
	return 0;
}

int jobs_begin(struct jobs *jobs, const struct job_record *wanted, uint64_t *ret_id)
{
	struct job *job;
	int r;

	if (job_is_onto_itself(wanted))
		return -OFFLOAD_ESAME;
	if (is_resent(jobs, wanted, ret_id))
		return 0;
	pthread_mutex_lock(&jobs->lock);
	r = admit(jobs, wanted, &job, ret_id);
	pthread_mutex_unlock(&jobs->lock);
	if (r < 0 || !job)
		return r;
	r = job_save(job);
	if (r == 0 && jobs->settings.told)
		jobs->settings.told(jobs->settings.context, &job->record);
	pthread_mutex_lock(&jobs->lock);
	job->busy = false;
	if (r == 0)
		enqueue(&jobs->quick, job);
	else
		job_remove(job);
	pthread_mutex_unlock(&jobs->lock);
	if (r < 0)
		journal_remove(&jobs->journal, *ret_id);
	return r;
}

/* ---- asking ---- */

int jobs_get(struct jobs *jobs, uint64_t id, struct job_record *ret_record)
{
	struct job *job;

	pthread_mutex_lock(&jobs->lock);
	job = find_id(jobs, id);
	if (job)
		job_copy(job, ret_record);
	pthread_mutex_unlock(&jobs->lock);
	return job ? 0 : -OFFLOAD_ENOJOB;
}

int jobs_find(struct jobs *jobs, const struct job_file *file, unsigned kinds,
              struct job_record *ret_record)
{
	int r = -OFFLOAD_ENOJOB;

	pthread_mutex_lock(&jobs->lock);
	for (struct list_node *node = jobs->all.prev; node != &jobs->all; node = node->prev) {
		struct job *job = container_of(node, struct job, node);

		if (!(kinds & 1u << job->record.kind) || !job_is_for(&job->record, file))
			continue;
		job_copy(job, ret_record);
		r = 0;
		break;
	}
	pthread_mutex_unlock(&jobs->lock);
	return r;
}

int jobs_next(struct jobs *jobs, uint64_t after_id, struct job_record *ret_record)
{
	int r = -OFFLOAD_ENOJOB;

	pthread_mutex_lock(&jobs->lock);
	list_for_each (node, &jobs->all) {
		struct job *job = container_of(node, struct job, node);

		if (job->record.id <= after_id)
			continue;
		job_copy(job, ret_record);
		r = 0;
		break;
	}
	pthread_mutex_unlock(&jobs->lock);
	return r;
}

int jobs_cancel(struct jobs *jobs, uint64_t id)
{
	AUTO(free_ptr) struct job_record *copy = malloc(sizeof *copy);
	struct job *job;
	bool live = false;

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&jobs->lock);
	job = find_id(jobs, id);
	if (job && job_is_live(&job->record)) {
		live = true;
		job->record.cancel = true;
		atomic_store(&job->control.cancel, true);
		if (list_linked(&job->queue_node)) { /* it need not wait for copies */
			list_remove(&job->queue_node);
			enqueue(&jobs->quick, job);
		}
	}
	pthread_mutex_unlock(&jobs->lock);
	/* Not written down: the job's end will be. After a crash right now it goes on, and its
	 * caller, who has had no answer or sees it run, cancels it again. */
	return job || live ? 0 : -OFFLOAD_ENOJOB;
}

int jobs_event_fd(const struct jobs *jobs)
{
	return jobs->event_fd;
}

void jobs_tick(struct jobs *jobs)
{
	uint64_t now_ms = jobs_now_ms();

	pthread_mutex_lock(&jobs->lock);
	list_for_each_safe (node, &jobs->all) {
		struct job *job = container_of(node, struct job, node);

		if (job->busy || job_is_live(&job->record) ||
		    (!job_is_expired(&job->record, now_ms) && jobs->ended_count <= JOBS_KEPT_MAX))
			continue;
		journal_remove(&jobs->journal, job->record.id);
		job_remove(job);
	}
	pthread_mutex_unlock(&jobs->lock);
}

/* ---- opening and closing ---- */

static int load_record(void *context, const struct job_record *record)
{
	struct jobs *jobs = context;
	struct job *job = job_new(jobs, record);

	if (!job)
		return -ENOMEM;
	insert(jobs, job);
	if (job_is_live(record)) {
		job->record.state = OFFLOAD_STATE_QUEUED;
		enqueue(&jobs->quick, job);
	}
	return 0;
}

static void load_bad(void *context, const char *path)
{
	struct jobs *jobs = context;

	if (jobs->settings.bad)
		jobs->settings.bad(jobs->settings.context, path);
}

static int threads_start(struct jobs *jobs)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < QUICK_THREADS + jobs->settings.copy_jobs; i++) {
		r = -pthread_create(&jobs->threads[i], NULL,
		                    i < QUICK_THREADS ? quick_thread : slow_thread, jobs);
		if (r == 0)
			jobs->thread_count++;
	}
	return r;
}

int jobs_open(struct vfs *vfs, const struct jobs_settings *settings, struct jobs **ret_jobs)
{
	struct jobs *jobs = calloc(1, sizeof *jobs);
	int r;

	assert(settings->copy_jobs >= 1 && settings->copy_jobs <= JOBS_COPY_MAX);
	if (!jobs)
		return -ENOMEM;
	jobs->vfs = vfs;
	jobs->settings = *settings;
	jobs->rate.rate.bytes_per_s = settings->copy_rate;
	pthread_mutex_init(&jobs->rate.lock, NULL);
	disks_init(&jobs->disks);
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->quick.more, NULL);
	pthread_cond_init(&jobs->slow.more, NULL);
	list_init(&jobs->all);
	list_init(&jobs->quick.jobs);
	list_init(&jobs->slow.jobs);
	jobs->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = jobs->event_fd < 0 ? -errno : journal_open(settings->dir, &jobs->journal);
	if (r == 0) {
		jobs->journal.step = settings->step;
		jobs->journal.step_context = settings->context;
		r = journal_load(&jobs->journal, load_record, load_bad, jobs);
	}
	if (r == 0)
		r = threads_start(jobs);
	if (r == 0)
		*ret_jobs = jobs;
	else
		jobs_close(jobs);
	return r;
}

struct jobs *jobs_close(struct jobs *jobs)
{
	if (!jobs)
		return NULL;
	pthread_mutex_lock(&jobs->lock);
	jobs->stopping = true;
	list_for_each (node, &jobs->all)
		atomic_store(&container_of(node, struct job, node)->control.cancel, true);
	pthread_cond_broadcast(&jobs->quick.more);
	pthread_cond_broadcast(&jobs->slow.more);
	pthread_mutex_unlock(&jobs->lock);
	for (unsigned i = 0; i < jobs->thread_count; i++)
		pthread_join(jobs->threads[i], NULL);
	list_for_each_safe (node, &jobs->all) {
		struct job *job = container_of(node, struct job, node);

		list_remove(&job->queue_node);
		list_remove(&job->node);
		free(job);
	}
	journal_close(&jobs->journal);
	close_fd(&jobs->event_fd);
	pthread_cond_destroy(&jobs->quick.more);
	pthread_cond_destroy(&jobs->slow.more);
	pthread_mutex_destroy(&jobs->lock);
	pthread_mutex_destroy(&jobs->rate.lock);
	disks_done(&jobs->disks);
	free(jobs);
	return NULL;
}
