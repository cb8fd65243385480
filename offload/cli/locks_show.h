/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks_show.h - what lodestore-nfsd tells of its locks (nfsd/locks_socket.h), for terminals. Pure.
 */
#pragma once

#include <stdio.h>

#include "offload/cli/json_read.h"

void locks_show(FILE *to, const struct json_value *document);
