/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfs_file_write() against a scripted disk: which way a write goes, and what each outcome does.
 */
#include <errno.h>
#include <string.h>

#include "support/check_main.h"
#include "support/ring_fake.h"
#include "support/vfs_fake.h"
#include "vfs/base/cleanup.h"
#include "vfs/vfs_internal.h"

enum {
	WHOLE = 1000000,
	FILE_NODE = 2, /* 5000 bytes */
	SCRIPT_MAX = 8,
	WRITES_MAX = 4,
	QUIET_RUNS = 5,
	CACHED = RING_FAKE_PWRITE,
	DIRECT = RING_FAKE_PWRITE_DURABLE,
};

struct one_write {
	struct vfs_write write;
	bool durable_wanted, durable;
	int result;
	unsigned done;
};

static struct {
	struct vfs *vfs;
	struct vfs_file *file;
	struct loop *loop;
	struct buffer_budget budget;
	struct buffer_pool *buffers;
	int script[SCRIPT_MAX];
	unsigned script_count, disk_count;
	enum ring_fake_kind kinds[SCRIPT_MAX];
	void (*more)(void);        /* when all is quiet */
	unsigned quiet_runs, hold; /* so many asks the disk does not answer */
	struct one_write writes[WRITES_MAX];
	unsigned flush_failures, refusals;
	uint8_t data[8192];
} t;

static int answer(void *context, const struct ring_fake_call *call)
{
	struct ring_fake_call part = *call;
	int result;

	(void) context;
	if (call->kind != RING_FAKE_PWRITE && call->kind != RING_FAKE_PWRITE_DURABLE)
		return RING_FAKE_LATER; /* the loop's own */
	if (t.hold > 0 && t.hold--)
		return RING_FAKE_LATER;
	t.quiet_runs = 0;
	MUST(t.disk_count < SCRIPT_MAX);
	result = t.disk_count < t.script_count ? t.script[t.disk_count] : WHOLE;
	t.kinds[t.disk_count++] = call->kind;
	if (result <= 0)
		return result;
	if ((size_t) result < call->count)
		part.count = (size_t) result;
	return vfs_fake_io(&part);
}

static void idle(void *context)
{
	(void) context;
	if (t.hold > 0 || ++t.quiet_runs < QUIET_RUNS)
		return;
	t.quiet_runs = 0;
	if (t.more)
		t.more();
	else
		loop_stop(t.loop);
	t.more = NULL;
}

static void flush_failed(void *context, int error)
{
	(void) context;
	(void) error;
	t.flush_failures++;
}

static void direct_refused(void *context, const struct vfs_export *export, int error)
{
	(void) context;
	(void) error;
	MUST(export == vfs_file_export(t.file));
	t.refusals++;
}

static void tick(void *context)
{
	(void) context;
}

static void setup(void)
{
	static const struct ring_fake_behaviour behaviour = { .answer = answer, .idle = idle };
	static const struct vfs_told told = { flush_failed, direct_refused, NULL };
	uint8_t handle[VFS_FAKE_HANDLE_BYTES];
	const char *hint;

	memset(&t, 0, sizeof t);
	for (size_t i = 0; i < sizeof t.data; i++)
		t.data[i] = (uint8_t) (i % 199 + 1);
	t.vfs = vfs_fake_new();
	vfs_fake_fault(NULL, NULL);
	vfs_tell(t.vfs, &told);
	vfs_fake_direct(FILE_NODE);
	vfs_fake_handle(FILE_NODE, handle);
	MUST(vfs_file_open(t.vfs, handle, sizeof handle, &t.file) == 0);
	MUST(vfs_file_need(t.file, VFS_OPEN_READ_WRITE) == 0);
	t.budget.limit_bytes = 16 << 20;
	t.buffers = buffer_pool_new(&t.budget);
	ring_fake_behave(&behaviour);
	MUST(t.buffers && loop_open(tick, NULL, &t.loop, &hint) == 0);
}

static void teardown(void)
{
	t.loop = loop_close(t.loop);
	t.buffers = buffer_pool_free(t.buffers);
	vfs_file_put(t.file);
	vfs_fake_free();
}

static void written(struct vfs_write *write, int result)
{
	struct one_write *one = container_of(write, struct one_write, write);

	one->result = result;
	one->durable = write->durable;
	one->done++;
}

