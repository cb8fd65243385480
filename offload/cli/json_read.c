/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/json_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is left of the text. */
struct reading {
	const char *at, *end;
	unsigned depth;
};

static int read_value(struct reading *in, struct json_value **ret_value);

static void skip_blanks(struct reading *in)
{
	while (in->at < in->end && memchr(" \t\r\n", *in->at, 4))
		in->at++;
}

/* Is @character next? Then it is taken. */
static bool take(struct reading *in, char character)
{
	skip_blanks(in);
	if (in->at == in->end || *in->at != character)
		return false;
	in->at++;
	return true;
}

static bool take_word(struct reading *in, const char *word)
{
	size_t bytes = strlen(word);

	if ((size_t) (in->end - in->at) < bytes || memcmp(in->at, word, bytes) != 0)
		return false;
	in->at += bytes;
	return true;
}

/* ---- strings ---- */

static int read_hex(struct reading *in, uint32_t *ret_number)
{
	uint32_t number = 0;

	if (in->end - in->at < 4)
		return -EBADMSG;
	for (unsigned i = 0; i < 4; i++) {
		char digit = *in->at++;

		if (!isxdigit((unsigned char) digit))
			return -EBADMSG;
		number = number * 16 +
		         (uint32_t) (digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
	}
	*ret_number = number;
	return 0;
}

/* \uNNNN of one character, or of a byte that was no UTF-8. At most 3 bytes. */
static int put_unicode(struct reading *in, char **to)
{
	uint32_t character;
	int r = read_hex(in, &character);

	if (r < 0)
		return r;
	if (character >= 0xdc80 && character <= 0xdcff) {
		*(*to)++ = (char) (character - 0xdc00);
	} else if (character >= 0xd800 && character <= 0xdfff) {
		return -EBADMSG;
	} else if (character < 0x80) {
		*(*to)++ = (char) character;
	} else if (character < 0x800) {
		*(*to)++ = (char) (0xc0 | character >> 6);
		*(*to)++ = (char) (0x80 | (character & 0x3f));
	} else {
		*(*to)++ = (char) (0xe0 | character >> 12);
		*(*to)++ = (char) (0x80 | (character >> 6 & 0x3f));
		*(*to)++ = (char) (0x80 | (character & 0x3f));
	}
	return 0;
}

static int put_escape(struct reading *in, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *which;

	if (in->at == in->end)
		return -EBADMSG;
	if (*in->at == 'u') {
		in->at++;
		return put_unicode(in, to);
	}
	which = memchr(from, *in->at++, sizeof from - 1);
	if (!which)
		return -EBADMSG;
	*(*to)++ = into[which - from];
	return 0;
}

/* The quote that ends the string; NULL: none does. */
static const char *text_end(const struct reading *in)
{
	const char *at = in->at;

	while (at < in->end && *at != '"')
		at += *at == '\\' ? 2 : 1;
	return at < in->end ? at : NULL;
}

/* Behind its first quote. No string is longer than it is written. */
static int read_text(struct reading *in, char **ret_text, size_t *ret_bytes)
{
	const char *end = text_end(in);
	char *text, *to;
	int r = 0;

	if (!end)
		return -EBADMSG;
	text = to = malloc((size_t) (end - in->at) + 1);
	if (!text)
		return -ENOMEM;
	while (r == 0 && in->at < end) {
		char character = *in->at++;

		if (character == '\\')
			r = put_escape(in, &to);
		else
			*to++ = character;
	}
	if (r < 0) {
		free(text);
		return r;
	}
	in->at = end + 1;
	*to = '\0';
	*ret_text = text;
	*ret_bytes = (size_t) (to - text);
	return 0;
}

/* ---- what has others in it ---- */

static int read_member(struct reading *in, bool has_key, struct json_value **ret_value)
{
	char *key = NULL;
	size_t key_bytes;
	int r = 0;

	if (has_key) {
		r = take(in, '"') ? read_text(in, &key, &key_bytes) : -EBADMSG;
		if (r == 0 && !take(in, ':'))
			r = -EBADMSG;
	}
	if (r == 0)
		r = read_value(in, ret_value);
	if (r == 0)
		(*ret_value)->key = key;
	else
		free(key);
	return r;
}

/* Behind its first bracket. */
static int read_members(struct reading *in, struct json_value *into, char end)
{
	struct json_value **last = &into->first;
	int r = 0;

	if (take(in, end))
		return 0;
	if (++in->depth > JSON_DEPTH_MAX)
		return -EBADMSG;
	do {
		r = read_member(in, end == '}', last);
		if (r == 0)
			last = &(*last)->next;
	} while (r == 0 && take(in, ','));
	in->depth--;
	if (r == 0 && !take(in, end))
		r = -EBADMSG;
	return r;
}

/* ---- values ---- */

static int read_number(struct reading *in, uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *begin = in->at;

	while (in->at < in->end && *in->at >= '0' && *in->at <= '9')
		if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
		    __builtin_add_overflow(number, (uint64_t) (*in->at++ - '0'), &number))
			return -EBADMSG;
	*ret_number = number;
	return in->at > begin ? 0 : -EBADMSG;
}

static int fill_value(struct reading *in, struct json_value *value)
{
	if (take(in, '"')) {
		value->kind = JSON_TEXT;
		return read_text(in, &value->text, &value->text_bytes);
	}
	if (take(in, '{')) {
		value->kind = JSON_OBJECT;
		return read_members(in, value, '}');
	}
	if (take(in, '[')) {
		value->kind = JSON_LIST;
		return read_members(in, value, ']');
	}
	if (take_word(in, "null"))
		return 0;
	value->kind = JSON_BOOL;
	value->number = take_word(in, "true");
	if (value->number || take_word(in, "false"))
		return 0;
	value->kind = JSON_NUMBER;
	return read_number(in, &value->number);
}

static int read_value(struct reading *in, struct json_value **ret_value)
{
	struct json_value *value = calloc(1, sizeof *value);
	int r;

	if (!value)
		return -ENOMEM;
	r = fill_value(in, value);
	if (r == 0)
		*ret_value = value;
	else
		(void) json_value_free(value);
	return r;
}

int json_read(const char *text, size_t text_bytes, struct json_value **ret_value)
{
	struct reading in = { text, text + text_bytes, 0 };
	struct json_value *value;
	int r = read_value(&in, &value);

	if (r < 0)
		return r;
	skip_blanks(&in);
	if (in.at < in.end) {
		(void) json_value_free(value);
		return -EBADMSG;
	}
	*ret_value = value;
	return 0;
}

struct json_value *json_value_free(struct json_value *value)
{
	while (value) {
		struct json_value *next = value->next;

		(void) json_value_free(value->first); /* JSON_DEPTH_MAX deep */
		free(value->key);
		free(value->text);
		free(value);
		value = next;
	}
	return NULL;
}

const struct json_value *json_find(const struct json_value *object, const char *key)
{
	if (!object || object->kind != JSON_OBJECT)
		return NULL;
	for (const struct json_value *value = object->first; value; value = value->next)
		if (strcmp(value->key, key) == 0)
			return value;
	return NULL;
}

uint64_t json_find_number(const struct json_value *object, const char *key)
{
	const struct json_value *value = json_find(object, key);

	return value && value->kind == JSON_NUMBER ? value->number : 0;
}

const char *json_find_text(const struct json_value *object, const char *key)
{
	const struct json_value *value = json_find(object, key);

	return value && value->kind == JSON_TEXT ? value->text : "";
}
