/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemons.h - the programs on this machine.
 */
#pragma once

#include <stdbool.h>

/* A program by its name in argv[0]: its exit status; a negative errno if it did not start. */
int daemons_run(char *const argv[]);

/* lodestore-nfsd --check-config with @count words of @options. Returns an exit status (command.h),
 * as the next one; what is wrong has been told. */
int daemons_check_config(int count, char **options);

/* Check the configuration, then have the services that run read their exports again, and tell what
 * changed. @must_run: if none does, that is a failure. */
int daemons_reload(bool must_run);