static void start(unsigned i, uint64_t offset, uint32_t count, bool durable)
{
	struct vfs_write *write = &t.writes[i].write;

	*write = (struct vfs_write){
		.done = written, .loop = t.loop, .buffers = t.buffers, .durable = durable
	};
	/* An odd address: the data of a call lies anywhere. */
	vfs_file_write(t.file, write, t.data + 1, count, offset);
}

static void run(void)
{
	ck_assert_int_eq(loop_run(t.loop), 0);
}

static const struct {
	const char *what;
	uint64_t offset;
	uint32_t count;
	bool durable;
	int script[3];
	int result;
	bool durable_after;
	int kinds[3];
	unsigned kind_count, flush_failures, refusals;
} cases[] = {
	/* clang-format off */
	{ "aligned, inside",      0, 4096, true,  { WHOLE }, 4096, true,  { DIRECT }, 1, 0, 0 },
	{ "another place",      512,  512, true,  { WHOLE },  512, true,  { DIRECT }, 1, 0, 0 },
	{ "need not be durable",  0, 4096, false, { WHOLE }, 4096, false, { CACHED }, 1, 0, 0 },
	{ "unaligned offset",   100,  512, true,  { WHOLE },  512, false, { CACHED }, 1, 0, 0 },
	{ "unaligned length",     0,   84, true,  { WHOLE },   84, false, { CACHED }, 1, 0, 0 },
	{ "over the end",      4608,  512, true,  { WHOLE },  512, false, { CACHED }, 1, 0, 0 },
	{ "short",                0, 4096, true,  { 512 },    512, true,  { DIRECT }, 1, 0, 0 },
	{ "no progress",          0, 4096, true,  { 0 },        0, false, { DIRECT }, 1, 0, 0 },
	{ "full disk",            0,  512, true,  { -EFBIG },-EFBIG, false, { DIRECT }, 1, 1, 0 },
	{ "broken disk",          0, 4096, true,  { -EIO },   -EIO, false, { DIRECT }, 1, 1, 0 },
	{ "broken, cached",       0, 4096, false, { -EIO },   -EIO, false, { CACHED }, 1, 0, 0 },
	{ "refused",              0, 4096, true,  { -EINVAL, WHOLE }, 4096, false,
	  { DIRECT, CACHED }, 2, 0, 1 },
	{ "refused, then full",   0, 4096, true,  { -EOPNOTSUPP, -ENOSPC }, -ENOSPC, false,
	  { DIRECT, CACHED }, 2, 0, 1 },
	/* clang-format on */
};

START_TEST(each_way_and_outcome)
{
	memcpy(t.script, cases[_i].script, sizeof cases[_i].script);
	t.script_count = cases[_i].kind_count;
	start(0, cases[_i].offset, cases[_i].count, cases[_i].durable);
	run();
	ck_assert_msg(t.writes[0].done == 1, "%s: done %u times", cases[_i].what, t.writes[0].done);
	ck_assert_msg(t.writes[0].result == cases[_i].result, "%s: %d", cases[_i].what,
	              t.writes[0].result);
	ck_assert_msg(t.writes[0].durable == cases[_i].durable_after, "%s", cases[_i].what);
	ck_assert_msg(t.disk_count == cases[_i].kind_count, "%s", cases[_i].what);
	for (unsigned i = 0; i < t.disk_count; i++)
		ck_assert_msg((int) t.kinds[i] == cases[_i].kinds[i], "%s: way %u", cases[_i].what,
		              i);
	ck_assert_uint_eq(t.flush_failures, cases[_i].flush_failures);
	ck_assert_uint_eq(t.refusals, cases[_i].refusals);
	if (t.writes[0].result > 0) {
		ck_assert_mem_eq(vfs_fake_data(FILE_NODE) + cases[_i].offset, t.data + 1,
		                 (size_t) t.writes[0].result);
		/* What is durable needs no flush, and the rest must not miss it. */
		ck_assert_int_eq(atomic_load(&t.file->dirty), !cases[_i].durable_after);
	}
}
END_TEST

static void second_write(void)
{
	start(1, 512, 512, true);
}

