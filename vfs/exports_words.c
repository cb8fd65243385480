/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and words of exports(5), with what surrounds them: blanks, continuations, quotes,
 * parentheses.
 *
 * parser->at only goes forward. After a mistake it stands at the end of the word or the line, so
 * that what follows makes sense again.
 */
#include <string.h>

#include "vfs/exports_parser.h"

bool exports_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Of the line's end at @at: 0 if there is none, or the text is over. */
static size_t newline_bytes(const struct exports_parser *parser, const char *at)
{
	size_t rest_bytes = (size_t) (parser->end - at);

	if (rest_bytes >= 1 && at[0] == '\n')
		return 1;
	if (rest_bytes >= 2 && at[0] == '\r' && at[1] == '\n')
		return 2;
	return rest_bytes == 1 && at[0] == '\r';
}

bool exports_at_line_end(const struct exports_parser *parser)
{
	return parser->at == parser->end || newline_bytes(parser, parser->at) > 0;
}

/* Of a backslash and the line's end, or the text's. */
static size_t continuation_bytes(const struct exports_parser *parser)
{
	if (parser->at == parser->end || *parser->at != '\\')
		return 0;
	if (parser->at + 1 == parser->end)
		return 1;
	if (newline_bytes(parser, parser->at + 1) == 0)
		return 0;
	return 1 + newline_bytes(parser, parser->at + 1);
}

static bool at_word_end(const struct exports_parser *parser)
{
	return exports_at_line_end(parser) || exports_is_blank(*parser->at) ||
	       continuation_bytes(parser) > 0;
}

/* At the start of a line of the file: is it text? */
void exports_check_text(struct exports_parser *parser)
{
	const char *newline = memchr(parser->at, '\n', (size_t) (parser->end - parser->at));
	const char *end = newline ? newline : parser->end;

	for (const char *c = parser->at; c < end; c++) {
		if (((unsigned char) *c >= ' ' && *c != 0x7f) || *c == '\t' ||
		    (*c == '\r' && c + 1 == end))
			continue;
		parser->word_line = parser->line;
		exports_error(
			parser,
			"The line has a byte that is no text (0x%02x). Write it anew, in UTF-8"
			" without control characters.",
			(unsigned char) *c);
		parser->line_is_text = false;
		return;
	}
}

static void next_line(struct exports_parser *parser, size_t skipped_bytes)
{
	parser->at += skipped_bytes;
	parser->line++;
	exports_check_text(parser);
}

/* "\ " before the line's end looks like a continuation and is none: says so, and takes it so. */
static bool skip_false_continuation(struct exports_parser *parser)
{
	const char *after = parser->at + 1;

	if (*parser->at != '\\')
		return false;
	while (after < parser->end && exports_is_blank(*after))
		after++;
	if (after < parser->end && newline_bytes(parser, after) == 0)
		return false;
	parser->word_line = parser->line;
	exports_error(parser, "There are blanks after the '\\', so the line does not continue. Take"
	                      " them out.");
	next_line(parser, (size_t) (after - parser->at) + newline_bytes(parser, after));
	return true;
}

/* Goes to the next word, the line's end, or a comment's start. */
void exports_skip_blanks(struct exports_parser *parser)
{
	while (parser->at < parser->end) {
		if (exports_is_blank(*parser->at))
			parser->at++;
		else if (continuation_bytes(parser) > 0)
			next_line(parser, continuation_bytes(parser));
		else if (!skip_false_continuation(parser))
			return;
	}
}

static void skip_word(struct exports_parser *parser)
{
	while (!at_word_end(parser))
		parser->at++;
}

/* What is left of the line: blanks and a comment. */
void exports_skip_line(struct exports_parser *parser)
{
	const char *newline = memchr(parser->at, '\n', (size_t) (parser->end - parser->at));

	parser->line_is_text = true;
	if (newline)
		next_line(parser, (size_t) (newline - parser->at) + 1);
	else
		parser->at = parser->end;
}

/* --- words --- */

