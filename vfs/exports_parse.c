/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exports(5): from text to lines, words, directories and their hosts.
 *
 * Reads each byte once, in place. A mistake never ends the reading: its word or line is left out,
 * and what follows is looked at for more. Reports carry the line of the word they are about, also
 * in a line that was continued.
 */
#include "vfs/exports.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vfs/base/cleanup.h"
#include "vfs/exports_parser.h"

enum {
	RULES_MIN = 4
};

/* One logical line's reading. */
struct exports_line {
	struct export_spec spec;
	struct export_options defaults;
	bool good_path;
	bool indented; /* blanks before the path: perhaps it was to continue the line above */
	bool too_many_rules;
	bool everybody_twice;                 /* was told of */
	bool bare_host;                       /* the word before was a host without parentheses */
	unsigned host_words;                  /* also those with mistakes */
	char bare[EXPORTS_EXCERPT_BYTES_MAX]; /* that host, perhaps cut */
};

/* --- reports --- */

__attribute__((format(printf, 3, 0))) static void exports_report(struct exports_parser *parser,
                                                                 enum exports_severity severity,
                                                                 const char *format, va_list args)
{
	char message[EXPORTS_MESSAGE_BYTES_MAX];

	if (severity == EXPORTS_ERROR)
		parser->failed = true;
	if (!parser->line_is_text || parser->report_counts[severity] > EXPORTS_REPORTS_MAX)
		return;
	if (parser->report_counts[severity]++ == EXPORTS_REPORTS_MAX) {
		parser->too_many_errors |= severity == EXPORTS_ERROR;
		parser->report(parser->context, severity, parser->file, parser->word_line,
		               severity == EXPORTS_ERROR
		                       ? "More than 1000 errors: the rest is not read. Is this an"
		                         " exports file?"
		                       : "More than 1000 warnings: the rest is not reported.");
		return;
	}
	(void) vsnprintf(message, sizeof message, format, args);
	for (char *c = message; *c; c++) {
		if ((unsigned char) *c < ' ' || *c == 0x7f)
			*c = '?'; /* a tab between quotes, an octal escape */
	}
	parser->report(parser->context, severity, parser->file, parser->word_line, message);
}

void exports_error(struct exports_parser *parser, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	exports_report(parser, EXPORTS_ERROR, format, args);
	va_end(args);
}

void exports_warning(struct exports_parser *parser, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	exports_report(parser, EXPORTS_WARNING, format, args);
	va_end(args);
}

/* --- a directory --- */

static void relative_path_error(struct exports_parser *parser, const struct exports_line *line)
{
	const char *path = parser->word;

	if (strncmp(path, "\xe2\x80", 2) == 0)
		return exports_error(parser, "'%.*s' begins with a typographic quote. Write \".",
		                     EXPORTS_EXCERPT_BYTES_MAX, path);
	if (line->indented || strchr(path, '('))
		return exports_error(
			parser,
			"'%.*s' is no directory: that would begin with '/'. To continue"
			" the line above, put '\\' at its end.",
			EXPORTS_EXCERPT_BYTES_MAX, path);
	exports_error(parser, "'%.*s' is no absolute path. Write '/%.*s'.",
	              EXPORTS_EXCERPT_BYTES_MAX, path, EXPORTS_EXCERPT_BYTES_MAX, path);
}

