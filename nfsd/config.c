/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/http_rules.h"
#include "nfsd/metrics.h"
#include "rpcgen/vaai.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/conf.h"
#include "vfs/base/confine.h"
#include "vfs/base/log.h"
#include "vfs/exports_load.h"

#define STATUS_SOCKET  "/run/lodestore/nfsd.sock"
#define METRICS_LISTEN "127.0.0.1:9749"

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
	{ "nfsd", "busy_poll", CONF_NUMBER,
	  KEY(busy_poll_us), 0, 10000, 100, NULL, NULL, "microseconds" },
	{ "nfsd", "rpcbind", CONF_BOOLEAN, KEY(rpcbind), 0, 1, 1, NULL, NULL, NULL },
	{ "nfsd", "nlm", CONF_BOOLEAN, KEY(nlm), 0, 1, 1, NULL, NULL, NULL },
	{ "nfsd", "nlm_grace", CONF_NUMBER,
	  KEY(nlm_grace_s), 1, 3600, 45, NULL, NULL, "seconds" },
	{ "nfsd", "data_path", CONF_CHOICE,
	  KEY(data_path), 0, 0, VFS_DATA_AUTO, NULL, data_path_choices, NULL },
	{ "nfsd", "log_level", CONF_TEXT, KEY(log_level), 0, 0, 0, "info", NULL, NULL },
	{ "nfsd", "offload_dialects", CONF_TEXT,
	  KEY(offload_dialects_text), 0, 0, 0, "opensds,qnap", NULL, NULL },
	{ "nfsd", "status_socket", CONF_TEXT,
	  KEY(status_socket), 0, 0, 0, STATUS_SOCKET, NULL, NULL },
	{ "nfsd", "seccomp", CONF_CHOICE,
	  KEY(seccomp), 0, 0, CONFINE_MODE_DEFAULT, NULL, confine_mode_words, NULL },
	{ "limits", "open_files", CONF_NUMBER,
	  KEY(open_files), 64, 1048576, 8192, NULL, NULL, "files" },
	{ "limits", "buffer_bytes", CONF_SIZE,
	  KEY(buffer_bytes), 16 << 20, 1ull << 40, 256 << 20, NULL, NULL, "bytes" },
	{ "limits", "bulk_bytes", CONF_SIZE,
	  KEY(bulk_bytes), 1 << 20, 1ull << 40, 8 << 20, NULL, NULL, "bytes" },
	{ "limits", "connections", CONF_NUMBER,
	  KEY(connections), 1, 65536, 4096, NULL, NULL, "connections" },
	{ "limits", "connections_per_address", CONF_NUMBER,
	  KEY(connections_per_address), 1, 65536, 512, NULL, NULL, "connections" },
	{ "limits", "calls", CONF_NUMBER,
	  KEY(calls), 64, 1048576, 16384, NULL, NULL, "calls" },
	{ "limits", "calls_per_connection", CONF_NUMBER,
	  KEY(calls_per_connection), 1, 4096, 256, NULL, NULL, "calls" },
	{ "limits", "reply_bytes_per_connection", CONF_SIZE,
	  KEY(reply_bytes_per_connection), 64 << 10, 1ull << 30, 32 << 20, NULL, NULL, "bytes" },
	{ "limits", "log_lines", CONF_NUMBER,
	  KEY(log_lines_per_s), 1, 10000, LOG_SITE_LINES_PER_S, NULL, NULL, "lines a second" },
	{ "limits", "first_call_timeout", CONF_NUMBER,
	  KEY(first_call_timeout_s), 0, 86400, 60, NULL, NULL, "seconds" },
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
	{ "limits", "locks", CONF_NUMBER, KEY(locks), 1, 16777216, 262144, NULL, NULL, "locks" },
	{ "limits", "locks_per_client", CONF_NUMBER,
	  KEY(locks_per_client), 1, 16777216, 32768, NULL, NULL, "locks" },
	{ "limits", "lock_waiters", CONF_NUMBER,
	  KEY(lock_waiters), 1, 16384, 8192, NULL, NULL, "calls" },
	{ "limits", "lock_waiters_per_client", CONF_NUMBER,
	  KEY(lock_waiters_per_client), 1, 16384, 1024, NULL, NULL, "calls" },
	{ "limits", "lock_files", CONF_NUMBER,
	  KEY(lock_files), 1, 65536, 1024, NULL, NULL, "files" },
	{ "metrics", "listen", CONF_TEXT,
	  KEY(metrics_listen), 0, 0, 0, METRICS_LISTEN, NULL, NULL },
	{ "metrics", "clients", CONF_NUMBER,
	  KEY(metrics_clients), 0, METRICS_CLIENTS_MAX, 100, NULL, NULL, "clients" },
	{ "offload", "socket", CONF_TEXT,
	  KEY(offload_socket), 0, 0, 0, "/run/lodestore/offload.sock", NULL, NULL },
	{ "offload", "copy_jobs", CONF_NUMBER,
	  KEY(offload_copy_jobs), 1, 16, 2, NULL, NULL, "jobs" },
	{ "offload", "copy_rate", CONF_SIZE,
	  KEY(offload_copy_rate), 0, 1ull << 40, 0, NULL, NULL, "bytes" },
	{ "offload", "thick", CONF_CHOICE,
	  KEY(offload_thick), 0, 0, 0, NULL, offload_thick_choices, NULL },
	{ "offload", "seccomp", CONF_CHOICE,
	  KEY(offload_seccomp), 0, 0, 0, NULL, confine_mode_words, NULL },
};
/* clang-format on */

