/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every daemon's command line and file have in common, with a small daemon of the test's own:
 * where its options go, which of its sections count, what counts more, and each common mistake.
 */
#include "vfs/base/settings.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "support/catch.h"
#include "support/check_main.h"
#include "support/temp_dir.h"
#include "vfs/base/cleanup.h"

struct values {
	uint64_t speed;
	char *colour;
	const char *colour_word;
	bool loud;
	int finished;
};

static const struct conf_key keys[] = {
	{ "test", "speed", CONF_NUMBER, offsetof(struct values, speed), 1, 9, 5, NULL, NULL, NULL },
	{ "test", "colour", CONF_TEXT, offsetof(struct values, colour), 0, 0, 0, "red", NULL,
	  NULL },
};

static const struct settings_option options[] = {
	{ "colour", SETTINGS_WORD, offsetof(struct values, colour_word) },
	{ "loud", SETTINGS_FLAG, offsetof(struct values, loud) },
};

static char dir[TEMP_DIR_BYTES], path[TEMP_PATH_BYTES];
static struct settings settings;
static struct values values;
static int finish_error;

static int finish(void *context)
{
	struct values *filled = context;

	filled->finished++;
	return finish_error < 0 ? finish_error
	                        : settings_replace(&filled->colour, filled->colour_word);
}

static void say(const char *message)
{
	fprintf(stderr, "say: %s\n", message);
}

static struct settings_daemon test_daemon = {
	.name = "testd",
	.version = "1.2.3",
	.help = "Usage: testd\n",
	.keys = keys,
	.key_count = ARRAY_COUNT(keys),
	.options = options,
	.option_count = ARRAY_COUNT(options),
	.finish = finish,
	.say = say,
};

static void setup(void)
{
	temp_dir_make(dir);
	temp_path(path, dir, "testd.conf");
	values = (struct values){ 0 };
	test_daemon.section = NULL;
	finish_error = 0;
}

static void teardown(void)
{
	settings_done(&test_daemon, &settings, &values);
	temp_dir_remove(dir);
}

