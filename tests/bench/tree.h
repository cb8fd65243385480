/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - a tree of folders copied from one export to another as robocopy does: some workers, each
 * with one call at a time, that list a folder, make its like, and copy its files one by one.
 */
#pragma once

#include <stdint.h>

#include "client.h"
#include "measure.h"

struct tree_options {
	struct target source;
	struct target copy; /* the same server, another export; what is there already is a fault */
	unsigned workers;
	struct observed observed;
};

struct tree_counts {
	uint64_t files, folders;
};

/* An operation is a file: from the look whether it is there until its data is committed and its
 * time is set. Ends the program at the first wrong answer. */
void tree_run(const struct tree_options *options, struct measurement *ret_result,
              struct tree_counts *ret_counts);