static const char help_text[] =
	"Usage: lodestore-nfsd [OPTION]...\n"
	"Serve directories to NFS version 3 clients.\n"
	"\n"
	"  --config FILE        settings (default " SETTINGS_CONFIG_FILE ", if it is there)\n"
	"  --exports FILE       what is served, and to whom (default " SETTINGS_EXPORTS_FILE ")\n"
	"  --export \"DIR HOST(OPTIONS)\"\n"
	"                       serve this instead of what a file says; may be repeated\n"
	"  --state-dir DIR      where the key of the file handles is kept\n"
	"                       (default " SETTINGS_STATE_DIR ")\n"
	"  --listen ADDR[,ADDR] addresses to listen on (default: all, IPv4 and IPv6)\n"
	"  --port N             NFS and MOUNT share it (default 2049)\n"
	"  --status-socket PATH where 'lodestore status' asks; none: nowhere\n"
	"                       (default " STATUS_SOCKET ")\n"
	"  --no-rpcbind         neither register with rpcbind nor answer port 111\n"
	"  --foreground         stay in the foreground and log to standard error\n"
	"  --check-config       check settings and exports, tell every mistake, and exit\n"
	"  --help               show this text and exit\n"
	"  --version            show the version and exit\n"
	"\n"
	"SIGHUP reads the exports again, SIGTERM ends. See lodestore-nfsd(8),\n"
	"lodestore.conf(5) and lodestore-exports(5).\n";

static const struct settings_option config_options[] = {
	{ "listen", SETTINGS_WORD, KEY(listen_word) },
	{ "port", SETTINGS_WORD, KEY(port_word) },
	{ "status-socket", SETTINGS_WORD, KEY(status_word) },
	{ "no-rpcbind", SETTINGS_FLAG, KEY(no_rpcbind) },
	{ "check-config", SETTINGS_FLAG, KEY(check_only) },
};