static void put(const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

/* --config and the file come by themselves; the rest ends with NULL. */
static enum settings_outcome load(const char *const *words)
{
	char *argv[16] = { (char *) "testd", (char *) "--config", path };
	enum settings_outcome outcome;
	int argc = 3;

	for (size_t i = 0; words[i]; i++)
		argv[argc++] = (char *) words[i];
	optind = 0; /* getopt(3): from the beginning */
	catch_begin(dir);
	outcome = settings_load(&test_daemon, argc, argv, &settings, &values);
	catch_end();
	return outcome;
}

#define LOAD(...) load((const char *const[]){ __VA_ARGS__, NULL })

START_TEST(presets_then_the_file_then_the_command_line)
{
	put("");
	ck_assert_int_eq(LOAD("--foreground"), SETTINGS_RUN);
	ck_assert_uint_eq(values.speed, 5);
	ck_assert_str_eq(values.colour, "red");
	ck_assert(!values.loud);
	ck_assert(settings.foreground);
	ck_assert_str_eq(settings.exports_file, "/etc/lodestore/exports");
	ck_assert_str_eq(settings.state_dir, "/var/lib/lodestore");
	settings_done(&test_daemon, &settings, &values);

	put("[test]\nspeed = 7\ncolour = blue\n");
	ck_assert_int_eq(LOAD("--colour", "green", "--loud", "--state-dir", "/s"), SETTINGS_RUN);
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(values.speed, 7);
	ck_assert_str_eq(values.colour, "green");
	ck_assert(values.loud);
	ck_assert(!settings.foreground);
	ck_assert_str_eq(settings.config_file, path);
	ck_assert_str_eq(settings.state_dir, "/s");
	ck_assert_int_eq(values.finished, 2);
}
END_TEST

START_TEST(export_lines_are_kept_in_order)
{
	put("");
	ck_assert_int_eq(LOAD("--export", "/a *", "--export", "/b *"), SETTINGS_RUN);
	ck_assert_uint_eq(settings.export_line_count, 2);
	ck_assert_str_eq(settings.export_lines[0], "/a *");
	ck_assert_str_eq(settings.export_lines[1], "/b *");
}
END_TEST

START_TEST(help_and_version_end_well)
{
	put("");
	ck_assert_int_eq(LOAD("--help"), SETTINGS_EXIT_OK);
	ck_assert_str_eq(said, "Usage: testd\n");
	settings_done(&test_daemon, &settings, &values);
	ck_assert_int_eq(LOAD("--version"), SETTINGS_EXIT_OK);
	ck_assert_str_eq(said, "testd 1.2.3\n");
	ck_assert_int_eq(values.finished, 0);
}
END_TEST

static const struct {
	const char *conf;
	const char *words[4];
	const char *say;
} mistakes[] = {
	{ "", { "--colour" }, "Try 'testd --help'" },
	{ "", { "--nonsense" }, "Try 'testd --help'" },
	{ "", { "/srv" }, "testd: unexpected argument '/srv'. To export a directory write" },
	{ "", { "--export", "/a *(rw)", "--exports", "/e" }, "say: --export and --exports" },
	{ "", { "--config", "/nowhere" }, "say: cannot read /nowhere: No such file" },
	{ "[test]\nspeed = 0\n", { NULL }, "testd.conf:2: " },
	{ "[other]\nx = 1\n", { NULL }, "testd.conf:1: " },
};

START_TEST(each_mistake_is_told_and_ends_badly)
{
	const char *words[5] = { NULL };

	for (size_t i = 0; i < ARRAY_COUNT(mistakes[_i].words); i++)
		words[i] = mistakes[_i].words[i];
	put(mistakes[_i].conf);
	ck_assert_int_eq(load(words), SETTINGS_EXIT_ERROR);
	check_said(mistakes[_i].say);
}
END_TEST

START_TEST(the_daemon_checks_after_a_bad_file_too)
{
	put("[test]\nspeed = 0\n");
	finish_error = -EINVAL;
	ck_assert_int_eq(LOAD("--loud"), SETTINGS_EXIT_ERROR);
	ck_assert_int_eq(values.finished, 1);
	settings_done(&test_daemon, &settings, &values);
	put("");
	ck_assert_int_eq(LOAD("--loud"), SETTINGS_EXIT_ERROR);
	ck_assert_int_eq(values.finished, 2);
}
END_TEST

START_TEST(with_one_section_the_others_do_not_count)
{
	test_daemon.section = "test";
	put("[other]\nnonsense\n[TEST]\nspeed = 7\n[more]\nspeed = x\n");
	ck_assert_int_eq(LOAD("--loud"), SETTINGS_RUN);
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(values.speed, 7);
	settings_done(&test_daemon, &settings, &values);
	put("[other]\nnonsense\n[test]\nspeed = x\n");
	ck_assert_int_eq(LOAD("--loud"), SETTINGS_EXIT_ERROR);
	check_said("testd.conf:4: "); /* lines keep their numbers */
}
END_TEST

static const struct {
	const char *text, *kept;
} sections[] = {
	{ "", "" },
	{ "[test]\na = 1\n", "[test]\na = 1\n" },
	{ "a\n[test]\nb", "\n[test]\nb" },
	{ "[x]\na\n[test]\nb\n[y]\nc\n", "\n\n[test]\nb\n\n\n" },
	{ "[test]\na\n[x]\nb\n[test]\nc", "[test]\na\n\n\n[test]\nc" },
	{ "[tested]\na\n", "\n\n" },
	{ "[test", "" },
	{ "\n\n\n", "\n\n\n" },
};

START_TEST(a_section_is_kept_with_its_line_numbers)
{
	AUTO(free_ptr) char *text = strdup(sections[_i].text);

	settings_keep_section(text, "test");
	ck_assert_str_eq(text, sections[_i].kept);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("settings");
	TCase *tcase = tcase_create("settings");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, presets_then_the_file_then_the_command_line);
	tcase_add_test(tcase, export_lines_are_kept_in_order);
	tcase_add_test(tcase, help_and_version_end_well);
	tcase_add_loop_test(tcase, each_mistake_is_told_and_ends_badly, 0,
	                    (int) ARRAY_COUNT(mistakes));
	tcase_add_test(tcase, the_daemon_checks_after_a_bad_file_too);
	tcase_add_test(tcase, with_one_section_the_others_do_not_count);
	tcase_add_loop_test(tcase, a_section_is_kept_with_its_line_numbers, 0,
	                    (int) ARRAY_COUNT(sections));
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
