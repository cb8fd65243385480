/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - nfsbench's command line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "load.h"

/* What kind of run it is; the first is any of enum load_kind. */
enum bench_mode {
	BENCH_LOAD,
	BENCH_SMALL,
	BENCH_TREE,
	BENCH_LIST,
	BENCH_LISTPLUS,
};

struct bench_options {
	enum bench_mode mode;
	const char *mode_name;
	struct load_options load; /* also what the other modes share with it */
	const char *file_stem;
	const char *folder_name; /* LOAD_LOOKUP, lists: a folder in the export */
	const char *copy_export; /* BENCH_TREE */
	bool stable;             /* BENCH_SMALL */
	bool json;
};

/* Ends the program with a word if they make no sense. */
void options_parse(int argc, char **argv, struct bench_options *ret_options);