static int config_apply_line(struct config *config)
{
	const char *word = config->port_word;
	char *end;
	unsigned long port;

	if (word) {
		errno = 0;
		port = strtoul(word, &end, 10);
		if (errno || *end || end == word || port < 1 || port > 65535) {
			log_always(LOG_LEVEL_ERROR,
			           "--port: '%s' is no port. Write a number from 1 to 65535, for"
			           " example --port 2049",
			           word);
			return -EINVAL;
		}
		config->port = port;
	}
	if (config->no_rpcbind)
		config->rpcbind = false;
	if (settings_replace(&config->status_socket, config->status_word) < 0)
		return -ENOMEM;
	return settings_replace(&config->listen, config->listen_word);
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

static int config_metrics(const struct config *config)
{
	union sockets_address address;

	if (strcmp(config->metrics_listen, "none") == 0 ||
	    http_listen_parse(config->metrics_listen, &address) == 0)
		return 0;
	log_always(LOG_LEVEL_ERROR,
	           "'%s' is no valid value for 'listen' of [metrics]. Write an address and a port,"
	           " for example " METRICS_LISTEN " or [::1]:9749, or none",
	           config->metrics_listen);
	return -EINVAL;
}

static int config_finish(void *values)
{
	struct config *config = values;
	enum log_level level;
	int r = config_apply_line(config);

	if (r < 0)
		return r;
	if (log_level_parse(config->log_level, &level) < 0) {
		log_always(LOG_LEVEL_ERROR,
		           "'%s' is no valid value for 'log_level'. Write error, warning, info or"
		           " debug",
		           config->log_level);
		return -EINVAL;
	}
	r = config_metrics(config);
	return r < 0 ? r : config_dialects(config);
}

static void config_say(const char *message)
{
	log_always(LOG_LEVEL_ERROR, "%s", message);
}

static const struct settings_daemon config_daemon = {
	.name = "lodestore-nfsd",
	.version = LODESTORE_VERSION,
	.help = help_text,
	.keys = config_keys,
	.key_count = ARRAY_COUNT(config_keys),
	.options = config_options,
	.option_count = ARRAY_COUNT(config_options),
	.finish = config_finish,
	.say = config_say,
};

enum settings_outcome config_load(int argc, char **argv, struct config *config)
{
	memset(config, 0, sizeof *config);
	config->argc = argc;
	config->argv = argv;
	return settings_load(&config_daemon, argc, argv, &config->settings, config);
}

void config_apply_log(const struct config *config)
{
	enum log_level level = LOG_LEVEL_INFO;

	(void) log_level_parse(config->log_level, &level); /* config_finish() has tried */
	log_level_set(level);
	log_rate_set((unsigned) config->log_lines_per_s);
}

void config_done(struct config *config)
{
	settings_done(&config_daemon, &config->settings, config);
}

static bool counts_at_once(const struct conf_key *key)
{
	return key->offset == KEY(log_level) || key->offset == KEY(log_lines_per_s);
}

int config_differences(const struct config *config,
                       void (*tell)(void *context, const char *section, const char *key),
                       void *context)
{
	struct config now;
	bool good = config_load(config->argc, config->argv, &now) == SETTINGS_RUN;

	static_assert(ARRAY_COUNT(config_keys) <= CONFIG_KEYS_MAX, "there is room for all of them");
	for (size_t i = 0; good && i < ARRAY_COUNT(config_keys); i++)
		if (!conf_equal(&config_keys[i], config, &now) && !counts_at_once(&config_keys[i]))
			tell(context, config_keys[i].section, config_keys[i].name);
	if (good)
		config_apply_log(&now);
	config_done(&now);
	return good ? 0 : -EINVAL;
}

static void exports_report(void *context, enum exports_severity severity, const char *file,
                           unsigned line, const char *message)
{
	enum log_level level = severity == EXPORTS_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING;

	if (line == 0)
		log_always(level, "%s", message);
	else
		log_always(level, "%s:%u: %s", file, line, message);
}

int config_exports(const struct config *config, struct exports *ret_exports)
{
	const struct settings *settings = &config->settings;
	int r = exports_load(settings, exports_report, NULL, ret_exports);

	if (r == 0 && ret_exports->count == 0)
		log_warn("%s exports nothing: add a line such as '/srv/ds1"
		         " 192.0.2.0/24(rw,no_root_squash)' and reload",
		         settings->exports_file);
	return r;
}
