/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - lodestore-offloadd's settings: [offload] of lodestore.conf, then the command line.
 */
#pragma once

#include <stdint.h>

#include "vfs/base/settings.h"
#include "vfs/exports.h"

enum offload_thick {
	OFFLOAD_THICK_COPY,
	OFFLOAD_THICK_SHARE,
};

struct offload_config {
	char *socket;
	uint64_t copy_jobs, copy_rate;
	unsigned thick;   /* enum offload_thick */
	unsigned seccomp; /* enum confine_mode */

	struct settings settings;
	const char *socket_word; /* the command line's; offload_config_load() has used it */
};

enum settings_outcome offload_config_load(int argc, char **argv, struct offload_config *config);
void offload_config_done(struct offload_config *config);

/* The exports of the file or of --export; mistakes are logged. 0 or a negative errno. */
int offload_config_exports(const struct offload_config *config, struct exports *ret_exports);
