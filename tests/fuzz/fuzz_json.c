/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_json - any bytes as a status document of lodestore-nfsd, and as what a command is about.
 *
 * What json_read.h accepts, json.h writes again, and that is read as the same. What the command
 * shows of it - of two such documents: before, now - is text that no terminal obeys. A place that
 * is accepted is within place.h's bounds, and written out again it is the same place.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/cli/json_read.h"
#include "offload/cli/place.h"
#include "offload/cli/status_show.h"
#include "vfs/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- documents ---- */

static void write_value(struct json *json, const struct json_value *value, unsigned depth)
{
	char bracket = value->kind == JSON_LIST ? '[' : '{';

	assert(depth <= JSON_DEPTH_MAX);
	switch (value->kind) {
	case JSON_NULL:
		return json_null(json, value->key);
	case JSON_BOOL:
		return json_bool(json, value->key, value->number != 0);
	case JSON_NUMBER:
		return json_u64(json, value->key, value->number);
	case JSON_TEXT:
		assert(value->text[value->text_bytes] == '\0');
		return json_text(json, value->key, value->text, value->text_bytes);
	case JSON_LIST:
	case JSON_OBJECT:
		json_begin(json, value->key, bracket);
		for (const struct json_value *at = value->first; at; at = at->next) {
			assert((value->kind == JSON_OBJECT) == (at->key != NULL));
			write_value(json, at, depth + 1);
		}
		json_end(json, value->kind == JSON_LIST ? ']' : '}');
	}
}

static char *written(const struct json_value *value, size_t *ret_bytes)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_bytes);
	struct json json = { to };

	assert(to);
	write_value(&json, value, 0);
	assert(fclose(to) == 0);
	return text;
}

static void check_round_trip(const struct json_value *value)
{
	struct json_value *again = NULL;
	size_t text_bytes, text_again_bytes;
	char *text = written(value, &text_bytes), *text_again;

	assert(json_read(text, text_bytes, &again) == 0);
	text_again = written(again, &text_again_bytes);
	assert(text_bytes == text_again_bytes && memcmp(text, text_again, text_bytes) == 0);
	json_value_free(again);
	free(text);
	free(text_again);
}

static void check_shown(const struct json_value *before, const struct json_value *now)
{
	struct status_pair pair = status_pair(before, now);
	char *text = NULL;
	size_t text_bytes;
	FILE *to = open_memstream(&text, &text_bytes);

	assert(to && pair.apart_ms > 0);
	status_show_server(to, &pair);
	status_show_rows(to, &pair, "exports");
	status_show_rows(to, &pair, "clients");
	status_rows_json(to, &pair, "exports");
	(void) fputs(status_trouble(now), to);
	assert(fclose(to) == 0);
	for (size_t at = 0; at < text_bytes; at++)
		assert(text[at] == '\n' || ((unsigned char) text[at] >= ' ' && text[at] != 0x7f));
	free(text);
}

/* ---- places ---- */

static void check_place(const char *text)
{
	char again[PLACE_HOST_BYTES + PLACE_PATH_BYTES + 8];
	const char *why = NULL;
	struct place place, read;
	bool is_v6;

	if (place_parse(text, "/here", &place, &why) < 0) {
		assert(why && why[0]);
		return;
	}
	assert(strlen(place.host) < PLACE_HOST_BYTES && strlen(place.path) < PLACE_PATH_BYTES);
	assert((place.kind == PLACE_FILE) == (place.path[0] == '/'));
	assert((place.kind == PLACE_JOB) == (place.job_id != 0));
	assert(place.kind != PLACE_SERVER || place.host[0]);
	is_v6 = strpbrk(place.host, ":/") || place.host[0] == '[';
	if (place.kind == PLACE_JOB)
		(void) snprintf(place.path, sizeof place.path, "%" PRIu64, place.job_id);
	(void) snprintf(again, sizeof again, "%s%s%s%s%s", is_v6 ? "[" : "", place.host,
	                is_v6 ? "]" : "", place.host[0] ? ":" : "", place.path);
	assert(place_parse(again, NULL, &read, &why) == 0);
	assert(read.kind == place.kind && strcmp(read.host, place.host) == 0);
	assert(read.job_id == place.job_id);
	assert(place.kind == PLACE_JOB || strcmp(read.path, place.path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *middle = memchr(data, '\0', size);
	size_t half = middle ? (size_t) (middle - data) : size;
	struct json_value *before = NULL, *now = NULL;
	char *text;
	int r;

	r = json_read((const char *) data, half, &before);
	assert(r == 0 || r == -EBADMSG);
	if (r == 0) {
		check_round_trip(before);
		if (middle)
			(void) json_read((const char *) middle + 1, size - half - 1, &now);
		check_shown(before, now ? now : before);
	}
	json_value_free(before);
	json_value_free(now);

	text = strndup((const char *) data, half);
	assert(text);
	check_place(text);
	free(text);
	return 0;
}
