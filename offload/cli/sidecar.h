/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sidecar.h - this machine's offload service, as who looks at the server sees it: does it answer,
 * and which jobs has it not ended?
 */
#pragma once

#include <errno.h>

#include "offload/cli/client.h"
#include "rpcgen/offload.h"

struct sidecar {
	struct client client;
	bool answers;
	offload_job *live; /* with views into pages; those that have not ended */
	unsigned live_count;
	offload_jobs_result *pages;
	unsigned page_count;
};

#define SIDECAR_NONE                \
	{                           \
		.client.fd = -EBADF \
	}

/* Whatever goes wrong: it does not answer. It is waited for arguments->timeout_s. */
void sidecar_ask(struct sidecar *sidecar, const struct arguments *arguments);

/* Also of one that was never asked. */
void sidecar_done(struct sidecar *sidecar);
