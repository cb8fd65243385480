/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines on the file system that $TMPDIR lies on: content, holes, lengths, stopping.
 */
#include "offload/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "offload/confined.h"
#include "support/temp_dir.h"
#include "vfs/base/cleanup.h"
#include "vfs/space.h"

enum {
	KIB = 1 << 10,
	MIB = 1 << 20,
};

typedef int engine_fn(const struct engine_copy *copy, struct engine_control *control,
                      uint8_t *ret_checksum);

static int kernel(const struct engine_copy *copy, struct engine_control *control,
                  uint8_t *ret_checksum)
{
	return engine_kernel_copy(copy, control);
}

static engine_fn *const engines[] = { engine_ring_copy, kernel };

static char dir[TEMP_DIR_BYTES];
static int dir_fd;

static void setup(void)
{
	temp_dir_make(dir);
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir_fd, 0);
}

static void teardown(void)
{
	close(dir_fd);
	temp_dir_remove(dir);
}

static int scratch(void)
{
	int fd;

	ck_assert_int_eq(vfs_unnamed_open(dir_fd, 0600, &fd), 0);
	return fd;
}

static void fill(int fd, uint64_t from, uint64_t bytes, unsigned seed)
{
	uint8_t block[4 * KIB];

	for (uint64_t at = from; at < from + bytes; at += sizeof block) {
		uint64_t count = from + bytes - at;

		count = count < sizeof block ? count : sizeof block;
		for (size_t i = 0; i < sizeof block; i++)
			block[i] = (uint8_t) (seed + at / sizeof block * 131 + i * 7) | 1;
		MUST(pwrite(fd, block, count, (off_t) at) == (ssize_t) count);
	}
}

static uint8_t *content(int fd, size_t *ret_bytes)
{
	struct stat stat;
	uint8_t *bytes;

	ck_assert_int_eq(fstat(fd, &stat), 0);
	bytes = malloc((size_t) stat.st_size + 1);
	ck_assert_int_eq(pread(fd, bytes, (size_t) stat.st_size, 0), stat.st_size);
	*ret_bytes = (size_t) stat.st_size;
	return bytes;
}

static void must_be_equal(int one, int two)
{
	AUTO(free_ptr) uint8_t *a = NULL;
	AUTO(free_ptr) uint8_t *b = NULL;
	size_t a_bytes, b_bytes;

	a = content(one, &a_bytes);
	b = content(two, &b_bytes);
	ck_assert_uint_eq(a_bytes, b_bytes);
	ck_assert(memcmp(a, b, a_bytes) == 0);
}

static void must_have_the_same_holes(int one, int two, uint64_t bytes)
{
	struct vfs_range a = { 0, 0 }, b = { 0, 0 };
	int r = 0;

	ck_assert_int_eq(fsync(one) | fsync(two), 0);
	while (r == 0) {
		r = vfs_next_data(one, a.to, bytes, &a);
		ck_assert_int_eq(vfs_next_data(two, b.to, bytes, &b), r);
		ck_assert_uint_eq(a.from, b.from);
		ck_assert_uint_eq(a.to, b.to);
	}
	ck_assert_int_eq(r, -ENXIO);
}

/* Data with holes before, between and after, and an end that is no block's. */
static int sparse_source(uint64_t *ret_bytes)
{
	int fd = scratch();

	*ret_bytes = 64 * MIB + 777;
	ck_assert_int_eq(ftruncate(fd, (off_t) *ret_bytes), 0);
	fill(fd, MIB, 11 * MIB, 1);
	for (unsigned i = 0; i < 100; i++)
		fill(fd, 20 * MIB + i * 128 * KIB, 64 * KIB, i);
	fill(fd, 64 * MIB, 777, 3);
	ck_assert_int_eq(fsync(fd), 0);
	return fd;
}

static void checksum_of(int fd, uint8_t to[ENGINE_CHECKSUM_BYTES])
{
	AUTO(free_ptr) uint8_t *bytes = NULL;
	XXH128_canonical_t canonical;
	size_t count;

	bytes = content(fd, &count);
	XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, count));
	memcpy(to, canonical.digest, ENGINE_CHECKSUM_BYTES);
}

