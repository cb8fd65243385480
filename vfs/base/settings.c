/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/base/settings.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/file_text.h"

enum {
	MESSAGE_BYTES_MAX = 2048,
	OPTION_FIRST = 256, /* beyond all characters */
};

enum {
	OPTION_CONFIG = OPTION_FIRST,
	OPTION_EXPORTS,
	OPTION_EXPORT,
	OPTION_STATE_DIR,
	OPTION_FOREGROUND,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_OWN, /* the first of the daemon's own */
};

static const struct option common_options[] = {
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "exports", required_argument, NULL, OPTION_EXPORTS },
	{ "export", required_argument, NULL, OPTION_EXPORT },
	{ "state-dir", required_argument, NULL, OPTION_STATE_DIR },
	{ "foreground", no_argument, NULL, OPTION_FOREGROUND },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
};

/* What is filled, for whom. */
struct loading {
	const struct settings_daemon *daemon;
	struct settings *settings;
	void *values;
};

__attribute__((format(printf, 2, 3))) static void say(const struct settings_daemon *daemon,
                                                      const char *format, ...)
{
	char message[MESSAGE_BYTES_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	daemon->say(message);
}

int settings_replace(char **text, const char *word)
{
	char *copy = word ? strdup(word) : NULL;

	if (!word)
		return 0;
	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

/* ---- the file ---- */

static bool is_section(const char *line, const char *section)
{
	size_t bytes = strlen(section);

	return line[0] == '[' && strncasecmp(line + 1, section, bytes) == 0 &&
	       line[1 + bytes] == ']';
}

void settings_keep_section(char *text, const char *section)
{
	char *to = text;
	bool inside = false;

	for (char *line = text; *line;) {
		size_t bytes = strcspn(line, "\n");
		bool ends = line[bytes] == '\n';

		if (line[0] == '[')
			inside = is_section(line, section);
		if (inside) {
			memmove(to, line, bytes);
			to += bytes;
		}
		line += bytes + (ends ? 1 : 0);
		if (ends)
			*to++ = '\n';
	}
	*to = '\0';
}

static void file_report(void *context, const char *file, unsigned line, const char *message)
{
	say(context, "%s:%u: %s", file, line, message);
}

static int read_file(const struct loading *loading)
{
	const struct settings_daemon *daemon = loading->daemon;
	const char *named = loading->settings->config_file;
	const char *file = named ? named : SETTINGS_CONFIG_FILE;
	AUTO(free_ptr) char *text = NULL;
	size_t text_bytes;
	int r;

	r = file_text_read(file, &text, &text_bytes);
	if (r == -ENOENT && !named)
		return 0; /* the defaults do */
	if (r < 0) {
		say(daemon, "cannot read %s: %s", file, strerror(-r));
		return r;
	}
	if (daemon->section) {
		settings_keep_section(text, daemon->section);
		text_bytes = strlen(text);
	}
	return conf_parse(daemon->keys, daemon->key_count, loading->values, file, text, text_bytes,
	                  file_report, (void *) (uintptr_t) daemon);
}

/* ---- the command line ---- */

static int add_export_line(const struct loading *loading, const char *line)
{
	struct settings *settings = loading->settings;
	const char **grown;

	if (settings->export_line_count == SETTINGS_EXPORT_LINES_MAX) {
		say(loading->daemon, "more than %d times --export. Write an exports file",
		    SETTINGS_EXPORT_LINES_MAX);
		return -E2BIG;
	}
	grown = reallocarray(settings->export_lines, settings->export_line_count + 1,
	                     sizeof *grown);
	if (!grown)
		return -ENOMEM;
	settings->export_lines = grown;
	settings->export_lines[settings->export_line_count++] = line;
	return 0;
}

static int take_own_option(const struct loading *loading, int option, const char *word)
{
	const struct settings_option *own;
	size_t i = (size_t) (option - OPTION_OWN);

	if (option < OPTION_OWN || i >= loading->daemon->option_count)
		return -EINVAL;
	own = &loading->daemon->options[i];
	if (own->kind == SETTINGS_WORD)
		*(const char **) ((char *) loading->values + own->offset) = word;
	else
		*(bool *) ((char *) loading->values + own->offset) = true;
	return 0;
}

static int take_option(const struct loading *loading, int option, const char *word)
{
	struct settings *settings = loading->settings;

	switch (option) {
	case OPTION_CONFIG:
		settings->config_file = word;
		return 0;
	case OPTION_EXPORTS:
		settings->exports_file = word;
		return 0;
	case OPTION_EXPORT:
		return add_export_line(loading, word);
	case OPTION_STATE_DIR:
		settings->state_dir = word;
		return 0;
	case OPTION_FOREGROUND:
		settings->foreground = true;
		return 0;
	default:
		return take_own_option(loading, option, word);
	}
}

/* For getopt_long(3): those of all, the daemon's own, and the zeroed end. */
static void make_options(const struct settings_daemon *daemon, struct option *options)
{
	assert(daemon->option_count <= SETTINGS_OPTIONS_MAX);
	memcpy(options, common_options, sizeof common_options);
	options += ARRAY_COUNT(common_options);
	for (size_t i = 0; i < daemon->option_count; i++) {
		const struct settings_option *own = &daemon->options[i];

		options[i] = (struct option){
			.name = own->name,
			.has_arg = own->kind == SETTINGS_WORD ? required_argument : no_argument,
			.val = OPTION_OWN + (int) i,
		};
	}
}

static enum settings_outcome read_line(const struct loading *loading, int argc, char **argv)
{
	const struct settings_daemon *daemon = loading->daemon;
	struct option options[ARRAY_COUNT(common_options) + SETTINGS_OPTIONS_MAX + 1] = { 0 };
	int option;

	make_options(daemon, options);
	optind = 0; /* glibc: begin afresh */
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == OPTION_HELP) {
			fputs(daemon->help, stdout);
			return SETTINGS_EXIT_OK;
		}
		if (option == OPTION_VERSION) {
			printf("%s %s\n", daemon->name, daemon->version);
			return SETTINGS_EXIT_OK;
		}
		if (take_option(loading, option, optarg) < 0) {
			fprintf(stderr, "Try '%s --help'.\n", daemon->name);
			return SETTINGS_EXIT_ERROR;
		}
	}
	if (optind == argc)
		return SETTINGS_RUN;
	fprintf(stderr,
	        "%s: unexpected argument '%s'. To export a directory write --export"
	        " \"%s HOST(rw,no_root_squash)\".\n",
	        daemon->name, argv[optind], argv[optind]);
	return SETTINGS_EXIT_ERROR;
}