START_TEST(what_was_refused_once_is_not_tried_again_and_told_once)
{
	t.script[0] = -EINVAL;
	t.script_count = 1;
	start(0, 0, 512, true);
	t.more = second_write;
	run();
	ck_assert_uint_eq(t.disk_count, 3); /* direct, again, and the second */
	ck_assert_int_eq(t.kinds[2], CACHED);
	ck_assert_uint_eq(t.refusals, 1);
}
END_TEST

START_TEST(a_file_with_holes_is_written_through_the_cache)
{
	vfs_fake_sparse(FILE_NODE);
	start(0, 0, 512, true);
	run();
	ck_assert_int_eq(t.kinds[0], CACHED);
}
END_TEST

START_TEST(without_memory_for_a_copy_it_goes_through_the_cache)
{
	t.budget.limit_bytes = 100;
	start(0, 0, 512, true);
	run();
	ck_assert_int_eq(t.kinds[0], CACHED);
}
END_TEST

START_TEST(a_cached_write_waits_for_the_direct_ones)
{
	t.hold = 3;
	start(0, 0, 512, true);
	start(1, 100, 84, false);
	start(2, 512, 512, true); /* does not overtake */
	run();
	ck_assert_uint_eq(t.disk_count, 3);
	ck_assert_int_eq(t.kinds[0], DIRECT);
	ck_assert_int_eq(t.kinds[1], CACHED);
	ck_assert_int_eq(t.kinds[2], DIRECT);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(t.writes[i].done, 1);
	ck_assert(t.writes[0].durable && !t.writes[1].durable && t.writes[2].durable);
	ck_assert_mem_eq(vfs_fake_data(FILE_NODE) + 100, t.data + 1, 84);
}
END_TEST

/* ---- the window of bulk data ---- */

static struct one_bulk {
	struct vfs_bulk bulk;
	unsigned let_in;
} bulks[3];

static void let_in(struct vfs_bulk *bulk)
{
	container_of(bulk, struct one_bulk, bulk)->let_in++;
	t.quiet_runs = 0;
}

static bool enter(unsigned i, uint32_t bytes)
{
	bulks[i] = (struct one_bulk){ .bulk = { .let_in = let_in, .loop = t.loop } };
	return vfs_bulk_enter(t.file, &bulks[i].bulk, bytes);
}

static void first_leaves(void)
{
	vfs_bulk_leave(&bulks[0].bulk);
}

START_TEST(bulk_waits_for_room_and_is_let_in_on_its_own_loop)
{
	vfs_bulk_bytes_set(t.vfs, 1 << 20);
	ck_assert(enter(0, 1 << 20));
	ck_assert(!enter(1, 64 << 10));
	first_leaves();
	ck_assert_uint_eq(bulks[1].let_in, 0); /* not from inside vfs_bulk_leave() */
	run();
	ck_assert_uint_eq(bulks[0].let_in, 0);
	ck_assert_uint_eq(bulks[1].let_in, 1);
	vfs_bulk_leave(&bulks[1].bulk);
	vfs_bulk_leave(&bulks[1].bulk); /* it is not inside any more */
	vfs_bulk_done(t.vfs);
}
END_TEST

START_TEST(what_is_small_never_waits_behind_bulk)
{
	vfs_bulk_bytes_set(t.vfs, 1 << 20);
	ck_assert(enter(0, 1 << 20));
	ck_assert(!enter(1, 1 << 20));
	for (uint32_t bytes = 1; bytes <= 16 << 10; bytes *= 2) {
		ck_assert(enter(2, bytes));
		vfs_bulk_leave(&bulks[2].bulk);
	}
	first_leaves();
	run();
	ck_assert_uint_eq(bulks[1].let_in, 1);
	vfs_bulk_leave(&bulks[1].bulk);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vfs_write");
	TCase *tcase = tcase_create("vfs_write");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, each_way_and_outcome, 0, (int) ARRAY_COUNT(cases));
	tcase_add_test(tcase, what_was_refused_once_is_not_tried_again_and_told_once);
	tcase_add_test(tcase, a_file_with_holes_is_written_through_the_cache);
	tcase_add_test(tcase, without_memory_for_a_copy_it_goes_through_the_cache);
	tcase_add_test(tcase, a_cached_write_waits_for_the_direct_ones);
	tcase_add_test(tcase, bulk_waits_for_room_and_is_let_in_on_its_own_loop);
	tcase_add_test(tcase, what_is_small_never_waits_behind_bulk);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
