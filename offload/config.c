/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/config.h"

#include <string.h>

#include "offload/jobs.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/confine.h"
#include "vfs/base/log.h"
#include "vfs/exports_load.h"

#define SOCKET_DEFAULT "/run/lodestore/offload.sock"

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
	{ "offload", "seccomp", CONF_CHOICE,
	  KEY(seccomp), 0, 0, CONFINE_MODE_DEFAULT, NULL, confine_mode_words, NULL },
};
/* clang-format on */

static const char help_text[] =
	"Usage: lodestore-offloadd [OPTION]...\n"
	"Clone, reserve, check and thin files of the exports for lodestore-nfsd and local root.\n"
	"\n"
	"  --config FILE     settings (default " SETTINGS_CONFIG_FILE ", if it is there)\n"
	"  --exports FILE    what is served, and to whom (default " SETTINGS_EXPORTS_FILE ")\n"
	"  --export \"DIR HOST(OPTIONS)\"\n"
	"                    this instead of what a file says; may be repeated\n"
	"  --state-dir DIR   the key of the file handles, and the journal of the jobs\n"
	"                    (default " SETTINGS_STATE_DIR ")\n"
	"  --socket PATH     where to listen (default " SOCKET_DEFAULT ")\n"
	"  --foreground      stay in the foreground and log to standard error\n"
	"  --help            show this text and exit\n"
	"  --version         show the version and exit\n"
	"\n"
	"Exports and state directory must be those of lodestore-nfsd. SIGHUP reads the exports\n"
	"again; SIGTERM ends, and what was being copied goes on after the next start.\n";

static const struct settings_option config_options[] = {
	{ "socket", SETTINGS_WORD, KEY(socket_word) },
};

static int config_finish(void *values)
{
	struct offload_config *config = values;

	return settings_replace(&config->socket, config->socket_word);
}

static void config_say(const char *message)
{
	log_always(LOG_LEVEL_ERROR, "%s", message);
}

/* The file is nfsd's as well: what is wrong in other sections is for nfsd to tell. */
static const struct settings_daemon config_daemon = {
	.name = "lodestore-offloadd",
	.version = LODESTORE_VERSION,
	.help = help_text,
	.keys = config_keys,
	.key_count = ARRAY_COUNT(config_keys),
	.section = "offload",
	.options = config_options,
	.option_count = ARRAY_COUNT(config_options),
	.finish = config_finish,
	.say = config_say,
};

enum settings_outcome offload_config_load(int argc, char **argv, struct offload_config *config)
{
	memset(config, 0, sizeof *config);
	return settings_load(&config_daemon, argc, argv, &config->settings, config);
}

void offload_config_done(struct offload_config *config)
{
	settings_done(&config_daemon, &config->settings, config);
}

static void exports_report(void *context, enum exports_severity severity, const char *file,
                           unsigned line, const char *message)
{
	/* Warnings are nfsd's to tell, once. */
	if (severity != EXPORTS_ERROR)
		return;
	if (line == 0)
		config_say(message);
	else
		log_always(LOG_LEVEL_ERROR, "%s:%u: %s", file, line, message);
}

int offload_config_exports(const struct offload_config *config, struct exports *ret_exports)
{
	return exports_load(&config->settings, exports_report, NULL, ret_exports);
}
