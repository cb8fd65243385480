/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "offload/jobs.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/conf.h"
#include "vfs/base/file_text.h"
#include "vfs/base/log.h"

#define CONFIG_FILE_DEFAULT  "/etc/lodestore/lodestore.conf"
#define EXPORTS_FILE_DEFAULT "/etc/lodestore/exports"
#define STATE_DIR_DEFAULT    "/var/lib/lodestore"
#define SOCKET_DEFAULT       "/run/lodestore/offload.sock"

#define KEY(member) offsetof(struct offload_config, member)

static const char *const thick_choices[] = { "copy", "share", NULL };

/* nfsd/config.c has the same rows: both programs read the file. */
/* clang-format off */
static const struct conf_key config_keys[] = {
	{ "offload", "socket", CONF_TEXT,
	  KEY(socket), 0, 0, 0, SOCKET_DEFAULT, NULL, NULL },
	{ "offload", "copy_jobs", CONF_NUMBER,
	  KEY(copy_jobs), 1, JOBS_COPY_MAX, 2, NULL, NULL, "jobs" },
	{ "offload", "copy_rate", CONF_SIZE,
	  KEY(copy_rate), 0, 1ull << 40, 0, NULL, NULL, "bytes" },
	{ "offload", "thick", CONF_CHOICE,
	  KEY(thick), 0, 0, OFFLOAD_THICK_COPY, NULL, thick_choices, NULL },
};
/* clang-format on */

static const char help_text[] =
	"Usage: lodestore-offloadd [OPTION]...\n"
	"Clone, reserve, check and thin files of the exports for lodestore-nfsd and local root.\n"
	"\n"
	"  --config FILE     settings (default " CONFIG_FILE_DEFAULT ", if it is there)\n"
	"  --exports FILE    what is served, and to whom (default " EXPORTS_FILE_DEFAULT ")\n"
	"  --export \"DIR HOST(OPTIONS)\"\n"
	"                    this instead of what a file says; may be repeated\n"
	"  --state-dir DIR   the key of the file handles, and the journal of the jobs\n"
	"                    (default " STATE_DIR_DEFAULT ")\n"
	"  --socket PATH     where to listen (default " SOCKET_DEFAULT ")\n"
	"  --foreground      stay in the foreground and log to standard error\n"
	"  --help            show this text and exit\n"
	"  --version         show the version and exit\n"
	"\n"
	"Exports and state directory must be those of lodestore-nfsd. SIGHUP reads the exports\n"
	"again; SIGTERM ends, and what was being copied goes on after the next start.\n";

enum {
	OPTION_CONFIG = 256,
	OPTION_EXPORTS,
	OPTION_EXPORT,
	OPTION_STATE_DIR,
	OPTION_SOCKET,
	OPTION_FOREGROUND,
	OPTION_HELP,
	OPTION_VERSION,
};

static const struct option config_options[] = {
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "exports", required_argument, NULL, OPTION_EXPORTS },
	{ "export", required_argument, NULL, OPTION_EXPORT },
	{ "state-dir", required_argument, NULL, OPTION_STATE_DIR },
	{ "socket", required_argument, NULL, OPTION_SOCKET },
	{ "foreground", no_argument, NULL, OPTION_FOREGROUND },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

static bool is_section(const char *line, const char *section)
{
	size_t bytes = strlen(section);

	return line[0] == '[' && strncasecmp(line + 1, section, bytes) == 0 &&
	       line[1 + bytes] == ']';
}

void offload_config_keep_section(char *text, const char *section)
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

static void config_report(void *context, const char *file, unsigned line, const char *message)
{
	log_always(LOG_LEVEL_ERROR, "%s:%u: %s", file, line, message);
}

static int config_read_file(struct offload_config *config)
{
	const char *file = config->config_file ? config->config_file : CONFIG_FILE_DEFAULT;
	AUTO(free_ptr) char *text = NULL;
	size_t text_bytes;
	int r;

	r = file_text_read(file, &text, &text_bytes);
	if (r == -ENOENT && !config->config_file)
		return 0; /* the defaults do */
	if (r < 0) {
		log_always(LOG_LEVEL_ERROR, "cannot read %s: %s", file, strerror(-r));
		return r;
	}
	offload_config_keep_section(text, "offload");
	return conf_parse(config_keys, ARRAY_COUNT(config_keys), config, file, text, strlen(text),
	                  config_report, NULL);
}

