/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection's bounds and ends: time limits, calls and memory in flight, stopping, a call that
 * is sent again elsewhere. Over a ring and files in memory; time passes by setting the
 * connection's own clocks back.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "nfsd/conn_internal.h"
#include "rpcgen/nfs3.h"
#include "rpcgen/rpc_call.h"
#include "support/check_main.h"
#include "support/conn_fixture.h"
#include "vfs/base/cleanup.h"

static void setup(void)
{
	static const struct ring_fake_behaviour behaviour = { .answer = answer, .idle = idle };

	memset(&t, 0, sizeof t);
	ring_fake_behave(&behaviour);
	vfs_fake_fault(NULL, NULL);
	nfsd_fake_open(&t.fake, 64 << 20);
	t.fake.config.record_timeout_s = 30;
	t.fake.config.reply_timeout_s = 60;
}

static void teardown(void)
{
	nfsd_fake_close(&t.fake);
}

static struct client *connect_from(uint8_t host)
{
	struct client *client = &t.clients[t.client_count++];

	client->fd = nfsd_fake_connect(&t.fake, host);
	return client;
}

static struct client *connect_client(void)
{
	return connect_from(1);
}

static struct conn *conn_of(unsigned number)
{
	struct conn *conn = t.fake.worker.conns[number];

	ck_assert_ptr_nonnull(conn);
	return conn;
}

static void run(void (*quiet)(void))
{
	t.quiet = quiet;
	ck_assert_int_eq(loop_run(t.fake.worker.loop), 0);
	ck_assert_uint_eq(conn_count(), 0);
}

/* ---- what is sent ---- */

static void put_call(struct client *client, uint32_t xid, uint32_t procedure, const void *args,
                     size_t args_bytes)
{
	const uint32_t words[CALL_WORDS] = { xid, 0, 2, NFS_PROGRAM, NFS_V3, procedure, 1, 20 };
	struct xdr_out out = xdr_out(client->wire + client->bytes, WIRE_BYTES - client->bytes);
	uint8_t handle[VFS_FAKE_HANDLE_BYTES];

	xdr_put_u32(&out,
	            0x80000000 | (uint32_t) (4 * CALL_WORDS + (procedure ? 12 + args_bytes : 0)));
	for (size_t i = 0; i < CALL_WORDS; i++)
		xdr_put_u32(&out, words[i]);
	if (procedure) {
		vfs_fake_handle(procedure == NFSPROC3_REMOVE ? 0 : 2, handle);
		xdr_put_opaque(&out, handle, sizeof handle);
		xdr_put_fixed(&out, args, (uint32_t) args_bytes);
	}
	MUST(!out.failed);
	client->bytes = (size_t) (out.at - client->wire);
}

static void put_read(struct client *client, uint32_t xid, uint32_t count)
{
	const uint32_t args[] = { 0, 0, htobe32(count) };

	put_call(client, xid, NFSPROC3_READ, args, sizeof args);
}

static void put_write(struct client *client, uint32_t xid)
{
	const uint32_t args[] = { 0, 0, htobe32(4), htobe32(FILE_SYNC), htobe32(4), 0x61616161 };

	put_call(client, xid, NFSPROC3_WRITE, args, sizeof args);
}

static void put_large_write(struct client *client, uint32_t xid)
{
	static uint32_t args[5 + LARGE_BYTES / 4];

	args[2] = args[4] = htobe32(LARGE_BYTES);
	args[3] = htobe32(UNSTABLE);
	put_call(client, xid, NFSPROC3_WRITE, args, sizeof args);
}

/* ---- time ---- */

static void tick_closes(struct conn *conn, enum counters_closed limit)
{
	conn_tick(conn);
	ck_assert(conn->closing);
	ck_assert_uint_eq(t.fake.worker.counters.closed[limit], 1);
}

static void age_silent(void)
{
	conn_of(0)->received_ms -= DAY_MS;
	tick_closes(conn_of(0), CLOSED_FIRST_CALL);
}

START_TEST(a_connection_that_never_makes_a_call_is_timed_out)
{
	(void) connect_client();
	run(age_silent);
}
END_TEST

static void age_record(void)
{
	struct conn *conn = conn_of(0);

	ck_assert_uint_ne(conn->record_since_ms, 0);
	conn_tick(conn);
	ck_assert(!conn->closing);
	conn->record_since_ms -= 31000;
	tick_closes(conn, CLOSED_RECORD);
}

START_TEST(a_record_that_does_not_end_is_timed_out)
{
	struct client *client = connect_client();

	put_call(client, 1, NFSPROC3_NULL, NULL, 0);
	put_call(client, 2, NFSPROC3_NULL, NULL, 0);
	client->bytes -= 8;
	run(age_record);
	ck_assert_uint_eq(client->replies, 1);
}
END_TEST

