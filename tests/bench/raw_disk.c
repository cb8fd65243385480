/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As many writes as the depth are under way, through the ring that the server has. With a flush of
 * its own (RWF_DSYNC's effect, by O_DSYNC) each write is followed by the next as soon as it is
 * durable. With a shared flush they go in rounds: all written, one fdatasync, all answered. That is
 * the fewest flushes that a depth allows.
 */
#include "raw_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stamp.h"
#include "tool.h"
#include "vfs/base/cleanup.h"
#include "vfs/io/ring.h"

enum {
	BLOCK_ALIGNMENT = 4096, /* O_DIRECT's, on every disk of today */
	FILL_BYTES = 1 << 20,
	RING_WAIT_MS = 60000,
	RING_ENTRIES_MIN = 8,
};

struct raw_write {
	struct ring_op op;
	struct raw_run *run;
	uint64_t started_ns;
};

struct raw_run {
	const struct raw_disk_options *options;
	struct measurement *result;
	struct ring *ring;
	struct raw_write *writes;
	struct ring_op flush;
	uint8_t *data;
	int fd;
	unsigned written; /* of this round, not flushed yet */
	uint64_t random, next_block;
	bool measuring, stopping;
};

static const int open_flags[RAW_POLICIES] = {
	[RAW_BUFFERED_FLUSH] = 0,
	[RAW_BUFFERED_DSYNC] = O_DSYNC,
	[RAW_DIRECT_FLUSH] = O_DIRECT,
	[RAW_DIRECT_DSYNC] = O_DIRECT | O_DSYNC,
};

static bool flush_is_shared(const struct raw_run *run)
{
	return !(open_flags[run->options->policy] & O_DSYNC);
}

static void write_start(struct raw_run *run, struct raw_write *write)
{
	const struct raw_disk_options *options = run->options;
	uint64_t block = options->sequential ? run->next_block++ : random_next(&run->random);

	block %= options->file_bytes / options->block_bytes;
	write->started_ns = now_ns();
	ring_pwrite(run->ring, &write->op, run->fd, run->data, options->block_bytes,
	            block * options->block_bytes);
}

/* The write is durable: what a server would answer now. */
static void write_finished(struct raw_run *run, struct raw_write *write)
{
	if (run->measuring) {
		run->result->calls++;
		run->result->bytes += run->options->block_bytes;
		histogram_add(&run->result->latencies, now_ns() - write->started_ns);
	}
	if (!run->stopping)
		write_start(run, write);
}

static void write_done(struct ring_op *op, int written_bytes)
{
	struct raw_write *write = container_of(op, struct raw_write, op);
	struct raw_run *run = write->run;

	if (written_bytes != (int) run->options->block_bytes)
		die("%s: %s", run->options->path,
		    written_bytes < 0 ? strerror(-written_bytes) : "short write");
	if (!flush_is_shared(run))
		write_finished(run, write);
	else if (++run->written == run->options->depth)
		ring_fdatasync(run->ring, &run->flush, run->fd);
}

static void flush_done(struct ring_op *op, int status)
{
	struct raw_run *run = container_of(op, struct raw_run, flush);

	if (status < 0)
		die("%s: fdatasync: %s", run->options->path, strerror(-status));
	run->written = 0;
	for (unsigned i = 0; i < run->options->depth; i++)
		write_finished(run, &run->writes[i]);
}

static void turn(struct raw_run *run)
{
	int r = ring_run(run->ring, RING_WAIT_MS);

	if (r < 0)
		die("io_uring: %s", strerror(-r));
}

static void run_until(struct raw_run *run, uint64_t end_ns)
{
	while (now_ns() < end_ns)
		turn(run);
}

/* All of the file is written once: the measurement is of space that is allocated. */
static void fill(const struct raw_disk_options *options)
{
	AUTO(close_fd) int fd = open(options->path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	AUTO(free_ptr) uint8_t *piece = allocate(FILL_BYTES);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		die("%s: %s", options->path, strerror(errno));
	if ((uint64_t) stat.st_size >= options->file_bytes)
		return;
	stamp_fill(piece, FILL_BYTES, 0, 1);
	for (uint64_t at = 0; at < options->file_bytes; at += FILL_BYTES)
		if (pwrite(fd, piece, FILL_BYTES, (off_t) at) != FILL_BYTES)
			die("%s: %s", options->path, strerror(errno));
	if (fsync(fd) < 0)
		die("%s: fsync: %s", options->path, strerror(errno));
}

static void run_open(struct raw_run *run)
{
	const struct raw_disk_options *options = run->options;
	const char *hint = "";
	int r;

	run->fd = open(options->path, O_RDWR | O_CLOEXEC | open_flags[options->policy]);
	if (run->fd < 0)
		die("%s: %s", options->path, strerror(errno));
	r = ring_open(options->depth + RING_ENTRIES_MIN, &run->ring, &hint);
	if (r < 0)
		die("%s: %s", hint, strerror(-r));
	run->data = aligned_alloc(BLOCK_ALIGNMENT, options->block_bytes);
	if (!run->data)
		die("no memory");
	stamp_fill(run->data, options->block_bytes, 0, 2);
	run->writes = allocate_zeroed(options->depth, sizeof *run->writes);
	for (unsigned i = 0; i < options->depth; i++) {
		run->writes[i].run = run;
		run->writes[i].op.done = write_done;
	}
	run->flush.done = flush_done;
	run->random = random_seed(0);
}

static void run_close(struct raw_run *run)
{
	run->ring = ring_close(run->ring);
	close_fd(&run->fd);
	free(run->writes);
	free(run->data);
}

void raw_disk_run(const struct raw_disk_options *options, struct measurement *ret_result)
{
	struct raw_run run = { .options = options, .result = ret_result };

	fill(options);
	run_open(&run);
	for (unsigned i = 0; i < options->depth; i++)
		write_start(&run, &run.writes[i]);
	run_until(&run, now_ns() + (uint64_t) (options->warm_up_s * 1e9));
	measurement_begin(ret_result, &options->observed);
	run.measuring = true;
	run_until(&run, now_ns() + (uint64_t) (options->seconds * 1e9));
	measurement_end(ret_result);
	run.measuring = false;
	run.stopping = true;
	while (ring_in_flight(run.ring) > 0)
		turn(&run);
	run_close(&run);
}
