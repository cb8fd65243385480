/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exports_parser.h - what the parts of exports(5)'s reader share. Nobody else includes it.
 *
 *     exports_parse.c    what lines say: directories and hosts, and which do not go together
 *     exports_words.c    lines and words
 *     exports_host.c     what stands before the parenthesis
 *     exports_options.c  what stands inside
 *     exports_table.c    the table and its indices
 */
#pragma once

#include "vfs/exports.h"

enum {
	EXPORTS_WORD_BYTES_MAX = 4096, /* of a host with its options; longer words are errors */
	EXPORTS_REPORTS_MAX =
		1000, /* of one file and severity; with more errors it is another file */
	EXPORTS_MESSAGE_BYTES_MAX = 1024,
	EXPORTS_EXCERPT_BYTES_MAX = 60, /* of what was written, in a message: use %.*s */
};

struct exports_parser {
	struct exports *exports;
	const char *file; /* owned by exports */
	exports_report_fn *report;
	void *context;

	const char *begin, *at, *end;
	unsigned line;      /* of @at */
	unsigned word_line; /* of the word last read: for reports */
	bool line_is_text;  /* if not, that was reported, and what follows from it is not */

	unsigned report_counts[EXPORTS_WARNING + 1]; /* by severity */

	char word[EXPORTS_WORD_BYTES_MAX]; /* the word last read; its '(' may have become NUL */
	bool table_full;                   /* has been reported */
	bool failed, out_of_memory;
	bool too_many_errors; /* so the rest is not read */
};

__attribute__((format(printf, 2, 3))) void exports_error(struct exports_parser *parser,
                                                         const char *format, ...);
__attribute__((format(printf, 2, 3))) void exports_warning(struct exports_parser *parser,
                                                           const char *format, ...);

/* --- exports_words.c --- */

bool exports_is_blank(char c);
bool exports_at_line_end(const struct exports_parser *parser);

/* At the start of a line of the file: reports if it is no text. */
void exports_check_text(struct exports_parser *parser);

/* Goes to the next word, the line's end, or a comment's start. */
void exports_skip_blanks(struct exports_parser *parser);

/* Goes past the line's end, over a comment. */
void exports_skip_line(struct exports_parser *parser);

/* Each makes parser->word and word_line: true, or false after a report. parser->at is at least a
 * character further then. */
bool exports_read_path(struct exports_parser *parser);
/* @ret_options: what was in parentheses, or NULL; a pointer into parser->word. */
bool exports_read_host(struct exports_parser *parser, char **ret_options);

/* --- exports_options.c --- */

extern const struct export_options export_options_default;

/**
 * exports_options_parse() - read "rw,no_root_squash"
 * @list:    without parentheses; is taken apart
 * @options: holds the defaults; the list changes them
 * @spec:    fsid and mountpoint go here
 *
 * Every mistake is reported, and every good option counts.
 */
void exports_options_parse(struct exports_parser *parser, char *list,
                           struct export_options *options, struct export_spec *spec);

/* --- exports_host.c --- */

/* Sets kind, address, prefix_bits and text of @ret_rule: true, or false after a report. */
bool exports_host_parse(struct exports_parser *parser, const char *text,
                        struct export_rule *ret_rule);

/* --- exports_table.c --- */

/* \NNN, three octal digits, becomes a byte, in place. False if a backslash has no such. */
bool exports_unescape(char *text);

/* Takes out doubled, trailing and "." components, in place. @path begins with "/". False if there
 * is a "..". */
bool export_path_normalise(char *path);

/* The spec of exactly that path, of that fsid; or NULL. */
struct export_spec *exports_find_exact(const struct exports *exports, const char *path);
struct export_spec *exports_find_fsid(const struct exports *exports, uint32_t fsid);

/* Room for one more: -ENOMEM, or 0 and exports_add() cannot fail. */
int exports_reserve(struct exports *exports);

/* The table owns what @spec points to from here on. */
void exports_add(struct exports *exports, const struct export_spec *spec);

void export_spec_done(struct export_spec *spec);
