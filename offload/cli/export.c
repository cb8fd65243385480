/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.c - the command that changes the exports file, for those who would rather not edit it:
 * export add, remove, list.
 */
#include "offload/cli/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "offload/cli/arguments.h"
#include "offload/cli/command.h"
#include "offload/cli/daemons.h"
#include "offload/cli/exports_file.h"
#include "offload/cli/text.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/settings.h"

/* ---- add ---- */

static void report_word(void *context, enum exports_severity severity, const char *file,
                        unsigned line, const char *message)
{
	command_error("%s%s", severity == EXPORTS_WARNING ? "warning: " : "", message);
}

/* "DIR HOST(OPTIONS)...", as a line of the file, quoted. */
static char *line_of(const struct export_change *change)
{
	size_t bytes;
	char *line;
	FILE *to = open_memstream(&line, &bytes);

	if (!to)
		return NULL;
	fprintf(to, "\"%s\"", change->path);
	for (int i = 0; i < change->host_count; i++)
		fprintf(to, " %s", change->hosts[i]);
	if (fclose(to) == 0)
		return line;
	free(line);
	return NULL;
}

/* What the words mean, in @wanted: one spec with a rule a word. */
static int read_words(const struct export_change *change, struct exports *wanted)
{
	AUTO(free_ptr) char *line = line_of(change);
	struct stat stat_of;

	for (int i = 0; i < change->host_count; i++)
		if (change->hosts[i][strcspn(change->hosts[i], " \t\n#\"\\")]) {
			command_error("'%s' is not one host. Write HOST(OPTION,OPTION) without"
			              " blanks",
			              change->hosts[i]);
			return COMMAND_FAILED;
		}
	if (change->path[strcspn(change->path, "\"\n")]) {
		command_error("'%s' has a quote or a newline: write its line with an editor",
		              change->path);
		return COMMAND_FAILED;
	}
	if (!line || exports_parse_line(wanted, line, report_word, NULL) < 0)
		return COMMAND_FAILED;
	if (stat(wanted->specs[0].path, &stat_of) < 0 || !S_ISDIR(stat_of.st_mode)) {
		command_error("%s is not there, or is no directory: make it, or mount what belongs"
		              " there, first",
		              wanted->specs[0].path);
		return COMMAND_FAILED;
	}
	return COMMAND_DONE;
}

static void tell_notes(const struct exports *exports, const char *path)
{
	const struct export_spec *overlap = exports_find_overlap(exports, path);

	if (overlap)
		command_error("note: %s and %s (%s:%u) lie in each other. Clients of the outer one"
		              " see the inner one's files, too",
		              path, overlap->path, overlap->file, overlap->line);
	if (strncmp(path, "/srv/", 5) != 0 && strcmp(path, "/srv") != 0)
		command_error("note: %s is not below /srv: for the service to write there,"
		              " 'systemctl cat lodestore-nfsd' tells what line it needs",
		              path);
}

int export_add(const struct export_change *change, int *ret_changed)
{
	struct exports wanted = { 0 };
	struct exports_file file = { .lock_fd = -EBADF };
	AUTO(free_ptr) char *text = NULL;
	int status = read_words(change, &wanted);

	*ret_changed = 0;
	if (status == COMMAND_DONE)
		status = exports_file_open(&file, change->file);
	if (status == COMMAND_DONE) {
		struct exports_text from = exports_file_text(&file);

		*ret_changed = exports_edit_add(&from, &wanted.specs[0], change->hosts, &text);
		if (*ret_changed < 0)
			status = COMMAND_FAILED;
		else if (*ret_changed)
			status = exports_file_save(&file, text);
	}
	if (status == COMMAND_DONE) {
		tell_notes(&file.exports, wanted.specs[0].path);
		printf(*ret_changed ? "%s is in %s now\n" : "%s is so in %s already\n",
		       wanted.specs[0].path, change->file);
	} else {
		*ret_changed = 0;
	}
	exports_file_close(&file);
	exports_done(&wanted);
	return status;
}

static int run_add(const struct arguments *arguments, int *ret_changed)
{
	const struct export_change change = {
		.file = arguments->exports,
		.path = arguments->words[1],
		.hosts = arguments->words + 2,
		.host_count = arguments->word_count - 2,
	};

	if (arguments->word_count < 3)
		return command_misused("export", "add: name the directory and its hosts, such as"
		                                 " /srv/ds1 '192.0.2.0/24(rw,no_root_squash)'");
	return export_add(&change, ret_changed);
}

/* ---- remove ---- */

