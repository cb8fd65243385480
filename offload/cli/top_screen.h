/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_screen.h - lines of a terminal, none longer than it is wide and no more of them than it is
 * high; with ANSI sequences (ECMA-48) or plain. It writes to the stream that it is given.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
	TOP_COLUMNS_MAX = 512
};

enum top_look {
	TOP_PLAIN,
	TOP_STRONG,
	TOP_HEAD,  /* of a table: the whole line, reversed */
	TOP_ALARM, /* something is wrong */
};

struct top_screen {
	FILE *to;
	bool ansi;
	unsigned columns, rows; /* rows 0: without end */
	unsigned row;           /* the next one */
};

/* The cursor goes to the first line. */
void top_screen_begin(struct top_screen *screen);
void top_screen_line(struct top_screen *screen, enum top_look look, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* ASCII, in as many lines as it takes, broken at blanks. */
void top_screen_text(struct top_screen *screen, enum top_look look, const char *text);

/* What was below is gone. */
void top_screen_end(struct top_screen *screen);

/* How many lines there are below. */
unsigned top_screen_left(const struct top_screen *screen);

/* What a stranger named, shown as text_put() does, in exactly @columns, of which the begin is left
 * out if it is too long. @columns: less than TOP_COLUMNS_MAX. */
void top_screen_fit(char to[4 * TOP_COLUMNS_MAX], const char *name, unsigned columns);
