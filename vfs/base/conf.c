/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libinih splits the lines; the reader that feeds it (conf_read_line) is ours and knows more than
 * inih's handler is told: the line's number (distributions build inih without it), lines that are
 * too long for inih (it would break them in two), sections without keys, and, by the handler not
 * having been called, lines that inih could not split.
 *
 * Leading blanks are taken off, so inih's multi-line values ("a key may not be indented after
 * another") do not happen.
 */
#include "vfs/base/conf.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vfs/base/cleanup.h"

enum {
	CONF_REPORTS_MAX = 1000, /* what has more is another file */
	CONF_MESSAGE_BYTES_MAX = 1024,
	CONF_EXCERPT_BYTES_MAX = 80, /* of what was written, in a message */
	CONF_CANDIDATES_MAX = 256,
	CONF_SIZE_TEXT_BYTES = 24,
};

struct conf_parser {
	const struct conf_key *keys;
	size_t key_count;
	void *values;

	const char *file_name;
	conf_report_fn *report;
	void *context;

	const char *next; /* the rest of the text */
	size_t rest_bytes;
	unsigned line;
	const char *section; /* of the table; NULL: unknown, its keys are not looked at */
	bool split_awaited;  /* inih has a line with a key and has not called the handler yet */
	char excerpt[CONF_EXCERPT_BYTES_MAX]; /* that line, perhaps cut */

	unsigned *key_lines; /* where each key was given; 0: not yet */
	unsigned report_count;
	bool failed, out_of_memory;
};

__attribute__((format(printf, 2, 3))) static void conf_error(struct conf_parser *parser,
                                                             const char *format, ...)
{
	char message[CONF_MESSAGE_BYTES_MAX];
	va_list args;

	va_start(args, format);
	(void) vsnprintf(message, sizeof message, format, args);
	va_end(args);
	parser->failed = true;
	if (parser->report_count > CONF_REPORTS_MAX)
		return;
	if (parser->report_count++ == CONF_REPORTS_MAX)
		(void) snprintf(
			message, sizeof message,
			"More than %d mistakes: the rest is not read. Is this the right file?",
			CONF_REPORTS_MAX);
	parser->report(parser->context, parser->file_name, parser->line, message);
}

static void *conf_slot(const struct conf_key *key, void *values)
{
	return (char *) values + key->offset;
}

static unsigned conf_choice_count(const struct conf_key *key)
{
	unsigned count = 0;

	while (key->choices[count])
		count++;
	return count;
}

/* 65536 to "64K": as conf_size_parse() reads it. */
static const char *conf_size_print(uint64_t bytes, char to[CONF_SIZE_TEXT_BYTES])
{
	static const char *const units[] = { "", "K", "M", "G", "T" };
	unsigned unit = 0;

	while (bytes && bytes % 1024 == 0 && unit + 1 < ARRAY_COUNT(units)) {
		bytes /= 1024;
		unit++;
	}
	(void) snprintf(to, CONF_SIZE_TEXT_BYTES, "%" PRIu64 "%s", bytes, units[unit]);
	return to;
}

/* --- values --- */

static void conf_check_table(const struct conf_key *keys, size_t key_count)
{
	assert(key_count <= CONF_CANDIDATES_MAX);
	for (size_t i = 0; i < key_count; i++) {
		assert(keys[i].section && keys[i].name);
		if (keys[i].kind == CONF_NUMBER || keys[i].kind == CONF_SIZE)
			assert(keys[i].min <= keys[i].preset && keys[i].preset <= keys[i].max);
		if (keys[i].kind == CONF_CHOICE)
			assert(keys[i].preset < conf_choice_count(&keys[i]));
	}
}

int conf_preset(const struct conf_key *keys, size_t key_count, void *values)
{
	int r = 0;

	conf_check_table(keys, key_count);
	for (size_t i = 0; i < key_count; i++) {
		void *slot = conf_slot(&keys[i], values);
		const char *text = keys[i].preset_text;

		switch (keys[i].kind) {
		case CONF_NUMBER:
		case CONF_SIZE:
			*(uint64_t *) slot = keys[i].preset;
			break;
		case CONF_BOOLEAN:
			*(bool *) slot = keys[i].preset != 0;
			break;
		case CONF_CHOICE:
			*(unsigned *) slot = (unsigned) keys[i].preset;
			break;
		case CONF_TEXT:
			*(char **) slot = text ? strdup(text) : NULL;
			if (text && !*(char **) slot)
				r = -ENOMEM; /* go on, so that conf_done() meets no rubbish */
			break;
		}
	}
	return r;
}

