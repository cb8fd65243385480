/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READ, WRITE and COMMIT against a scripted disk: each kind of result, at each step that can get
 * it. Calls come over a connection, as bytes; nothing here touches a file.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "rpcgen/nfs3.h"
#include "rpcgen/rpc_call.h"
#include "support/check_main.h"
#include "support/nfs3_reply_check.h"
#include "support/nfsd_fake.h"
#include "vfs/base/cleanup.h"

enum {
	WHOLE = 1000000, /* the disk does all that was asked */
	OFFSET = 1024,
	IO_BYTES = 4096,
	FILE_NODE = 2,
	SCRIPT_MAX = 64,
	REPLIES_MAX = 32,
	WIRE_BYTES = 256 << 10,
	QUIET_RUNS = 20,
};

struct reply {
	uint32_t xid;
	union {
		nfsstat3 status;
		READ3res read;
		WRITE3res write;
		COMMIT3res commit;
	} res;
	xdrproc_t decoder;
};

static struct {
	struct nfsd_fake fake;
	uint8_t wire[WIRE_BYTES]; /* calls that are sent */
	struct xdr_out out;
	size_t received;    /* of them */
	void (*more)(void); /* further calls, when all is quiet */
	bool ending;
	unsigned quiet_runs;

	int script[SCRIPT_MAX]; /* results of the disk's operations, in order; then WHOLE */
	unsigned script_count, disk_count;
	enum ring_fake_kind disk_kinds[SCRIPT_MAX];
	unsigned hold_flushes; /* flushes wait so long as other operations are to come */

	uint32_t next_xid;
	xdrproc_t decoders[REPLIES_MAX]; /* by xid */
	struct reply replies[REPLIES_MAX];
	unsigned reply_count;
} t;

/* ---- the network ---- */

static void reply_came(const uint8_t *bytes, size_t bytes_count)
{
	struct reply *reply = &t.replies[t.reply_count++];
	struct reply_seen seen;
	XDR xdrs;

	MUST(t.reply_count <= REPLIES_MAX);
	MUST(reply_check_header(bytes, bytes_count, &seen));
	MUST(seen.success && seen.xid < t.next_xid);
	reply->xid = seen.xid;
	reply->decoder = t.decoders[seen.xid];
	xdrmem_create(&xdrs, (char *) (uintptr_t) seen.results, (u_int) seen.result_bytes,
	              XDR_DECODE);
	MUST(reply->decoder(&xdrs, &reply->res) && xdr_getpos(&xdrs) == seen.result_bytes);
}

/* One sendmsg(2) has whole replies here: nothing is sent in parts. */
static int net_send(const struct msghdr *message)
{
	int total = 0;

	for (size_t i = 0; i < message->msg_iovlen; i++) {
		reply_came((const uint8_t *) message->msg_iov[i].iov_base + RPC_RECORD_MARK_BYTES,
		           message->msg_iov[i].iov_len - RPC_RECORD_MARK_BYTES);
		total += (int) message->msg_iov[i].iov_len;
	}
	return total;
}

static int net_receive(const struct ring_fake_call *call)
{
	size_t left = (size_t) (t.out.at - t.wire) - t.received;

	if (left == 0)
		return t.ending ? 0 : RING_FAKE_LATER;
	left = left < call->count ? left : call->count;
	memcpy(call->bytes, t.wire + t.received, left);
	t.received += left;
	return (int) left;
}

/* ---- the disk ---- */

static int disk(const struct ring_fake_call *call)
{
	struct ring_fake_call part = *call;
	int result;

	if (call->kind == RING_FAKE_FDATASYNC && t.hold_flushes > 0) {
		t.hold_flushes--;
		return RING_FAKE_LATER;
	}
	MUST(t.disk_count < SCRIPT_MAX);
	result = t.disk_count < t.script_count ? t.script[t.disk_count] : WHOLE;
	t.disk_kinds[t.disk_count++] = call->kind;
	if (result <= 0 && !(result == 0 && call->kind == RING_FAKE_FDATASYNC))
		return result;
	if ((size_t) result < call->count)
		part.count = (size_t) result;
	return vfs_fake_io(&part);
}

static int answer(void *context, const struct ring_fake_call *call)
{
	int result = RING_FAKE_LATER;

	(void) context;
	if (call->kind == RING_FAKE_POLL)
		result = t.ending || t.out.at > t.wire + t.received ? POLLIN : RING_FAKE_LATER;
	else if (call->kind == RING_FAKE_RECV)
		result = net_receive(call);
	else if (call->kind == RING_FAKE_SENDMSG)
		result = net_send(call->message);
	else if (call->kind != RING_FAKE_READ)
		result = disk(call);
	if (result != RING_FAKE_LATER)
		t.quiet_runs = 0;
	return result;
}

