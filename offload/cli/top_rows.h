/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_rows.h - a list of the status document as `lodestore top` shows it: rates of the time between
 * two documents, in an order. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "offload/cli/status_show.h"

enum top_sort {
	TOP_BY_CALLS,
	TOP_BY_READ,
	TOP_BY_WRITTEN,
	TOP_BY_SLOW,
	TOP_BY_ERRORS,
	TOP_BY_NAME,
	TOP_SORTS,
};

extern const char *const top_sort_names[TOP_SORTS];

struct top_row {
	const char *group, *name;                          /* views into the document */
	uint64_t calls, read_bytes, written_bytes, errors; /* in a second */
	uint64_t median_us, slow_us;                       /* 50 and 99 in 100; 0: no calls */
	uint64_t connections;
};

struct top_rows {
	struct top_row *rows;
	size_t count;
};

/* @list: "exports", "clients", "procedures". 0 or -ENOMEM; free() the rows. */
int top_rows_collect(const struct status_pair *pair, const char *list, struct top_rows *ret_rows);

/* The largest first, names from a to z; equal ones by name. */
void top_rows_sort(struct top_rows *rows, enum top_sort sort);
