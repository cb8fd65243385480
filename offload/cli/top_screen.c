/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/top_screen.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "offload/cli/text.h"
#include "vfs/base/cleanup.h"

static const char *const looks[] = {
	[TOP_PLAIN] = "",
	[TOP_STRONG] = "\033[1m",
	[TOP_HEAD] = "\033[7m",
	[TOP_ALARM] = "\033[1;31m",
};

void top_screen_begin(struct top_screen *screen)
{
	screen->row = 0;
	if (screen->ansi)
		fputs("\033[H", screen->to);
}

unsigned top_screen_left(const struct top_screen *screen)
{
	if (screen->rows == 0)
		return UINT16_MAX;
	return screen->rows > screen->row ? screen->rows - screen->row : 0;
}

static bool begins_character(char byte)
{
	return ((unsigned char) byte & 0xc0) != 0x80;
}

static size_t columns_of(const char *text)
{
	size_t columns = 0;

	for (; *text; text++)
		columns += begins_character(*text);
	return columns;
}

/* The text's first @columns. Returns how many it had. */
static size_t cut(char *text, size_t columns)
{
	size_t at = 0;

	for (char *c = text; *c; c++) {
		if (!begins_character(*c))
			continue;
		if (at == columns) {
			*c = '\0';
			break;
		}
		at++;
	}
	return at;
}

void top_screen_line(struct top_screen *screen, enum top_look look, const char *format, ...)
{
	char text[4 * TOP_COLUMNS_MAX];
	size_t columns;
	va_list args;

	if (top_screen_left(screen) == 0)
		return;
	va_start(args, format);
	(void) vsnprintf(text, sizeof text, format, args);
	va_end(args);
	columns = cut(text, screen->columns);
	if (screen->row++ > 0)
		fputs(screen->ansi ? "\r\n" : "\n", screen->to);
	if (!screen->ansi) {
		fputs(text, screen->to);
		return;
	}
	/* The line is cleared first: behind its last column there is nothing to clear. */
	fprintf(screen->to, "\033[K%s%s%*s%s", looks[look], text,
	        look == TOP_HEAD ? (int) (screen->columns - columns) : 0, "",
	        look == TOP_PLAIN ? "" : "\033[0m");
}

void top_screen_text(struct top_screen *screen, enum top_look look, const char *text)
{
	while (strlen(text) > screen->columns) {
		const char *blank = memrchr(text, ' ', screen->columns + 1);

		if (!blank || blank == text)
			break;
		top_screen_line(screen, look, "%.*s", (int) (blank - text), text);
		text = blank + 1;
	}
	top_screen_line(screen, look, "%s", text);
}

void top_screen_end(struct top_screen *screen)
{
	if (screen->ansi && top_screen_left(screen) > 0)
		fputs("\r\n\033[J", screen->to);
	if (!screen->ansi)
		fputc('\n', screen->to);
}

/* ---- names ---- */

void top_screen_fit(char to[4 * TOP_COLUMNS_MAX], const char *name, unsigned columns)
{
	static const char left_out[] = "...";
	AUTO(free_ptr) char *shown = NULL;
	const char *from = "";
	size_t bytes, have;
	FILE *stream;

	assert(columns < TOP_COLUMNS_MAX);
	stream = open_memstream(&shown, &bytes);
	if (stream) {
		text_put(stream, name, strlen(name));
		from = fclose(stream) == 0 ? shown : "";
	}
	have = columns_of(from);
	to[0] = '\0';
	if (have > columns && columns >= sizeof left_out) {
		for (size_t skip = have - columns + sizeof left_out - 1; skip > 0; from++)
			skip -= begins_character(from[1]);
		memcpy(to, left_out, sizeof left_out);
		have = columns;
	}
	(void) snprintf(to + strlen(to), (size_t) 4 * TOP_COLUMNS_MAX - strlen(to), "%s%*s", from,
	                have < columns ? (int) (columns - have) : 0, "");
	(void) cut(to, columns);
}