static void idle(void *context)
{
	(void) context;
	if (++t.quiet_runs < QUIET_RUNS)
		return;
	t.quiet_runs = 0;
	if (t.more) {
		void (*more)(void) = t.more;

		t.more = NULL;
		more();
		return;
	}
	if (t.ending && atomic_load(&t.fake.worker.conn_count) == 0)
		loop_stop(t.fake.worker.loop);
	t.ending = true;
}

/* ---- a run ---- */

static void begin(const int *script, unsigned script_count)
{
	static const struct ring_fake_behaviour behaviour = { .answer = answer, .idle = idle };

	memset(&t, 0, sizeof t);
	t.out = xdr_out(t.wire, sizeof t.wire);
	for (unsigned i = 0; i < script_count; i++)
		t.script[t.script_count++] = script[i];
	ring_fake_behave(&behaviour);
	vfs_fake_fault(NULL, NULL);
	nfsd_fake_open(&t.fake, 64 << 20);
}

static void run(void)
{
	(void) nfsd_fake_connect(&t.fake, 1);
	ck_assert_int_eq(loop_run(t.fake.worker.loop), 0);
	for (unsigned i = 0; i < t.reply_count; i++)
		for (unsigned j = 0; j < i; j++)
			ck_assert_uint_ne(t.replies[i].xid, t.replies[j].xid);
	ck_assert_uint_eq(t.reply_count, t.next_xid); /* each call once */
}

static void end(void)
{
	for (unsigned i = 0; i < t.reply_count; i++)
		xdr_free(t.replies[i].decoder, &t.replies[i].res);
	nfsd_fake_close(&t.fake);
}

static const struct reply *reply_of(uint32_t xid)
{
	for (unsigned i = 0; i < t.reply_count; i++)
		if (t.replies[i].xid == xid)
			return &t.replies[i];
	ck_abort_msg("call %u was not answered", xid);
}

static uint64_t verifier_of(const writeverf3 verifier)
{
	uint64_t value;

	memcpy(&value, verifier, sizeof value);
	return be64toh(value);
}

/* ---- calls ---- */

static uint8_t *call_begin(uint32_t procedure, xdrproc_t decoder)
{
	uint32_t words[] = { t.next_xid, 0, 2, NFS_PROGRAM, NFS_V3, procedure, 1, 20,
		             0,          0, 0, 0,           0,      0,         0 };
	uint8_t handle[VFS_FAKE_HANDLE_BYTES], *mark = t.out.at;

	MUST(t.next_xid < REPLIES_MAX);
	t.decoders[t.next_xid++] = decoder;
	xdr_put_u32(&t.out, 0);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		xdr_put_u32(&t.out, words[i]);
	vfs_fake_handle(FILE_NODE, handle);
	xdr_put_opaque(&t.out, handle, sizeof handle);
	return mark;
}

static void call_end(uint8_t *mark)
{
	MUST(!t.out.failed);
	rpc_record_mark(mark, (uint32_t) (t.out.at - mark) - RPC_RECORD_MARK_BYTES);
}

static void call_write(uint64_t offset, stable_how stable, uint8_t fill)
{
	uint8_t data[IO_BYTES], *mark = call_begin(NFSPROC3_WRITE, (xdrproc_t) xdr_WRITE3res);

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t) (fill + i % 199);
	xdr_put_u64(&t.out, offset);
	xdr_put_u32(&t.out, sizeof data);
	xdr_put_u32(&t.out, stable);
	xdr_put_opaque(&t.out, data, sizeof data);
	call_end(mark);
}

static void call_read(uint64_t offset, uint32_t count)
{
	uint8_t *mark = call_begin(NFSPROC3_READ, (xdrproc_t) xdr_READ3res);

	xdr_put_u64(&t.out, offset);
	xdr_put_u32(&t.out, count);
	call_end(mark);
}

static void call_commit(void)
{
	uint8_t *mark = call_begin(NFSPROC3_COMMIT, (xdrproc_t) xdr_COMMIT3res);

	xdr_put_u64(&t.out, 0);
	xdr_put_u32(&t.out, 0);
	call_end(mark);
}

static bool was_written(uint64_t offset, uint8_t fill)
{
	for (size_t i = 0; i < IO_BYTES; i++)
		if (vfs_fake_data(FILE_NODE)[offset + i] != (uint8_t) (fill + i % 199))
			return false;
	return true;
}

