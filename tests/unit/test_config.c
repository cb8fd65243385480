/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: what the file says, what the command line says over it, and each mistake's message and
 * exit. Everything written to standard output and error is caught in a file.
 */
#include "nfsd/config.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "support/catch.h"
#include "support/temp_dir.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	WORDS_MAX = 16
};

static char dir[TEMP_DIR_BYTES], conf_path[TEMP_PATH_BYTES], exports_path[TEMP_PATH_BYTES];
static struct config config;

static void setup(void)
{
	temp_dir_make(dir);
	temp_path(conf_path, dir, "lodestore.conf");
	temp_path(exports_path, dir, "exports");
}

static void teardown(void)
{
	config_done(&config);
	temp_dir_remove(dir);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

/* As main() would be called; ends with NULL. "@conf" and "@exports" stand for the paths. */
static enum settings_outcome load(const char *const *words)
{
	static char *argv[WORDS_MAX + 2]; /* config_differences() reads it again */
	enum settings_outcome outcome;
	int argc = 1;

	memset(argv, 0, sizeof argv);
	argv[0] = (char *) "lodestore-nfsd";
	for (size_t i = 0; words[i]; i++) {
		ck_assert_uint_lt(i, WORDS_MAX);
		argv[argc++] = strcmp(words[i], "@conf") == 0      ? conf_path
		               : strcmp(words[i], "@exports") == 0 ? exports_path
		                                                   : (char *) words[i];
	}
	optind = 0; /* getopt(3): from the beginning */
	catch_begin(dir);
	outcome = config_load(argc, argv, &config);
	catch_end();
	return outcome;
}

#define LOAD(...) load((const char *const[]){ __VA_ARGS__, NULL })

/* ---- what is good ---- */

START_TEST(without_a_word_the_presets_count)
{
	if (access("/etc/lodestore/lodestore.conf", F_OK) == 0) {
		fprintf(stderr, "SKIPPED: this machine has a lodestore.conf of its own\n");
		return;
	}
	ck_assert_int_eq(load((const char *const[]){ NULL }), SETTINGS_RUN);
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(config.port, 2049);
	ck_assert_uint_eq(config.workers, 0);
	ck_assert(config.rpcbind);
	ck_assert(!config.settings.foreground && !config.check_only);
	ck_assert_ptr_null(config.listen);
	ck_assert_str_eq(config.status_socket, "/run/lodestore/nfsd.sock");
	ck_assert_str_eq(config.log_level, "info");
	ck_assert_str_eq(config.metrics_listen, "127.0.0.1:9749");
	ck_assert_uint_eq(config.metrics_clients, 100);
	ck_assert_str_eq(config.settings.exports_file, "/etc/lodestore/exports");
	ck_assert_str_eq(config.settings.state_dir, "/var/lib/lodestore");
	ck_assert_uint_eq(config.settings.export_line_count, 0);
	ck_assert_uint_ge(config.buffer_bytes, 16 << 20);
}
END_TEST

START_TEST(the_file_sets_what_it_names)
{
	put(conf_path, "[nfsd]\nport = 3049\nworkers = 3\nrpcbind = no\nlisten = 192.0.2.1,::1\n"
	               "log_level = debug\npool_threads = 5\n"
	               "[metrics]\nlisten = none\nclients = 0\n"
	               "[limits]\nbuffer_bytes = 64M\nbulk_bytes = 2M\n"
	               "connections = 10\nidle_timeout = 60\n");
	ck_assert_int_eq(LOAD("--config", "@conf"), SETTINGS_RUN);
	ck_assert_str_eq(said, "");
	ck_assert_uint_eq(config.port, 3049);
	ck_assert_uint_eq(config.workers, 3);
	ck_assert(!config.rpcbind);
	ck_assert_str_eq(config.listen, "192.0.2.1,::1");
	ck_assert_uint_eq(config.pool_threads, 5);
	ck_assert_uint_eq(config.buffer_bytes, 64 << 20);
	ck_assert_uint_eq(config.bulk_bytes, 2 << 20);
	ck_assert_uint_eq(config.connections, 10);
	ck_assert_uint_eq(config.idle_timeout_s, 60);
	ck_assert_str_eq(config.metrics_listen, "none");
	ck_assert_uint_eq(config.metrics_clients, 0);
	config_apply_log(&config);
	ck_assert(log_enabled(LOG_LEVEL_DEBUG));
}
END_TEST

START_TEST(the_command_line_counts_more_than_the_file)
{
	put(conf_path, "[nfsd]\nport = 3049\nlisten = 192.0.2.1\nrpcbind = yes\n");
	ck_assert_int_eq(LOAD("--port", "4049", "--listen", "::1", "--status-socket", "none",
	                      "--no-rpcbind", "--config", "@conf", "--foreground", "--state-dir",
	                      "/s", "--exports", "@exports"),
	                 SETTINGS_RUN);
	ck_assert_uint_eq(config.port, 4049);
	ck_assert_str_eq(config.listen, "::1");
	ck_assert_str_eq(config.status_socket, "none");
	ck_assert(!config.rpcbind);
	ck_assert(config.settings.foreground);
	ck_assert_str_eq(config.settings.state_dir, "/s");
	ck_assert_str_eq(config.settings.exports_file, exports_path);
}
END_TEST

START_TEST(help_and_version_end_well)
{
	ck_assert_int_eq(LOAD("--help"), SETTINGS_EXIT_OK);
	check_said("--export");
	check_said("--no-rpcbind");
	config_done(&config);
	ck_assert_int_eq(LOAD("--version"), SETTINGS_EXIT_OK);
	ck_assert_mem_eq(said, "lodestore-nfsd ", 15);
}
END_TEST

/* ---- what is not ---- */

static const struct {
	const char *conf; /* NULL: no file */
	const char *words[6];
	const char *say;
} mistakes[] = {
	{ NULL, { "--config", "/nowhere/at/all" }, "/nowhere/at/all: No such file" },
	{ NULL, { "--config" }, "Try 'lodestore-nfsd --help'" },
	{ NULL, { "--nonsense" }, "Try 'lodestore-nfsd --help'" },
	{ NULL, { "/srv/ds1" }, "unexpected argument '/srv/ds1'" },
	{ NULL, { "/srv/ds1" }, "--export \"/srv/ds1 HOST(rw,no_root_squash)\"" },
	{ "", { "--port", "0" }, "'0' is no port" },
	{ "", { "--port", "65536" }, "from 1 to 65535" },
	{ "", { "--port", "12x" }, "'12x' is no port" },
	{ "", { "--port", "" }, "'' is no port" },
	{ "", { "--port", "-1" }, "'-1' is no port" },
	{ "", { "--port", "99999999999999999999" }, "is no port" },
	{ "", { "--export", "/a *(rw)", "--exports", "/e" }, "exclude each other" },
	{ "[nfsd]\nlog_level = loud\n", { NULL }, "Write error, warning, info or debug" },
	{ "[nfsd]\nport = 0\n", { NULL }, "lodestore.conf:2: " },
	{ "[nfsd]\nprot = 1\n", { NULL }, "port" },
	{ "[nfsd]\nworkers = many\n", { NULL }, "'many'" },
	{ "[limits]\nbulk_bytes = 64K\n", { NULL }, "lodestore.conf:2: " },
	{ "[limits]\nbuffer_bytes = 1\n", { NULL }, "lodestore.conf:2: " },
	{ "[nfsd]\noffload_dialects = opensds,netapp\n", { NULL }, "'netapp'" },
	{ "[metrics]\nlisten = 9749\n", { NULL }, "for example 127.0.0.1:9749" },
	{ "[metrics]\nlisten = localhost:9749\n", { NULL }, "'localhost:9749'" },
	{ "[metrics]\nclients = 1001\n", { NULL }, "lodestore.conf:2: " },
	{ "[nsfd]\nport = 1\n", { NULL }, "nfsd" },
	{ "port = 1\n", { NULL }, "lodestore.conf:1: " },
	{ "[nfsd]\nport\n", { NULL }, "lodestore.conf:2: " },
};

START_TEST(each_mistake_is_told_and_ends_badly)
{
	const char *words[8] = { NULL };
	size_t count = 0;

	if (mistakes[_i].conf) {
		put(conf_path, mistakes[_i].conf);
		words[count++] = "--config";
		words[count++] = "@conf";
	}
	for (size_t i = 0; mistakes[_i].words[i]; i++)
		words[count++] = mistakes[_i].words[i];
	ck_assert_int_eq(load(words), SETTINGS_EXIT_ERROR);
	check_said(mistakes[_i].say);
}
END_TEST

START_TEST(all_mistakes_are_told_in_one_run)
{
	put(conf_path, "[nfsd]\nport = x\nnonsense = 1\n[limits]\nconnections = 0\n");
	ck_assert_int_eq(LOAD("--config", "@conf", "--port", "0"), SETTINGS_EXIT_ERROR);
	check_said("lodestore.conf:2: ");
	check_said("lodestore.conf:3: ");
	check_said("lodestore.conf:5: ");
	check_said("--port: '0'");
}
END_TEST

START_TEST(a_directory_is_no_configuration)
{
	ck_assert_int_eq(LOAD("--config", dir), SETTINGS_EXIT_ERROR);
	check_said("Is a directory");
}
END_TEST

/* ---- reload ---- */

static void add_name(void *context, const char *section, const char *key)
{
	char *names = context;
	size_t length = strlen(names);

	snprintf(names + length, 128 - length, "%s.%s ", section, key);
}

START_TEST(a_reload_tells_what_a_restart_would_change)
{
	char names[128] = "";

	put(conf_path, "[nfsd]\nlog_level = info\nworkers = 2\n");
	ck_assert_int_eq(LOAD("--config", "@conf"), SETTINGS_RUN);
	ck_assert_int_eq(config_differences(&config, add_name, names), 0);
	ck_assert_str_eq(names, "");
	put(conf_path, "[nfsd]\nlog_level = debug\nworkers = 3\n[limits]\nconnections = 9\n"
	               "log_lines = 77\n");
	ck_assert_int_eq(config_differences(&config, add_name, names), 0);
	ck_assert_str_eq(names, "nfsd.workers limits.connections ");
	ck_assert(log_enabled(LOG_LEVEL_DEBUG)); /* at once */
	put(conf_path, "[nfsd]\nlog_level = error\nworkers = many\n");
	names[0] = '\0';
	ck_assert_int_eq(config_differences(&config, add_name, names), -EINVAL);
	ck_assert_str_eq(names, "");
	ck_assert(log_enabled(LOG_LEVEL_DEBUG)); /* nothing of a file with a mistake counts */
}
END_TEST

/* ---- exports ---- */

static int load_exports(struct exports *exports)
{
	int r;

	catch_begin(dir);
	r = config_exports(&config, exports);
	catch_end();
	return r;
}

START_TEST(exports_come_from_the_file)
{
	struct exports exports = { 0 };

	put(conf_path, "");
	put(exports_path, "/srv/a 10.0.0.0/8(rw)\n/srv/b *(ro)\n");
	ck_assert_int_eq(LOAD("--config", "@conf", "--exports", "@exports"), SETTINGS_RUN);
	ck_assert_int_eq(load_exports(&exports), 0);
	ck_assert_uint_eq(exports.count, 2);
	ck_assert_str_eq(exports.specs[1].path, "/srv/b");
	exports_done(&exports);
}
END_TEST

START_TEST(exports_come_from_the_command_line_instead)
{
	struct exports exports = { 0 };

	put(conf_path, "");
	ck_assert_int_eq(LOAD("--config", "@conf", "--export", "/srv/a *(rw)", "--export",
	                      "/srv/b *(ro)", "--check-config"),
	                 SETTINGS_RUN);
	ck_assert(config.check_only);
	ck_assert_int_eq(load_exports(&exports), 0);
	ck_assert_uint_eq(exports.count, 2);
	exports_done(&exports);
}
END_TEST

START_TEST(an_exports_file_without_a_line_warns)
{
	struct exports exports = { 0 };

	put(conf_path, "");
	put(exports_path, "# nothing yet\n");
	ck_assert_int_eq(LOAD("--config", "@conf", "--exports", "@exports"), SETTINGS_RUN);
	ck_assert_int_eq(load_exports(&exports), 0);
	ck_assert_uint_eq(exports.count, 0);
	check_said("exports nothing: add a line");
	exports_done(&exports);
}
END_TEST

START_TEST(mistakes_in_exports_are_told_with_their_lines)
{
	struct exports exports = { .count = 77 };

	put(conf_path, "");
	put(exports_path, "/srv/a *(rw)\nsrv/b *(rw)\n/srv/c *(rw,nonsense)\n");
	ck_assert_int_eq(LOAD("--config", "@conf", "--exports", "@exports"), SETTINGS_RUN);
	ck_assert_int_lt(load_exports(&exports), 0);
	check_said("exports:2: ");
	check_said("exports:3: ");
	ck_assert_uint_eq(exports.count, 77); /* untouched */
}
END_TEST

START_TEST(mistakes_in_lines_of_the_command_are_all_told)
{
	struct exports exports = { 0 };

	put(conf_path, "");
	ck_assert_int_eq(
		LOAD("--config", "@conf", "--export", "a *(rw)", "--export", "/b *(nonsense)"),
		SETTINGS_RUN);
	ck_assert_int_lt(load_exports(&exports), 0);
	check_said("nonsense");
	check_said("--export");
}
END_TEST

START_TEST(an_exports_file_that_is_not_there_is_told)
{
	struct exports exports = { 0 };

	put(conf_path, "");
	ck_assert_int_eq(LOAD("--config", "@conf", "--exports", "@exports"), SETTINGS_RUN);
	ck_assert_int_eq(load_exports(&exports), -ENOENT);
	check_said("cannot read the exports file");
	check_said("--export");
}
END_TEST

START_TEST(too_many_lines_of_exports_are_refused)
{
	static char *argv[2 * SETTINGS_EXPORT_LINES_MAX + 4];
	int argc = 0;
	enum settings_outcome outcome;

	argv[argc++] = (char *) "lodestore-nfsd";
	for (int i = 0; i <= SETTINGS_EXPORT_LINES_MAX; i++) {
		argv[argc++] = (char *) "--export";
		argv[argc++] = (char *) "/a *(rw)";
	}
	optind = 0;
	catch_begin(dir);
	outcome = config_load(argc, argv, &config);
	catch_end();
	ck_assert_int_eq(outcome, SETTINGS_EXIT_ERROR);
	check_said("Write an exports file");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config");
	TCase *tcase = tcase_create("config");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, without_a_word_the_presets_count);
	tcase_add_test(tcase, the_file_sets_what_it_names);
	tcase_add_test(tcase, the_command_line_counts_more_than_the_file);
	tcase_add_test(tcase, help_and_version_end_well);
	tcase_add_loop_test(tcase, each_mistake_is_told_and_ends_badly, 0,
	                    (int) ARRAY_COUNT(mistakes));
	tcase_add_test(tcase, all_mistakes_are_told_in_one_run);
	tcase_add_test(tcase, a_directory_is_no_configuration);
	tcase_add_test(tcase, a_reload_tells_what_a_restart_would_change);
	tcase_add_test(tcase, exports_come_from_the_file);
	tcase_add_test(tcase, exports_come_from_the_command_line_instead);
	tcase_add_test(tcase, an_exports_file_without_a_line_warns);
	tcase_add_test(tcase, mistakes_in_exports_are_told_with_their_lines);
	tcase_add_test(tcase, mistakes_in_lines_of_the_command_are_all_told);
	tcase_add_test(tcase, an_exports_file_that_is_not_there_is_told);
	tcase_add_test(tcase, too_many_lines_of_exports_are_refused);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
