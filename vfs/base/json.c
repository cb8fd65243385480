/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/base/json.h"

#include <inttypes.h>
#include <string.h>

size_t json_character(const uint8_t *bytes, size_t count, uint32_t *ret_character)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t first = bytes[0];
	size_t need = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint32_t character = need == 1 ? first : first & (0x7fu >> need);

	if (need == 0 || first > 0xf4 || need > count)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (bytes[i] & 0x3f);
	}
	if (character < least[need] || character > 0x10ffff ||
	    (character >= 0xd800 && character <= 0xdfff))
		return 0;
	*ret_character = character;
	return need;
}

bool json_is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

static void json_quote(FILE *to, const char *bytes, size_t count)
{
	const uint8_t *at = (const uint8_t *) bytes;

	fputc('"', to);
	for (size_t i = 0, step; i < count; i += step) {
		uint32_t character;
		size_t valid = json_character(at + i, count - i, &character);

		step = valid ? valid : 1;
		if (!valid)
			fprintf(to, "\\udc%02x", at[i]);
		else if (json_is_control(character))
			fprintf(to, "\\u%04x", character);
		else if (character == '"' || character == '\\')
			fprintf(to, "\\%c", (int) character);
		else
			fwrite(at + i, 1, step, to);
	}
	fputc('"', to);
}

static void json_key(struct json *json, const char *key)
{
	if (json->comma)
		fputs(", ", json->to);
	json->comma = true;
	if (key) {
		json_quote(json->to, key, strlen(key));
		fputs(": ", json->to);
	}
}

void json_begin(struct json *json, const char *key, char bracket)
{
	json_key(json, key);
	fputc(bracket, json->to);
	json->comma = false;
}

void json_end(struct json *json, char bracket)
{
	fputc(bracket, json->to);
	json->comma = true;
}

void json_u64(struct json *json, const char *key, uint64_t number)
{
	json_key(json, key);
	fprintf(json->to, "%" PRIu64, number);
}

void json_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	fputs(value ? "true" : "false", json->to);
}

void json_null(struct json *json, const char *key)
{
	json_key(json, key);
	fputs("null", json->to);
}

void json_text(struct json *json, const char *key, const char *bytes, size_t count)
{
	json_key(json, key);
	json_quote(json->to, bytes, count);
}

void json_word(struct json *json, const char *key, const char *word)
{
	json_text(json, key, word, strlen(word));
}
