/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount3.h - the MOUNT program (see mount3.c).
 */
#pragma once

#include "nfsd/call.h"
#include "rpcgen/mount3.h"

extern const struct program mount1_program, mount2_program, mount3_program;