static int config_option(struct offload_config *config, int option)
{
	switch (option) {
	case OPTION_CONFIG:
		config->config_file = optarg;
		return 0;
	case OPTION_EXPORTS:
		config->exports_file = optarg;
		return 0;
	case OPTION_EXPORT:
		if (config->export_line_count == OFFLOAD_EXPORT_LINES_MAX)
			return -E2BIG;
		config->export_lines[config->export_line_count++] = optarg;
		return 0;
	case OPTION_STATE_DIR:
		config->state_dir = optarg;
		return 0;
	case OPTION_SOCKET:
		config->socket_option = optarg;
		return 0;
	case OPTION_FOREGROUND:
		config->foreground = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static int config_finish(struct offload_config *config)
{
	if (config->socket_option) {
		free(config->socket);
		config->socket = strdup(config->socket_option);
		if (!config->socket)
			return -ENOMEM;
	}
	if (config->export_line_count && config->exports_file) {
		log_always(LOG_LEVEL_ERROR, "--export and --exports exclude each other. Use one");
		return -EINVAL;
	}
	if (!config->exports_file)
		config->exports_file = EXPORTS_FILE_DEFAULT;
	if (!config->state_dir)
		config->state_dir = STATE_DIR_DEFAULT;
	return 0;
}

enum offload_outcome offload_config_load(int argc, char **argv, struct offload_config *config)
{
	int option, r;

	memset(config, 0, sizeof *config);
	if (conf_preset(config_keys, ARRAY_COUNT(config_keys), config) < 0)
		return OFFLOAD_CONFIG_EXIT_ERROR;
	while ((option = getopt_long(argc, argv, "", config_options, NULL)) >= 0) {
		if (option == OPTION_HELP) {
			fputs(help_text, stdout);
			return OFFLOAD_CONFIG_EXIT_OK;
		}
		if (option == OPTION_VERSION) {
			puts("lodestore-offloadd " LODESTORE_VERSION);
			return OFFLOAD_CONFIG_EXIT_OK;
		}
		if (config_option(config, option) < 0) {
			fputs("Try 'lodestore-offloadd --help'.\n", stderr);
			return OFFLOAD_CONFIG_EXIT_ERROR;
		}
	}
	if (optind < argc) {
		fprintf(stderr,
		        "lodestore-offloadd: unexpected argument '%s'. Try 'lodestore-offloadd"
		        " --help'.\n",
		        argv[optind]);
		return OFFLOAD_CONFIG_EXIT_ERROR;
	}
	r = config_read_file(config);
	if (config_finish(config) < 0 || r < 0)
		return OFFLOAD_CONFIG_EXIT_ERROR;
	return OFFLOAD_CONFIG_RUN;
}

void offload_config_done(struct offload_config *config)
{
	conf_done(config_keys, ARRAY_COUNT(config_keys), config);
}

static void exports_report(void *context, enum exports_severity severity, const char *file,
                           unsigned line, const char *message)
{
	/* Warnings are nfsd's to tell, once. */
	if (severity == EXPORTS_ERROR)
		log_always(LOG_LEVEL_ERROR, "%s:%u: %s", file, line, message);
}

static int exports_of_file(const struct offload_config *config, struct exports *exports)
{
	AUTO(free_ptr) char *text = NULL;
	size_t text_bytes;
	int r;

	r = file_text_read(config->exports_file, &text, &text_bytes);
	if (r < 0) {
		log_always(LOG_LEVEL_ERROR,
		           "cannot read the exports file %s: %s. Name the one that lodestore-nfsd"
		           " has with --exports",
		           config->exports_file, strerror(-r));
		return r;
	}
	return exports_parse(exports, config->exports_file, text, text_bytes, exports_report, NULL);
}

int offload_config_exports(const struct offload_config *config, struct exports *ret_exports)
{
	struct exports exports = { 0 };
	int r = 0;

	if (config->export_line_count == 0)
		r = exports_of_file(config, &exports);
	for (size_t i = 0; i < config->export_line_count; i++) {
		int one = exports_parse_line(&exports, config->export_lines[i], exports_report,
		                             NULL);

		r = one < 0 ? one : r;
	}
	if (r < 0)
		exports_done(&exports);
	else
		*ret_exports = exports;
	return r;
}
