/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h - what a command is about, as it is written:
 *
 *     nas:/srv/ds1/a.vmdk          a file on the server nas, as its clients mount it
 *     [2001:db8::1]:/srv/ds1/a     the same by an IPv6 address
 *     /srv/ds1/a, a                a file of this machine's server, asked on its Unix socket
 *     nas:1764530034269000, 1764.. a job, by its number
 *     nas:                         the server itself
 *
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "rpcgen/offload.h"

enum {
	PLACE_HOST_BYTES = 256,
	PLACE_PATH_BYTES = OFFLOAD_PATH_BYTES_MAX + 1,
};

enum place_kind {
	PLACE_SERVER = 1,
	PLACE_FILE = 2,
	PLACE_JOB = 4,
};

struct place {
	char host[PLACE_HOST_BYTES]; /* "": this machine */
	enum place_kind kind;
	char path[PLACE_PATH_BYTES];
	uint64_t job_id;
};

/* @here: what names without a leading / lie in; NULL: they are refused.
 * -EINVAL, with what is wrong and what to write instead. */
int place_parse(const char *text, const char *here, struct place *ret_place,
                const char **reterr_why);

/* The file's, or the job's of the file, as offload.x has it; views into @place. */
offload_file place_file(struct place *place);
offload_which place_which(struct place *place);
