/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offload_text.h - offload.x's numbers as words, for people and for JSON.
 */
#pragma once

#include "rpcgen/offload.h"

/* "the disk or a quota is full"; "the server said something unknown" for numbers that are none. */
const char *offload_status_text(offload_status status);

/* "no_space": lasting names for scripts; "unknown". */
const char *offload_status_name(offload_status status);

/* "clone", "reserve", "checksum", "punch"; "unknown". */
const char *offload_kind_name(offload_kind kind);

/* "queued", "running", "complete", "failed", "cancelled"; "unknown". */
const char *offload_state_name(offload_state state);
