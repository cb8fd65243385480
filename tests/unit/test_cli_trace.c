/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's calls as lines.
 */
#include "offload/cli/trace_show.h"

#include <stdlib.h>
#include <string.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

#define EVENT(more) "{\"at_ms\": 1007, \"procedure\": \"X\", \"latency_us\": 12034, " more "}"

static const struct {
	const char *event, *shown; /* behind the seconds, which the time zone decides */
} cases[] = {
	{ EVENT("\"status\": 0"), "01.007  X             OK               12.034\n" },
	{ EVENT("\"status\": 70, \"files\": [{\"handle\": 255, \"name\": \"\"}], \"offset\": 4, "
	        "\"count\": 5"),
	  "01.007  X             STALE            12.034  #000000ff  4+5\n" },
	{ EVENT("\"status\": null"), "01.007  X             refused          12.034\n" },
	{ EVENT("\"status\": 77777, \"files\": [{\"handle\": 1, \"name\": \"a\\n\"}, "
	        "{\"handle\": 2, \"name\": \"b\"}]"),
	  "01.007  X             77777            12.034  #00000001/a\\x0a -> #00000002/b\n" },
	{ EVENT("\"program\": \"mount\", \"status\": 13"),
	  "01.007  X             ACCES            12.034\n" },
	{ EVENT("\"program\": \"nlm\", \"status\": 0"),
	  "01.007  X             GRANTED          12.034\n" },
	{ EVENT("\"program\": \"nlm\", \"status\": 4"),
	  "01.007  X             DENIED_GRACE_PERIOD      12.034\n" },
	{ EVENT("\"program\": \"nlm\", \"status\": 10"),
	  "01.007  X             10               12.034\n" },
	{ EVENT("\"program\": \"offload\", \"status\": 11"),
	  "01.007  X             no_space         12.034\n" },
	{ "{\"dropped\": 9}", "... 9 calls left out: they came faster than they are read\n" },
};

START_TEST(events_are_lines)
{
	struct json_value *event;
	AUTO(free_ptr) char *shown = NULL;
	const char *tail = cases[_i].shown;
	size_t bytes;
	FILE *to = open_memstream(&shown, &bytes);

	ck_assert_int_eq(json_read(cases[_i].event, strlen(cases[_i].event), &event), 0);
	trace_show(to, event);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_uint_ge(bytes, strlen(tail));
	ck_assert_str_eq(shown + bytes - strlen(tail), tail);
	(void) json_value_free(event);
}
END_TEST

START_TEST(the_head_stands_over_them)
{
	AUTO(free_ptr) char *shown = NULL;
	size_t bytes;
	FILE *to = open_memstream(&shown, &bytes);

	trace_show_head(to);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_str_eq(shown, "TIME          CALL          STATUS          TOOK ms  FILE"
	                        "  OFFSET+COUNT\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_trace");
	TCase *tcase = tcase_create("cli_trace");

	tcase_add_loop_test(tcase, events_are_lines, 0, ARRAY_COUNT(cases));
	tcase_add_test(tcase, the_head_stands_over_them);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
