/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_exports - any bytes as an exports file.
 *
 * What must hold: every report has a line that the text has; what is refused was reported; what is
 * accepted satisfies exports.h, is found by its path, and, written out again in plain form, reads
 * as the same table.
 */
#undef NDEBUG
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/exports.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reports {
	unsigned error_count, line_count;
};

static void record(void *context, enum exports_severity severity, const char *file, unsigned line,
                   const char *message)
{
	struct reports *reports = context;

	assert(strcmp(file, "fuzz") == 0);
	assert(line >= 1 && line <= reports->line_count);
	assert(message[0] != '\0' && strlen(message) < 1024);
	for (const char *c = message; *c; c++)
		assert((unsigned char) *c >= ' ');
	reports->error_count += severity == EXPORTS_ERROR;
}

static void check_path(const char *path)
{
	assert(path[0] == '/');
	assert(strlen(path) <= EXPORT_PATH_BYTES_MAX);
	assert(!strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../"));
	assert(path[1] == '\0' || path[strlen(path) - 1] != '/');
}

static bool has_wildcard(const char *text)
{
	return strpbrk(text, "*?") != NULL;
}

static void check_rule(const struct export_rule *rule)
{
	assert(rule->text && rule->text[0] && strlen(rule->text) <= EXPORT_HOST_BYTES_MAX);
	assert(!strpbrk(rule->text, " \t\r\n()\"\\#,="));
	switch (rule->kind) {
	case EXPORT_HOST_ADDRESS:
		assert(rule->prefix_bits == 128);
		break;
	case EXPORT_HOST_NETWORK:
		assert(rule->prefix_bits <= 128);
		for (unsigned bit = rule->prefix_bits; bit < 128; bit++)
			assert((rule->address.bytes[bit / 8] & 0x80 >> bit % 8) == 0);
		break;
	case EXPORT_HOST_NAME:
		assert(!has_wildcard(rule->text));
		break;
	case EXPORT_HOST_PATTERN:
		assert(has_wildcard(rule->text));
		break;
	case EXPORT_HOST_ANY:
		assert(strcmp(rule->text, "*") == 0);
		break;
	}
	assert(rule->options.anon_uid != UINT32_MAX && rule->options.anon_gid != UINT32_MAX);
}

static bool no_address(void *context, const char *name, const struct export_address *address)
{
	return false;
}

static bool any_name(void *context, const struct export_address *address, char *ret_name,
                     size_t name_bytes_max)
{
	(void) snprintf(ret_name, name_bytes_max, "esx1.lab.example");
	return true;
}

/* Accepted: is it as exports.h promises? */
static void check_spec(const struct exports *exports, const struct export_spec *spec)
{
	static const struct export_names names = { no_address, any_name, NULL };
	const struct export_rule *rule;
	const char *below;

	check_path(spec->path);
	if (spec->mountpoint)
		check_path(spec->mountpoint);
	assert(strcmp(spec->file, "fuzz") == 0);
	assert(spec->fsid <= EXPORT_FSID_MAX);
	assert(spec->rule_count >= 1 && spec->rule_count <= EXPORT_RULES_MAX);
	assert(exports_find_path(exports, spec->path, &below) == spec && below[0] == '\0');

	for (size_t i = 0; i < spec->rule_count; i++) {
		check_rule(&spec->rules[i]);
		rule = export_match(spec, &spec->rules[i].address, &names);
		if (spec->rules[i].kind == EXPORT_HOST_ADDRESS)
			assert(rule && rule->kind == EXPORT_HOST_ADDRESS &&
			       rule <= &spec->rules[i]);
	}
}

static void print_path(FILE *to, const char *path)
{
	for (; *path; path++)
		(void) fprintf(to, strchr(" \"#\\", *path) ? "\\%03o" : "%c",
		               (unsigned char) *path);
}

static void print_spec(FILE *to, const struct export_spec *spec)
{
	print_path(to, spec->path);
	for (size_t i = 0; i < spec->rule_count; i++) {
		const struct export_options *options = &spec->rules[i].options;

		(void) fprintf(to, " %s(%s,%s,%s,%s,%s,anonuid=%" PRIu32 ",anongid=%" PRIu32,
		               spec->rules[i].text, options->read_only ? "ro" : "rw",
		               options->root_squash ? "root_squash" : "no_root_squash",
		               options->all_squash ? "all_squash" : "no_all_squash",
		               options->async ? "async" : "sync",
		               options->secure ? "secure" : "insecure", options->anon_uid,
		               options->anon_gid);
		if (spec->fsid)
			(void) fprintf(to, ",fsid=%" PRIu32, spec->fsid);
		(void) fprintf(to, ")");
	}
	(void) fprintf(to, "\n");
}

static char *print_all(const struct exports *exports, size_t *ret_bytes)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_bytes);

	assert(to);
	for (size_t i = 0; i < exports->count; i++)
		print_spec(to, &exports->specs[i]);
	assert(fclose(to) == 0);
	return text;
}

/* print(parse(print(x))) is print(x). */
static void check_round_trip(const struct exports *exports)
{
	struct reports reports = { .line_count = (unsigned) exports->count + 1 };
	struct exports again = { 0 };
	size_t text_bytes, text_again_bytes;
	char *text = print_all(exports, &text_bytes), *text_again;

	assert(exports_parse(&again, "fuzz", text, text_bytes, record, &reports) == 0);
	text_again = print_all(&again, &text_again_bytes);
	assert(text_bytes == text_again_bytes && memcmp(text, text_again, text_bytes) == 0);
	free(text);
	free(text_again);
	exports_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reports reports = { .line_count = 1 };
	struct exports exports = { 0 };
	const char *below;
	char *path;
	int r;

	for (size_t i = 0; i < size; i++)
		reports.line_count += data[i] == '\n';
	r = exports_parse(&exports, "fuzz", (const char *) data, size, record, &reports);
	assert(r == (reports.error_count ? -EINVAL : 0));
	if (r == 0) {
		for (size_t i = 0; i < exports.count; i++)
			check_spec(&exports, &exports.specs[i]);
		check_round_trip(&exports);
	}

	/* The same bytes as what a client asks for. */
	path = strndup((const char *) data, size);
	assert(path);
	if (exports_find_path(&exports, path, &below))
		assert(below >= path && below <= path + strlen(path) && *below != '/');
	free(path);
	exports_done(&exports);
	return 0;
}
