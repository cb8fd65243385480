/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - the one place where offload/'s negative errno become offload.x's statuses. Pure.
 *
 * A few have a meaning of their own here, named below: the kernel gives none of them for what we
 * ask of it.
 */
#pragma once

#include <errno.h>

#include "rpcgen/offload.h"

enum {
	OFFLOAD_ESAME = EBADSLT,        /* source and destination are one file */
	OFFLOAD_ENOTFILE = EMEDIUMTYPE, /* not a regular file */
	OFFLOAD_ELOCKED = ENOLCK,       /* a host's lock lies beside the file */
	OFFLOAD_ECHANGED = ETXTBSY,     /* engine.h: the source changed */
	OFFLOAD_EGONE = EIDRM,          /* the destination was removed meanwhile */
	OFFLOAD_EDIFFERS = EBADE,       /* verified, and not equal */
	OFFLOAD_EMANY = EUSERS,         /* too many jobs */
	OFFLOAD_ENOJOB = ESRCH,
	OFFLOAD_EOFF = ENOLINK, /* the export says no_offload */
};

offload_status offload_status_of(int error);

/* What went wrong, for the text of a job: strerror(3), or our own words for our own meanings. */
const char *offload_error_text(int error);
