/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/exports_edit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vfs/exports_parser.h"

bool export_rule_same_host(const struct export_rule *a, const struct export_rule *b)
{
	if (a->kind != b->kind || a->prefix_bits != b->prefix_bits)
		return false;
	switch (a->kind) {
	case EXPORT_HOST_ANY:
		return true;
	case EXPORT_HOST_NAME:
	case EXPORT_HOST_PATTERN:
		return strcasecmp(a->text, b->text) == 0;
	default:
		return memcmp(&a->address, &b->address, sizeof a->address) == 0;
	}
}

static bool rate_equal(const struct export_rate *a, const struct export_rate *b)
{
	return a->iops == b->iops && a->mbps == b->mbps;
}

bool export_options_equal(const struct export_options *a, const struct export_options *b)
{
	return a->read_only == b->read_only && a->root_squash == b->root_squash &&
	       a->all_squash == b->all_squash && a->async == b->async && a->secure == b->secure &&
	       a->offload == b->offload && a->nlm == b->nlm && a->anon_uid == b->anon_uid &&
	       a->anon_gid == b->anon_gid && rate_equal(&a->rate, &b->rate) &&
	       rate_equal(&a->total_rate, &b->total_rate);
}

static bool lies_in(const char *path, const char *above)
{
	size_t bytes = strcmp(above, "/") == 0 ? 0 : strlen(above);

	return strncmp(path, above, bytes) == 0 && path[bytes] == '/';
}

const struct export_spec *exports_find_overlap(const struct exports *exports, const char *path)
{
	for (size_t i = 0; i < exports->count; i++) {
		const char *other = exports->specs[i].path;

		if (strcmp(other, path) != 0 && (lies_in(other, path) || lies_in(path, other)))
			return &exports->specs[i];
	}
	return NULL;
}

/* ---- putting the new text together ---- */

/* The stream's text, once it is closed. @to is gone. */
static int finish(FILE *to, char **text, char **ret_text)
{
	if (fclose(to) == 0) {
		*ret_text = *text;
		return 1;
	}
	free(*text);
	return -ENOMEM;
}

static void put_part(FILE *to, const struct exports_text *from, size_t begin, size_t end)
{
	fwrite(from->text + begin, 1, end - begin, to);
}

/* Quoted if it needs that; what quotes do not carry as \NNN. */
static void put_path(FILE *to, const char *path)
{
	const char *quote = path[strcspn(path, " #\"\\")] ? "\"" : "";

	fputs(quote, to);
	for (; *path; path++)
		if (*path == '"' || *path == '\\')
			fprintf(to, "\\%03o", (unsigned char) *path);
		else
			fputc(*path, to);
	fputs(quote, to);
}

/* A line of its own at the end, laid out as the others. */
static int add_line(const struct exports_text *from, const struct export_spec *wanted,
                    const char *const *words, char **ret_text)
{
	char *text;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return -ENOMEM;
	put_part(to, from, 0, from->bytes);
	if (from->bytes > 0 && from->text[from->bytes - 1] != '\n')
		fputc('\n', to);
	put_path(to, wanted->path);
	for (size_t i = 0; i < wanted->rule_count; i++)
		fprintf(to, "  %s", words[i]);
	fputc('\n', to);
	return finish(to, &text, ret_text);
}

/* The one that counts for the host, among a line's. */
static const struct export_rule *find_rule(const struct export_spec *spec,
                                           const struct export_rule *wanted)
{
	for (size_t i = 0; i < spec->rule_count; i++)
		if (export_rule_same_host(&spec->rules[i], wanted))
			return &spec->rules[i];
	return NULL;
}

/* In the place of a host of the line: the wanted one of the same clients, or itself. */
static void put_rule(FILE *to, const struct exports_text *from, const struct export_rule *rule,
                     bool replace, const struct export_spec *wanted, const char *const *words)
{
	for (size_t i = 0; i < wanted->rule_count; i++) {
		if (!export_rule_same_host(rule, &wanted->rules[i]) ||
		    (!replace && export_options_equal(&rule->options, &wanted->rules[i].options)))
			continue;
		fputs(words[i], to);
		return;
	}
	put_part(to, from, rule->text_begin, rule->text_end);
}

/* What is said once for all of a line's hosts, in the options of any. */
static bool line_differs(const struct export_spec *spec, const struct export_spec *wanted)
{
	static const struct export_rate unlimited;

	if (wanted->fsid && wanted->fsid != spec->fsid)
		return true;
	if (wanted->mountpoint &&
	    (!spec->mountpoint || strcmp(spec->mountpoint, wanted->mountpoint) != 0))
		return true;
	return !rate_equal(&wanted->total_rate, &unlimited) &&
	       !rate_equal(&wanted->total_rate, &spec->total_rate);
}

static bool has_all(const struct export_spec *spec, const struct export_spec *wanted)
{
	if (line_differs(spec, wanted))
		return false;
	for (size_t i = 0; i < wanted->rule_count; i++) {
		const struct export_rule *rule = find_rule(spec, &wanted->rules[i]);

		if (!rule || !export_options_equal(&rule->options, &wanted->rules[i].options))
			return false;
	}
	return true;
}

int exports_edit_add(const struct exports_text *from, const struct export_spec *wanted,
                     const char *const *words, char **ret_text)
{
	const struct export_spec *spec = exports_find_exact(from->exports, wanted->path);
	size_t bytes, at = 0;
	bool differs;
	char *text;
	FILE *to;

	if (!spec)
		return add_line(from, wanted, words, ret_text);
	if (has_all(spec, wanted))
		return 0;
	differs = line_differs(spec, wanted);
	to = open_memstream(&text, &bytes);
	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < spec->rule_count; i++) {
		put_part(to, from, at, spec->rules[i].text_begin);
		put_rule(to, from, &spec->rules[i], differs, wanted, words);
		at = spec->rules[i].text_end;
	}
	for (size_t i = 0; i < wanted->rule_count; i++)
		if (!find_rule(spec, &wanted->rules[i]))
			fprintf(to, "  %s", words[i]);
	put_part(to, from, at, from->bytes);
	return finish(to, &text, ret_text);
}

/* ---- removing ---- */

/* Where a line begins, the first being 1; the text's end if there are not that many. */
static size_t line_begin(const struct exports_text *from, unsigned line)
{
	const char *at = from->text, *end = from->text + from->bytes;

	for (; line > 1 && at < end; line--) {
		const char *newline = memchr(at, '\n', (size_t) (end - at));

		at = newline ? newline + 1 : end;
	}
	return (size_t) (at - from->text);
}

static int leave_out(const struct exports_text *from, size_t begin, size_t end, char **ret_text)
{
	char *text;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return -ENOMEM;
	put_part(to, from, 0, begin);
	put_part(to, from, end, from->bytes);
	return finish(to, &text, ret_text);
}

int exports_edit_remove(const struct exports_text *from, const char *path, const char *host,
                        char **ret_text)
{
	const struct export_spec *spec = exports_find_exact(from->exports, path);
	const struct export_rule *rule = NULL;
	size_t begin;

	for (size_t i = 0; spec && host && !rule && i < spec->rule_count; i++)
		if (strcasecmp(spec->rules[i].text, host) == 0)
			rule = &spec->rules[i];
	if (!spec || (host && !rule))
		return 0;
	if (!host || spec->rule_count == 1)
		return leave_out(from, line_begin(from, spec->line),
		                 line_begin(from, spec->last_line + 1), ret_text);
	begin = rule->text_begin;
	while (begin > 0 && exports_is_blank(from->text[begin - 1]))
		begin--;
	return leave_out(from, begin, rule->text_end, ret_text);
}
