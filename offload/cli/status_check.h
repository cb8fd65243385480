/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_check.h - `lodestore status --check`: as a plug-in of a monitoring system. What these
 * return is a plug-in's exit status (enum health), not the command's.
 */
#pragma once

#include <stdbool.h>

#include "offload/cli/arguments.h"

int status_check(struct arguments *arguments);

/* Is it among arguments that did not parse? Then who called it wants a plug-in's answer. */
bool status_check_wanted(int argc, char **argv);
int status_check_misused(const char *why);