/* Makes parser->word a path of the table's form. */
static bool check_path(struct exports_parser *parser, const struct exports_line *line)
{
	const struct export_spec *other;
	char *path = parser->word;

	if (path[0] != '/') {
		relative_path_error(parser, line);
		return false;
	}
	if (!exports_unescape(path)) {
		exports_error(
			parser,
			"'%.*s' has a '\\' without three octal digits. Write \\040 for a blank,"
			" \\134 for the backslash itself.",
			EXPORTS_EXCERPT_BYTES_MAX, path);
		return false;
	}
	for (const char *c = path; *c; c++) {
		if ((unsigned char) *c < ' ' || *c == 0x7f) {
			exports_error(parser,
			              "The path has a control character. Rename the directory.");
			return false;
		}
	}
	if (!export_path_normalise(path)) {
		exports_error(parser, "'%.*s' has a '..'. Write the path without it.",
		              EXPORTS_EXCERPT_BYTES_MAX, path);
		return false;
	}
	if (strlen(path) > EXPORT_PATH_BYTES_MAX) {
		exports_error(parser, "The path '%.*s...' has more than %d bytes.",
		              EXPORTS_EXCERPT_BYTES_MAX, path, EXPORT_PATH_BYTES_MAX);
		return false;
	}
	other = exports_find_exact(parser->exports, path);
	if (other) {
		exports_error(
			parser,
			"'%.*s' is exported already (%s:%u). Put all its hosts into one line.",
			EXPORTS_EXCERPT_BYTES_MAX, path, other->file, other->line);
		return false;
	}
	return true;
}

static void parse_path(struct exports_parser *parser, struct exports_line *line)
{
	line->good_path = exports_read_path(parser) && check_path(parser, line);
	line->spec.file = parser->file;
	line->spec.line = parser->word_line;
	/* Bad or not: its hosts are read for more mistakes. */
	line->spec.path = strdup(parser->word);
	if (!line->spec.path)
		parser->out_of_memory = true;
}

static void add_rule(struct exports_parser *parser, struct exports_line *line,
                     struct export_rule *rule)
{
	struct export_spec *spec = &line->spec;
	struct export_rule *rules;
	size_t count = spec->rule_count;

	if (count == EXPORT_RULES_MAX) {
		if (!line->too_many_rules)
			exports_error(parser, "More than %d hosts. Write networks instead.",
			              EXPORT_RULES_MAX);
		line->too_many_rules = true;
		free(rule->text);
		return;
	}
	/* Full at each power of two from RULES_MIN. */
	if (count == 0 || (count >= RULES_MIN && (count & (count - 1)) == 0)) {
		rules = reallocarray(spec->rules, count ? count * 2 : RULES_MIN, sizeof *rules);
		if (!rules) {
			parser->out_of_memory = true;
			free(rule->text);
			return;
		}
		spec->rules = rules;
	}
	spec->rules[spec->rule_count++] = *rule;
}

/* "host (rw)": the blank makes it two hosts. */
static void trap_warning(struct exports_parser *parser, struct exports_line *line,
                         const char *options)
{
	if (strcmp(line->bare, "*") == 0) { /* the same twice, and no more is said about that */
		line->everybody_twice = true;
		exports_warning(parser,
		                "'* (%.*s)' with a blank means: everybody with the defaults, and"
		                " (%.*s) does not count. Write '*(%.*s)'.",
		                EXPORTS_EXCERPT_BYTES_MAX, options, EXPORTS_EXCERPT_BYTES_MAX,
		                options, EXPORTS_EXCERPT_BYTES_MAX, options);
		return;
	}
	exports_warning(parser,
	                "'%s (%.*s)' with a blank means: %s with the defaults, and everybody"
	                " with (%.*s). Write '%s(%.*s)' for this host alone, or '*(%.*s)' to"
	                " make everybody plain.",
	                line->bare, EXPORTS_EXCERPT_BYTES_MAX, options, line->bare,
	                EXPORTS_EXCERPT_BYTES_MAX, options, line->bare, EXPORTS_EXCERPT_BYTES_MAX,
	                options, EXPORTS_EXCERPT_BYTES_MAX, options);
}

static void check_trap(struct exports_parser *parser, struct exports_line *line,
                       const char *options)
{
	if (parser->word[0] == '\0' && options && line->bare_host)
		trap_warning(parser, line, options);
	line->bare_host = !options;
	(void) snprintf(line->bare, sizeof line->bare, "%.*s", (int) sizeof line->bare - 1,
	                parser->word);
}

