/* SPDX-License-Identifier: Apache-2.0 */
#include "rpcgen/offload_text.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A row a number, in the order of offload.x, whose comments have the texts. */
static const struct {
	const char *name, *text;
} statuses[] = {
	[OFFLOAD_OK] = { "ok", "done" },
	[OFFLOAD_ERR_INVALID] = { "invalid", "the request is not valid" },
	[OFFLOAD_ERR_NOENT] = { "noent", "no such file, directory or export" },
	[OFFLOAD_ERR_ACCESS] = { "access", "this host or user may not do that" },
	[OFFLOAD_ERR_READ_ONLY] = { "read_only", "the export or its file system is read-only" },
	[OFFLOAD_ERR_EXISTS] = { "exists", "the destination exists already" },
	[OFFLOAD_ERR_NOT_FILE] = { "not_file", "not a regular file" },
	[OFFLOAD_ERR_SAME_FILE] = { "same_file", "source and destination are the same file" },
	[OFFLOAD_ERR_STALE] = { "stale", "the handle is of no file that is here" },
	[OFFLOAD_ERR_BUSY] = { "busy", "another job has the file" },
	[OFFLOAD_ERR_LOCKED] = { "locked", "a host has locked the file: switch its machine off" },
	[OFFLOAD_ERR_NO_SPACE] = { "no_space", "the disk or a quota is full" },
	[OFFLOAD_ERR_UNSUPPORTED] = { "unsupported", "the file system cannot do that" },
	[OFFLOAD_ERR_CHANGED] = { "changed", "the source changed while it was copied" },
	[OFFLOAD_ERR_GONE] = { "gone", "the destination was removed meanwhile" },
	[OFFLOAD_ERR_DIFFERS] = { "differs", "the copy does not equal the source" },
	[OFFLOAD_ERR_CANCELLED] = { "cancelled", "cancelled" },
	[OFFLOAD_ERR_NO_JOB] = { "no_job", "no such job (results are kept for 24 hours)" },
	[OFFLOAD_ERR_TOO_MANY] = { "too_many", "too many jobs wait already" },
	[OFFLOAD_ERR_IO] = { "io", "input/output error" },
	[OFFLOAD_ERR_UNAVAILABLE] = { "unavailable", "the offload service does not answer" },
	[OFFLOAD_ERR_INTERNAL] = { "internal", "the server failed; its log says more" },
};

static const char *const kinds[] = {
	[OFFLOAD_KIND_CLONE] = "clone",
	[OFFLOAD_KIND_RESERVE] = "reserve",
	[OFFLOAD_KIND_CHECKSUM] = "checksum",
	[OFFLOAD_KIND_PUNCH] = "punch",
};

static const char *const states[] = {
	[OFFLOAD_STATE_QUEUED] = "queued",       [OFFLOAD_STATE_RUNNING] = "running",
	[OFFLOAD_STATE_COMPLETE] = "complete",   [OFFLOAD_STATE_FAILED] = "failed",
	[OFFLOAD_STATE_CANCELLED] = "cancelled",
};

const char *offload_status_text(offload_status status)
{
	return (size_t) status < COUNT(statuses) ? statuses[status].text
	                                         : "the server said something unknown";
}

const char *offload_status_name(offload_status status)
{
	return (size_t) status < COUNT(statuses) ? statuses[status].name : "unknown";
}

const char *offload_kind_name(offload_kind kind)
{
	return (size_t) kind < COUNT(kinds) && kinds[kind] ? kinds[kind] : "unknown";
}

const char *offload_state_name(offload_state state)
{
	return (size_t) state < COUNT(states) ? states[state] : "unknown";
}