static void age_reply(void)
{
	struct conn *conn = conn_of(0);

	ck_assert_ptr_nonnull(conn->sending);
	conn_tick(conn);
	ck_assert(!conn->closing);
	conn->send_since_ms -= 61000;
	tick_closes(conn, CLOSED_REPLY);
}

START_TEST(a_client_that_takes_no_reply_is_timed_out)
{
	struct client *client = connect_client();

	client->no_reading = true;
	put_call(client, 1, NFSPROC3_NULL, NULL, 0);
	run(age_reply);
	ck_assert_uint_eq(client->replies, 0);
}
END_TEST

static void age_idle(void)
{
	struct conn *conn = conn_of(0);

	conn->received_ms -= DAY_MS;
	conn_tick(conn);
	ck_assert(!conn->closing); /* no limit is set */
	ck_assert_uint_ge(conn_idle_ms(conn), DAY_MS);
	t.fake.config.idle_timeout_s = 3600;
	tick_closes(conn, CLOSED_IDLE);
	ck_assert_uint_eq(conn_idle_ms(conn), 0);
}

START_TEST(an_idle_connection_is_closed_only_if_the_administrator_says_so)
{
	put_call(connect_client(), 1, NFSPROC3_NULL, NULL, 0);
	run(age_idle);
}
END_TEST

static void look_without_buffer(void)
{
	ck_assert_ptr_null(conn_of(0)->in);
}

static void age_buffer(void)
{
	struct conn *conn = conn_of(0);

	ck_assert_ptr_nonnull(conn->in);
	conn_tick(conn);
	conn->received_ms -= 2000;
	conn_tick(conn);
	t.quiet = look_without_buffer;
}

START_TEST(a_connection_with_nothing_to_say_keeps_no_buffer)
{
	struct client *client = connect_client();

	put_call(client, 1, NFSPROC3_NULL, NULL, 0);
	run(age_buffer);
	ck_assert_uint_eq(client->replies, 1);
}
END_TEST

/* ---- bounds ---- */

static void release_disk(void)
{
	struct conn *conn = conn_of(0);

	ck_assert_uint_eq(conn->call_count, 16);
	ck_assert(list_linked(&conn->starved_node));
	ck_assert(!conn->recv_op.in_flight);
	t.hold_disk = false;
}

/* Held by the disk until @look lets go: all are answered in the end. */
static void read_many(uint32_t count, uint32_t bytes, void (*look)(void))
{
	struct client *client = connect_client();

	t.hold_disk = true;
	for (uint32_t i = 0; i < count; i++)
		put_read(client, i, bytes);
	run(look);
	ck_assert_uint_eq(client->replies, count);
}

START_TEST(calls_in_flight_are_bounded_and_the_others_come_later)
{
	read_many(100, 100, release_disk);
}
END_TEST

START_TEST(calls_in_flight_are_bounded_for_all_connections_together)
{
	t.fake.config.calls_per_connection = 4096;
	t.fake.server.calls_per_worker = 16;
	read_many(100, 100, release_disk);
}
END_TEST

static void release_bounded_bytes(void)
{
	ck_assert_uint_le(conn_of(0)->reply_bytes, 256 << 10);
	ck_assert(list_linked(&conn_of(0)->starved_node));
	t.hold_disk = false;
}

START_TEST(bytes_of_replies_are_bounded_as_the_administrator_says)
{
	t.fake.config.calls_per_connection = 4096;
	t.fake.config.reply_bytes_per_connection = 128 << 10;
	read_many(40, 64 << 10, release_bounded_bytes);
}
END_TEST

static size_t most_bytes;

static void start_reading(void)
{
	most_bytes = atomic_load(&t.fake.server.budget.used_bytes);
	t.clients[0].no_reading = false;
}

START_TEST(a_client_that_sends_and_never_reads_is_bounded_in_memory)
{
	struct client *client = connect_client();

	t.fake.config.calls_per_connection = 4096;
	client->no_reading = true;
	for (uint32_t i = 0; i < 2000; i++)
		put_read(client, i, 1 << 20);
	run(start_reading);
	ck_assert_uint_eq(client->replies, 2000);
	ck_assert_uint_le(most_bytes, t.fake.server.budget.limit_bytes);
}
END_TEST

static void look_at_the_sender(void)
{
	const struct conn *sender = conn_of(0);

	ck_assert_uint_le(sender->message_bytes,
	                  t.fake.server.budget.limit_bytes / 4 + LARGE_BYTES + 1024);
	ck_assert_uint_ge(sender->call_count, 32);
	ck_assert_uint_lt(sender->call_count, 100);
	ck_assert_uint_eq(t.clients[0].replies, 0);
	ck_assert_uint_eq(t.clients[1].replies, 1);
	t.hold_disk = false;
}

