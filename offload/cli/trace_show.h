/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_show.h - a call of a client in a line, from what lodestore-nfsd says of it. Pure but for
 * the stream.
 */
#pragma once

#include <stdio.h>

#include "offload/cli/json_read.h"

void trace_show_head(FILE *to);
void trace_show(FILE *to, const struct json_value *event);
