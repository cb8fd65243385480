/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks of a server as lines.
 */
#include "offload/cli/locks_show.h"

#include <stdlib.h>
#include <string.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

#define HEAD                 "CLIENT               KIND      STATE   BYTES                FILE\n"
#define LOCK(more)           "{" CLIENT ", " more "}"
#define CLIENT               "\"client\": \"192.0.2.7\", \"exclusive\": true, \"waiting\": false"
#define LIST(locks, omitted) "{\"locks\": [" locks "], \"omitted\": " omitted "}"

static const struct {
	const char *document, *shown;
} cases[] = {
	{ LIST("", "0"), "No locks are held.\n" },
	{ "{}", "No locks are held.\n" },
	{ LIST(LOCK("\"first\": 0, \"last\": null, \"file\": \"/srv/a\\nb\""), "0"),
	  HEAD "192.0.2.7            exclusive held    all                  /srv/a\\x0ab\n" },
	{ LIST(LOCK("\"first\": 5, \"last\": 9, \"file\": null"), "3"),
	  HEAD "192.0.2.7            exclusive held    5-9                  (a file that is gone,"
	       " or not open)\nand 3 more\n" },
	{ LIST("{\"client\": \"::1\", \"exclusive\": false, \"waiting\": true, \"first\": 5, "
	       "\"last\": null, \"file\": \"/f\"}",
	       "0"),
	  HEAD "::1                  shared    waits   5-                   /f\n" },
};

START_TEST(locks_are_lines)
{
	struct json_value *document;
	AUTO(free_ptr) char *shown = NULL;
	size_t bytes;
	FILE *to = open_memstream(&shown, &bytes);

	ck_assert_int_eq(json_read(cases[_i].document, strlen(cases[_i].document), &document), 0);
	locks_show(to, document);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_str_eq(shown, cases[_i].shown);
	(void) json_value_free(document);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_locks");
	TCase *tcase = tcase_create("cli_locks");

	tcase_add_loop_test(tcase, locks_are_lines, 0, (int) ARRAY_COUNT(cases));
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
