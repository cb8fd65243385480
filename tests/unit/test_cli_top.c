/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `lodestore top` shows: rows in order, lines that fit, frames, keys.
 */
#include "offload/cli/top_view.h"

#include <stdlib.h>
#include <string.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

#define ROW(name, calls, read, latency)                                         \
	"{" name ", \"calls\": " calls ", \"errors\": 0, \"read_bytes\": " read \
	", \"written_bytes\": 0, \"connections\": 2, \"latency\": [" latency "]}"
#define SERVER(uptime, more)                                                        \
	"{\"pid\": 7, \"port\": 2049, \"uptime_ms\": " uptime                       \
	", \"connections\": {\"open\": 3, \"limit\": 10}, \"calls_in_flight\": 1, " \
	"\"buffers\": {\"used_bytes\": 1, \"limit_bytes\": 1048576}, "              \
	"\"flushes\": {\"count\": 0}, " more "}"

/* clang-format off */
static const char before_text[] = SERVER("1000",
	"\"exports\": [" ROW("\"path\": \"/a\"", "0", "0", "") ", "
			 ROW("\"path\": \"/b\"", "10", "0", "") "], "
	"\"procedures\": [" ROW("\"program\": \"nfs\", \"procedure\": \"NULL\"", "1", "0", "") "]");
static const char now_text[] = SERVER("2000",
	"\"exports\": [" ROW("\"path\": \"/b\"", "15", "0", "0, 0, 5") ", "
			 ROW("\"path\": \"/a\"", "100", "4096", "0, 100") ", "
			 ROW("\"path\": \"/c\\u001b[2J\"", "0", "0", "") "], "
	"\"clients\": [" ROW("\"address\": \"10.0.0.1\"", "100", "4096", "0, 100") ", "
			 ROW("\"address\": null", "3", "0", "3") "], "
	"\"procedures\": ["
	ROW("\"program\": \"mount\", \"procedure\": \"NULL\"", "7", "0", "7") ", "
	ROW("\"program\": \"nfs\", \"procedure\": \"NULL\"", "3", "0", "2") "]");
/* clang-format on */

static struct {
	struct json_value *before, *now;
	struct top_moment moment;
	struct top_view view;
	struct top_screen screen;
	char *shown;
	size_t shown_bytes;
} t;

static void setup(void)
{
	memset(&t, 0, sizeof t);
	ck_assert_int_eq(json_read(before_text, strlen(before_text), &t.before), 0);
	ck_assert_int_eq(json_read(now_text, strlen(now_text), &t.now), 0);
	t.moment.pair = status_pair(t.before, t.now);
	t.moment.clock = "12:34:56";
	t.moment.offload_answers = true;
	t.screen = (struct top_screen){ .columns = 80, .rows = 24 };
}

static void teardown(void)
{
	t.before = json_value_free(t.before);
	t.now = json_value_free(t.now);
	free(t.shown);
	t.shown = NULL;
}

static void open_screen(void)
{
	free(t.shown);
	t.shown = NULL;
	t.screen.to = open_memstream(&t.shown, &t.shown_bytes);
	ck_assert_ptr_nonnull(t.screen.to);
}

static const char *frame(void)
{
	open_screen();
	top_view_draw(&t.screen, &t.view, &t.moment);
	ck_assert_int_eq(fclose(t.screen.to), 0);
	return t.shown;
}

