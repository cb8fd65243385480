/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, times, names of strangers, JSON.
 */
#include "offload/cli/text.h"

#include <string.h>

#include "support/check_main.h"

static const struct {
	uint64_t bytes;
	const char *text;
} sizes[] = {
	{ 0, "0" },
	{ 1, "1" },
	{ 1023, "1023" },
	{ 1024, "1K" },
	{ 1536, "1.5K" },
	{ 1024 * 1024 - 1, "1M" },
	{ 1024 * 1024, "1M" },
	{ 10ull << 30, "10G" },
	{ (10ull << 30) + (1ull << 29), "10.5G" },
	{ 1000ull << 30, "1000G" },
	{ 5ull << 40, "5T" },
	{ 3ull << 50, "3P" },
	{ UINT64_MAX, "16E" },
};

START_TEST(sizes_are_short)
{
	char text[TEXT_SHORT_BYTES];

	ck_assert_str_eq(text_size(sizes[_i].bytes, text), sizes[_i].text);
}
END_TEST

static const struct {
	uint64_t ms;
	const char *text;
} durations[] = {
	{ 0, "0ms" },          { 999, "999ms" },       { 1000, "1.0s" },    { 4567, "4.5s" },
	{ 59999, "59s" },      { 60000, "1m00s" },     { 192000, "3m12s" }, { 7500000, "2h05m" },
	{ 86400000, "1d00h" }, { UINT64_MAX, "ages" },
};

START_TEST(durations_are_short)
{
	char text[TEXT_SHORT_BYTES];

	ck_assert_str_eq(text_duration(durations[_i].ms, text), durations[_i].text);
}
END_TEST

/* Bytes; as a terminal gets them; as JSON has them. */
static const struct {
	const char *bytes;
	size_t count;
	const char *shown, *json;
} names[] = {
	/* clang-format off */
	{ "plain",            5, "plain",            "\"plain\"" },
	{ "",                 0, "",                 "\"\"" },
	{ "a\"b\\c",          5, "a\"b\\c",          "\"a\\\"b\\\\c\"" },
	{ "a\nb\x1b[m\x7f",   7, "a\\x0ab\\x1b[m\\x7f", "\"a\\u000ab\\u001b[m\\u007f\"" },
	{ "a\0b",             3, "a\\x00b",          "\"a\\u0000b\"" },
	{ "\xc3\xa4",         2, "\xc3\xa4",         "\"\xc3\xa4\"" },
	{ "\xe2\x82\xac",     3, "\xe2\x82\xac",     "\"\xe2\x82\xac\"" },
	{ "\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"" },
	{ "\xc2\x9b" "1m",    4, "\\xc2\\x9b1m",     "\"\\u009b1m\"" }, /* control character */
	{ "\xff",             1, "\\xff",            "\"\\udcff\"" },
	{ "\xc3",             1, "\\xc3",            "\"\\udcc3\"" }, /* cut */
	{ "\xc3(",            2, "\\xc3(",           "\"\\udcc3(\"" },
	{ "\xc0\xaf",         2, "\\xc0\\xaf",       "\"\\udcc0\\udcaf\"" }, /* overlong */
	{ "\xe0\x80\xaf",     3, "\\xe0\\x80\\xaf",  "\"\\udce0\\udc80\\udcaf\"" },
	{ "\xed\xa0\x80",     3, "\\xed\\xa0\\x80",  "\"\\udced\\udca0\\udc80\"" }, /* surrogate */
	{ "\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80", "\"\\udcf4\\udc90\\udc80\\udc80\"" },
	{ "\xf0\x9f\x98",     3, "\\xf0\\x9f\\x98",  "\"\\udcf0\\udc9f\\udc98\"" },
	/* clang-format on */
};

START_TEST(strange_names_harm_nobody)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);
	struct json json = { to };

	text_put(to, names[_i].bytes, names[_i].count);
	fflush(to);
	ck_assert_str_eq(text, names[_i].shown);
	rewind(to);
	json_text(&json, NULL, names[_i].bytes, names[_i].count);
	fclose(to);
	ck_assert_uint_eq(bytes, strlen(names[_i].json));
	ck_assert_mem_eq(text, names[_i].json, bytes);
	free(text);
}
END_TEST

START_TEST(json_nests)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);
	struct json json = { to };

	json_begin(&json, NULL, '{');
	json_begin(&json, "list", '[');
	json_end(&json, ']');
	json_begin(&json, "two", '[');
	json_u64(&json, NULL, UINT64_MAX);
	json_word(&json, NULL, "x");
	json_begin(&json, NULL, '{');
	json_bool(&json, "yes", true);
	json_bool(&json, "no", false);
	json_end(&json, '}');
	json_end(&json, ']');
	json_null(&json, "end");
	json_end(&json, '}');
	fclose(to);
	ck_assert_str_eq(text, "{\"list\": [], \"two\": [18446744073709551615, \"x\","
	                       " {\"yes\": true, \"no\": false}], \"end\": null}");
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_text");
	TCase *tcase = tcase_create("cli_text");

	tcase_add_loop_test(tcase, sizes_are_short, 0, sizeof sizes / sizeof sizes[0]);
	tcase_add_loop_test(tcase, durations_are_short, 0, sizeof durations / sizeof durations[0]);
	tcase_add_loop_test(tcase, strange_names_harm_nobody, 0, sizeof names / sizeof names[0]);
	tcase_add_test(tcase, json_nests);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
