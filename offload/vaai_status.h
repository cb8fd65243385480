/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vaai_status.h - from our errors to those that a VAAI-NAS plug-in is told. Pure.
 */
#pragma once

#include "rpcgen/nfs3.h"
#include "rpcgen/offload.h"

/* Of a call that was refused; @error as in status.h. */
nfsstat3 vaai_status_of_error(int error);

/* Of a job that ended. */
nfsstat3 vaai_status_of_job(offload_status status);
