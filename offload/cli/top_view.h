/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_view.h - what `lodestore top` shows, and what keys make of that. Pure but for the stream.
 */
#pragma once

#include "offload/cli/status_show.h"
#include "offload/cli/top_rows.h"
#include "offload/cli/top_screen.h"
#include "rpcgen/offload.h"

enum top_list {
	TOP_ALL, /* exports, clients and jobs share the screen */
	TOP_EXPORTS,
	TOP_CLIENTS,
	TOP_OPERATIONS,
	TOP_JOBS,
	TOP_LISTS,
};

struct top_view {
	enum top_list list;
	enum top_sort sort;
	bool paused, help;
	unsigned first_row; /* of a list that has the screen for itself */
};

/* One moment, as it was asked for. */
struct top_moment {
	struct status_pair pair; /* now NULL: the server does not answer, and @why says what to do;
	                          * before NULL: rates are not known yet */
	const char *why;
	bool offload_answers;
	const offload_job *jobs; /* that have not ended */
	unsigned job_count;
	const char *clock; /* "22:41:03" */
};

/* A frame. Longer lists than fit say how much is left out; who has scrolled too far is brought
 * back. */
void top_view_draw(struct top_screen *screen, struct top_view *view,
                   const struct top_moment *moment);

/* The same as one JSON object in a line; lodestore(1) describes it. */
void top_view_json(FILE *to, const struct top_moment *moment, uint64_t at_ms);

/* ---- keys ---- */

enum {
	/* Beyond characters. */
	TOP_KEY_UP = 256,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_OTHER, /* a sequence that means nothing here */
};

/* The key that begins at *@at, which goes behind it. *@at < @end. */
int top_key_next(const char **at, const char *end);

/* Returns true if it ends the program. @page_rows: what one page scrolls. */
bool top_view_key(struct top_view *view, int key, unsigned page_rows);