START_TEST(a_copy_has_the_content_and_the_holes)
{
	uint8_t checksum[ENGINE_CHECKSUM_BYTES], want[ENGINE_CHECKSUM_BYTES];
	struct engine_control control = { 0 };
	uint64_t bytes;
	AUTO(close_fd) int from = sparse_source(&bytes);
	AUTO(close_fd) int to = scratch();
	struct engine_copy copy = { from, to, bytes, .checksum = true };

	ck_assert_int_eq(ftruncate(to, (off_t) bytes), 0);
	ck_assert_int_eq(engines[_i](&copy, &control, checksum), 0);
	must_be_equal(from, to);
	must_have_the_same_holes(from, to, bytes);
	ck_assert_uint_eq(atomic_load(&control.done_bytes), bytes);
	ck_assert_uint_le(atomic_load(&control.moved_bytes), 18 * MIB);
	if (_i == 0) {
		checksum_of(from, want);
		ck_assert(memcmp(checksum, want, sizeof want) == 0);
	}
}
END_TEST

START_TEST(old_data_under_holes_is_zeroed_and_space_kept)
{
	uint8_t checksum[ENGINE_CHECKSUM_BYTES];
	struct engine_control control = { 0 };
	uint64_t bytes;
	AUTO(close_fd) int from = sparse_source(&bytes);
	AUTO(close_fd) int to = scratch();
	struct engine_copy copy = { from, to, bytes, .zero_to = bytes };
	struct vfs_usage usage;

	fill(to, 0, bytes, 99);
	ck_assert_int_eq(engines[_i](&copy, &control, checksum), 0);
	must_be_equal(from, to);
	ck_assert_int_eq(fsync(to), 0);
	ck_assert_int_eq(vfs_usage(to, &usage), 0);
	if (_i == 0) /* copy_file_range(2) shares extents where that can be done */
		ck_assert_uint_ge(usage.unique_bytes, bytes);
}
END_TEST

static uint64_t used_bytes(int fd)
{
	struct stat stat;

	ck_assert_int_eq(fsync(fd), 0);
	ck_assert_int_eq(fstat(fd, &stat), 0);
	return (uint64_t) stat.st_blocks * 512;
}

/* Written zeros at the beginning, in the middle and at the end, where the length is odd. */
START_TEST(zeros_are_left_out_on_request)
{
	const uint64_t bytes = 5 * MIB + 4097;
	AUTO(free_ptr) uint8_t *zeros = calloc(1, MIB);
	struct engine_control control = { 0 };
	int from = scratch(), to = scratch();
	struct engine_copy copy = { .source_fd = from,
		                    .destination_fd = to,
		                    .bytes = bytes,
		                    .skip_zeros = true,
		                    .checksum = true };
	uint8_t checksum[ENGINE_CHECKSUM_BYTES], expected[ENGINE_CHECKSUM_BYTES];

	fill(from, 0, bytes, 3);
	MUST(pwrite(from, zeros, 128 * KIB, 0) == 128 * KIB);
	MUST(pwrite(from, zeros, MIB, 2 * MIB + 64 * KIB) == MIB);
	MUST(pwrite(from, zeros, MIB, (off_t) (bytes - MIB)) == MIB);
	ck_assert_int_eq(ftruncate(to, (off_t) bytes), 0);
	ck_assert_int_eq(engine_ring_copy(&copy, &control, checksum), 0);
	must_be_equal(from, to);
	checksum_of(from, expected);
	ck_assert_mem_eq(checksum, expected, sizeof checksum);
	ck_assert_uint_eq(atomic_load(&control.done_bytes), bytes);
	ck_assert_uint_le(used_bytes(to), used_bytes(from) - 2 * MIB);
	close(from);
	close(to);
}
END_TEST

static const uint64_t sizes[] = { 0, 1, 4095, 4096, 4097, MIB - 1, MIB, MIB + 1, 9 * MIB + 5 };

START_TEST(any_length_is_copied)
{
	uint8_t checksum[ENGINE_CHECKSUM_BYTES], want[ENGINE_CHECKSUM_BYTES];
	struct engine_control control = { 0 };
	AUTO(close_fd) int from = scratch();
	AUTO(close_fd) int to = scratch();
	struct engine_copy copy = { from, to, sizes[_i], .checksum = true };

	fill(from, 0, sizes[_i], 5);
	ck_assert_int_eq(ftruncate(to, (off_t) sizes[_i]), 0);
	ck_assert_int_eq(engine_ring_copy(&copy, &control, checksum), 0);
	must_be_equal(from, to);
	checksum_of(from, want);
	ck_assert(memcmp(checksum, want, sizeof want) == 0);
	ck_assert_int_eq(engine_read(from, sizes[_i], &control, checksum), 0);
	ck_assert(memcmp(checksum, want, sizeof want) == 0);
}
END_TEST