/* ---- both ---- */

static int finish(const struct loading *loading)
{
	struct settings *settings = loading->settings;
	int r = loading->daemon->finish(loading->values);

	if (r < 0)
		return r;
	if (settings->export_line_count && settings->exports_file) {
		say(loading->daemon, "--export and --exports exclude each other. Use one");
		return -EINVAL;
	}
	if (!settings->exports_file)
		settings->exports_file = SETTINGS_EXPORTS_FILE;
	if (!settings->state_dir)
		settings->state_dir = SETTINGS_STATE_DIR;
	return 0;
}

enum settings_outcome settings_load(const struct settings_daemon *daemon, int argc, char **argv,
                                    struct settings *settings, void *values)
{
	struct loading loading = { daemon, settings, values };
	enum settings_outcome outcome;
	int r;

	memset(settings, 0, sizeof *settings);
	if (conf_preset(daemon->keys, daemon->key_count, values) < 0)
		return SETTINGS_EXIT_ERROR;
	outcome = read_line(&loading, argc, argv);
	if (outcome != SETTINGS_RUN)
		return outcome;
	r = read_file(&loading);
	return finish(&loading) < 0 || r < 0 ? SETTINGS_EXIT_ERROR : SETTINGS_RUN;
}

void settings_done(const struct settings_daemon *daemon, struct settings *settings, void *values)
{
	conf_done(daemon->keys, daemon->key_count, values);
	free(settings->export_lines);
	settings->export_lines = NULL;
}
