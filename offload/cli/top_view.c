/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_view.c - a frame from top to bottom: the server, the lists' share of the lines, the keys.
 */
#include "offload/cli/top_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "offload/cli/show.h"
#include "vfs/base/cleanup.h"

enum {
	SECTIONS_MAX = 3,
	NAME_COLUMNS_MIN = 12,
};

/* ---- the server ---- */

static void draw_load(struct top_screen *screen, const struct top_moment *moment)
{
	const struct status_pair *pair = &moment->pair;
	const struct json_value *buffers = json_find(pair->now, "buffers");
	const struct json_value *connections = json_find(pair->now, "connections");
	const struct json_value *flushes = json_find(pair->now, "flushes");
	char one[TEXT_SHORT_BYTES], other[TEXT_SHORT_BYTES];

	if (pair->before)
		top_screen_line(
			screen, TOP_STRONG,
			"%" PRIu64 " calls/s, read %s/s, written %s/s, flushes %" PRIu64 "/s",
			status_rate_of_all(pair, "calls"),
			text_size(status_rate_of_all(pair, "read_bytes"), one),
			text_size(status_rate_of_all(pair, "written_bytes"), other),
			status_rate(pair, json_find(pair->before, "flushes"), flushes, "count"));
	else
		top_screen_line(screen, TOP_PLAIN, "The first rates come in a second.");
	top_screen_line(
		screen, TOP_PLAIN,
		"connections %" PRIu64 " of %" PRIu64 ", in flight %" PRIu64 ", memory %s of %s",
		json_find_number(connections, "open"), json_find_number(connections, "limit"),
		json_find_number(pair->now, "calls_in_flight"),
		text_size(json_find_number(buffers, "used_bytes"), one),
		text_size(json_find_number(buffers, "limit_bytes"), other));
}

static void draw_server(struct top_screen *screen, const struct top_view *view,
                        const struct top_moment *moment)
{
	const char *trouble = status_trouble(moment->pair.now);
	char up[TEXT_SHORT_BYTES];

	top_screen_line(screen, TOP_PLAIN, "lodestore top  %s  port %" PRIu64 ", up %s%s",
	                moment->clock, json_find_number(moment->pair.now, "port"),
	                text_duration(json_find_number(moment->pair.now, "uptime_ms"), up),
	                view->paused ? "  PAUSED" : "");
	if (trouble[0])
		top_screen_text(screen, TOP_ALARM, trouble);
	if (!moment->offload_answers)
		top_screen_text(screen, TOP_ALARM,
		                "the offload service does not answer: systemctl status"
		                " lodestore-offloadd");
	draw_load(screen, moment);
}

/* ---- tables ---- */

/* A column, and how wide the screen must be to have it. */
enum column {
	COLUMN_CALLS,
	COLUMN_READ,
	COLUMN_WRITTEN,
	COLUMN_MEDIAN,
	COLUMN_SLOW,
	COLUMN_ERRORS,
	COLUMN_CONNECTIONS,
	COLUMNS,
};

static const struct {
	const char *title;
	int width;
	unsigned screen_min;
} columns[COLUMNS] = {
	[COLUMN_CALLS] = { "CALLS/S", 8, 0 },      [COLUMN_READ] = { "READ/S", 8, 50 },
	[COLUMN_WRITTEN] = { "WRITE/S", 8, 50 },   [COLUMN_MEDIAN] = { "P50", 7, 72 },
	[COLUMN_SLOW] = { "P99", 7, 40 },          [COLUMN_ERRORS] = { "ERR/S", 7, 72 },
	[COLUMN_CONNECTIONS] = { "CONNS", 6, 80 },
};

static bool has_column(const struct top_screen *screen, enum top_list list, unsigned column)
{
	return screen->columns >= columns[column].screen_min &&
	       (column != COLUMN_CONNECTIONS || list == TOP_CLIENTS);
}

static unsigned name_columns(const struct top_screen *screen, enum top_list list)
{
	unsigned taken = 0;

	for (unsigned i = 0; i < COLUMNS; i++)
		if (has_column(screen, list, i))
			taken += (unsigned) columns[i].width;
	return screen->columns > taken + NAME_COLUMNS_MIN ? screen->columns - taken
	                                                  : NAME_COLUMNS_MIN;
}

