/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - one large folder listed from end to end, again and again.
 */
#pragma once

#include <stdbool.h>

#include "client.h"
#include "measure.h"

struct list_options {
	struct target target;
	struct nfs_handle folder;
	unsigned entries; /* that it has, names with a dot in front aside */
	bool plus;        /* READDIRPLUS, else READDIR */
	double seconds;   /* after these no further round begins; the first is never cut short */
	struct observed observed;
};

/* An operation is an entry, a latency is a call's. */
void list_run(const struct list_options *options, struct measurement *ret_result);