bool conf_equal(const struct conf_key *key, const void *a, const void *b)
{
	const char *a_value = (const char *) a + key->offset;
	const char *b_value = (const char *) b + key->offset;
	const char *a_text, *b_text;

	switch (key->kind) {
	case CONF_BOOLEAN:
		return *(const bool *) a_value == *(const bool *) b_value;
	case CONF_CHOICE:
		return *(const unsigned *) a_value == *(const unsigned *) b_value;
	case CONF_TEXT:
		a_text = *(char *const *) a_value;
		b_text = *(char *const *) b_value;
		return a_text && b_text ? strcmp(a_text, b_text) == 0 : a_text == b_text;
	default:
		return *(const uint64_t *) a_value == *(const uint64_t *) b_value;
	}
}

void conf_done(const struct conf_key *keys, size_t key_count, void *values)
{
	for (size_t i = 0; i < key_count; i++) {
		if (keys[i].kind == CONF_TEXT) {
			char **slot = conf_slot(&keys[i], values);

			free(*slot);
			*slot = NULL;
		}
	}
}

/* What one writes for @key instead of @value. */
static void conf_value_error(struct conf_parser *parser, const struct conf_key *key,
                             const char *value, const char *instead)
{
	const char *comment = strstr(value, " #");

	conf_error(parser, "'%.*s' is no valid value for '%s'. %s%s", CONF_EXCERPT_BYTES_MAX, value,
	           key->name, instead, comment ? " A comment after a value begins with ' ;'." : "");
}

static void conf_set_number(struct conf_parser *parser, const struct conf_key *key,
                            const char *value)
{
	char instead[256];
	uint64_t number;

	/* A size without a unit is a whole number. */
	if (isdigit((unsigned char) value[strlen(value) - 1]) &&
	    conf_size_parse(value, &number) == 0 && number >= key->min && number <= key->max) {
		*(uint64_t *) conf_slot(key, parser->values) = number;
		return;
	}
	(void) snprintf(instead, sizeof instead,
	                "Write a whole number%s%s from %" PRIu64 " to %" PRIu64
	                ", for example '%s = %" PRIu64 "'.",
	                key->unit ? " of " : "", key->unit ? key->unit : "", key->min, key->max,
	                key->name, key->preset);
	conf_value_error(parser, key, value, instead);
}

static void conf_set_size(struct conf_parser *parser, const struct conf_key *key, const char *value)
{
	char min[CONF_SIZE_TEXT_BYTES], max[CONF_SIZE_TEXT_BYTES], preset[CONF_SIZE_TEXT_BYTES];
	char instead[256];
	uint64_t bytes;

	if (conf_size_parse(value, &bytes) == 0 && bytes >= key->min && bytes <= key->max) {
		*(uint64_t *) conf_slot(key, parser->values) = bytes;
		return;
	}
	(void) snprintf(instead, sizeof instead,
	                "Write bytes, or with K, M, G or T after the number (powers of 1024), from"
	                " %s to %s, for example '%s = %s'.",
	                conf_size_print(key->min, min), conf_size_print(key->max, max), key->name,
	                conf_size_print(key->preset, preset));
	conf_value_error(parser, key, value, instead);
}

static void conf_set_boolean(struct conf_parser *parser, const struct conf_key *key,
                             const char *value)
{
	static const char *const words[] = { "no", "yes", "false", "true", "off", "on", "0", "1" };

	for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
		if (strcasecmp(value, words[i]) == 0) {
			*(bool *) conf_slot(key, parser->values) = i % 2 == 1;
			return;
		}
	}
	conf_value_error(parser, key, value, "Write yes or no.");
}

static void conf_set_choice(struct conf_parser *parser, const struct conf_key *key,
                            const char *value)
{
	char instead[256] = "Write one of:";
	size_t at = strlen(instead);
	const char *nearest;

	for (unsigned i = 0; key->choices[i]; i++) {
		if (strcasecmp(value, key->choices[i]) == 0) {
			*(unsigned *) conf_slot(key, parser->values) = i;
			return;
		}
		if (at < sizeof instead)
			at += (size_t) snprintf(instead + at, sizeof instead - at, " %s%s",
			                        key->choices[i], key->choices[i + 1] ? "," : ".");
	}
	nearest = conf_nearest(value, key->choices, conf_choice_count(key));
	if (nearest)
		(void) snprintf(instead, sizeof instead, "Did you mean '%s'?", nearest);
	conf_value_error(parser, key, value, instead);
}