START_TEST(a_client_that_sends_to_a_slow_disk_holds_a_part_of_the_memory_and_all_is_written)
{
	struct client *sender = connect_client(), *other = connect_client();

	t.fake.config.calls_per_connection = 4096;
	t.fake.server.budget.limit_bytes = 4 << 20;
	t.hold_disk = true;
	for (uint32_t i = 0; i < 100; i++)
		put_large_write(sender, i);
	put_call(other, 1000, NFSPROC3_GETATTR, NULL, 0);
	run(look_at_the_sender);
	ck_assert_uint_eq(sender->replies, 100);
}
END_TEST

static void look_at_the_many(void)
{
	size_t limit = t.fake.server.budget.limit_bytes;

	ck_assert_uint_le(conn_of(0)->row->held_bytes, limit / 3 + CONNS * LARGE_BYTES);
	ck_assert_uint_ge(conn_of(0)->row->held_bytes, limit / 4);
	ck_assert_uint_eq(t.clients[CONNS - 1].replies, 1);
	ck_assert_uint_eq(t.clients[CONNS - 2].replies, 1); /* its own heartbeat is answered, too */
	t.hold_disk = false;
}

/* Now that memory is scarce. */
static void ask_then_look(void)
{
	put_call(&t.clients[CONNS - 2], 100000, NFSPROC3_GETATTR, NULL, 0);
	put_call(&t.clients[CONNS - 1], 1, NFSPROC3_GETATTR, NULL, 0);
	t.quiet = look_at_the_many;
}

START_TEST(a_client_with_many_connections_holds_a_part_of_the_memory_and_all_is_written)
{
	t.fake.config.calls_per_connection = 4096;
	t.fake.server.budget.limit_bytes = 4 << 20;
	t.hold_disk = true;
	for (unsigned n = 0; n < CONNS - 2; n++) {
		struct client *sender = connect_from(1);

		for (uint32_t i = 0; i < 100; i++)
			put_large_write(sender, 1000 * n + i);
	}
	(void) connect_from(1);
	(void) connect_from(2);
	run(ask_then_look);
	for (unsigned n = 0; n < CONNS - 2; n++)
		ck_assert_uint_eq(t.clients[n].replies, 100);
}
END_TEST

/* ---- ends ---- */

static void vanish(void)
{
	ck_assert_uint_eq(t.fake.worker.call_count, 3);
	conn_close(conn_of(0), "the test says so");
	conn_close(conn_of(0), "once is enough");
}

START_TEST(calls_outlive_their_connection)
{
	struct client *client = connect_client();

	t.hold_disk = true;
	put_read(client, 1, 100);
	put_write(client, 2);
	put_read(client, 3, 100);
	run(vanish);
	ck_assert_uint_eq(client->replies, 0);
	ck_assert_uint_ge(t.disk_count, 3);
}
END_TEST

static void stop_all(void)
{
	conn_stop(conn_of(0));
	conn_stop(conn_of(1));
	ck_assert_uint_eq(conn_count(), 2);
	put_call(&t.clients[0], 9, NFSPROC3_NULL, NULL, 0); /* too late */
	t.hold_disk = false;
}

START_TEST(stopping_answers_what_runs_and_takes_no_more)
{
	struct client *client = connect_client(), *other = connect_client();

	t.hold_disk = true;
	put_read(client, 1, 100);
	put_write(client, 2);
	run(stop_all);
	ck_assert_uint_eq(client->replies, 2);
	ck_assert_uint_eq(other->replies, 0);
}
END_TEST

static void let_go(void)
{
	t.hold_disk = false;
}

static void send_again(void)
{
	put_write(&t.clients[1], 77);
	put_write(&t.clients[1], 77);
	t.quiet = let_go;
}

START_TEST(a_call_sent_again_on_a_new_connection_runs_once_and_is_answered_there)
{
	struct client *first = connect_client(), *second = connect_client();

	t.hold_disk = true;
	put_write(first, 77);
	run(send_again);
	ck_assert_uint_eq(first->replies, 0);
	ck_assert_uint_eq(second->replies, 1);
	ck_assert_uint_eq(t.disk_count, 2); /* a write and a flush */
}
END_TEST

static void send_late(void)
{
	put_write(&t.clients[1], 77);
}

