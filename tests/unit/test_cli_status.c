/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two status documents of a server become rates, latencies and a screen.
 */
#include "offload/cli/status_show.h"

#include <string.h>

#include "support/check_main.h"

#define SERVER(pid, uptime, more)                                                                 \
	"{\"format\": 1, \"program\": \"lodestore-nfsd\", \"version\": \"9.9\", \"port\": 2049, " \
	"\"pid\": " pid ", \"uptime_ms\": " uptime ", " more "}"
#define ROW(name, calls, read, latency)                                              \
	"{" name ", \"calls\": " calls ", \"errors\": 1, \"read_bytes\": " read      \
	", \"written_bytes\": 0, \"latency_us\": 9, \"connections\": 2, \"id\": 7, " \
	"\"latency\": [" latency "]}"
#define HEALTHY                                                                   \
	"\"workers\": {\"count\": 2, \"silent\": 0}, "                            \
	"\"connections\": {\"open\": 3, \"limit\": 10}, \"calls_in_flight\": 4, " \
	"\"buffers\": {\"used_bytes\": 1048576, \"limit_bytes\": 268435456}, "    \
	"\"refusals\": {\"host\": 0, \"port\": 5}, "

/* clang-format off */
static const char before_text[] = SERVER("7", "1000", HEALTHY
	"\"flushes\": {\"count\": 10, \"calls\": 20}, "
	"\"procedures\": [" ROW("\"procedure\": \"READ\"", "100", "1024", "0, 100") "], "
	"\"exports\": [" ROW("\"path\": \"/a\"", "100", "1024", "0, 100") "], "
	"\"clients\": [" ROW("\"address\": \"10.0.0.1\"", "100", "1024", "0, 100") "]");

#define SLOW_TWENTY "0, 280, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20"
static const char now_text[] = SERVER("7", "3000", HEALTHY
	"\"flushes\": {\"count\": 30, \"calls\": 100}, "
	"\"procedures\": [" ROW("\"procedure\": \"READ\"", "300", "5120", SLOW_TWENTY) "], "
	"\"exports\": [" ROW("\"path\": \"/a\"", "300", "5120", SLOW_TWENTY) ", "
			 ROW("\"path\": \"/b\\n\\udcff\"", "2", "0", "2") "], "
	"\"clients\": [" ROW("\"address\": \"10.0.0.1\"", "300", "5120", "0, 300") ", "
			 ROW("\"address\": null", "4", "0", "4") "]");
/* clang-format on */

static struct {
	struct json_value *before, *now;
	struct status_pair pair;
	char *shown;
} t;

static void setup(void)
{
	ck_assert_int_eq(json_read(before_text, strlen(before_text), &t.before), 0);
	ck_assert_int_eq(json_read(now_text, strlen(now_text), &t.now), 0);
	t.pair = status_pair(t.before, t.now);
}

static void teardown(void)
{
	t.before = json_value_free(t.before);
	t.now = json_value_free(t.now);
	free(t.shown);
	t.shown = NULL;
}

static void show(void (*what)(FILE *to, const struct status_pair *pair, const char *list),
                 const char *list)
{
	size_t bytes;
	FILE *to = open_memstream(&t.shown, &bytes);

	if (what)
		what(to, &t.pair, list);
	else
		status_show_server(to, &t.pair);
	ck_assert_int_eq(fclose(to), 0);
}

#define SHOWS(text) ck_assert_msg(strstr(t.shown, text) != NULL, "'%s' in:\n%s", text, t.shown)

START_TEST(rates_are_of_the_time_between)
{
	ck_assert_uint_eq(t.pair.apart_ms, 2000);
	show(status_show_rows, "exports");
	SHOWS("     100       2K        0     <2us     <8ms        1  /a\n");
}
END_TEST

START_TEST(what_is_new_counts_from_nothing)
{
	show(status_show_rows, "exports");
	SHOWS("       1        0        0     <1us     <1us        1  /b\\x0a\\xff\n");
}
END_TEST