START_TEST(a_copy_goes_on_from_where_it_was)
{
	uint8_t checksum[ENGINE_CHECKSUM_BYTES];
	struct engine_control control = { 0 };
	uint64_t bytes;
	AUTO(close_fd) int from = sparse_source(&bytes);
	AUTO(close_fd) int to = scratch();
	struct engine_copy copy = { from, to, bytes, .from = 24 * MIB };

	ck_assert_int_eq(ftruncate(to, (off_t) bytes), 0);
	for (unsigned i = 0; i < 23; i++) { /* the earlier run */
		uint8_t *block = malloc(MIB);

		MUST(pread(from, block, MIB, (off_t) ((i + 1) * MIB)) == MIB);
		MUST(pwrite(to, block, MIB, (off_t) ((i + 1) * MIB)) == MIB);
		free(block);
	}
	ck_assert_int_eq(engine_ring_copy(&copy, &control, checksum), 0);
	must_be_equal(from, to);
	ck_assert_uint_le(atomic_load(&control.moved_bytes), 6 * MIB);
}
END_TEST

START_TEST(cancelling_stops_every_engine)
{
	uint8_t checksum[ENGINE_CHECKSUM_BYTES];
	struct engine_control control = { .cancel = true };
	uint64_t bytes, zeros;
	AUTO(close_fd) int from = sparse_source(&bytes);
	AUTO(close_fd) int to = scratch();
	struct engine_copy copy = { from, to, bytes };

	ck_assert_int_eq(engine_ring_copy(&copy, &control, checksum), -ECANCELED);
	ck_assert_int_eq(engine_kernel_copy(&copy, &control), -ECANCELED);
	ck_assert_int_eq(engine_read(from, bytes, &control, checksum), -ECANCELED);
	ck_assert_int_eq(engine_punch(from, -1, bytes, false, &control, &zeros), -ECANCELED);
}
END_TEST

/* All engines, as a process that ends at the first call that the sidecar may not make. */
static int confined(int from, uint64_t bytes)
{
	uint8_t checksum[ENGINE_CHECKSUM_BYTES];
	uint64_t zeros;
	int r = confined_calls(CONFINE_KILL);

	for (size_t i = 0; r == 0 && i < ARRAY_COUNT(engines); i++) {
		struct engine_control control = { 0 };
		AUTO(close_fd) int to = scratch();
		struct engine_copy copy = { from, to, bytes };

		r = engines[i](&copy, &control, checksum);
		if (r == 0)
			r = engine_read(to, bytes, &control, checksum);
		if (r == 0)
			r = engine_punch(to, -1, bytes, false, &control, &zeros);
	}
	return r;
}

