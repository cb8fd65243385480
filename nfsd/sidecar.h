/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sidecar.h - what lodestore-offloadd has done and has to do now, for who looks at the server.
 *
 * It is asked on its socket, at most once a second, and waited for half a second at most; one that
 * did not answer is left alone for some seconds. One thread at a time.
 */
#pragma once

#include <stdbool.h>

#include "rpcgen/offload.h"

struct sidecar_seen {
	bool answers;
	offload_totals totals; /* zeros if it does not */
};

struct sidecar;

/* NULL if memory is short. */
struct sidecar *sidecar_new(const char *socket_path);

/* Valid until the next time. */
const struct sidecar_seen *sidecar_look(struct sidecar *sidecar);

/* Takes NULL, returns NULL. */
struct sidecar *sidecar_free(struct sidecar *sidecar);