static void draw_head(struct top_screen *screen, enum top_list list)
{
	static const char *const titles[] = {
		[TOP_EXPORTS] = "EXPORT",
		[TOP_CLIENTS] = "CLIENT",
		[TOP_OPERATIONS] = "OPERATION",
	};
	char line[TOP_COLUMNS_MAX];
	int bytes = snprintf(line, sizeof line, "%-*s", (int) name_columns(screen, list),
	                     titles[list]);

	for (unsigned i = 0; i < COLUMNS; i++)
		if (has_column(screen, list, i))
			bytes += snprintf(line + bytes, sizeof line - (size_t) bytes, "%*s",
			                  columns[i].width, columns[i].title);
	top_screen_line(screen, TOP_HEAD, "%s", line);
}

static void cell(const struct top_row *row, unsigned column, char to[2 * TEXT_SHORT_BYTES])
{
	switch (column) {
	case COLUMN_READ:
		(void) text_size(row->read_bytes, to);
		return;
	case COLUMN_WRITTEN:
		(void) text_size(row->written_bytes, to);
		return;
	case COLUMN_MEDIAN:
		(void) status_text_us(row->median_us, to);
		return;
	case COLUMN_SLOW:
		(void) status_text_us(row->slow_us, to);
		return;
	default:
		snprintf(to, (size_t) 2 * TEXT_SHORT_BYTES, "%" PRIu64,
		         column == COLUMN_CALLS    ? row->calls
		         : column == COLUMN_ERRORS ? row->errors
		                                   : row->connections);
	}
}

static void draw_row(struct top_screen *screen, enum top_list list, const struct top_row *row)
{
	char name[4 * TOP_COLUMNS_MAX], cells[TOP_COLUMNS_MAX], text[2 * TEXT_SHORT_BYTES];
	char full[TOP_COLUMNS_MAX];
	int bytes = 0;

	cells[0] = '\0';
	for (unsigned i = 0; i < COLUMNS; i++) {
		if (!has_column(screen, list, i))
			continue;
		cell(row, i, text);
		bytes += snprintf(cells + bytes, sizeof cells - (size_t) bytes, "%*s",
		                  columns[i].width, text);
	}
	snprintf(full, sizeof full, "%s %s", row->group, row->name);
	top_screen_fit(name, row->group[0] ? full : row->name, name_columns(screen, list) - 1);
	top_screen_line(screen, row->calls ? TOP_STRONG : TOP_PLAIN, "%s %s", name, cells);
}

static void draw_job(struct top_screen *screen, const offload_job *job)
{
	char name[4 * TOP_COLUMNS_MAX], bar[SHOW_BAR_BYTES];
	unsigned bar_columns = screen->columns * 5 / 8;
	AUTO(free_ptr) char *task = NULL;
	size_t bytes;
	FILE *stream = open_memstream(&task, &bytes);

	if (stream) {
		show_task(stream, job, "");
		(void) fclose(stream);
	}
	show_bar(bar, job, bar_columns);
	top_screen_fit(name, task ? task : "", screen->columns - bar_columns);
	top_screen_line(screen, TOP_STRONG, "%-*s%s", (int) bar_columns, bar, name);
}

/* ---- lists and their share of the lines ---- */

struct section {
	enum top_list list;
	struct top_rows rows; /* of TOP_JOBS only the count */
	unsigned lines;       /* that it may have, its head included */
};

static const char *const list_keys[TOP_LISTS] = {
	[TOP_EXPORTS] = "exports",
	[TOP_CLIENTS] = "clients",
	[TOP_OPERATIONS] = "procedures",
};

static void section_collect(struct section *section, const struct top_view *view,
                            const struct top_moment *moment)
{
	section->rows = (struct top_rows){ 0 };
	if (section->list == TOP_JOBS)
		section->rows.count = moment->job_count;
	else if (top_rows_collect(&moment->pair, list_keys[section->list], &section->rows) == 0)
		top_rows_sort(&section->rows, view->sort);
}