/* ---- WRITE ---- */

static const struct {
	const char *what;
	stable_how stable;
	int results[4];
	unsigned result_count;
	nfsstat3 status;
} writes[] = {
	/* clang-format off */
	{ "unstable: one write",        UNSTABLE,  { WHOLE },            1, NFS3_OK },
	{ "stable: write, then flush",  FILE_SYNC, { WHOLE, 0 },         2, NFS3_OK },
	{ "data: the same",             DATA_SYNC, { WHOLE, 0 },         2, NFS3_OK },
	{ "short writes are resumed",   UNSTABLE,  { 4000, 95, 1 },      3, NFS3_OK },
	{ "and then flushed once",      FILE_SYNC, { 1, 4094, 1, 0 },    4, NFS3_OK },
	{ "no progress ends in EIO",    UNSTABLE,  { 4000, 0 },          2, NFS3ERR_IO },
	{ "no progress at once",        FILE_SYNC, { 0 },                1, NFS3ERR_IO },
	{ "full disk",                  FILE_SYNC, { -ENOSPC },          1, NFS3ERR_NOSPC },
	{ "full disk after a part",     FILE_SYNC, { 4000, -ENOSPC },    2, NFS3ERR_NOSPC },
	{ "quota",                      UNSTABLE,  { -EDQUOT },          1, NFS3ERR_DQUOT },
	{ "too large",                  UNSTABLE,  { -EFBIG },           1, NFS3ERR_FBIG },
	{ "broken disk",                UNSTABLE,  { -EIO },             1, NFS3ERR_IO },
	{ "cancelled",                  UNSTABLE,  { -ECANCELED },       1, NFS3ERR_SERVERFAULT },
	{ "interrupted: try again",     UNSTABLE,  { -EINTR },           1, NFS3ERR_JUKEBOX },
	{ "no memory: try again",       UNSTABLE,  { -ENOMEM },          1, NFS3ERR_JUKEBOX },
	{ "flush fails",                FILE_SYNC, { WHOLE, -EIO },      2, NFS3ERR_IO },
	{ "flush finds the disk full",  DATA_SYNC, { WHOLE, -ENOSPC },   2, NFS3ERR_NOSPC },
	/* clang-format on */
};

START_TEST(each_outcome_of_a_write)
{
	bool flush_failed = writes[_i].stable != UNSTABLE && writes[_i].result_count == 2 &&
	                    writes[_i].results[0] == WHOLE && writes[_i].results[1] < 0;
	const WRITE3res *res;

	begin(writes[_i].results, writes[_i].result_count);
	call_write(OFFSET, writes[_i].stable, 7);
	run();
	res = &reply_of(0)->res.write;
	ck_assert_msg(res->status == writes[_i].status, "%s: status %d", writes[_i].what,
	              (int) res->status);
	ck_assert_msg(t.disk_count == writes[_i].result_count, "%s: %u operations", writes[_i].what,
	              t.disk_count);
	if (res->status == NFS3_OK) {
		ck_assert_uint_eq(res->WRITE3res_u.resok.count, IO_BYTES);
		ck_assert_int_eq(res->WRITE3res_u.resok.committed,
		                 writes[_i].stable == UNSTABLE ? UNSTABLE : FILE_SYNC);
		ck_assert_uint_eq(verifier_of(res->WRITE3res_u.resok.verf), 1000);
		ck_assert(was_written(OFFSET, 7));
	}
	ck_assert_uint_eq(t.fake.flush_failures, flush_failed);
	end();
}
END_TEST

/* ---- READ ---- */

static const struct {
	const char *what;
	uint64_t offset;
	uint32_t count;
	int results[3];
	unsigned result_count;
	nfsstat3 status;
	uint32_t got;
	bool eof;
} reads[] = {
	/* clang-format off */
	{ "all of it",            0,     4096, { WHOLE },        1, NFS3_OK, 4096, false },
	{ "up to the end",        4000,  1000, { WHOLE },        1, NFS3_OK, 1000, true },
	{ "short at the end",     4096,  4096, { WHOLE },        1, NFS3_OK, 904, true },
	{ "behind the end",       9000,  4096, { WHOLE },        1, NFS3_OK, 0, true },
	{ "short: resumed",       0,     4096, { 1000, 3095, 1 }, 3, NFS3_OK, 4096, false },
	{ "nothing more: so far", 0,     4096, { 1000, 0 },      2, NFS3_OK, 1000, false },
	{ "nothing asked",        0,     0, { 0 },            0, NFS3_OK, 0, false },
	{ "no offset at all",     INT64_MAX, 4096, { 0 },            0, NFS3_OK, 0, true },
	{ "broken disk",          0,     4096, { -EIO },         1, NFS3ERR_IO, 0, false },
	{ "broken after some",    0,     4096, { 1000, -EIO },   2, NFS3ERR_IO, 0, false },
	{ "try again",            0,     4096, { -EAGAIN },      1, NFS3ERR_JUKEBOX, 0, false },
	/* clang-format on */
};