START_TEST(engines_make_only_the_calls_that_the_sidecar_may)
{
	uint64_t bytes;
	AUTO(close_fd) int from = sparse_source(&bytes);
	pid_t child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(confined(from, bytes) == 0 ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(status == 0, "signal %d, status %d", WTERMSIG(status), WEXITSTATUS(status));
}
END_TEST

START_TEST(the_rate_is_kept)
{
	uint8_t checksum[ENGINE_CHECKSUM_BYTES];
	struct engine_rate rate = { PTHREAD_MUTEX_INITIALIZER, { .bytes_per_s = 16 * MIB } };
	struct engine_control control = { .rate = &rate };
	AUTO(close_fd) int from = scratch();
	AUTO(close_fd) int to = scratch();
	struct engine_copy copy = { from, to, 16 * MIB };
	uint64_t began_ns = engine_now_ns();

	fill(from, 0, 16 * MIB, 5);
	ck_assert_int_eq(fsync(from), 0);
	ck_assert_int_eq(ftruncate(to, 16 * MIB), 0);
	began_ns = engine_now_ns();
	ck_assert_int_eq(engine_ring_copy(&copy, &control, checksum), 0);
	ck_assert_uint_ge(engine_now_ns() - began_ns, 700000000u);
	must_be_equal(from, to);
}
END_TEST

START_TEST(a_source_that_shrank_is_told)
{
	uint8_t checksum[ENGINE_CHECKSUM_BYTES];
	struct engine_control control = { 0 };
	AUTO(close_fd) int from = scratch();
	AUTO(close_fd) int to = scratch();
	struct engine_copy copy = { from, to, 4 * MIB };
	int r;

	fill(from, 0, 3 * MIB + 100, 5); /* it was 4 MiB when the job looked */
	ck_assert_int_eq(ftruncate(to, 4 * MIB), 0);
	r = engine_ring_copy(&copy, &control, checksum);
	ck_assert(r == 0 || r == -ETXTBSY); /* a hole at the end, or short reads */
}
END_TEST

static int no_disk(void *context, uint64_t durable_bytes)
{
	return -ENOSPC;
}

START_TEST(a_checkpoint_that_fails_ends_the_copy)
{
	uint8_t checksum[ENGINE_CHECKSUM_BYTES];
	struct engine_rate rate = { PTHREAD_MUTEX_INITIALIZER, { .bytes_per_s = 4 * MIB } };
	struct engine_control control = { .rate = &rate, .checkpoint = no_disk };
	AUTO(close_fd) int from = scratch();
	AUTO(close_fd) int to = scratch();
	struct engine_copy copy = { from, to, 40 * MIB };

	fill(from, 0, 40 * MIB, 5);
	ck_assert_int_eq(ftruncate(to, 40 * MIB), 0);
	ck_assert_int_eq(engine_ring_copy(&copy, &control, checksum), -ENOSPC);
}
END_TEST

START_TEST(long_runs_of_zeros_become_holes)
{
	struct engine_control control = { 0 };
	AUTO(close_fd) int fd = scratch();
	AUTO(close_fd) int spare = scratch();
	uint8_t before[ENGINE_CHECKSUM_BYTES], after[ENGINE_CHECKSUM_BYTES];
	AUTO(free_ptr) uint8_t *zeros = calloc(1, MIB);
	struct vfs_usage was, is;
	uint64_t dry, wet;

	ck_assert_int_eq(ftruncate(spare, VFS_PUNCH_BYTES_MAX), 0);
	fill(fd, 0, 24 * MIB + 100, 5);
	for (unsigned i = 2; i < 20; i++)
		MUST(pwrite(fd, zeros, MIB, (off_t) i * MIB) == MIB);
	MUST(pwrite(fd, zeros, 32 * KIB, 22 * MIB) == 32 * KIB); /* too short */
	ck_assert_int_eq(fsync(fd), 0);
	ck_assert_int_eq(engine_read(fd, 24 * MIB + 100, &control, before), 0);
	ck_assert_int_eq(vfs_usage(fd, &was), 0);
	ck_assert_int_eq(engine_punch(fd, spare, 24 * MIB + 100, true, &control, &dry), 0);
	ck_assert_uint_eq(dry, 18 * MIB);
	ck_assert_int_eq(vfs_usage(fd, &is), 0);
	ck_assert_uint_eq(is.allocated_bytes, was.allocated_bytes);
	ck_assert_int_eq(engine_punch(fd, spare, 24 * MIB + 100, false, &control, &wet), 0);
	ck_assert_uint_eq(wet, dry);
	ck_assert_int_eq(vfs_usage(fd, &is), 0);
	ck_assert_uint_le(is.allocated_bytes, was.allocated_bytes - 18 * MIB);
	ck_assert_int_eq(engine_read(fd, 24 * MIB + 100, &control, after), 0);
	ck_assert(memcmp(before, after, sizeof after) == 0);
}
END_TEST

START_TEST(local_file_systems_copy_with_the_ring)
{
	AUTO(close_fd) int fd = scratch();

	ck_assert(!engine_kernel_offloads(fd, fd));
	ck_assert(!engine_kernel_offloads(fd, -1));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine");
	TCase *tcase = tcase_create("engine");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, a_copy_has_the_content_and_the_holes, 0, 2);
	tcase_add_loop_test(tcase, old_data_under_holes_is_zeroed_and_space_kept, 0, 2);
	tcase_add_test(tcase, zeros_are_left_out_on_request);
	tcase_add_loop_test(tcase, any_length_is_copied, 0, ARRAY_COUNT(sizes));
	tcase_add_test(tcase, a_copy_goes_on_from_where_it_was);
	tcase_add_test(tcase, cancelling_stops_every_engine);
	tcase_add_test(tcase, engines_make_only_the_calls_that_the_sidecar_may);
	tcase_add_test(tcase, the_rate_is_kept);
	tcase_add_test(tcase, a_source_that_shrank_is_told);
	tcase_add_test(tcase, a_checkpoint_that_fails_ends_the_copy);
	tcase_add_test(tcase, long_runs_of_zeros_become_holes);
	tcase_add_test(tcase, local_file_systems_copy_with_the_ring);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
