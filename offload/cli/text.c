/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/text.h"

#include <inttypes.h>
#include <string.h>

#include "vfs/base/cleanup.h"

enum {
	MS_PER_S = 1000,
	S_PER_MINUTE = 60,
	S_PER_HOUR = 3600,
	S_PER_DAY = 86400,
};

const char *text_size(uint64_t bytes, char to[TEXT_SHORT_BYTES])
{
	static const char units[] = "KMGTPE";
	uint64_t whole = bytes, rest = 0; /* in 1024ths */
	unsigned tenths, unit = 0;

	while (whole >= 1024) {
		rest = whole % 1024;
		whole /= 1024;
		unit++;
	}
	tenths = (unsigned) (rest * 10 + 512) / 1024;
	if (tenths == 10) {
		tenths = 0;
		whole++;
	}
	if (whole == 1024) {
		whole = 1;
		unit++;
	}
	if (unit == 0)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64, whole);
	else if (tenths == 0)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "%c", whole, units[unit - 1]);
	else
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 ".%u%c", whole, tenths, units[unit - 1]);
	return to;
}

const char *text_duration(uint64_t duration_ms, char to[TEXT_SHORT_BYTES])
{
	uint64_t s = duration_ms / MS_PER_S;

	if (s < 1)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "ms", duration_ms);
	else if (s < 10)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 ".%" PRIu64 "s", s,
		         duration_ms % MS_PER_S / 100);
	else if (s < S_PER_MINUTE)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "s", s);
	else if (s < S_PER_HOUR)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "m%02" PRIu64 "s", s / S_PER_MINUTE,
		         s % S_PER_MINUTE);
	else if (s < S_PER_DAY)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "h%02" PRIu64 "m", s / S_PER_HOUR,
		         s % S_PER_HOUR / S_PER_MINUTE);
	else if (s / S_PER_DAY < 10000)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "d%02" PRIu64 "h", s / S_PER_DAY,
		         s % S_PER_DAY / S_PER_HOUR);
	else
		snprintf(to, TEXT_SHORT_BYTES, "ages");
	return to;
}

/* ---- characters ---- */

/* How many bytes the character takes that stands first (RFC 3629); 0 if there is none. */
static size_t utf8_bytes(const uint8_t *bytes, size_t count, uint32_t *ret_character)
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

static bool is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

void text_put(FILE *to, const char *bytes, size_t count)
{
	const uint8_t *at = (const uint8_t *) bytes;

	for (size_t i = 0, step; i < count; i += step) {
		uint32_t character;
		size_t shown = utf8_bytes(at + i, count - i, &character);

		step = shown ? shown : 1;
		if (shown && !is_control(character))
			fwrite(at + i, 1, step, to);
		else
			for (size_t j = i; j < i + step; j++)
				fprintf(to, "\\x%02x", at[j]);
	}
}

/* ---- JSON ---- */

static void json_quote(FILE *to, const char *bytes, size_t count)
{
	const uint8_t *at = (const uint8_t *) bytes;

	fputc('"', to);
	for (size_t i = 0, step; i < count; i += step) {
		uint32_t character;
		size_t valid = utf8_bytes(at + i, count - i, &character);

		step = valid ? valid : 1;
		if (!valid)
			fprintf(to, "\\udc%02x", at[i]);
		else if (is_control(character))
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