START_TEST(each_outcome_of_a_read)
{
	const READ3res *res;

	begin(reads[_i].results, reads[_i].result_count);
	call_read(reads[_i].offset, reads[_i].count);
	run();
	res = &reply_of(0)->res.read;
	ck_assert_msg(res->status == reads[_i].status, "%s: status %d", reads[_i].what,
	              (int) res->status);
	ck_assert_msg(t.disk_count == reads[_i].result_count, "%s: %u operations", reads[_i].what,
	              t.disk_count);
	if (res->status == NFS3_OK) {
		const READ3resok *ok = &res->READ3res_u.resok;

		ck_assert_msg(ok->count == reads[_i].got && ok->data.data_len == reads[_i].got,
		              "%s: %u bytes", reads[_i].what, ok->count);
		ck_assert_msg(!ok->eof == !reads[_i].eof, "%s: eof %d", reads[_i].what, ok->eof);
		for (uint32_t i = 0; i < ok->count; i++)
			MUST(ok->data.data_val[i] == 'f');
	}
	end();
}
END_TEST

/* ---- flushes that are shared ---- */

static void three_writes(const int *script, unsigned script_count)
{
	begin(script, script_count);
	for (unsigned i = 0; i < 3; i++)
		call_write(OFFSET + i * IO_BYTES, FILE_SYNC, (uint8_t) i);
	run();
	ck_assert_uint_eq(t.disk_count, 3 + 1);
	ck_assert_int_eq(t.disk_kinds[3], RING_FAKE_FDATASYNC);
}

START_TEST(writes_of_one_turn_share_a_flush)
{
	three_writes(NULL, 0);
	for (uint32_t xid = 0; xid < 3; xid++)
		ck_assert_int_eq(reply_of(xid)->res.status, NFS3_OK);
	end();
}
END_TEST

START_TEST(a_failed_flush_tells_all_it_covered_and_changes_the_verifier_once)
{
	static const int script[] = { WHOLE, WHOLE, WHOLE, -EIO };

	three_writes(script, 4);
	for (uint32_t xid = 0; xid < 3; xid++)
		ck_assert_int_eq(reply_of(xid)->res.status, NFS3ERR_IO);
	ck_assert_uint_eq(t.fake.flush_failures, 1);
	ck_assert_uint_eq(atomic_load(&t.fake.server.write_verifier), 1001);
	end();
}
END_TEST

static void again(void)
{
	call_commit();
}

/* What was written before the failure may be lost, and who commits it later learns that by the
 * verifier. */
START_TEST(a_commit_after_a_failed_flush_has_another_verifier_than_the_write_before)
{
	static const int script[] = { WHOLE, -EIO };
	const WRITE3res *written;
	const COMMIT3res *committed;

	begin(script, 2);
	call_write(OFFSET, UNSTABLE, 1);
	call_commit();
	t.more = again;
	run();
	written = &reply_of(0)->res.write;
	ck_assert_int_eq(written->status, NFS3_OK);
	ck_assert_uint_eq(verifier_of(written->WRITE3res_u.resok.verf), 1000);
	ck_assert_int_eq(reply_of(1)->res.status, NFS3ERR_IO);
	committed = &reply_of(2)->res.commit;
	ck_assert_int_eq(committed->status, NFS3_OK);
	ck_assert_uint_eq(verifier_of(committed->COMMIT3res_u.resok.verf), 1001);
	end();
}
END_TEST

static void two_more(void)
{
	call_write(OFFSET + IO_BYTES, FILE_SYNC, 2);
	call_write(OFFSET + 2 * IO_BYTES, FILE_SYNC, 3);
}

/* The flush in flight began before the two were written: its success cannot answer them. Its
 * failure may be that of their data, which it could already see, and the kernel will not tell
 * it again: they are to be written anew. */