START_TEST(after_a_restart_rates_are_since_the_start)
{
	t.before->first->next->next->next->next->number = 8; /* pid */
	t.pair = status_pair(t.before, t.now);
	ck_assert_ptr_null(t.pair.before);
	ck_assert_uint_eq(t.pair.apart_ms, 3000);
	show(status_show_rows, "exports");
	SHOWS("     100     1.7K");
}
END_TEST

START_TEST(clients_have_their_connections)
{
	show(status_show_rows, "clients");
	SHOWS("    2  10.0.0.1\n");
	SHOWS("    2  (others)\n");
}
END_TEST

START_TEST(the_server_is_one_screen)
{
	show(NULL, NULL);
	SHOWS("server       lodestore-nfsd 9.9, port 2049, up 3.0s\n");
	SHOWS("health       good\n");
	SHOWS("calls        100/s, read 2K/s, written 0/s\n");
	SHOWS("flushes      10/s, each for 3.3 calls since the start\n");
	SHOWS("connections  3 of 10, calls in flight 4, delayed by limits 0\n");
	SHOWS("memory       1M of 256M");
	SHOWS("refused      port 5 since the start\n");
}
END_TEST

START_TEST(rows_are_json_too)
{
	const struct json_value *row;
	struct json_value *value;

	show(status_rows_json, "exports");
	ck_assert_int_eq(json_read(t.shown, strlen(t.shown), &value), 0);
	row = json_find(value, "exports")->first;
	ck_assert_str_eq(json_find_text(row, "path"), "/a");
	ck_assert_uint_eq(json_find_number(row, "id"), 7);
	ck_assert_uint_eq(json_find_number(row, "calls"), 300);
	ck_assert_uint_eq(json_find_number(row, "calls_s"), 100);
	ck_assert_uint_eq(json_find_number(row, "read_bytes_s"), 2048);
	ck_assert_uint_eq(json_find_number(row, "p50_us"), 2);
	ck_assert_uint_eq(json_find_number(row, "p99_us"), 8192);
	ck_assert_str_eq(json_find_text(row->next, "path"), "/b\n\xff");
	(void) json_value_free(value);
	free(t.shown);
	show(status_rows_json, "clients");
	SHOWS("\"address\": null, \"connections\": 2");
}
END_TEST

START_TEST(trouble_is_told)
{
	static const struct {
		const char *document, *word;
	} cases[] = {
		{ "{\"workers\": {\"silent\": 1}}", "worker" },
		{ "{\"connections\": {\"open\": 5, \"limit\": 5}}", "connection" },
		{ "{\"connections\": {\"limit\": 5}, \"buffers\": {\"used_bytes\": 100, "
		  "\"limit_bytes\": 100}}",
		  "memory" },
		{ "{\"connections\": {\"limit\": 5}, \"buffers\": {\"limit_bytes\": 100}, "
		  "\"exports\": []}",
		  "nothing is exported" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct json_value *value;
		const char *document = cases[i].document;

		ck_assert_int_eq(json_read(document, strlen(document), &value), 0);
		ck_assert_msg(strstr(status_trouble(value), cases[i].word) != NULL, "%s: %s",
		              document, status_trouble(value));
		(void) json_value_free(value);
	}
	ck_assert_str_eq(status_trouble(t.now), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_status");
	TCase *tcase = tcase_create("cli_status");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, rates_are_of_the_time_between);
	tcase_add_test(tcase, what_is_new_counts_from_nothing);
	tcase_add_test(tcase, after_a_restart_rates_are_since_the_start);
	tcase_add_test(tcase, clients_have_their_connections);
	tcase_add_test(tcase, the_server_is_one_screen);
	tcase_add_test(tcase, rows_are_json_too);
	tcase_add_test(tcase, trouble_is_told);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
