/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_read.h - a JSON value as a tree. Pure.
 *
 * Numbers are whole and not negative, as json.h writes them; strings become bytes again, \udcNN
 * included.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	JSON_DEPTH_MAX = 16
};

enum json_kind {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_TEXT,
	JSON_LIST,
	JSON_OBJECT,
};

struct json_value {
	enum json_kind kind;
	char *key;       /* in an object */
	uint64_t number; /* JSON_NUMBER, JSON_BOOL */
	char *text;      /* JSON_TEXT, with a NUL behind it */
	size_t text_bytes;
	struct json_value *first, *next; /* what is in it, in order; what is beside it */
};

/* 0; -EBADMSG: no JSON, or not of that kind; -ENOMEM. */
int json_read(const char *text, size_t text_bytes, struct json_value **ret_value);
struct json_value *json_value_free(struct json_value *value);

/* What an object has under a name; NULL. Takes NULL. */
const struct json_value *json_find(const struct json_value *object, const char *key);

/* The same for numbers and strings: 0 and "" if it is not there. */
uint64_t json_find_number(const struct json_value *object, const char *key);
const char *json_find_text(const struct json_value *object, const char *key);
