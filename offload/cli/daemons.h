/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemons.h - the programs on this machine.
 */
#pragma once

#include <stdbool.h>

/* Check the configuration, then have the services that run read their exports again. @must_run: if
 * none does, that is a failure. Returns an exit status (command.h); what is wrong has been told. */
int daemons_reload(bool must_run);
