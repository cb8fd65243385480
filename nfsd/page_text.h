/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_text.h - what the status page's script is given: JSON.
 *
 *     { "status": the document of the status socket, "trouble": "" or a sentence,
 *       "space": [ { "id", "total_bytes", "available_bytes" } ],
 *       "offload": { "answers", "queued", "running", "jobs": [ { "id", "kind", "state", "engine",
 *         "source", "destination", "bytes_done", "bytes_total", "rate" } ] } }
 */
#pragma once

#include <stdio.h>

#include "nfsd/snapshot.h"

void page_text(FILE *to, struct server *server, const struct snapshot *snapshot);
