/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.h - what a VAAI-NAS plug-in asks of a server, in either dialect.
 *
 * Each function is one call of procedure 22. Results are those of plugin_session.h: 0, -EREMOTEIO
 * (refused; session->status and session->why say how) or -ECOMM (no answer, or none of this
 * dialect).
 */
#pragma once

#include "offload/plugin/plugin_session.h"

enum plugin_dialect {
	PLUGIN_DIALECT_O,
	PLUGIN_DIALECT_Q,
};

enum plugin_state {
	PLUGIN_WAITING,
	PLUGIN_RUNNING,
	PLUGIN_COMPLETE,
	PLUGIN_FAILED,
	PLUGIN_ABORTED,
};

struct plugin_progress {
	enum plugin_state state;
	uint64_t done_bytes;
};

struct plugin_usage {
	uint64_t total_bytes, allocated_bytes, unique_bytes;
};

/* What the server can do: bits PLUGIN_CAN_. Dialect O asks three times, Q once. */
int plugin_support(struct plugin_session *session, enum plugin_dialect dialect, uint32_t *ret_can);

/* Begin a full clone of @source into the file @destination, which lies at @path below the mounted
 * directory. @thin: runs of zeros need no space. */
int plugin_clone(struct plugin_session *session, enum plugin_dialect dialect,
                 const struct plugin_handle *source, const struct plugin_handle *destination,
                 const char *path, bool thin, struct plugin_progress *ret_progress);

/* A fast clone, which makes its destination: 0 means done. Dialect O names the source by its
 * handle, dialect Q by its directory's and its name. */
int plugin_clone_fast(struct plugin_session *session, enum plugin_dialect dialect,
                      const char *source_path, const char *path);

/* Reserve space for all of @file. In dialect Q this only begins a job, to be polled. */
int plugin_reserve(struct plugin_session *session, enum plugin_dialect dialect,
                   const struct plugin_handle *file, struct plugin_progress *ret_progress);

int plugin_usage_of(struct plugin_session *session, enum plugin_dialect dialect,
                    const struct plugin_handle *file, struct plugin_usage *ret_usage);

/* How far is the clone into @destination? */
int plugin_poll(struct plugin_session *session, enum plugin_dialect dialect,
                const struct plugin_handle *destination, struct plugin_progress *ret_progress);

int plugin_abort(struct plugin_session *session, enum plugin_dialect dialect,
                 const struct plugin_handle *destination);
