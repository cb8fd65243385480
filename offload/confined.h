/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confined.h - what lodestore-offloadd may do: its capabilities, its system calls. Both log.
 */
#pragma once

#include "vfs/base/confine.h"

/* At the start, before threads. 0 or a negative errno: what is missing, and what does not work
 * without it, has been said. */
int confined_privileges(void);

/* When everything is set up: jobs, the socket. 0 or a negative errno. */
int confined_calls(enum confine_mode mode);