START_TEST(writes_that_end_while_a_flush_runs_wait_for_the_next)
{
	static const struct {
		int script[5];
		nfsstat3 first, others;
		unsigned failures;
	} cases[] = {
		{ { WHOLE, WHOLE, WHOLE, 0, 0 }, NFS3_OK, NFS3_OK, 0 },
		{ { WHOLE, WHOLE, WHOLE, 0, -EIO }, NFS3_OK, NFS3ERR_IO, 1 },
		{ { WHOLE, WHOLE, WHOLE, -ENOSPC, 0 }, NFS3ERR_NOSPC, NFS3ERR_JUKEBOX, 1 },
	};

	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		begin(cases[i].script, 5);
		call_write(OFFSET, FILE_SYNC, 1);
		t.hold_flushes = 2 * QUIET_RUNS;
		t.more = two_more;
		run();
		ck_assert_int_eq(t.disk_kinds[3], RING_FAKE_FDATASYNC);
		ck_assert_int_eq(t.disk_kinds[4], RING_FAKE_FDATASYNC);
		ck_assert_uint_eq(t.disk_count, 5);
		ck_assert_int_eq(reply_of(0)->res.status, cases[i].first);
		ck_assert_int_eq(reply_of(1)->res.status, cases[i].others);
		ck_assert_int_eq(reply_of(2)->res.status, cases[i].others);
		ck_assert_uint_eq(t.fake.flush_failures, cases[i].failures);
		end();
	}
}
END_TEST

/* ---- the Nth operation fails ---- */

static const int failures[] = { -EIO, -ENOSPC, -ECANCELED, -EINTR, 0, 1, 4095 };

static void check_sequence(unsigned nth, int failure)
{
	static const uint64_t offsets[] = { OFFSET, OFFSET + IO_BYTES };
	unsigned good = 0;

	for (uint32_t xid = 0; xid < 5; xid++)
		good += reply_of(xid)->res.status == NFS3_OK;
	for (uint32_t xid = 0; xid < 2; xid++)
		if (reply_of(xid)->res.status == NFS3_OK) {
			ck_assert_uint_eq(reply_of(xid)->res.write.WRITE3res_u.resok.count,
			                  IO_BYTES);
			ck_assert(was_written(offsets[xid], (uint8_t) (xid + 1)));
		}
	/* A part is no failure; no progress ends a write, and a read early. */
	if (failure > 0)
		ck_assert_msg(good == 5, "operation %u, %d: %u good", nth, failure, good);
	else
		ck_assert_uint_ge(good, 1);
	if (failure < 0)
		ck_assert_msg(good < 5, "operation %u, %d: nobody was told", nth, failure);
}

START_TEST(whichever_operation_fails_every_call_is_answered_once)
{
	unsigned nth = 0;

	do {
		int script[SCRIPT_MAX];
		unsigned failures_told = 0;

		for (unsigned i = 0; i < SCRIPT_MAX / 2; i++)
			script[i] = i == nth ? failures[_i] : WHOLE;
		begin(script, SCRIPT_MAX / 2);
		call_write(OFFSET, UNSTABLE, 1);
		call_write(OFFSET + IO_BYTES, FILE_SYNC, 2);
		call_read(0, 5000);
		call_commit();
		t.more = again;
		run();
		if (nth >= t.disk_count) {
			end();
			break;
		}
		if (t.disk_kinds[nth] == RING_FAKE_FDATASYNC && failures[_i] < 0)
			failures_told = 1;
		/* A flush has no parts. */
		if (t.disk_kinds[nth] != RING_FAKE_FDATASYNC || failures[_i] < 0)
			check_sequence(nth, failures[_i]);
		ck_assert_uint_eq(t.fake.flush_failures, failures_told);
		end();
	} while (++nth < SCRIPT_MAX / 2);
	ck_assert_uint_ge(nth, 5); /* two writes, a read, two flushes */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nfs3_io");
	TCase *tcase = tcase_create("nfs3_io");

	tcase_add_loop_test(tcase, each_outcome_of_a_write, 0, (int) ARRAY_COUNT(writes));
	tcase_add_loop_test(tcase, each_outcome_of_a_read, 0, (int) ARRAY_COUNT(reads));
	tcase_add_test(tcase, writes_of_one_turn_share_a_flush);
	tcase_add_test(tcase, a_failed_flush_tells_all_it_covered_and_changes_the_verifier_once);
	tcase_add_test(tcase,
	               a_commit_after_a_failed_flush_has_another_verifier_than_the_write_before);
	tcase_add_test(tcase, writes_that_end_while_a_flush_runs_wait_for_the_next);
	tcase_add_loop_test(tcase, whichever_operation_fails_every_call_is_answered_once, 0,
	                    (int) ARRAY_COUNT(failures));
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
