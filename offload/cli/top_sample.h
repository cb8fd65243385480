/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_sample.h - what the server and the sidecar say at one moment, and a thread that goes on
 * asking them, so that a server that does not answer holds up no key.
 */
#pragma once

#include "offload/cli/document.h"
#include "offload/cli/sidecar.h"

struct top_sample {
	int error; /* of asking lodestore-nfsd; 0: document has what it said */
	struct document document;
	struct sidecar sidecar;
};

/* NULL: no memory. */
struct top_sample *top_sample_new(const struct arguments *arguments);

/* Takes NULL, returns NULL. */
struct top_sample *top_sample_free(struct top_sample *sample);

struct top_asker;

/* Asks each second, until the process ends. @event_fd: eventfd(2), readable when there is a sample
 * to take. @arguments stay where they are. 0 or a negative errno. */
int top_asker_start(const struct arguments *arguments, int event_fd, struct top_asker **ret_asker);

/* The latest, which is the caller's now; NULL if there is none since the last time. */
struct top_sample *top_asker_take(struct top_asker *asker);