static int run_remove(const struct arguments *arguments, int *ret_changed)
{
	const char *host = arguments->word_count > 2 ? arguments->words[2] : NULL;
	AUTO(free_ptr) char *path = NULL, *text = NULL;
	struct exports_file file;
	int status;

	if (arguments->word_count < 2 || arguments->word_count > 3)
		return command_misused("export", "remove: name the directory, and one of its hosts"
		                                 " if only that one shall go");
	path = strdup(arguments->words[1]);
	for (size_t end = path ? strlen(path) : 0; end > 1 && path[end - 1] == '/'; end--)
		path[end - 1] = '\0';
	status = path ? exports_file_open(&file, arguments->exports) : COMMAND_FAILED;
	if (status == COMMAND_DONE) {
		struct exports_text from = exports_file_text(&file);

		*ret_changed = exports_edit_remove(&from, path, host, &text);
		if (*ret_changed > 0)
			status = exports_file_save(&file, text);
		if (status == COMMAND_DONE)
			printf(*ret_changed ? "%s%s%s is not in %s any more\n"
			                    : "%s%s%s is not in %s\n",
			       path, host ? " to " : "", host ? host : "", arguments->exports);
	}
	if (path)
		exports_file_close(&file);
	return *ret_changed < 0 ? COMMAND_FAILED : status;
}

/* ---- list ---- */

static void put_host(FILE *to, const struct exports_file *file, const struct export_rule *rule)
{
	text_put(to, file->text + rule->text_begin, rule->text_end - rule->text_begin);
}

static void list(const struct exports_file *file)
{
	for (size_t i = 0; i < file->exports.count; i++) {
		const struct export_spec *spec = &file->exports.specs[i];

		text_put(stdout, spec->path, strlen(spec->path));
		for (size_t j = 0; j < spec->rule_count; j++) {
			fputs(j ? " " : "  ", stdout);
			put_host(stdout, file, &spec->rules[j]);
		}
		putchar('\n');
	}
}

static void list_json(const struct exports_file *file)
{
	struct json json = { stdout };

	json_begin(&json, NULL, '{');
	json_begin(&json, "exports", '[');
	for (size_t i = 0; i < file->exports.count; i++) {
		const struct export_spec *spec = &file->exports.specs[i];

		json_begin(&json, NULL, '{');
		json_word(&json, "path", spec->path);
		json_u64(&json, "line", spec->line);
		json_begin(&json, "hosts", '[');
		for (size_t j = 0; j < spec->rule_count; j++) {
			const struct export_rule *rule = &spec->rules[j];

			json_begin(&json, NULL, '{');
			json_word(&json, "host", rule->text);
			json_bool(&json, "read_only", rule->options.read_only);
			json_bool(&json, "root_squash", rule->options.root_squash);
			json_text(&json, "written", file->text + rule->text_begin,
			          rule->text_end - rule->text_begin);
			json_end(&json, '}');
		}
		json_end(&json, ']');
		json_end(&json, '}');
	}
	json_end(&json, ']');
	json_end(&json, '}');
	putchar('\n');
}

static int run_list(const struct arguments *arguments)
{
	struct exports_file file;
	int status;

	if (arguments->word_count > 1)
		return command_misused("export", "list: it takes no arguments");
	status = exports_file_open(&file, arguments->exports);
	if (status == COMMAND_DONE && (arguments->given & ARGUMENT_JSON))
		list_json(&file);
	else if (status == COMMAND_DONE)
		list(&file);
	exports_file_close(&file);
	return status;
}

/* ---- the command ---- */

/* The services read the usual file. */
static int reload(const struct arguments *arguments)
{
	if (strcmp(arguments->exports, SETTINGS_EXPORTS_FILE) != 0 ||
	    (arguments->given & ARGUMENT_NO_RELOAD)) {
		puts("It counts from the next reload of a server with this file on");
		return COMMAND_DONE;
	}
	return daemons_reload(false);
}

static int run_export(int argc, char **argv)
{
	struct arguments arguments;
	char why[ARGUMENTS_WHY_BYTES];
	int changed = 0, status;

	if (arguments_parse(argc, argv, ARGUMENT_EXPORTS | ARGUMENT_NO_RELOAD | ARGUMENT_JSON, 1,
	                    ARGUMENTS_WORDS_MAX, &arguments, why) < 0)
		return command_misused("export", "%s", why);
	if (strcmp(arguments.words[0], "list") == 0)
		return run_list(&arguments);
	if (arguments.given & ARGUMENT_JSON)
		return command_misused("export", "--json goes with list");
	if (strcmp(arguments.words[0], "add") == 0)
		status = run_add(&arguments, &changed);
	else if (strcmp(arguments.words[0], "remove") == 0)
		status = run_remove(&arguments, &changed);
	else
		return command_misused("export", "'%s' is none of add, remove and list",
		                       arguments.words[0]);
	if (status != COMMAND_DONE || changed <= 0)
		return status;
	return reload(&arguments);
}

static const char export_help[] =
	"  export add DIRECTORY HOST(OPTION,...)...\n"
	"      Export a directory of this machine, by a change of the exports file; the services\n"
	"      that run read it. What is there already is changed, or left as it is.\n"
	"  export remove DIRECTORY [HOST]\n"
	"      Export it no more, or not to this host.\n"
	"  export list\n"
	"      What the file exports.\n"
	"        --exports FILE        instead of " SETTINGS_EXPORTS_FILE "; no service reads it\n"
	"        --no-reload           the services go on with what they have\n"
	"        --json                list: one JSON object\n";

const struct command export_command = { "export", export_help, run_export, false };
