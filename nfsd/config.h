/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - lodestore-nfsd's settings: lodestore.conf, then the command line over it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vfs/base/settings.h"
#include "vfs/export.h"
#include "vfs/exports.h"

enum {
	CONFIG_LISTEN_MAX = 16,
	CONFIG_KEYS_MAX = 64,
};

struct config {
	/* [nfsd] */
	char *listen; /* addresses with commas; NULL: all */
	uint64_t port, workers, pool_threads, busy_poll_us;
	bool rpcbind, nlm;
	uint64_t nlm_grace_s;
	unsigned data_path; /* enum vfs_data_path */
	unsigned seccomp;   /* enum confine_mode */
	char *log_level, *status_socket;
	char *offload_dialects_text;
	unsigned offload_dialects; /* set of enum vaai_dialect */

	/* [limits] */
	uint64_t open_files, buffer_bytes, bulk_bytes;
	uint64_t connections, connections_per_address, calls, calls_per_connection;
	uint64_t reply_bytes_per_connection, log_lines_per_s;
	uint64_t first_call_timeout_s, record_timeout_s, reply_timeout_s, idle_timeout_s;
	uint64_t reply_cache_names, reply_cache_writes, reply_cache_lifetime_s;
	uint64_t locks, locks_per_client, lock_waiters, lock_waiters_per_client, lock_files;

	/* [metrics] */
	char *metrics_listen; /* ADDR:PORT, or "none" */
	uint64_t metrics_clients;

	/* [offload]: all but the socket is for lodestore-offloadd */
	char *offload_socket;
	uint64_t offload_copy_jobs, offload_copy_rate;
	unsigned offload_thick, offload_seccomp;

	/* The command line, beside its settings, as it was written; config_load() has used it. */
	struct settings settings;
	const char *listen_word, *port_word, *status_word;
	bool no_rpcbind, check_only;
	int argc;
	char **argv;
};

/* Read the command line and the configuration file. */
enum settings_outcome config_load(int argc, char **argv, struct config *config);
void config_done(struct config *config);

/* Have the log as it says, from here on. */
void config_apply_log(const struct config *config);

/* Read both again, and tell each setting that is another one than in @config and would count
 * only after a restart; log_level and log_lines count at once. 0, or -EINVAL if the file has
 * mistakes, which have been logged: then nothing of it counts. */
int config_differences(const struct config *config,
                       void (*tell)(void *context, const char *section, const char *key),
                       void *context);

/* Read the exports of the file or of --export into @ret_exports; mistakes are logged with file and
 * line. 0 or a negative errno. */
int config_exports(const struct config *config, struct exports *ret_exports);
