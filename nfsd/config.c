/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rpcgen/vaai.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/conf.h"
#include "vfs/base/file_text.h"
#include "vfs/base/log.h"

#define CONFIG_FILE_DEFAULT  "/etc/lodestore/lodestore.conf"
#define EXPORTS_FILE_DEFAULT "/etc/lodestore/exports"
#define STATE_DIR_DEFAULT    "/var/lib/lodestore"

#define KEY(member) offsetof(struct config, member)

/* In the order of enum vfs_data_path. */
static const char *const data_path_choices[] = { "auto", "buffered", "direct", NULL };
static const char *const offload_thick_choices[] = { "copy", "share", NULL };

/* A row a line: tests/lint/check-conf-man.sh holds lodestore.conf(5) and the packaged file against
 * it. */
/* clang-format off */
static const struct conf_key config_keys[] = {
	{ "nfsd", "listen", CONF_TEXT, KEY(listen), 0, 0, 0, NULL, NULL, NULL },
	{ "nfsd", "port", CONF_NUMBER, KEY(port), 1, 65535, 2049, NULL, NULL, NULL },
	{ "nfsd", "workers", CONF_NUMBER, KEY(workers), 0, 64, 0, NULL, NULL, "threads" },
	{ "nfsd", "pool_threads", CONF_NUMBER,
	  KEY(pool_threads), 1, 256, 32, NULL, NULL, "threads" },
	{ "nfsd", "rpcbind", CONF_BOOLEAN, KEY(rpcbind), 0, 1, 1, NULL, NULL, NULL },
	{ "nfsd", "data_path", CONF_CHOICE,
	  KEY(data_path), 0, 0, VFS_DATA_AUTO, NULL, data_path_choices, NULL },
	{ "nfsd", "log_level", CONF_TEXT, KEY(log_level), 0, 0, 0, "info", NULL, NULL },
	{ "nfsd", "offload_dialects", CONF_TEXT,
	  KEY(offload_dialects_text), 0, 0, 0, "opensds,qnap", NULL, NULL },
	{ "limits", "open_files", CONF_NUMBER,
	  KEY(open_files), 64, 1048576, 8192, NULL, NULL, "files" },
	{ "limits", "buffer_bytes", CONF_SIZE,
	  KEY(buffer_bytes), 16 << 20, 1ull << 40, 256 << 20, NULL, NULL, "bytes" },
	{ "limits", "connections", CONF_NUMBER,
	  KEY(connections), 1, 65536, 4096, NULL, NULL, "connections" },
	{ "limits", "connections_per_address", CONF_NUMBER,
	  KEY(connections_per_address), 1, 65536, 512, NULL, NULL, "connections" },
	{ "limits", "calls_per_connection", CONF_NUMBER,
	  KEY(calls_per_connection), 1, 4096, 256, NULL, NULL, "calls" },
	{ "limits", "record_timeout", CONF_NUMBER,
	  KEY(record_timeout_s), 1, 86400, 30, NULL, NULL, "seconds" },
	{ "limits", "reply_timeout", CONF_NUMBER,
	  KEY(reply_timeout_s), 1, 86400, 60, NULL, NULL, "seconds" },
	{ "limits", "idle_timeout", CONF_NUMBER,
	  KEY(idle_timeout_s), 0, 604800, 0, NULL, NULL, "seconds" },
	{ "limits", "reply_cache_names", CONF_NUMBER,
	  KEY(reply_cache_names), 64, 1048576, 8192, NULL, NULL, "replies" },
	{ "limits", "reply_cache_writes", CONF_NUMBER,
	  KEY(reply_cache_writes), 64, 1048576, 16384, NULL, NULL, "replies" },
	{ "limits", "reply_cache_lifetime", CONF_NUMBER,
	  KEY(reply_cache_lifetime_s), 1, 86400, 300, NULL, NULL, "seconds" },
	{ "offload", "socket", CONF_TEXT,
	  KEY(offload_socket), 0, 0, 0, "/run/lodestore/offload.sock", NULL, NULL },
	{ "offload", "copy_jobs", CONF_NUMBER,
	  KEY(offload_copy_jobs), 1, 16, 2, NULL, NULL, "jobs" },
	{ "offload", "copy_rate", CONF_SIZE,
	  KEY(offload_copy_rate), 0, 1ull << 40, 0, NULL, NULL, "bytes" },
	{ "offload", "thick", CONF_CHOICE,
	  KEY(offload_thick), 0, 0, 0, NULL, offload_thick_choices, NULL },
};
/* clang-format on */

