/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/plugin/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/check_main.h"

/* What was reported, "LINE: MESSAGE" a line. */
static char told[8192];

static void tell(void *context, const char *file, unsigned line, const char *message)
{
	size_t used = strlen(told);

	ck_assert_str_eq(file, "s");
	snprintf(told + used, sizeof told - used, "%u: %s\n", line, message);
}

static int parse(struct scenario *scenario, const char *text)
{
	told[0] = '\0';
	return scenario_parse(scenario, "s", text, tell, NULL);
}

#define HEAD "server nas\ndatastore /srv/ds1\ndialect O\n"

START_TEST(a_whole_scenario_is_read)
{
	static const char text[] =
		"# A rehearsal\n"
		"server nas.example.org port 2049\n"
		"datastore \"/srv/my ds\"   # with a blank\n"
		"dialect Q\r\n"
		"from 192.0.2.7\n"
		"hosts 2 at-once 4\n"
		"poll 250ms\n"
		"tries 3\n"
		"patience 5s\n"
		"\n"
		"support\n"
		"clone tmpl/t-flat.vmdk to vm%n/vm%n-flat.vmdk count 20 thick abort after 2s\n"
		"clone tmpl/t.vmdk to x fast\n"
		"reserve vm%n/a count 2\n"
		"stat \"my vm/a b\"\n";
	struct scenario scenario;
	const struct scenario_step *step = scenario.steps;

	ck_assert_int_eq(parse(&scenario, text), 0);
	ck_assert_str_eq(told, "");
	ck_assert_str_eq(scenario.server, "nas.example.org");
	ck_assert_uint_eq(scenario.port, 2049);
	ck_assert_str_eq(scenario.datastore, "/srv/my ds");
	ck_assert_int_eq(scenario.dialect, SCENARIO_DIALECT_Q);
	ck_assert_str_eq(scenario.from, "192.0.2.7");
	ck_assert_uint_eq(scenario.hosts, 2);
	ck_assert_uint_eq(scenario.at_once, 4);
	ck_assert_uint_eq(scenario.poll_ms, 250);
	ck_assert_uint_eq(scenario.tries, 3);
	ck_assert_uint_eq(scenario.patience_ms, 5000);
	ck_assert_uint_eq(scenario.step_count, 5);
	ck_assert_int_eq(step[0].kind, SCENARIO_SUPPORT);
	ck_assert_int_eq(step[1].kind, SCENARIO_CLONE);
	ck_assert_uint_eq(step[1].line, 12);
	ck_assert_str_eq(step[1].source, "tmpl/t-flat.vmdk");
	ck_assert_str_eq(step[1].file, "vm%n/vm%n-flat.vmdk");
	ck_assert_uint_eq(step[1].count, 20);
	ck_assert_int_eq(step[1].disk, SCENARIO_THICK);
	ck_assert(step[1].aborts);
	ck_assert_uint_eq(step[1].abort_after_ms, 2000);
	ck_assert_int_eq(step[2].disk, SCENARIO_FAST);
	ck_assert(!step[2].aborts);
	ck_assert_int_eq(step[3].kind, SCENARIO_RESERVE);
	ck_assert_uint_eq(step[3].count, 2);
	ck_assert_int_eq(step[4].kind, SCENARIO_STAT);
	ck_assert_str_eq(step[4].file, "my vm/a b");
	scenario_done(&scenario);
}
END_TEST

START_TEST(what_is_not_said_has_its_preset)
{
	struct scenario scenario;

	ck_assert_int_eq(parse(&scenario, HEAD "clone a to b"), 0);
	ck_assert_uint_eq(scenario.port, 0);
	ck_assert_ptr_null(scenario.from);
	ck_assert_uint_eq(scenario.hosts, 1);
	ck_assert_uint_eq(scenario.at_once, 1);
	ck_assert_uint_eq(scenario.tries, 1);
	ck_assert_uint_eq(scenario.poll_ms, 1000);
	ck_assert_uint_eq(scenario.patience_ms, 300000);
	ck_assert_int_eq(scenario.steps[0].disk, SCENARIO_THIN);
	ck_assert_uint_eq(scenario.steps[0].count, 1);
	scenario_done(&scenario);
}
END_TEST