static void conf_set_text(struct conf_parser *parser, const struct conf_key *key, const char *value)
{
	char **slot = conf_slot(key, parser->values);
	char *copy = strdup(value);

	if (!copy) {
		parser->out_of_memory = true;
		return;
	}
	free(*slot);
	*slot = copy;
}

static void conf_set(struct conf_parser *parser, const struct conf_key *key, const char *value)
{
	if (!*value) {
		conf_error(parser,
		           "'%s' has no value. Write one after the '=', or take the line out to"
		           " have the preset.",
		           key->name);
		return;
	}
	switch (key->kind) {
	case CONF_NUMBER:
		return conf_set_number(parser, key, value);
	case CONF_SIZE:
		return conf_set_size(parser, key, value);
	case CONF_BOOLEAN:
		return conf_set_boolean(parser, key, value);
	case CONF_CHOICE:
		return conf_set_choice(parser, key, value);
	case CONF_TEXT:
		return conf_set_text(parser, key, value);
	}
}

/* --- keys and sections --- */

static void conf_unknown_key(struct conf_parser *parser, const char *name)
{
	const char *candidates[CONF_CANDIDATES_MAX], *nearest;
	size_t count = 0;

	for (size_t i = 0; i < parser->key_count; i++) {
		if (strcasecmp(parser->keys[i].section, parser->section) == 0)
			candidates[count++] = parser->keys[i].name;
		else if (strcasecmp(parser->keys[i].name, name) == 0)
			return conf_error(parser, "'%s' belongs into section [%s], not into [%s].",
			                  name, parser->keys[i].section, parser->section);
	}
	nearest = conf_nearest(name, candidates, count);
	if (nearest)
		return conf_error(parser, "There is no key '%s' in [%s]. Did you mean '%s'?", name,
		                  parser->section, nearest);
	conf_error(parser, "There is no key '%s' in [%s]. Take the line out.", name,
	           parser->section);
}

/* inih's handler; nonzero is success to inih, and we keep our own books. */
static int conf_handle(void *user, const char *section, const char *name, const char *value)
{
	struct conf_parser *parser = user;

	parser->split_awaited = false;
	if (!parser->section)
		return 1; /* the section's line has been reported */
	if (!*name) {
		conf_error(parser, "There is no key before the '='. Write 'key = value'.");
		return 1;
	}
	for (size_t i = 0; i < parser->key_count; i++) {
		const struct conf_key *key = &parser->keys[i];

		if (strcasecmp(key->section, parser->section) != 0 ||
		    strcasecmp(key->name, name) != 0)
			continue;
		if (parser->key_lines[i] > 0) {
			conf_error(parser,
			           "'%s' was given in line %u already. Keep one of the two.",
			           key->name, parser->key_lines[i]);
			return 1;
		}
		parser->key_lines[i] = parser->line;
		conf_set(parser, key, value);
		return 1;
	}
	conf_unknown_key(parser, name);
	return 1;
}

static void conf_enter_section(struct conf_parser *parser, const char *line)
{
	const char *end = strchr(line, ']'), *after, *nearest;
	const char *candidates[CONF_CANDIDATES_MAX];
	char name[CONF_EXCERPT_BYTES_MAX];

	parser->section = NULL;
	if (!end)
		return conf_error(parser, "'%s' has no ']'. Write '[section]'.", parser->excerpt);
	after = end + 1 + strspn(end + 1, " \t");
	if (*after && *after != ';' && *after != '#')
		return conf_error(parser,
		                  "There is text after the ']'. Put it on a line of its own.");

	(void) snprintf(name, sizeof name, "%.*s", (int) (end - line - 1), line + 1);
	for (size_t i = 0; i < parser->key_count; i++) {
		candidates[i] = parser->keys[i].section;
		if (strcasecmp(name, candidates[i]) == 0) {
			parser->section = candidates[i];
			return;
		}
	}
	nearest = conf_nearest(name, candidates, parser->key_count);
	if (nearest)
		return conf_error(parser, "There is no section [%s]. Did you mean [%s]?", name,
		                  nearest);
	conf_error(parser, "There is no section [%s]. Take it and its keys out.", name);
}

