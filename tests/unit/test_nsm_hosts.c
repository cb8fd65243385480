/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is watched, on disk and after a restart; and the bytes of the calls that tell them.
 */
#include "nfsd/nsm_hosts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nfsd/rpc_out_wire.h"
#include "support/check_main.h"

static char folder[] = "/dev/shm/nsm-hosts-XXXXXX";
static struct nsm_hosts *hosts;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(nsm_hosts_open(folder, &hosts), 0);
}

static void teardown(void)
{
	char command[PATH_MAX];

	hosts = nsm_hosts_close(hosts);
	(void) snprintf(command, sizeof command, "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static void restart(void)
{
	nsm_hosts_close(hosts);
	ck_assert_int_eq(nsm_hosts_open(folder, &hosts), 0);
}

static struct export_address address(const char *text)
{
	struct export_address parsed;

	ck_assert_int_eq(export_address_parse(text, &parsed), 0);
	return parsed;
}

static bool watch(const char *text)
{
	const struct export_address client = address(text), local = address("192.0.2.1");
	bool is_new;

	ck_assert_int_eq(nsm_hosts_watch(hosts, &client, &local, &is_new), 0);
	return is_new;
}

static bool watched(const char *text)
{
	const struct export_address client = address(text);
	int32_t state;

	return nsm_hosts_find(hosts, &client, &state);
}

static void local_is_kept(void *context, const struct export_address *client,
                          const struct export_address *local)
{
	const struct export_address expected = address("192.0.2.1");

	(void) client;
	ck_assert_mem_eq(local, &expected, sizeof expected);
	++*(unsigned *) context;
}

static unsigned old_count(void)
{
	unsigned seen = 0;

	ck_assert_uint_eq(nsm_hosts_visit_old(hosts, local_is_kept, &seen), seen);
	return seen;
}

START_TEST(each_start_has_an_odd_and_larger_number)
{
	int32_t first = nsm_hosts_state(hosts);

	ck_assert_int_gt(first, 0);
	ck_assert_int_eq(first & 1, 1);
	restart();
	ck_assert_int_eq(nsm_hosts_state(hosts), first + 2);
}
END_TEST

START_TEST(who_is_watched_is_old_after_a_restart_until_it_was_told)
{
	const struct export_address client = address("198.51.100.7");

	ck_assert(watch("198.51.100.7"));
	ck_assert(!watch("198.51.100.7"));
	ck_assert(watch("2001:db8::7"));
	ck_assert_uint_eq(old_count(), 0);
	restart();
	ck_assert(!watched("198.51.100.7"));
	ck_assert_uint_eq(old_count(), 2);
	nsm_hosts_told(hosts, &client);
	ck_assert_uint_eq(old_count(), 1);
	restart();
	ck_assert_uint_eq(old_count(), 1);
}
END_TEST

START_TEST(who_reclaims_before_it_was_told_stays)
{
	const struct export_address client = address("198.51.100.7");

	ck_assert(watch("198.51.100.7"));
	restart();
	ck_assert(watch("198.51.100.7"));
	nsm_hosts_told(hosts, &client);
	ck_assert(watched("198.51.100.7"));
	restart();
	ck_assert_uint_eq(old_count(), 1);
	nsm_hosts_forget(hosts, &client);
	restart();
	ck_assert_uint_eq(old_count(), 0);
}
END_TEST

START_TEST(a_clients_own_number)
{
	const struct export_address client = address("198.51.100.7");
	int32_t state = 1;

	nsm_hosts_state_set(hosts, &client, 5);
	ck_assert(!nsm_hosts_find(hosts, &client, &state));
	ck_assert_int_eq(state, 0);
	watch("198.51.100.7");
	nsm_hosts_state_set(hosts, &client, 5);
	ck_assert(nsm_hosts_find(hosts, &client, &state));
	ck_assert_int_eq(state, 5);
}
END_TEST

START_TEST(there_is_an_end_to_them)
{
	const struct export_address local = address("192.0.2.1"), one_more = address("203.0.113.1");
	char text[64];
	bool is_new;

	for (unsigned i = 0; i < NSM_HOSTS_MAX; i++) {
		(void) snprintf(text, sizeof text, "10.0.%u.%u", i / 256, i % 256);
		watch(text);
	}
	ck_assert_int_eq(nsm_hosts_watch(hosts, &one_more, &local, &is_new), -ENOLCK);
	ck_assert(!watch("10.0.0.0"));
}
END_TEST

START_TEST(what_is_no_address_is_left_alone)
{
	char path[PATH_MAX];
	FILE *file;

	(void) snprintf(path, sizeof path, "%s/nsm/hosts/README", folder);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fclose(file);
	restart();
	ck_assert_uint_eq(old_count(), 0);
	ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_state_directory_that_is_none_is_an_error)
{
	struct nsm_hosts *none;

	ck_assert_int_eq(nsm_hosts_open("/dev/null", &none), -ENOTDIR);
}
END_TEST

/* ---- calls ---- */

static struct rpc_out_call *call_to(const char *text)
{
	static const uint8_t args[4] = { 1, 2, 3, 4 };
	struct rpc_out_call *call = rpc_out_new(args, sizeof args);

	call->to = address(text);
	call->program = 100021;
	call->version = 4;
	call->xid = 77;
	return call;
}

static int answer(struct rpc_out_call *call, const char *universal, uint16_t *ret_port)
{
	uint8_t bytes[64];
	struct xdr_out out = xdr_out(bytes, sizeof bytes);

	xdr_put_opaque(&out, universal, (uint32_t) strlen(universal));
	return rpc_out_answer(call, (struct xdr_view){ bytes, (uint32_t) (out.at - bytes) },
	                      ret_port);
}

START_TEST(ports_in_answers)
{
	struct rpc_out_call *v4 = call_to("192.0.2.9"), *v6 = call_to("2001:db8::9");
	static const uint8_t port[4] = { 0, 0, 8, 1 }, large[4] = { 0, 1, 0, 0 };
	uint16_t found = 0;

	ck_assert_int_eq(rpc_out_answer(v4, (struct xdr_view){ port, 4 }, &found), 0);
	ck_assert_uint_eq(found, 2049);
	ck_assert_int_eq(rpc_out_answer(v4, (struct xdr_view){ large, 4 }, &found), -EPROTO);
	ck_assert_int_eq(rpc_out_answer(v4, (struct xdr_view){ port, 3 }, &found), -EPROTO);
	ck_assert_int_eq(answer(v6, "2001:db8::9.8.1", &found), 0);
	ck_assert_uint_eq(found, 2049);
	ck_assert_int_eq(answer(v6, "", &found), 0);
	ck_assert_uint_eq(found, 0);
	ck_assert_int_eq(answer(v6, "8", &found), -EPROTO);
	ck_assert_int_eq(answer(v6, "::.8.256", &found), -EPROTO);
	ck_assert_int_eq(answer(v6, "::.8.x", &found), -EPROTO);
	free(v4);
	free(v6);
}
END_TEST

START_TEST(replies_and_what_is_none)
{
	static const uint8_t accepted[28] = { [3] = 77, [7] = 1, [27] = 9 };
	uint8_t other[28];
	struct xdr_view results;
	uint32_t xid = 0;

	ck_assert_int_eq(rpc_out_xid(accepted, sizeof accepted, &xid), 0);
	ck_assert_uint_eq(xid, 77);
	ck_assert_int_eq(rpc_out_xid(accepted, 6, &xid), -EBADMSG);
	ck_assert_int_eq(rpc_out_results(accepted, sizeof accepted, &results), 0);
	ck_assert_uint_eq(results.count, 4);
	for (unsigned i = 7; i <= 23; i += 4) { /* REPLY, accepted, verifier, SUCCESS */
		memcpy(other, accepted, sizeof other);
		other[i] ^= i == 15 ? 0 : 2;
		if (i != 15)
			ck_assert_int_eq(rpc_out_results(other, sizeof other, &results), -EPROTO);
	}
	ck_assert_int_eq(rpc_out_results(accepted, 20, &results), -EPROTO);
}
END_TEST

START_TEST(questions_by_family)
{
	struct rpc_out_call *v4 = call_to("192.0.2.9"), *v6 = call_to("2001:db8::9");
	uint8_t bytes[RPC_OUT_MESSAGE_BYTES_MAX];

	ck_assert_uint_eq(rpc_out_message(v4, bytes), 24 + 40 + 8 + 4);
	ck_assert_uint_eq(rpc_out_question(v4, false, bytes), 24 + 40 + 8 + 16);
	ck_assert_uint_eq(bytes[19], 2);
	ck_assert_uint_eq(rpc_out_question(v6, true, bytes), 24 + 40 + 8 + 24);
	ck_assert_uint_eq(bytes[19], 3);
	free(v4);
	free(v6);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nsm_hosts");
	TCase *tcase = tcase_create("nsm_hosts"), *wire = tcase_create("wire");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, each_start_has_an_odd_and_larger_number);
	tcase_add_test(tcase, who_is_watched_is_old_after_a_restart_until_it_was_told);
	tcase_add_test(tcase, who_reclaims_before_it_was_told_stays);
	tcase_add_test(tcase, a_clients_own_number);
	tcase_add_test(tcase, there_is_an_end_to_them);
	tcase_add_test(tcase, what_is_no_address_is_left_alone);
	tcase_add_test(tcase, a_state_directory_that_is_none_is_an_error);
	suite_add_tcase(suite, tcase);
	tcase_add_test(wire, ports_in_answers);
	tcase_add_test(wire, replies_and_what_is_none);
	tcase_add_test(wire, questions_by_family);
	suite_add_tcase(suite, wire);
	return check_main(suite);
}
