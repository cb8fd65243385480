/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload_show.h - what a reload changed, from the status document. Pure but for the stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "offload/cli/json_read.h"

/* @before: how many reloads there had been. False, and nothing shown, if there was none since or it
 * failed. */
bool reload_show(FILE *to, const struct json_value *reload, uint64_t before);