/* A line each in turn, while there are any and somebody wants one. Returns how many are left. */
static unsigned share_lines(struct section *sections, unsigned count, unsigned lines)
{
	bool wanted = true;

	while (lines > 0 && wanted) {
		wanted = false;
		for (unsigned i = 0; i < count && lines > 0; i++) {
			if (sections[i].lines > sections[i].rows.count)
				continue;
			sections[i].lines++;
			lines--;
			wanted = true;
		}
	}
	return lines;
}

static void draw_section(struct top_screen *screen, const struct section *section,
                         const struct top_moment *moment, size_t first)
{
	size_t count = section->rows.count, room = section->lines > 0 ? section->lines - 1 : 0;
	size_t end;

	if (count - first > room && room > 0)
		room--; /* for the line that says so */
	end = count - first > room ? first + room : count;
	if (section->lines == 0)
		return;
	if (section->list == TOP_JOBS)
		top_screen_line(screen, TOP_HEAD, "JOBS");
	else
		draw_head(screen, section->list);
	for (size_t i = first; i < end; i++)
		if (section->list == TOP_JOBS)
			draw_job(screen, &moment->jobs[i]);
		else
			draw_row(screen, section->list, &section->rows.rows[i]);
	if (end < count && section->lines > 1)
		top_screen_line(screen, TOP_PLAIN, "... and %zu more", count - end);
}

static void draw_lists(struct top_screen *screen, struct top_view *view,
                       const struct top_moment *moment, unsigned lines)
{
	static const enum top_list all[SECTIONS_MAX] = { TOP_EXPORTS, TOP_CLIENTS, TOP_JOBS };
	unsigned count = view->list == TOP_ALL ? SECTIONS_MAX : 1;
	struct section sections[SECTIONS_MAX] = { 0 };

	for (unsigned i = 0; i < count; i++) {
		sections[i].list = view->list == TOP_ALL ? all[i] : view->list;
		section_collect(&sections[i], view, moment);
	}
	if (count > 1 && moment->job_count == 0)
		count--; /* no head without jobs */
	lines = share_lines(sections, count, lines);
	if (view->first_row >= sections[0].rows.count)
		view->first_row = sections[0].rows.count ? (unsigned) sections[0].rows.count - 1
		                                         : 0;
	for (unsigned i = 0; i < count; i++) {
		if (lines >= count) /* enough for a gap before each */
			top_screen_line(screen, TOP_PLAIN, "%s", "");
		draw_section(screen, &sections[i], moment,
		             view->list == TOP_ALL ? 0 : view->first_row);
	}
	for (unsigned i = 0; i < SECTIONS_MAX; i++)
		free(sections[i].rows.rows);
}

/* ---- the frame ---- */

static void draw_help(struct top_screen *screen)
{
	static const char *const lines[] = {
		"q      leave",
		"a      exports, clients and jobs together",
		"e      exports alone; again: all",
		"c      clients alone; again: all",
		"o      operations: by procedure; again: all",
		"j      jobs alone; again: all",
		"s      sort by the next column",
		"p      pause, and go on",
		"up, down, page up, page down, home: scroll one list",
		"h      this text, and back",
		"",
		"P50, P99: half of the calls, and 99 of 100, took less.",
		"ERR/S: answered with an error, such as no such name.",
	};

	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		if (top_screen_left(screen) > 1)
			top_screen_line(screen, TOP_PLAIN, "%s", lines[i]);
}

/* Where it is, the last line. */
static void draw_foot(struct top_screen *screen, const struct top_view *view)
{
	if (screen->rows == 0)
		return;
	while (top_screen_left(screen) > 1)
		top_screen_line(screen, TOP_PLAIN, "%s", "");
	top_screen_line(
		screen, TOP_HEAD,
		"q quit  h help  s sort by %s  p pause  e exports  c clients  o ops  j jobs",
		top_sort_names[view->sort]);
}

