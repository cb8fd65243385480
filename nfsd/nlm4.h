/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nlm4.h - the programs that locks are asked of: NLM version 4 (100021; versions 1 to 3, which are
 * NFS version 2's, get PROG_MISMATCH) and NSM (100024).
 */
#pragma once

#include "nfsd/call.h"

extern const struct program nlm4_program, nsm_program;
