/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - what a daemon is told: lodestore.conf, and its command line, which counts more.
 *
 * --config, --exports, --export, --state-dir, --foreground, --help and --version are every
 * daemon's; a table adds its own. They are kept as they were written until the file has been read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "vfs/base/conf.h"

#define SETTINGS_CONFIG_FILE  "/etc/lodestore/lodestore.conf"
#define SETTINGS_EXPORTS_FILE "/etc/lodestore/exports"
#define SETTINGS_STATE_DIR    "/var/lib/lodestore"

enum {
	SETTINGS_EXPORT_LINES_MAX = 4096,
	SETTINGS_OPTIONS_MAX = 16, /* of one daemon, those of all not counted */
};

/* What every daemon is told. The words are the command line's own. */
struct settings {
	const char *config_file; /* NULL: the usual one, if it is there */
	const char *exports_file, *state_dir;
	const char **export_lines; /* of --export; then the file does not count */
	size_t export_line_count;
	bool foreground;
};

/* An option of one daemon: where its word, or that it was given, goes in the daemon's values. */
struct settings_option {
	const char *name;
	enum {
		SETTINGS_WORD, /* const char * */
		SETTINGS_FLAG, /* bool */
	} kind;
	size_t offset;
};

struct settings_daemon {
	const char *name, *version, *help;
	const struct conf_key *keys;
	size_t key_count;
	const char *section; /* the only one whose mistakes are told; NULL: all */
	const struct settings_option *options;
	size_t option_count;
	/* After the file: the command line over it, and what the tables cannot check. 0, or a
	 * negative errno when every mistake has been told. */
	int (*finish)(void *values);
	void (*say)(const char *message); /* a mistake, in one line */
};

enum settings_outcome {
	SETTINGS_RUN,
	SETTINGS_EXIT_OK,    /* after --help or --version */
	SETTINGS_EXIT_ERROR, /* every mistake has been told */
};

/* @values: zeroed; keys and options are in it. Call settings_done() whatever comes out. */
enum settings_outcome settings_load(const struct settings_daemon *daemon, int argc, char **argv,
                                    struct settings *settings, void *values);
void settings_done(const struct settings_daemon *daemon, struct settings *settings, void *values);

/* Put a copy of @word in the place of a CONF_TEXT's value, if there is a word. 0 or -ENOMEM. */
int settings_replace(char **text, const char *word);

/* Leave only one section's lines in @text, the others empty, so that lines keep their numbers. */
void settings_keep_section(char *text, const char *section);