static void parse_defaults(struct exports_parser *parser, struct exports_line *line,
                           const char *options)
{
	if (options) {
		line->host_words++; /* probably meant as a host */
		return exports_error(parser,
		                     "'%.*s(' mixes two forms. Write '-OPTION,...' before the"
		                     " hosts, or 'HOST(OPTION,...)'.",
		                     EXPORTS_EXCERPT_BYTES_MAX, parser->word);
	}
	if (line->host_words > 0)
		return exports_error(parser,
		                     "'%.*s' comes after a host. Put it right after the directory.",
		                     EXPORTS_EXCERPT_BYTES_MAX, parser->word);
	if (parser->word[1] == '\0')
		return exports_error(parser,
		                     "No option follows the '-'. Write '-OPTION,...' without a"
		                     " blank.");
	exports_options_parse(parser, parser->word + 1, &line->defaults, &line->spec);
}

static void parse_host(struct exports_parser *parser, struct exports_line *line)
{
	struct export_rule rule;
	const char *begin = parser->at;
	char *options;
	bool good;

	if (!exports_read_host(parser, &options)) {
		line->host_words++;
		line->bare_host = false;
		return;
	}
	if (parser->word[0] == '-')
		return parse_defaults(parser, line, options);

	line->host_words++;
	if (line->too_many_rules)
		return;
	check_trap(parser, line, options);
	good = exports_host_parse(parser, parser->word, &rule);
	rule.options = line->defaults;
	rule.text_begin = (size_t) (begin - parser->begin);
	rule.text_end = (size_t) (parser->at - parser->begin);
	if (options)
		exports_options_parse(parser, options, &rule.options, &line->spec);
	if (good)
		add_rule(parser, line, &rule);
}

static int compare_hosts(const struct export_rule *a, const struct export_rule *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->prefix_bits != b->prefix_bits)
		return a->prefix_bits < b->prefix_bits ? -1 : 1;
	if (a->kind == EXPORT_HOST_NAME || a->kind == EXPORT_HOST_PATTERN)
		return strcasecmp(a->text, b->text);
	return memcmp(&a->address, &b->address, sizeof a->address);
}

/* For qsort(3): pointers to rules; equal ones in the order of the line. */
static int compare_rules(const void *a, const void *b)
{
	const struct export_rule *const *x = a, *const *y = b;
	int order = compare_hosts(*x, *y);

	return order ? order : *x < *y ? -1 : 1;
}

static void check_duplicates(struct exports_parser *parser, const struct exports_line *line)
{
	const struct export_spec *spec = &line->spec;
	AUTO(free_ptr) const struct export_rule **sorted = NULL;

	if (spec->rule_count < 2)
		return;
	sorted = calloc(spec->rule_count, sizeof *sorted);
	if (!sorted) {
		parser->out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < spec->rule_count; i++)
		sorted[i] = &spec->rules[i];
	qsort(sorted, spec->rule_count, sizeof *sorted, compare_rules);
	for (size_t i = 1; i < spec->rule_count; i++) {
		bool told = line->everybody_twice && sorted[i]->kind == EXPORT_HOST_ANY;

		if (compare_hosts(sorted[i - 1], sorted[i]) == 0 && !told)
			exports_warning(parser,
			                "The host '%.*s' is named twice; the first one's options"
			                " count. Take the second out.",
			                EXPORTS_EXCERPT_BYTES_MAX, sorted[i]->text);
	}
}

static void no_host_error(struct exports_parser *parser, const struct export_spec *spec)
{
	const char *parenthesis = strchr(spec->path, '(');

	if (parenthesis && spec->path[strlen(spec->path) - 1] == ')')
		return exports_error(parser,
		                     "'%.*s' was read as a directory, without hosts. Put a blank"
		                     " before the host or parenthesis: '%.*s *%.*s' for everybody.",
		                     EXPORTS_EXCERPT_BYTES_MAX, spec->path,
		                     (int) (parenthesis - spec->path), spec->path,
		                     EXPORTS_EXCERPT_BYTES_MAX, parenthesis);
	exports_error(
		parser,
		"No host is named for '%.*s', which exports(5) takes for everybody. If that is"
		" meant, write '%.*s *(ro)' or '*(rw)'; if not, name the hosts.",
		EXPORTS_EXCERPT_BYTES_MAX, spec->path, EXPORTS_EXCERPT_BYTES_MAX, spec->path);
}