/* --- lines --- */

/* Takes the next line off the text, without its end and outer blanks. */
static const char *conf_take_line(struct conf_parser *parser, size_t *ret_bytes)
{
	const char *line = parser->next;
	const char *newline = memchr(line, '\n', parser->rest_bytes);
	size_t bytes = newline ? (size_t) (newline - line) : parser->rest_bytes;
	size_t taken_bytes = newline ? bytes + 1 : bytes;

	parser->next += taken_bytes;
	parser->rest_bytes -= taken_bytes;
	parser->line++;

	if (parser->line == 1 && bytes >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
		line += 3; /* a byte order mark, from editors on Windows */
		bytes -= 3;
	}
	while (bytes > 0 && strchr(" \t\r", line[bytes - 1]) && line[bytes - 1])
		bytes--;
	while (bytes > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		bytes--;
	}
	*ret_bytes = bytes;
	return line;
}

static bool conf_is_text(const char *line, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char) line[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* Called on the way to the next line, and at the end: was the line before this one split? */
static void conf_check_split(struct conf_parser *parser)
{
	if (!parser->split_awaited)
		return;
	parser->split_awaited = false;
	if (parser->section)
		conf_error(parser, "'%s' has no '='. Write 'key = value'.", parser->excerpt);
}

/* Is @line one that inih should split? If not, it has been dealt with. */
static bool conf_look_at_line(struct conf_parser *parser, const char *line, size_t bytes,
                              size_t bytes_max)
{
	if (bytes == 0 || *line == ';' || *line == '#')
		return false;
	if (!conf_is_text(line, bytes)) {
		conf_error(parser, "The line has bytes that are no text. Write it anew, in UTF-8.");
		return false;
	}
	if (bytes > bytes_max) {
		conf_error(parser, "The line has %zu bytes. Shorten it to %zu.", bytes, bytes_max);
		return false;
	}
	return true;
}

/* Hands inih a line that says nothing. */
static void conf_skip_line(char *to)
{
	memcpy(to, ";\n", 3);
}

/* inih's reader: one line with its newline, as fgets() does; lines that are not for inih come as
 * comments. */
static char *conf_read_line(char *to, int to_bytes, void *stream)
{
	struct conf_parser *parser = stream;
	const char *line;
	size_t bytes;

	assert(to_bytes > 3);
	conf_check_split(parser);
	if (parser->rest_bytes == 0 || parser->report_count > CONF_REPORTS_MAX)
		return NULL;

	conf_skip_line(to);
	line = conf_take_line(parser, &bytes);
	if (!conf_look_at_line(parser, line, bytes, (size_t) to_bytes - 3))
		return to;

	memcpy(to, line, bytes);
	to[bytes] = '\0';
	(void) snprintf(parser->excerpt, sizeof parser->excerpt, "%s", to);
	if (*to == '[') {
		conf_enter_section(parser, to);
		conf_skip_line(to);
		return to;
	}
	if (parser->section && !*parser->section) {
		conf_error(parser, "'%s' stands before the first section. Write '[%s]' above it.",
		           parser->excerpt,
		           parser->key_count ? parser->keys[0].section : "section");
		conf_skip_line(to);
		return to;
	}
	to[bytes] = '\n';
	to[bytes + 1] = '\0';
	parser->split_awaited = true;
	return to;
}

int conf_parse(const struct conf_key *keys, size_t key_count, void *values, const char *file_name,
               const char *text, size_t text_bytes, conf_report_fn *report, void *context)
{
	AUTO(free_ptr) unsigned *key_lines = calloc(key_count + 1, sizeof *key_lines);
	struct conf_parser parser = {
		.keys = keys,
		.key_count = key_count,
		.values = values,
		.file_name = file_name,
		.report = report,
		.context = context,
		.next = text,
		.rest_bytes = text_bytes,
		.section = "",
		.key_lines = key_lines,
	};
	int r;

	assert(text || text_bytes == 0);
	conf_check_table(keys, key_count);
	if (!key_lines)
		return -ENOMEM;

	/* inih returns the first bad line's number: conf_check_split() has seen them all. */
	r = ini_parse_stream(conf_read_line, &parser, conf_handle, &parser);
	if (r == -2 || parser.out_of_memory)
		return -ENOMEM;
	assert(r >= 0);
	assert(!parser.split_awaited);
	return parser.failed ? -EINVAL : 0;
}
