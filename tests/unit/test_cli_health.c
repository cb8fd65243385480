/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a monitoring system is told: the verdict, and the line that goes with it.
 */
#include "offload/cli/health.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

#define LIMITS                                            \
	"\"connections\": {\"open\": 3, \"limit\": 10}, " \
	"\"buffers\": {\"used_bytes\": 1, \"limit_bytes\": 100}, "
#define SERVER(uptime, more)                                                               \
	"{\"pid\": 7, \"started_ms\": 1000000000, \"uptime_ms\": " uptime ", " LIMITS more \
	"\"procedures\": [{\"calls\": " uptime "}]}"
#define WORKERS   "\"workers\": {\"silent\": 0}, "
#define EXPORTS   "\"exports\": [{\"path\": \"/a\"}], \"exports_unserved\": [], "
#define FLUSHES   "\"flushes\": {\"failed\": 0, \"failed_last_ms\": 0}, "
#define GOOD(ref) WORKERS EXPORTS FLUSHES "\"refusals\": {\"host\": " ref "}, "

static const char before_text[] = SERVER("10000", GOOD("2"));

enum {
	GIB = 1 << 30,
};

static struct {
	struct json_value *before, *now;
	struct space space;
	struct health_seen seen;
	char *shown;
} t;

static void setup(void)
{
	t.space = (struct space){ "/a", SPACE_KNOWN, 0, 50ull * GIB, 100ull * GIB, 0, 0 };
	t.seen = (struct health_seen){ .offload_answers = true,
		                       .live_jobs = 1,
		                       .spaces = &t.space,
		                       .space_count = 1,
		                       .warn_space_percent = 10,
		                       .crit_space_percent = 3 };
}

static void teardown(void)
{
	t.before = json_value_free(t.before);
	t.now = json_value_free(t.now);
	free(t.shown);
	t.shown = NULL;
}

static enum health judge(const char *now)
{
	size_t bytes;
	FILE *to = open_memstream(&t.shown, &bytes);
	enum health health;

	ck_assert_int_eq(json_read(before_text, strlen(before_text), &t.before), 0);
	ck_assert_msg(json_read(now, strlen(now), &t.now) == 0, "%s", now);
	t.seen.pair = status_pair(t.before, t.now);
	health = health_judge(to, &t.seen);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_ptr_eq(strchr(t.shown, '\n'), t.shown + bytes - 1);
	return health;
}

#define SHOWS(text) ck_assert_msg(strstr(t.shown, text) != NULL, "'%s' in: %s", text, t.shown)

START_TEST(all_is_well)
{
	ck_assert_int_eq(judge(SERVER("11000", GOOD("2"))), HEALTH_GOOD);
	ck_assert_str_eq(t.shown,
	                 "LODESTORE OK - 1 exports served, up 11s | calls=1000 read=0B written=0B"
	                 " connections=3;;;0;10 calls_in_flight=0 jobs=1 refused=2c"
	                 " flushes_failed=0c '/a'=50%;10:;3:;0;100\n");
}
END_TEST

/* The uptime is 11 s, the clock says 1000011 s. */
static const struct {
	const char *now, *says;
	enum health health;
} documents[] = {
	{ SERVER("11000", GOOD("4")), "WARNING - 2 just refused (host)", HEALTH_WARNING },
	{ SERVER("11000", "\"workers\": {\"silent\": 1}, " EXPORTS FLUSHES),
	  "CRITICAL - a worker does not answer", HEALTH_CRITICAL },
	{ SERVER("11000", WORKERS FLUSHES "\"exports\": [], \"exports_unserved\": [], "),
	  "CRITICAL - nothing is exported", HEALTH_CRITICAL },
	{ SERVER("11000", WORKERS FLUSHES
	         "\"exports\": [{\"path\": \"/a\"}], \"exports_unserved\": [\"/b|\\n\"], "),
	  "CRITICAL - /b/\\x0a is in the exports file and not served", HEALTH_CRITICAL },
	{ SERVER("11000",
	         WORKERS EXPORTS "\"flushes\": {\"failed\": 2, \"failed_last_ms\": 1000001000}, "),
	  "CRITICAL - 2 flushes failed since the start, the last one 10s ago", HEALTH_CRITICAL },
	{ SERVER("7200000",
	         WORKERS EXPORTS "\"flushes\": {\"failed\": 1, \"failed_last_ms\": 1000001000}, "),
	  "WARNING - 1 flushes failed since the start, the last one 1h59m ago", HEALTH_WARNING },
};

START_TEST(what_the_server_tells_is_judged)
{
	ck_assert_int_eq(judge(documents[_i].now), documents[_i].health);
	SHOWS(documents[_i].says);
}
END_TEST

static const struct {
	struct space space;
	const char *says;
	enum health health;
} spaces[] = {
	{ { "/a", SPACE_KNOWN, 0, 10, 100, 0, 0 }, "OK", HEALTH_GOOD },
	{ { "/a", SPACE_KNOWN, 0, 9, 100, 0, 0 }, "/a has only 9 free (9%)", HEALTH_WARNING },
	{ { "/a", SPACE_KNOWN, 0, 2, 100, 0, 0 }, "/a has only 2 free (2%)", HEALTH_CRITICAL },
	{ { "/a", SPACE_KNOWN, 0, 50, 100, 5, 100 },
	  "/a has only 5 inodes free (5%)",
	  HEALTH_WARNING },
	{ { "/a", SPACE_KNOWN, 0, 0, 0, 0, 0 }, "'/a'=100%", HEALTH_GOOD },
	{ { "/a", SPACE_SILENT, 0, 0, 0, 0, 0 },
	  "file system of /a does not answer",
	  HEALTH_CRITICAL },
	{ { "/a", SPACE_FAILED, EIO, 0, 0, 0, 0 }, "/a: Input/output error", HEALTH_CRITICAL },
	{ { "/a'=|\xc3\xa4", SPACE_KNOWN, 0, 1, 1, 0, 0 }, "'/a___\xc3\xa4'=100%", HEALTH_GOOD },
};

START_TEST(space_is_judged)
{
	t.space = spaces[_i].space;
	ck_assert_int_eq(judge(SERVER("11000", GOOD("2"))), spaces[_i].health);
	SHOWS(spaces[_i].says);
}
END_TEST

START_TEST(the_worst_comes_first)
{
	t.seen.offload_answers = false;
	t.space.state = SPACE_SILENT;
	ck_assert_int_eq(judge(SERVER("11000", GOOD("2"))), HEALTH_CRITICAL);
	SHOWS("CRITICAL - the file system of /a does not answer; the offload service");
}
END_TEST

START_TEST(a_long_story_is_cut)
{
	static struct space many[100];
	char path[1024];

	memset(path, 'x', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	for (size_t i = 0; i < ARRAY_COUNT(many); i++)
		many[i] = (struct space){ .path = path, .state = SPACE_SILENT };
	t.seen.spaces = many;
	t.seen.space_count = ARRAY_COUNT(many);
	ck_assert_int_eq(judge(SERVER("11000", GOOD("2"))), HEALTH_CRITICAL);
	ck_assert_uint_lt(strlen(t.shown), 4096);
	SHOWS(" | calls=");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_health");
	TCase *tcase = tcase_create("cli_health");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, all_is_well);
	tcase_add_loop_test(tcase, what_the_server_tells_is_judged, 0, ARRAY_COUNT(documents));
	tcase_add_loop_test(tcase, space_is_judged, 0, ARRAY_COUNT(spaces));
	tcase_add_test(tcase, the_worst_comes_first);
	tcase_add_test(tcase, a_long_story_is_cut);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
