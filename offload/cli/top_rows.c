/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/top_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const top_sort_names[TOP_SORTS] = {
	[TOP_BY_CALLS] = "calls", [TOP_BY_READ] = "read",     [TOP_BY_WRITTEN] = "written",
	[TOP_BY_SLOW] = "p99",    [TOP_BY_ERRORS] = "errors", [TOP_BY_NAME] = "name",
};

enum {
	PERMILLE_MEDIAN = 500,
	PERMILLE_SLOW = 990,
};

/* What names a row of a list, and in which group. */
struct top_keys {
	const char *list, *name, *group;
};

static struct top_keys keys_of(const char *list)
{
	static const struct top_keys all[] = {
		{ "exports", "path", NULL },
		{ "clients", "address", NULL },
		{ "procedures", "procedure", "program" },
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (strcmp(all[i].list, list) == 0)
			return all[i];
	return (struct top_keys){ list, "name", NULL };
}

static bool is_same(const struct top_keys *keys, const struct json_value *a,
                    const struct json_value *b)
{
	if (strcmp(json_find_text(a, keys->name), json_find_text(b, keys->name)) != 0)
		return false;
	return !keys->group ||
	       strcmp(json_find_text(a, keys->group), json_find_text(b, keys->group)) == 0;
}

/* The row of the same thing. Lists keep their order, so it mostly stands at @hint. */
static const struct json_value *find_before(const struct top_keys *keys,
                                            const struct json_value *rows,
                                            const struct json_value *row,
                                            const struct json_value **hint)
{
	const struct json_value *found = *hint;

	if (!found || !is_same(keys, found, row))
		for (found = rows ? rows->first : NULL; found && !is_same(keys, found, row);)
			found = found->next;
	if (found)
		*hint = found->next;
	return found;
}

static struct top_row row_of(const struct status_pair *pair, const struct top_keys *keys,
                             const struct json_value *before, const struct json_value *now)
{
	const char *name = json_find_text(now, keys->name);

	return (struct top_row){
		.group = keys->group ? json_find_text(now, keys->group) : "",
		.name = name[0] ? name : "(others)",
		.calls = status_rate(pair, before, now, "calls"),
		.read_bytes = status_rate(pair, before, now, "read_bytes"),
		.written_bytes = status_rate(pair, before, now, "written_bytes"),
		.errors = status_rate(pair, before, now, "errors"),
		.median_us = status_latency_us(before, now, PERMILLE_MEDIAN),
		.slow_us = status_latency_us(before, now, PERMILLE_SLOW),
		.connections = json_find_number(now, "connections"),
	};
}

int top_rows_collect(const struct status_pair *pair, const char *list, struct top_rows *ret_rows)
{
	const struct json_value *now = json_find(pair->now, list);
	const struct json_value *before = json_find(pair->before, list);
	const struct json_value *hint = before ? before->first : NULL;
	const struct top_keys keys = keys_of(list);
	struct top_rows rows = { 0 };

	for (const struct json_value *row = now ? now->first : NULL; row; row = row->next)
		rows.count++;
	rows.rows = calloc(rows.count + 1, sizeof *rows.rows);
	if (!rows.rows)
		return -ENOMEM;
	rows.count = 0;
	for (const struct json_value *row = now ? now->first : NULL; row; row = row->next)
		rows.rows[rows.count++] = row_of(pair, &keys,
		                                 find_before(&keys, before, row, &hint), row);
	*ret_rows = rows;
	return 0;
}

/* ---- order ---- */

static uint64_t weight(const struct top_row *row, enum top_sort sort)
{
	switch (sort) {
	case TOP_BY_CALLS:
		return row->calls;
	case TOP_BY_READ:
		return row->read_bytes;
	case TOP_BY_WRITTEN:
		return row->written_bytes;
	case TOP_BY_SLOW:
		return row->slow_us;
	case TOP_BY_ERRORS:
		return row->errors;
	default:
		return 0;
	}
}

static int compare(const void *left, const void *right, void *sort)
{
	const struct top_row *a = left, *b = right;
	uint64_t a_weight = weight(a, *(enum top_sort *) sort);
	uint64_t b_weight = weight(b, *(enum top_sort *) sort);
	int by_group = strcmp(a->group, b->group);

	if (a_weight != b_weight)
		return a_weight < b_weight ? 1 : -1;
	return by_group ? by_group : strcmp(a->name, b->name);
}

void top_rows_sort(struct top_rows *rows, enum top_sort sort)
{
	qsort_r(rows->rows, rows->count, sizeof *rows->rows, compare, &sort);
}