/* Each line alone is a mistake, and the message says this of it. */
START_TEST(each_mistake_is_told_with_its_line)
{
	static const struct {
		const char *line, *said;
	} rows[] = {
		{ "clon a to b", "Did you mean 'clone'?" },
		{ "frobnicate", "A line begins with" },
		{ "server", "Something is missing" },
		{ "server other", "'server' stands twice" },
		{ "server x port 0", "from 1 to 65535" },
		{ "server x port 70000", "from 1 to 65535" },
		{ "server x port", "from 1 to 65535" },
		{ "hosts 2 3", "'3' does not belong here" },
		{ "datastore", "Something is missing" },
		{ "datastore ds1", "no exported path" },
		{ "dialect P", "There are two dialects" },
		{ "dialect", "There are two dialects" },
		{ "dialect O Q", "does not belong here" },
		{ "hosts 0", "from 1 to 64" },
		{ "hosts -1", "from 1 to 64" },
		{ "hosts 99999999999999999999", "from 1 to 64" },
		{ "hosts 2 at-once 65", "from 1 to 64" },
		{ "hosts 2x", "from 1 to 64" },
		{ "poll 2", "Write 2s or 250ms" },
		{ "poll 61s", "at most 60s" },
		{ "poll", "Write 2s or 250ms" },
		{ "patience 1h", "Write 2s or 250ms" },
		{ "tries 0", "from 1 to 100" },
		{ "support please", "does not belong here" },
		{ "clone", "Something is missing" },
		{ "clone a b", "Where to?" },
		{ "clone a to", "Something is missing" },
		{ "clone /a to b", "no path below the datastore" },
		{ "clone a to ../b", "no path below the datastore" },
		{ "clone a/./c to b", "no path below the datastore" },
		{ "clone a//c to b", "no path below the datastore" },
		{ "clone a/ to b", "no path below the datastore" },
		{ "clone \"\" to b", "no path below the datastore" },
		{ "clone a to b count 2", "Put %n where the number goes" },
		{ "clone a to b%n count 10001", "from 1 to 10000" },
		{ "clone a to b abort", "When?" },
		{ "clone a to b abort after soon", "Write 2s or 250ms" },
		{ "clone a to b abort after 4000s", "at most 3600s" },
		{ "clone a to b fast abort after 1s", "nothing to abort" },
		{ "clone a to b fat", "'fat' does not belong here" },
		{ "reserve", "Something is missing" },
		{ "reserve a count 2", "Put %n where the number goes" },
		{ "stat a b", "does not belong here" },
		{ "stat \"a", "A quoted word ends" },
		{ "stat \"a\"b", "A quoted word ends" },
		{ "stat 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", "more than 16 words" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct scenario scenario;
		char text[512];

		snprintf(text, sizeof text, HEAD "\n%s\nsupport\n", rows[i].line);
		ck_assert_int_eq(parse(&scenario, text), -EINVAL);
		ck_assert_msg(strncmp(told, "5: ", 3) == 0, "%s: %s", rows[i].line, told);
		ck_assert_msg(strstr(told, rows[i].said) != NULL, "%s: %s", rows[i].line, told);
	}
}
END_TEST

START_TEST(all_mistakes_are_told_in_one_run)
{
	struct scenario scenario;

	ck_assert_int_eq(parse(&scenario, "servr nas\ndialect 3\nclone a\n"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(told, "1: "));
	ck_assert_ptr_nonnull(strstr(told, "2: "));
	ck_assert_ptr_nonnull(strstr(told, "3: "));
}
END_TEST

START_TEST(what_is_missing_is_told)
{
	struct scenario scenario;

	ck_assert_int_eq(parse(&scenario, "# nothing\n"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(told, "Add 'server HOST'"));
	ck_assert_ptr_nonnull(strstr(told, "Add 'datastore /PATH'"));
	ck_assert_ptr_nonnull(strstr(told, "Add 'dialect O' or 'dialect Q'"));
	ck_assert_ptr_nonnull(strstr(told, "There is nothing to do"));
}
END_TEST

START_TEST(too_many_steps_are_refused)
{
	static char text[SCENARIO_STEPS_MAX * 16 + 256] = HEAD;
	struct scenario scenario;

	for (int i = 0; i < SCENARIO_STEPS_MAX; i++)
		memcpy(text + strlen(text), "stat a\n", 8);
	ck_assert_int_eq(parse(&scenario, text), 0);
	scenario_done(&scenario);
	memcpy(text + strlen(text), "clone a to b\n", 14);
	ck_assert_int_eq(parse(&scenario, text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(told, "at most 256 steps"));
}
END_TEST

START_TEST(numbers_are_put_into_paths)
{
	char path[SCENARIO_PATH_BYTES], pattern[SCENARIO_PATH_BYTES + 8];

	ck_assert(scenario_path("vm%n/vm%n-flat.vmdk", 12, path));
	ck_assert_str_eq(path, "vm12/vm12-flat.vmdk");
	ck_assert(scenario_path("100%/%", 1, path));
	ck_assert_str_eq(path, "100%/%");
	memset(pattern, 'a', sizeof pattern);
	pattern[SCENARIO_PATH_BYTES - 1] = '\0';
	ck_assert(scenario_path(pattern, 1, path));
	pattern[SCENARIO_PATH_BYTES - 1] = 'a';
	pattern[SCENARIO_PATH_BYTES] = '\0';
	ck_assert(!scenario_path(pattern, 1, path));
	memcpy(pattern + SCENARIO_PATH_BYTES - 3, "%n", 3);
	ck_assert(scenario_path(pattern, 12, path));
	ck_assert(!scenario_path(pattern, 123, path));
}
END_TEST

START_TEST(a_path_that_is_too_long_is_told)
{
	char text[1024] = HEAD "clone a to ";
	struct scenario scenario;
	size_t used = strlen(text);

	memset(text + used, 'b', SCENARIO_PATH_BYTES);
	ck_assert_int_eq(parse(&scenario, text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(told, "is too long: a path may have 255 bytes"));
	text[used + SCENARIO_PATH_BYTES - 1] = '\0';
	ck_assert_int_eq(parse(&scenario, text), 0);
	scenario_done(&scenario);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scenario");
	TCase *tcase = tcase_create("scenario");

	tcase_add_test(tcase, a_whole_scenario_is_read);
	tcase_add_test(tcase, what_is_not_said_has_its_preset);
	tcase_add_test(tcase, each_mistake_is_told_with_its_line);
	tcase_add_test(tcase, all_mistakes_are_told_in_one_run);
	tcase_add_test(tcase, what_is_missing_is_told);
	tcase_add_test(tcase, too_many_steps_are_refused);
	tcase_add_test(tcase, numbers_are_put_into_paths);
	tcase_add_test(tcase, a_path_that_is_too_long_is_told);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
