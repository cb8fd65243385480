/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.h - what the last reload changed: logged, and kept for the status document.
 *
 * Thread-safe: one thread reloads, another one looks.
 */
#pragma once

#include <stdbool.h>

#include "vfs/exports.h"

struct json;
struct reload;
struct reload_outcome;
struct server;

/* NULL: no memory. */
struct reload *reload_new(void);
/* Takes NULL, returns NULL. */
struct reload *reload_free(struct reload *reload);

/* Compare what is configured now with what is in force, before it is; @exports NULL: they could not
 * be read. Ended with reload_end(). NULL: no memory. */
struct reload_outcome *reload_compare(struct server *server, const struct exports *exports);

/* @served: they are in force. @outcome is gone. */
void reload_end(struct reload *reload, struct reload_outcome *outcome, bool served);

/* An object "reload" of the document, once there was one. */
void reload_put(struct reload *reload, struct json *json);
