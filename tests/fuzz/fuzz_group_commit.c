/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_group_commit - writers, flushes and failures in any order, on two loops.
 *
 * vfs/commit.c and the gate below it, over loops and a disk that do what the input's bytes say: the
 * low three bits of each are a step, the others to whom. The disk knows when data became durable: a
 * flush takes what was written before it began, and if it fails that is lost. A writer is answered
 * once, on its own loop, with the result of the flush that took its data, which began after the
 * write ended; of a failure the server is told first; and as long as loops turn and the disk
 * answers, nobody waits for ever.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "vfs/base/cleanup.h"
#include "vfs/vfs_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	WRITERS = 32,
	LOOPS = 2,
	ROUNDS_MAX = 4, /* the last write waits for a flush that runs, and for one more */
};

enum step {
	STEP_WRITE_ENDS,
	STEP_WRITE_ENDS_TOO, /* more writes than anything else */
	STEP_TURN_ENDS,
	STEP_POSTED,
	STEP_FLUSHED,
	STEP_FLUSH_FAILED,
	STEP_ANSWERED_WRITE_AGAIN,
};

enum writer_state {
	WRITER_IDLE,
	WRITER_WAITS,    /* its write has ended */
	WRITER_IN_FLUSH, /* the flush in flight took its data */
	WRITER_FLUSHED,  /* that has ended, and it is to be told */
};

struct writer {
	struct vfs_commit commit;
	enum writer_state state;
	int result;
};

/* All that a loop and its ring are to commit.c. */
struct loop {
	struct loop_task *turn_end, *posted;
};

static struct loop loops[LOOPS], *running;
static struct vfs vfs;
static struct vfs_export export;
static struct vfs_file file;
static struct writer writers[WRITERS];
static struct ring_op *flush; /* in flight */
static bool dirty;            /* written since the last flush began */
static bool write_again;      /* who is answered writes at once */
static unsigned failures_told, failures;

/* ---- what commit.c calls ---- */

bool vfs_file_is(const struct vfs_file *which, enum vfs_open open)
{
	return which == &file && open == VFS_OPEN_READ;
}

struct vfs_file *vfs_file_put(struct vfs_file *which)
{
	unsigned before = atomic_fetch_sub(&file.refs, 1);

	assert(which == &file && before > 1);
	return NULL;
}

uint64_t vfs_now_ms(void)
{
	return 1;
}

static void push(struct loop_task **tasks, struct loop_task *task)
{
	task->next = NULL;
	while (*tasks)
		tasks = &(*tasks)->next;
	*tasks = task;
}

void loop_turn_end(struct loop *loop, struct loop_task *task)
{
	assert(loop == running); /* only its own thread may */
	push(&loop->turn_end, task);
}

void loop_post(struct loop *loop, struct loop_task *task)
{
	push(&loop->posted, task);
}

struct ring *loop_ring(struct loop *loop)
{
	return (struct ring *) loop;
}

void ring_fdatasync(struct ring *ring, struct ring_op *op, int fd)
{
	assert(ring == (struct ring *) running);
	assert(!flush && fd == file.fd); /* one in flight */
	assert(!atomic_load(&file.dirty));
	flush = op;
	dirty = false;
	for (size_t i = 0; i < WRITERS; i++)
		if (writers[i].state == WRITER_WAITS)
			writers[i].state = WRITER_IN_FLUSH;
}

/* ---- writers, loops and the disk ---- */

static void write_answered(struct vfs_commit *commit, int error);

static void write_ends(struct writer *writer)
{
	struct vfs_commit *commit = &writer->commit;

	if (writer->state != WRITER_IDLE)
		return;
	running = &loops[(size_t) (writer - writers) % LOOPS];
	*commit = (struct vfs_commit){ .loop = running, .done = write_answered };
	writer->state = WRITER_WAITS;
	dirty = true;
	vfs_file_dirtied(&file);
	vfs_file_commit(&file, commit);
}

static void write_answered(struct vfs_commit *commit, int error)
{
	struct writer *writer = container_of(commit, struct writer, commit);

	assert(commit->loop == running);
	assert(writer->state == WRITER_FLUSHED);
	assert(error == writer->result);
	assert(failures_told == failures);
	writer->state = WRITER_IDLE;
	memset(commit, 0xa5, sizeof *commit); /* its call is gone */
	if (write_again)
		write_ends(writer);
}

static void failure_told(void *context, int error)
{
	assert(context == &failures_told && error == -EIO);
	failures_told++;
}

static void run_tasks(struct loop *loop, struct loop_task **tasks)
{
	struct loop_task *task = *tasks;

	*tasks = NULL;
	while (task) {
		struct loop_task *next = task->next;

		running = loop;
		task->run(task);
		task = next;
	}
}

static void flush_ends(int result)
{
	struct ring_op *op = flush;

	if (!op)
		return;
	for (size_t i = 0; i < WRITERS; i++) {
		if (writers[i].state != WRITER_IN_FLUSH)
			continue;
		writers[i].state = WRITER_FLUSHED;
		writers[i].result = result;
	}
	failures += result < 0;
	flush = NULL;
	running = file.flush_loop;
	op->done(op, result);
}

static void step(uint8_t byte)
{
	unsigned who = byte >> 3;

	switch ((enum step)(byte & 7)) {
	case STEP_WRITE_ENDS:
	case STEP_WRITE_ENDS_TOO:
		write_ends(&writers[who % WRITERS]);
		break;
	case STEP_TURN_ENDS:
		run_tasks(&loops[who % LOOPS], &loops[who % LOOPS].turn_end);
		break;
	case STEP_POSTED:
		run_tasks(&loops[who % LOOPS], &loops[who % LOOPS].posted);
		break;
	case STEP_FLUSHED:
		flush_ends(0);
		break;
	case STEP_FLUSH_FAILED:
		flush_ends(-EIO);
		break;
	case STEP_ANSWERED_WRITE_AGAIN:
		write_again = who & 1;
		break;
	}
	assert(failures_told == failures);
	assert(atomic_load(&file.dirty) == dirty);
}

static void start(void)
{
	memset(loops, 0, sizeof loops);
	memset(writers, 0, sizeof writers);
	memset(&file, 0, sizeof file);
	pthread_mutex_init(&file.commit_lock, NULL);
	atomic_store(&file.refs, 1);
	file.fd = 7;
	file.vfs = &vfs;
	file.export = &export;
	vfs.flush_failed = failure_told;
	vfs.told_context = &failures_told;
	flush = NULL;
	dirty = write_again = false;
	failures = failures_told = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	start();
	for (size_t i = 0; i < size; i++)
		step(data[i]);

	write_again = false;
	for (int round = 0; round < ROUNDS_MAX; round++) {
		for (size_t i = 0; i < LOOPS; i++) {
			run_tasks(&loops[i], &loops[i].turn_end);
			run_tasks(&loops[i], &loops[i].posted);
		}
		flush_ends(0);
	}
	for (size_t i = 0; i < WRITERS; i++)
		assert(writers[i].state == WRITER_IDLE);
	assert(!group_commit_busy(&file.gate));
	assert(atomic_load(&file.refs) == 1);
	pthread_mutex_destroy(&file.commit_lock);
	return 0;
}