void top_view_draw(struct top_screen *screen, struct top_view *view,
                   const struct top_moment *moment)
{
	unsigned left;

	top_screen_begin(screen);
	if (!moment->pair.now) {
		top_screen_line(screen, TOP_PLAIN, "lodestore top  %s", moment->clock);
		top_screen_text(screen, TOP_ALARM, moment->why);
		top_screen_line(screen, TOP_PLAIN, "It is asked again each second.");
	} else {
		draw_server(screen, view, moment);
		left = top_screen_left(screen);
		if (!view->help)
			draw_lists(screen, view, moment, left > 1 ? left - 1 : 0);
	}
	if (view->help)
		draw_help(screen);
	draw_foot(screen, view);
	top_screen_end(screen);
}

void top_view_json(FILE *to, const struct top_moment *moment, uint64_t at_ms)
{
	const struct status_pair *pair = &moment->pair;
	struct json json = { to };

	json_begin(&json, NULL, '{');
	json_begin(&json, "top", '{');
	json_u64(&json, "at_ms", at_ms);
	json_u64(&json, "calls_s", status_rate_of_all(pair, "calls"));
	json_u64(&json, "read_bytes_s", status_rate_of_all(pair, "read_bytes"));
	json_u64(&json, "written_bytes_s", status_rate_of_all(pair, "written_bytes"));
	json_word(&json, "trouble", status_trouble(pair->now));
	status_put_rows(&json, pair, "exports");
	status_put_rows(&json, pair, "clients");
	json_bool(&json, "offload_answers", moment->offload_answers);
	json_begin(&json, "jobs", '[');
	for (unsigned i = 0; i < moment->job_count; i++)
		show_job_json(&json, NULL, &moment->jobs[i]);
	json_end(&json, ']');
	json_end(&json, '}');
	json_end(&json, '}');
	fputc('\n', to);
}

/* ---- keys ---- */

int top_key_next(const char **at, const char *end)
{
	static const struct {
		const char *bytes;
		int key;
	} sequences[] = {
		{ "[A", TOP_KEY_UP },   { "[B", TOP_KEY_DOWN },     { "OA", TOP_KEY_UP },
		{ "OB", TOP_KEY_DOWN }, { "[5~", TOP_KEY_PAGE_UP }, { "[6~", TOP_KEY_PAGE_DOWN },
		{ "[H", TOP_KEY_HOME }, { "OH", TOP_KEY_HOME },     { "[1~", TOP_KEY_HOME },
	};
	const char *begin = *at;

	*at = begin + 1;
	if (*begin != '\033' || *at == end)
		return (unsigned char) *begin;
	for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
		size_t bytes = strlen(sequences[i].bytes);

		if ((size_t) (end - *at) >= bytes && memcmp(*at, sequences[i].bytes, bytes) == 0) {
			*at += bytes;
			return sequences[i].key;
		}
	}
	*at = end; /* whatever it was: its rest is no key */
	return TOP_KEY_OTHER;
}

static void toggle_list(struct top_view *view, enum top_list list)
{
	view->list = view->list == list ? TOP_ALL : list;
	view->first_row = 0;
}

static void scroll(struct top_view *view, int key, unsigned page_rows)
{
	unsigned step = key == TOP_KEY_UP || key == TOP_KEY_DOWN ? 1 : page_rows;

	if (key == TOP_KEY_DOWN || key == TOP_KEY_PAGE_DOWN)
		view->first_row += view->first_row < UINT16_MAX ? step : 0;
	else if (key == TOP_KEY_HOME)
		view->first_row = 0;
	else
		view->first_row -= view->first_row < step ? view->first_row : step;
}

bool top_view_key(struct top_view *view, int key, unsigned page_rows)
{
	static const char list_of_key[] = "aecoj"; /* in the order of enum top_list */
	const char *list = key > 0 && key < TOP_KEY_UP ? strchr(list_of_key, key) : NULL;

	if (list)
		toggle_list(view, (enum top_list)(list - list_of_key));
	else if (key == 's')
		view->sort = (view->sort + 1) % TOP_SORTS;
	else if (key == 'p' || key == ' ')
		view->paused = !view->paused;
	else if (key == 'h' || key == '?')
		view->help = !view->help;
	else if (key >= TOP_KEY_UP && key <= TOP_KEY_HOME)
		scroll(view, key, page_rows);
	return key == 'q';
}
