/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - lodestore-nfsd's settings: lodestore.conf, then the command line over it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vfs/export.h"

enum {
	CONFIG_LISTEN_MAX = 16,
	CONFIG_EXPORT_LINES_MAX = 4096
};

struct config {
	/* [nfsd] */
	char *listen; /* addresses with commas; NULL: all */
	uint64_t port, workers, pool_threads;
	bool rpcbind;
	unsigned data_path; /* enum vfs_data_path */
	char *log_level;
	char *offload_dialects_text;
	unsigned offload_dialects; /* set of enum vaai_dialect */

	/* [limits] */
	uint64_t open_files, buffer_bytes;
	uint64_t connections, connections_per_address, calls_per_connection;
	uint64_t record_timeout_s, reply_timeout_s, idle_timeout_s;
	uint64_t reply_cache_names, reply_cache_writes, reply_cache_lifetime_s;

	/* [offload]: all but the socket is for lodestore-offloadd */
	char *offload_socket;
	uint64_t offload_copy_jobs, offload_copy_rate;
	unsigned offload_thick;

	/* command line only */
	const char *config_file, *exports_file, *state_dir;
	const char **export_lines;
	size_t export_line_count;
	bool foreground, check_only;
};

enum config_outcome {
	CONFIG_RUN,
	CONFIG_EXIT_OK,
	CONFIG_EXIT_ERROR
};

/* Read the command line and the configuration file; every mistake has been told when this returns
 * CONFIG_EXIT_ERROR. */
enum config_outcome config_load(int argc, char **argv, struct config *config);
void config_done(struct config *config);

/* Read the exports of the file or of --export into @ret_exports; mistakes are logged with file and
 * line. 0 or a negative errno. */
int config_exports(const struct config *config, struct exports *ret_exports);