START_TEST(a_call_sent_again_after_its_reply_gets_the_same_reply)
{
	struct client *first = connect_client(), *second = connect_client();

	put_write(first, 77);
	run(send_late);
	ck_assert_uint_eq(first->replies, 1);
	ck_assert_uint_eq(second->replies, 1);
	ck_assert_uint_eq(t.disk_count, 2);
}
END_TEST

/* ---- limits ---- */

static const struct export_rate one_call = { .iops = 1 }, no_limit;

/* The first goes, the others would take seconds; what is free goes as well. */
static void put_limited(struct client *client)
{
	vfs_fake_limit(&one_call);
	for (uint32_t i = 0; i < 3; i++)
		put_read(client, i, 1024);
	put_read(client, 10, 511);
	put_write(client, 11);
	put_call(client, 12, NFSPROC3_GETATTR, NULL, 0);
}

static void lift_limit(void)
{
	ck_assert_uint_eq(t.clients[0].replies, 4);
	ck_assert_uint_eq(conn_of(0)->call_count, 2);
	conn_tick(conn_of(0));
	ck_assert_uint_eq(conn_of(0)->call_count, 2); /* nothing has changed */
	vfs_fake_limit(&no_limit);
	conn_tick(conn_of(0));
}

START_TEST(calls_over_a_limit_wait_until_a_reload_lifts_it)
{
	struct client *client = connect_client();

	put_limited(client);
	run(lift_limit);
	ck_assert_uint_eq(client->replies, 6);
}
END_TEST

static void stop_limited(void)
{
	ck_assert_uint_eq(t.clients[0].replies, 4);
	conn_stop(conn_of(0));
}

START_TEST(stopping_answers_calls_that_wait_for_their_turn)
{
	struct client *client = connect_client();

	put_limited(client);
	run(stop_limited);
	ck_assert_uint_eq(client->replies, 6);
	ck_assert_uint_eq(t.disk_count, 4); /* two reads, a write, its flush: not the others */
}
END_TEST

static void put_remove(struct client *client, uint32_t xid)
{
	const uint32_t name[] = { htobe32(4), htobe32(0x6c696e6b) }; /* "link" */

	put_call(client, xid, NFSPROC3_REMOVE, name, sizeof name);
}

static void lose_first(void)
{
	ck_assert_uint_eq(t.clients[0].replies, 1);
	conn_close(conn_of(0), NULL);
}

static void resend_remove(void)
{
	put_remove(&t.clients[1], 77);
	t.quiet = lose_first;
}

START_TEST(a_call_that_waits_on_a_lost_connection_is_answered_where_it_was_sent_again)
{
	struct client *first = connect_client(), *second = connect_client();

	vfs_fake_limit(&one_call);
	put_read(first, 1, 1024);
	put_remove(first, 77);
	run(resend_remove);
	ck_assert_uint_eq(first->replies, 1);
	ck_assert_uint_eq(second->replies, 1); /* NFS3ERR_JUKEBOX: once more, please */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("conn");
	TCase *tcase = tcase_create("conn");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_connection_that_never_makes_a_call_is_timed_out);
	tcase_add_test(tcase, a_record_that_does_not_end_is_timed_out);
	tcase_add_test(tcase, a_client_that_takes_no_reply_is_timed_out);
	tcase_add_test(tcase, an_idle_connection_is_closed_only_if_the_administrator_says_so);
	tcase_add_test(tcase, a_connection_with_nothing_to_say_keeps_no_buffer);
	tcase_add_test(tcase, calls_in_flight_are_bounded_and_the_others_come_later);
	tcase_add_test(tcase, calls_in_flight_are_bounded_for_all_connections_together);
	tcase_add_test(tcase, bytes_of_replies_are_bounded_as_the_administrator_says);
	tcase_add_test(tcase, a_client_that_sends_and_never_reads_is_bounded_in_memory);
	tcase_add_test(
		tcase,
		a_client_that_sends_to_a_slow_disk_holds_a_part_of_the_memory_and_all_is_written);
	tcase_add_test(
		tcase,
		a_client_with_many_connections_holds_a_part_of_the_memory_and_all_is_written);
	tcase_add_test(tcase, calls_outlive_their_connection);
	tcase_add_test(tcase, stopping_answers_what_runs_and_takes_no_more);
	tcase_add_test(tcase,
	               a_call_sent_again_on_a_new_connection_runs_once_and_is_answered_there);
	tcase_add_test(tcase, a_call_sent_again_after_its_reply_gets_the_same_reply);
	tcase_add_test(tcase, calls_over_a_limit_wait_until_a_reload_lifts_it);
	tcase_add_test(tcase, stopping_answers_calls_that_wait_for_their_turn);
	tcase_add_test(tcase,
	               a_call_that_waits_on_a_lost_connection_is_answered_where_it_was_sent_again);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
