/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - lodestore-nfsd --check-config: would this configuration serve?
 */
#pragma once

#include "nfsd/config.h"

/* Settings have been read without a mistake. Everything else that is wrong is told; what only keeps
 * one export from being served, or makes it worse, as a warning. Returns an exit status. */
int check_config(const struct config *config);