static unsigned lines_of(const char *text)
{
	unsigned lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

#define SHOWS(text) ck_assert_msg(strstr(t.shown, text) != NULL, "'%s' in:\n%s", text, t.shown)
#define HIDES(text) ck_assert_msg(strstr(t.shown, text) == NULL, "'%s' in:\n%s", text, t.shown)

/* ---- rows ---- */

static const struct {
	enum top_sort sort;
	const char *first;
} sorts[] = {
	{ TOP_BY_CALLS, "/a" },  { TOP_BY_READ, "/a" }, { TOP_BY_WRITTEN, "/a" },
	{ TOP_BY_ERRORS, "/a" }, { TOP_BY_NAME, "/a" }, { TOP_BY_SLOW, "/b" },
};

START_TEST(rows_come_in_order)
{
	struct top_rows rows;

	ck_assert_int_eq(top_rows_collect(&t.moment.pair, "exports", &rows), 0);
	ck_assert_uint_eq(rows.count, 3);
	top_rows_sort(&rows, sorts[_i].sort);
	ck_assert_str_eq(rows.rows[0].name, sorts[_i].first);
	free(rows.rows);
}
END_TEST

START_TEST(rows_find_what_they_were)
{
	struct top_rows rows;

	ck_assert_int_eq(top_rows_collect(&t.moment.pair, "exports", &rows), 0);
	ck_assert_uint_eq(rows.rows[0].calls, 5);
	ck_assert_uint_eq(rows.rows[0].slow_us, 4);
	ck_assert_uint_eq(rows.rows[1].calls, 100);
	ck_assert_uint_eq(rows.rows[1].read_bytes, 4096);
	free(rows.rows);
	ck_assert_int_eq(top_rows_collect(&t.moment.pair, "procedures", &rows), 0);
	ck_assert_uint_eq(rows.rows[0].calls, 7); /* NULL of MOUNT is not that of NFS */
	ck_assert_uint_eq(rows.rows[1].calls, 2);
	free(rows.rows);
	ck_assert_int_eq(top_rows_collect(&t.moment.pair, "nothing", &rows), 0);
	ck_assert_uint_eq(rows.count, 0);
	free(rows.rows);
}
END_TEST

/* ---- lines ---- */

static const struct {
	const char *name, *fitted;
	unsigned columns;
} names[] = {
	{ "/srv", "/srv  ", 6 },
	{ "/srv/ds1", "/srv/ds1", 8 },
	{ "/srv/ds1/x", "...s1/x", 7 },
	{ "/\xc3\xa4\xc3\xb6", "/\xc3\xa4\xc3\xb6 ", 4 },
	{ "/12345\xc3\xa4\xc3\xb6", "...5\xc3\xa4\xc3\xb6", 6 },
	{ "/\033[2J", "/\\x1b[2J", 8 },
	{ "/abc", "/a", 2 },
};

START_TEST(names_fit)
{
	char to[4 * TOP_COLUMNS_MAX];

	top_screen_fit(to, names[_i].name, names[_i].columns);
	ck_assert_str_eq(to, names[_i].fitted);
}
END_TEST

START_TEST(lines_are_no_wider_than_the_screen)
{
	open_screen();
	t.screen.ansi = true;
	t.screen.columns = 5;
	t.screen.rows = 2;
	top_screen_begin(&t.screen);
	top_screen_line(&t.screen, TOP_HEAD, "%s", "ab");
	top_screen_line(&t.screen, TOP_PLAIN, "%s", "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4zz");
	top_screen_line(&t.screen, TOP_PLAIN, "%s", "too far down");
	top_screen_end(&t.screen);
	ck_assert_int_eq(fclose(t.screen.to), 0);
	ck_assert_str_eq(t.shown, "\033[H\033[K\033[7mab   \033[0m\r\n"
	                          "\033[K\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
}
END_TEST

START_TEST(long_text_is_broken_at_blanks)
{
	open_screen();
	t.screen.columns = 8;
	top_screen_begin(&t.screen);
	top_screen_text(&t.screen, TOP_PLAIN, "one two three fourteenletters");
	top_screen_end(&t.screen);
	ck_assert_int_eq(fclose(t.screen.to), 0);
	ck_assert_str_eq(t.shown, "one two\nthree\nfourteen\n");
}
END_TEST

/* ---- frames ---- */

START_TEST(a_frame_has_the_server_exports_and_clients)
{
	frame();
	SHOWS("lodestore top  12:34:56  port 2049, up 2.0s\n");
	SHOWS("9 calls/s, read 0/s, written 0/s, flushes 0/s\n");
	SHOWS("\n/a                                      100      4K       0   <2us   <2us      "
	      "0\n");
	SHOWS("\n/c\\x1b[2J ");
	SHOWS("\n(others) ");
	HIDES("JOBS");
	HIDES("OPERATION");
	ck_assert_uint_eq(lines_of(t.shown), 24);
}
END_TEST

START_TEST(narrow_screens_have_fewer_columns)
{
	t.screen.columns = 60;
	frame();
	SHOWS("EXPORT                        CALLS/S  READ/S WRITE/S    P99\n");
	t.screen.columns = 30;
	frame();
	SHOWS("EXPORT                 CALLS/S\n");
}
END_TEST

START_TEST(low_screens_say_what_is_left_out)
{
	t.screen.rows = 9;
	frame();
	SHOWS("... and 2 more\n");
	ck_assert_uint_eq(lines_of(t.shown), 9);
	for (unsigned rows = 1; rows < 12; rows++) {
		t.screen.rows = rows;
		ck_assert_uint_eq(lines_of(frame()), rows);
	}
}
END_TEST

START_TEST(one_list_is_scrolled)
{
	t.view.list = TOP_EXPORTS;
	t.view.sort = TOP_BY_NAME;
	t.view.first_row = 1;
	frame();
	HIDES("\n/a ");
	SHOWS("\n/b ");
	HIDES("CLIENT");
	t.view.first_row = 100;
	frame();
	SHOWS("\n/c");
	ck_assert_uint_eq(t.view.first_row, 2);
	t.view.list = TOP_OPERATIONS;
	frame();
	SHOWS("\nnfs NULL");
}
END_TEST

START_TEST(jobs_have_bars)
{
	offload_job job = { .kind = OFFLOAD_KIND_CLONE,
		            .state = OFFLOAD_STATE_RUNNING,
		            .bytes_done = 1,
		            .bytes_total = 2,
		            .rate = 1 };

	t.moment.jobs = &job;
	t.moment.job_count = 1;
	frame();
	SHOWS("JOBS\n[");
	SHOWS("50%");
	t.view.list = TOP_JOBS;
	frame();
	SHOWS("50%");
	HIDES("EXPORT ");
}
END_TEST

START_TEST(trouble_comes_first)
{
	t.moment.offload_answers = false;
	frame();
	SHOWS("offload service does not answer: systemctl status");
	t.moment.pair.now = NULL;
	t.moment.why = "nobody is there";
	frame();
	SHOWS("nobody is there\nIt is asked again each second.\n");
	t.view.help = true;
	frame();
	SHOWS("q      leave");
	teardown();
	setup();
	t.moment.pair.before = NULL;
	frame();
	SHOWS("The first rates come in a second.");
}
END_TEST

START_TEST(the_moment_is_json_too)
{
	struct json_value *value;
	const struct json_value *top;

	open_screen();
	top_view_json(t.screen.to, &t.moment, 4711);
	ck_assert_int_eq(fclose(t.screen.to), 0);
	ck_assert_int_eq(json_read(t.shown, t.shown_bytes, &value), 0);
	top = json_find(value, "top");
	ck_assert_uint_eq(json_find_number(top, "at_ms"), 4711);
	ck_assert_uint_eq(json_find_number(top, "calls_s"), 9);
	ck_assert_uint_eq(json_find_number(json_find(top, "exports")->first->next, "calls_s"), 100);
	(void) json_value_free(value);
}
END_TEST

/* ---- keys ---- */

START_TEST(keys_come_one_by_one)
{
	static const char keys[] = "a\033[A\033[B\033OA\033[5~\033[6~\033[H\033[1~q\033[99;9X";
	static const int wanted[] = { 'a',          TOP_KEY_UP,      TOP_KEY_DOWN,
		                      TOP_KEY_UP,   TOP_KEY_PAGE_UP, TOP_KEY_PAGE_DOWN,
		                      TOP_KEY_HOME, TOP_KEY_HOME,    'q',
		                      TOP_KEY_OTHER };
	const char *at = keys, *end = keys + sizeof keys - 1;

	for (size_t i = 0; i < ARRAY_COUNT(wanted); i++)
		ck_assert_int_eq(top_key_next(&at, end), wanted[i]);
	ck_assert_ptr_eq(at, end);
	at = "\033";
	ck_assert_int_eq(top_key_next(&at, at + 1), '\033');
}
END_TEST

static void press(const char *keys)
{
	for (; *keys; keys++)
		ck_assert(!top_view_key(&t.view, *keys, 10));
}

START_TEST(keys_change_the_view)
{
	press("e");
	ck_assert_int_eq(t.view.list, TOP_EXPORTS);
	press("c");
	ck_assert_int_eq(t.view.list, TOP_CLIENTS);
	press("c");
	ck_assert_int_eq(t.view.list, TOP_ALL);
	press("oja");
	ck_assert_int_eq(t.view.list, TOP_ALL);
	press("ssx\033");
	ck_assert_int_eq(t.view.sort, TOP_BY_WRITTEN);
	press("ssss");
	ck_assert_int_eq(t.view.sort, TOP_BY_CALLS);
	press("ph");
	ck_assert(t.view.paused && t.view.help);
	frame();
	SHOWS("PAUSED");
	press("?p");
	ck_assert(!t.view.paused && !t.view.help);
	ck_assert(top_view_key(&t.view, 'q', 10));
}
END_TEST

START_TEST(keys_scroll)
{
	static const struct {
		int key;
		unsigned row;
	} steps[] = {
		{ TOP_KEY_UP, 0 },   { TOP_KEY_DOWN, 1 }, { TOP_KEY_PAGE_DOWN, 11 },
		{ TOP_KEY_UP, 10 },  { TOP_KEY_UP, 9 },   { TOP_KEY_PAGE_UP, 0 },
		{ TOP_KEY_DOWN, 1 }, { TOP_KEY_HOME, 0 }, { TOP_KEY_OTHER, 0 },
	};

	for (size_t i = 0; i < ARRAY_COUNT(steps); i++) {
		ck_assert(!top_view_key(&t.view, steps[i].key, 10));
		ck_assert_uint_eq(t.view.first_row, steps[i].row);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_top");
	TCase *tcase = tcase_create("cli_top");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, rows_come_in_order, 0, ARRAY_COUNT(sorts));
	tcase_add_test(tcase, rows_find_what_they_were);
	tcase_add_loop_test(tcase, names_fit, 0, ARRAY_COUNT(names));
	tcase_add_test(tcase, lines_are_no_wider_than_the_screen);
	tcase_add_test(tcase, long_text_is_broken_at_blanks);
	tcase_add_test(tcase, a_frame_has_the_server_exports_and_clients);
	tcase_add_test(tcase, narrow_screens_have_fewer_columns);
	tcase_add_test(tcase, low_screens_say_what_is_left_out);
	tcase_add_test(tcase, one_list_is_scrolled);
	tcase_add_test(tcase, jobs_have_bars);
	tcase_add_test(tcase, trouble_comes_first);
	tcase_add_test(tcase, the_moment_is_json_too);
	tcase_add_test(tcase, keys_come_one_by_one);
	tcase_add_test(tcase, keys_change_the_view);
	tcase_add_test(tcase, keys_scroll);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