static const char help_text[] =
	"Usage: lodestore-nfsd [OPTION]...\n"
	"Serve directories to NFS version 3 clients.\n"
	"\n"
	"  --config FILE        settings (default " CONFIG_FILE_DEFAULT ", if it is there)\n"
	"  --exports FILE       what is served, and to whom (default " EXPORTS_FILE_DEFAULT ")\n"
	"  --export \"DIR HOST(OPTIONS)\"\n"
	"                       serve this instead of what a file says; may be repeated\n"
	"  --state-dir DIR      where the key of the file handles is kept\n"
	"                       (default " STATE_DIR_DEFAULT ")\n"
	"  --listen ADDR[,ADDR] addresses to listen on (default: all, IPv4 and IPv6)\n"
	"  --port N             NFS and MOUNT share it (default 2049)\n"
	"  --no-rpcbind         neither register with rpcbind nor answer port 111\n"
	"  --foreground         stay in the foreground and log to standard error\n"
	"  --check-config       check settings and exports, tell every mistake, and exit\n"
	"  --help               show this text and exit\n"
	"  --version            show the version and exit\n"
	"\n"
	"SIGHUP reads the exports again, SIGTERM ends. See lodestore-nfsd(8),\n"
	"lodestore.conf(5) and lodestore-exports(5).\n";

enum {
	OPTION_CONFIG = 256,
	OPTION_EXPORTS,
	OPTION_EXPORT,
	OPTION_STATE_DIR,
	OPTION_LISTEN,
	OPTION_PORT,
	OPTION_NO_RPCBIND,
	OPTION_FOREGROUND,
	OPTION_CHECK_CONFIG,
	OPTION_HELP,
	OPTION_VERSION,
};

static const struct option config_options[] = {
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "exports", required_argument, NULL, OPTION_EXPORTS },
	{ "export", required_argument, NULL, OPTION_EXPORT },
	{ "state-dir", required_argument, NULL, OPTION_STATE_DIR },
	{ "listen", required_argument, NULL, OPTION_LISTEN },
	{ "port", required_argument, NULL, OPTION_PORT },
	{ "no-rpcbind", no_argument, NULL, OPTION_NO_RPCBIND },
	{ "foreground", no_argument, NULL, OPTION_FOREGROUND },
	{ "check-config", no_argument, NULL, OPTION_CHECK_CONFIG },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

/* What the command line says, kept until the file has been read: it counts more. */
struct command_line {
	const char *listen, *port;
	bool no_rpcbind;
};

static void config_report(void *context, const char *file, unsigned line, const char *message)
{
	log_always(LOG_LEVEL_ERROR, "%s:%u: %s", file, line, message);
}

static int config_read_file(struct config *config)
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
	return conf_parse(config_keys, ARRAY_COUNT(config_keys), config, file, text, text_bytes,
	                  config_report, NULL);
}

static int config_export_line(struct config *config, const char *line)
{
	const char **grown;

	if (config->export_line_count == CONFIG_EXPORT_LINES_MAX) {
		log_always(LOG_LEVEL_ERROR, "more than %d times --export. Write an exports file",
		           CONFIG_EXPORT_LINES_MAX);
		return -E2BIG;
	}
	grown = reallocarray(config->export_lines, config->export_line_count + 1, sizeof *grown);
	if (!grown)
		return -ENOMEM;
	config->export_lines = grown;
	config->export_lines[config->export_line_count++] = line;
	return 0;
}

