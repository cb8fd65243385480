/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - one JSON value, written from its beginning to its end. It writes to the stream that it
 * is given, and does no other I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *to;
	bool comma; /* before what comes next */
};

/* @key: NULL in lists. @bracket: '{' or '['; the end takes its counterpart. */
void json_begin(struct json *json, const char *key, char bracket);
void json_end(struct json *json, char bracket);

void json_u64(struct json *json, const char *key, uint64_t number);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* A byte that is no part of UTF-8 becomes the lone surrogate \udcNN, as Python's os.fsdecode() has
 * it: os.fsencode() of what json.loads() gives is the name again. */
void json_text(struct json *json, const char *key, const char *bytes, size_t count);
void json_word(struct json *json, const char *key, const char *word);

/* How many bytes the character takes that stands first (RFC 3629); 0 if there is none. @count: not
 * 0. */
size_t json_character(const uint8_t *bytes, size_t count, uint32_t *ret_character);
bool json_is_control(uint32_t character);