/* Adds to parser->word; false if it is full. */
static bool word_add(struct exports_parser *parser, size_t *word_bytes)
{
	if (*word_bytes + 1 >= sizeof parser->word)
		return false;
	parser->word[(*word_bytes)++] = *parser->at++;
	parser->word[*word_bytes] = '\0';
	return true;
}

/* Up to a blank that is not between quotes; the quotes go. */
bool exports_read_path(struct exports_parser *parser)
{
	size_t word_bytes = 0;
	bool quoted = false;

	parser->word_line = parser->line;
	parser->word[0] = '\0';
	while (quoted ? !exports_at_line_end(parser) : !at_word_end(parser)) {
		if (*parser->at == '"') {
			quoted = !quoted;
			parser->at++;
		} else if (!word_add(parser, &word_bytes)) {
			exports_error(parser, "The path '%.*s...' has more than %d bytes.",
			              EXPORTS_EXCERPT_BYTES_MAX, parser->word,
			              EXPORT_PATH_BYTES_MAX);
			while (!exports_at_line_end(parser))
				parser->at++; /* the closing quote may be anywhere */
			return false;
		}
	}
	if (quoted)
		exports_error(parser, "The quote before '%.*s' is not closed. Write \"PATH\".",
		              EXPORTS_EXCERPT_BYTES_MAX, parser->word);
	return !quoted;
}

/* The inside of parentheses, and the ')'. Continued lines are put together. */
static bool read_parenthesis(struct exports_parser *parser, size_t *word_bytes)
{
	bool blanks = false;

	while (!exports_at_line_end(parser) && *parser->at != ')' && *parser->at != '(') {
		if (continuation_bytes(parser) > 0) {
			next_line(parser, continuation_bytes(parser));
			while (parser->at < parser->end && exports_is_blank(*parser->at))
				parser->at++;
		} else if (exports_is_blank(*parser->at)) {
			blanks = true;
			parser->at++;
		} else if (!word_add(parser, word_bytes)) {
			exports_error(parser, "The options have more than %d bytes.",
			              EXPORTS_WORD_BYTES_MAX);
			skip_word(parser);
			return false;
		}
	}
	if (exports_at_line_end(parser) || *parser->at == '(') {
		exports_error(parser, "'%.*s' has no ')'. Write 'HOST(OPTION,...)'.",
		              EXPORTS_EXCERPT_BYTES_MAX, parser->word);
		skip_word(parser);
		return false;
	}
	if (blanks)
		exports_error(parser, "There are blanks between the parentheses. Write '%.*s)'.",
		              EXPORTS_EXCERPT_BYTES_MAX, parser->word);
	parser->at++;
	return true;
}

/* parser->word becomes the host, @ret_options what was in parentheses, or NULL. */
bool exports_read_host(struct exports_parser *parser, char **ret_options)
{
	size_t word_bytes = 0, host_bytes;

	parser->word_line = parser->line;
	parser->word[0] = '\0';
	while (!at_word_end(parser) && *parser->at != '(' && *parser->at != ')') {
		if (!word_add(parser, &word_bytes)) {
			exports_error(parser,
			              "'%.*s...' is too long for a host. Is a blank missing?",
			              EXPORTS_EXCERPT_BYTES_MAX, parser->word);
			skip_word(parser);
			return false;
		}
	}
	*ret_options = NULL;
	if (at_word_end(parser))
		return true;
	if (*parser->at == ')') {
		exports_error(parser, "There is a ')' without a '(' after '%.*s'.",
		              EXPORTS_EXCERPT_BYTES_MAX, parser->word);
		skip_word(parser);
		return false;
	}

	host_bytes = word_bytes;
	if (!word_add(parser, &word_bytes) || !read_parenthesis(parser, &word_bytes))
		return false;
	parser->word[host_bytes] = '\0';
	*ret_options = parser->word + host_bytes + 1;
	if (!at_word_end(parser)) {
		exports_error(parser,
		              "There is text right after the ')' of '%.*s'. Put a blank between"
		              " hosts.",
		              EXPORTS_EXCERPT_BYTES_MAX, parser->word);
		skip_word(parser);
	}
	return true;
}
