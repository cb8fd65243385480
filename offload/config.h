/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - lodestore-offloadd's settings: [offload] of lodestore.conf, then the command line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vfs/exports.h"

enum {
	OFFLOAD_EXPORT_LINES_MAX = 256
};

enum offload_thick {
	OFFLOAD_THICK_COPY,
	OFFLOAD_THICK_SHARE,
};

struct offload_config {
	char *socket;
	uint64_t copy_jobs, copy_rate;
	unsigned thick; /* enum offload_thick */

	/* command line only */
	const char *config_file, *exports_file, *state_dir, *socket_option;
	const char *export_lines[OFFLOAD_EXPORT_LINES_MAX];
	size_t export_line_count;
	bool foreground;
};

enum offload_outcome {
	OFFLOAD_CONFIG_RUN,
	OFFLOAD_CONFIG_EXIT_OK,
	OFFLOAD_CONFIG_EXIT_ERROR,
};

/* Every mistake has been told when this returns OFFLOAD_CONFIG_EXIT_ERROR. */
enum offload_outcome offload_config_load(int argc, char **argv, struct offload_config *config);
void offload_config_done(struct offload_config *config);

/* The exports of the file or of --export; mistakes are logged. 0 or a negative errno. */
int offload_config_exports(const struct offload_config *config, struct exports *ret_exports);

/* Leave only one section's lines in @text, the others empty, so that lines keep their numbers: the
 * file is nfsd's as well, and what is wrong elsewhere is for nfsd to tell. */
void offload_config_keep_section(char *text, const char *section);