static int config_option(struct config *config, struct command_line *line, int option)
{
	switch (option) {
	case OPTION_CONFIG:
		config->config_file = optarg;
		return 0;
	case OPTION_EXPORTS:
		config->exports_file = optarg;
		return 0;
	case OPTION_EXPORT:
		return config_export_line(config, optarg);
	case OPTION_STATE_DIR:
		config->state_dir = optarg;
		return 0;
	case OPTION_LISTEN:
		line->listen = optarg;
		return 0;
	case OPTION_PORT:
		line->port = optarg;
		return 0;
	case OPTION_NO_RPCBIND:
		line->no_rpcbind = true;
		return 0;
	case OPTION_FOREGROUND:
		config->foreground = true;
		return 0;
	case OPTION_CHECK_CONFIG:
		config->check_only = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static int config_apply_line(struct config *config, const struct command_line *line)
{
	char *end;
	unsigned long port;

	if (line->listen) {
		free(config->listen);
		config->listen = strdup(line->listen);
		if (!config->listen)
			return -ENOMEM;
	}
	if (line->port) {
		errno = 0;
		port = strtoul(line->port, &end, 10);
		if (errno || *end || end == line->port || port < 1 || port > 65535) {
			log_always(LOG_LEVEL_ERROR,
			           "--port: '%s' is no port. Write a number from 1 to 65535, for"
			           " example --port 2049",
			           line->port);
			return -EINVAL;
		}
		config->port = port;
	}
	if (line->no_rpcbind)
		config->rpcbind = false;
	return 0;
}

/* Whose plug-ins speak them: docs/vaai.md. */
static unsigned config_dialect(const char *word)
{
	if (strcmp(word, "opensds") == 0)
		return VAAI_DIALECT_O;
	return strcmp(word, "qnap") == 0 ? VAAI_DIALECT_Q : 0;
}

static int config_dialects(struct config *config)
{
	AUTO(free_ptr) char *words = strdup(config->offload_dialects_text);
	char *rest, *word;

	config->offload_dialects = 0;
	if (!words)
		return -ENOMEM;
	if (strcmp(words, "none") == 0)
		return 0;
	for (word = strtok_r(words, ", \t", &rest); word; word = strtok_r(NULL, ", \t", &rest)) {
		if (!config_dialect(word)) {
			log_always(LOG_LEVEL_ERROR,
			           "'%s' is no valid value for 'offload_dialects'. Write opensds,"
			           " qnap, both with a comma between them, or none",
			           word);
			return -EINVAL;
		}
		config->offload_dialects |= config_dialect(word);
	}
	return 0;
}

static int config_check(struct config *config)
{
	enum log_level level;
	int r;

	if (log_level_parse(config->log_level, &level) < 0) {
		log_always(LOG_LEVEL_ERROR,
		           "'%s' is no valid value for 'log_level'. Write error, warning, info or"
		           " debug",
		           config->log_level);
		return -EINVAL;
	}
	log_level_set(level);
	r = config_dialects(config);
	if (r < 0)
		return r;
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

enum config_outcome config_load(int argc, char **argv, struct config *config)
{
	struct command_line line = { 0 };
	int option, r;

	memset(config, 0, sizeof *config);
	if (conf_preset(config_keys, ARRAY_COUNT(config_keys), config) < 0)
		return CONFIG_EXIT_ERROR;
	while ((option = getopt_long(argc, argv, "", config_options, NULL)) >= 0) {
		if (option == OPTION_HELP) {
			fputs(help_text, stdout);
			return CONFIG_EXIT_OK;
		}
		if (option == OPTION_VERSION) {
			puts("lodestore-nfsd " LODESTORE_VERSION);
			return CONFIG_EXIT_OK;
		}
		if (config_option(config, &line, option) < 0) {
			fputs("Try 'lodestore-nfsd --help'.\n", stderr);
			return CONFIG_EXIT_ERROR;
		}
	}
	if (optind < argc) {
		fprintf(stderr,
		        "lodestore-nfsd: unexpected argument '%s'. To serve a directory write"
		        " --export \"%s HOST(rw,no_root_squash)\".\n",
		        argv[optind], argv[optind]);
		return CONFIG_EXIT_ERROR;
	}
	r = config_read_file(config);
	if (config_apply_line(config, &line) < 0 || config_check(config) < 0 || r < 0)
		return CONFIG_EXIT_ERROR;
	return CONFIG_RUN;
}

void config_done(struct config *config)
{
	conf_done(config_keys, ARRAY_COUNT(config_keys), config);
	free(config->export_lines);
}

static void exports_report(void *context, enum exports_severity severity, const char *file,
                           unsigned line, const char *message)
{
	log_always(severity == EXPORTS_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, "%s:%u: %s",
	           file, line, message);
}

static int exports_of_lines(const struct config *config, struct exports *exports)
{
	int r = 0;

	for (size_t i = 0; i < config->export_line_count; i++) {
		int one = exports_parse_line(exports, config->export_lines[i], exports_report,
		                             NULL);

		r = one < 0 ? one : r;
	}
	return r;
}

static int exports_of_file(const struct config *config, struct exports *exports)
{
	AUTO(free_ptr) char *text = NULL;
	size_t text_bytes;
	int r;

	r = file_text_read(config->exports_file, &text, &text_bytes);
	if (r < 0) {
		log_always(LOG_LEVEL_ERROR,
		           "cannot read the exports file %s: %s. Write one (see"
		           " lodestore-exports(5)), or name a directory with --export",
		           config->exports_file, strerror(-r));
		return r;
	}
	r = exports_parse(exports, config->exports_file, text, text_bytes, exports_report, NULL);
	if (r == 0 && exports->count == 0)
		log_warn("%s exports nothing: add a line such as '/srv/ds1"
		         " 192.0.2.0/24(rw,no_root_squash)' and reload",
		         config->exports_file);
	return r;
}

int config_exports(const struct config *config, struct exports *ret_exports)
{
	struct exports exports = { 0 };
	int r;

	r = config->export_line_count ? exports_of_lines(config, &exports)
	                              : exports_of_file(config, &exports);
	if (r < 0)
		exports_done(&exports);
	else
		*ret_exports = exports;
	return r;
}