/* The whole line has been read: into the table with it. */
static void finish_line(struct exports_parser *parser, struct exports_line *line)
{
	line->spec.last_line = parser->line;
	parser->word_line = line->spec.line;
	if (line->host_words == 0 && line->good_path)
		no_host_error(parser, &line->spec);
	check_duplicates(parser, line);
	if (!line->good_path || !parser->line_is_text)
		return;
	if (parser->exports->count == EXPORTS_MAX) {
		if (!parser->table_full)
			exports_error(parser, "More than %d directories. Take some out.",
			              EXPORTS_MAX);
		parser->table_full = true;
		return;
	}
	if (exports_reserve(parser->exports) < 0) {
		parser->out_of_memory = true;
		return;
	}
	exports_add(parser->exports, &line->spec);
	line->spec = (struct export_spec){ 0 };
}

static bool must_stop(const struct exports_parser *parser)
{
	return parser->out_of_memory || parser->too_many_errors;
}

static void parse_line(struct exports_parser *parser)
{
	struct exports_line line = { .defaults = export_options_default };

	line.indented = exports_is_blank(*parser->at);
	exports_skip_blanks(parser);
	if (!exports_at_line_end(parser) && *parser->at != '#') {
		parse_path(parser, &line);
		for (;;) {
			exports_skip_blanks(parser);
			if (must_stop(parser) || exports_at_line_end(parser) || *parser->at == '#')
				break;
			parse_host(parser, &line);
		}
		if (!must_stop(parser))
			finish_line(parser, &line);
	}
	export_spec_done(&line.spec);
	exports_skip_line(parser);
}

/* --- a file --- */

/* Keeps @file_name for as long as specs point to it. */
static const char *add_file(struct exports *exports, const char *file_name)
{
	char **files = reallocarray(exports->files, exports->file_count + 1, sizeof *files);

	if (!files)
		return NULL;
	exports->files = files;
	files[exports->file_count] = strdup(file_name);
	if (!files[exports->file_count])
		return NULL;
	return files[exports->file_count++];
}

int exports_parse(struct exports *exports, const char *file_name, const char *text,
                  size_t text_bytes, exports_report_fn *report, void *context)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	struct exports_parser parser = {
		.exports = exports,
		.file = add_file(exports, file_name),
		.report = report,
		.context = context,
		.line = 1,
		.line_is_text = true,
	};

	assert(text || text_bytes == 0);
	if (!parser.file)
		return -ENOMEM;
	if (text_bytes == 0)
		return 0;

	parser.begin = parser.at = text;
	parser.end = text + text_bytes;
	if (text_bytes >= 3 && memcmp(text, byte_order_mark, 3) == 0)
		parser.at += 3; /* from editors on Windows */

	exports_check_text(&parser);
	while (parser.at < parser.end && !must_stop(&parser))
		parse_line(&parser);
	if (parser.out_of_memory)
		return -ENOMEM;
	return parser.failed ? -EINVAL : 0;
}

int exports_parse_line(struct exports *exports, const char *line, exports_report_fn *report,
                       void *context)
{
	static const char file_name[] = "--export";
	size_t count_before = exports->count;
	int r = exports_parse(exports, file_name, line, strlen(line), report, context);

	if (r == 0 && exports->count == count_before) {
		report(context, EXPORTS_ERROR, file_name, 1,
		       "No directory is named. Write 'DIR HOST(OPTIONS)', for example '/srv "
		       "*(rw)'.");
		return -EINVAL;
	}
	return r;
}
