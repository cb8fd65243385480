/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options and words of a command line.
 */
#include "offload/cli/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/check_main.h"

enum {
	WORDS_MAX = 14
};

/* @line split at blanks, as a command with these options would get it: one or two words. */
static int parse_as(unsigned options, const char *line, struct arguments *ret_arguments,
                    char *reterr_why)
{
	static char copy[256];
	char *argv[WORDS_MAX + 2] = { NULL }, *rest;
	int argc = 0;

	snprintf(copy, sizeof copy, "clone %s", line);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	return arguments_parse(argc, argv, options, 1, 2, ret_arguments, reterr_why);
}

static int parse(const char *line, struct arguments *ret_arguments, char *reterr_why)
{
	return parse_as(ARGUMENT_JOB | ARGUMENT_FAST | ARGUMENT_SPACE, line, ret_arguments,
	                reterr_why);
}

START_TEST(defaults_are_as_the_help_says)
{
	struct arguments arguments;
	char why[ARGUMENTS_WHY_BYTES];

	ck_assert_int_eq(parse("a b", &arguments, why), 0);
	ck_assert_str_eq(arguments.command, "clone");
	ck_assert_uint_eq(arguments.given, 0);
	ck_assert_uint_eq(arguments.port, 2049);
	ck_assert_str_eq(arguments.socket, "/run/lodestore/offload.sock");
	ck_assert_uint_eq(arguments.timeout_s, 300);
	ck_assert_int_eq(arguments.word_count, 2);
	ck_assert_str_eq(arguments.words[1], "b");
}
END_TEST

START_TEST(options_stand_anywhere)
{
	struct arguments arguments;
	char why[ARGUMENTS_WHY_BYTES];

	ck_assert_int_eq(
		parse("--port 3049 a --json b --socket=/x --timeout 9 --no-wait", &arguments, why),
		0);
	ck_assert_uint_eq(arguments.given, ARGUMENT_PORT | ARGUMENT_JSON | ARGUMENT_SOCKET |
	                                           ARGUMENT_TIMEOUT | ARGUMENT_NO_WAIT);
	ck_assert_uint_eq(arguments.port, 3049);
	ck_assert_uint_eq(arguments.timeout_s, 9);
	ck_assert_str_eq(arguments.socket, "/x");
	ck_assert_str_eq(arguments.words[0], "a");
	ck_assert_str_eq(arguments.words[1], "b");
	ck_assert_int_eq(parse("-- --json", &arguments, why), 0);
	ck_assert_str_eq(arguments.words[0], "--json");
	ck_assert_uint_eq(arguments.given, 0);
}
END_TEST

static const struct {
	const char *line, *why;
} bad[] = {
	{ "", "missing" },
	{ "a b c", "'c'" },
	{ "a --prot 3", "Did you mean --port?" },
	{ "a --nonsense", "--nonsense" },
	{ "a -x", "-x" },
	{ "a --yes", "no option --yes" },
	{ "a --port", "--port needs a value" },
	{ "a --port 0", "'0'" },
	{ "a --port 65536", "'65536'" },
	{ "a --port 1K", "'1K'" },
	{ "a --port=-1", "'-1'" },
	{ "a --port=", "''" },
	{ "a --timeout 999999", "604800" },
	{ "a --timeout x", "'x'" },
	{ "a --json=1", "--json=1" },
	{ "a --wait --no-wait", "exclude" },
	{ "a --warn-space 101%", "'101%'" },
	{ "a --warn-space %", "'%'" },
	{ "a --crit-space 5K", "'5K'" },
	{ "a --crit-space 11", "above --warn-space 10%" },
};

START_TEST(space_is_a_percentage)
{
	struct arguments arguments;
	char why[ARGUMENTS_WHY_BYTES];

	ck_assert_int_eq(parse("a", &arguments, why), 0);
	ck_assert_uint_eq(arguments.warn_space_percent, 10);
	ck_assert_uint_eq(arguments.crit_space_percent, 3);
	ck_assert_int_eq(parse("a --warn-space 100% --crit-space=0", &arguments, why), 0);
	ck_assert_uint_eq(arguments.warn_space_percent, 100);
	ck_assert_uint_eq(arguments.crit_space_percent, 0);
}
END_TEST

/* Each into its own place; which command takes which is for the command. */
START_TEST(values_arrive_where_they_belong)
{
	struct arguments arguments;
	char why[ARGUMENTS_WHY_BYTES];

	ck_assert_int_eq(parse_as(ARGUMENT_BATCH | ARGUMENT_EXPORTS | ARGUMENT_DIRECTORY |
	                                  ARGUMENT_HOSTS | ARGUMENT_NAME | ARGUMENT_STATUS_SOCKET |
	                                  ARGUMENT_RELEASE,
	                          "a --batch 7 --exports /e --directory /srv/lab --hosts 10.0.0.0/8"
	                          " --name lab --status-socket /s --release h",
	                          &arguments, why),
	                 0);
	ck_assert_uint_eq(arguments.batch, 7);
	ck_assert_str_eq(arguments.exports, "/e");
	ck_assert_str_eq(arguments.directory, "/srv/lab");
	ck_assert_str_eq(arguments.hosts, "10.0.0.0/8");
	ck_assert_str_eq(arguments.name, "lab");
	ck_assert_str_eq(arguments.status_socket, "/s");
	ck_assert_str_eq(arguments.release, "h");
}
END_TEST

START_TEST(mistakes_are_named)
{
	struct arguments arguments = { .word_count = 4711 };
	char why[ARGUMENTS_WHY_BYTES] = "";

	ck_assert_int_eq(parse(bad[_i].line, &arguments, why), -EINVAL);
	ck_assert_msg(strstr(why, bad[_i].why), "%s: %s", bad[_i].line, why);
	ck_assert_int_eq(arguments.word_count, 4711);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_arguments");
	TCase *tcase = tcase_create("cli_arguments");

	tcase_add_test(tcase, defaults_are_as_the_help_says);
	tcase_add_test(tcase, options_stand_anywhere);
	tcase_add_test(tcase, space_is_a_percentage);
	tcase_add_test(tcase, values_arrive_where_they_belong);
	tcase_add_loop_test(tcase, mistakes_are_named, 0, sizeof bad / sizeof bad[0]);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
