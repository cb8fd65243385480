/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What json.h writes json_read.h reads again; what is no JSON is refused, wherever it breaks off.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "offload/cli/json_read.h"
#include "support/check_main.h"
#include "vfs/base/json.h"

static int read_text(const char *text, struct json_value **ret_value)
{
	return json_read(text, strlen(text), ret_value);
}

static char *sample(size_t *ret_bytes)
{
	static const char odd[] = "a\"\\\n\x01\xff\xc3\xa4\xe2\x82\xac\xc2\x85";
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_bytes);
	struct json json = { to };

	json_begin(&json, NULL, '{');
	json_u64(&json, "most", UINT64_MAX);
	json_text(&json, "odd", odd, sizeof odd - 1);
	json_bool(&json, "yes", true);
	json_bool(&json, "no", false);
	json_null(&json, "none");
	json_begin(&json, "list", '[');
	json_u64(&json, NULL, 1);
	json_begin(&json, NULL, '{');
	json_end(&json, '}');
	json_begin(&json, NULL, '[');
	json_end(&json, ']');
	json_end(&json, ']');
	json_end(&json, '}');
	ck_assert_int_eq(fclose(to), 0);
	return text;
}

START_TEST(what_is_written_is_read)
{
	const struct json_value *list;
	struct json_value *value;
	size_t bytes;
	char *text = sample(&bytes);

	ck_assert_int_eq(json_read(text, bytes, &value), 0);
	ck_assert_uint_eq(json_find_number(value, "most"), UINT64_MAX);
	ck_assert_str_eq(json_find_text(value, "odd"),
	                 "a\"\\\n\x01\xff\xc3\xa4\xe2\x82\xac\xc2\x85");
	ck_assert_uint_eq(json_find(value, "yes")->number, 1);
	ck_assert_uint_eq(json_find(value, "no")->number, 0);
	ck_assert_int_eq(json_find(value, "none")->kind, JSON_NULL);
	list = json_find(value, "list");
	ck_assert_int_eq(list->kind, JSON_LIST);
	ck_assert_uint_eq(list->first->number, 1);
	ck_assert_int_eq(list->first->next->kind, JSON_OBJECT);
	ck_assert_int_eq(list->first->next->next->kind, JSON_LIST);
	ck_assert_ptr_null(list->first->next->next->next);
	ck_assert_ptr_null(json_value_free(value));
	free(text);
}
END_TEST

START_TEST(what_is_not_there_is_zero)
{
	struct json_value *value;

	ck_assert_int_eq(read_text(" { \"a\" : \"1\" , \"b\" : 2 } \n", &value), 0);
	ck_assert_uint_eq(json_find_number(value, "a"), 0);
	ck_assert_uint_eq(json_find_number(value, "c"), 0);
	ck_assert_str_eq(json_find_text(value, "b"), "");
	ck_assert_ptr_null(json_find(json_find(value, "c"), "d"));
	ck_assert_ptr_null(json_find(json_find(value, "b"), "d"));
	(void) json_value_free(value);
}
END_TEST

START_TEST(every_beginning_of_a_value_is_refused)
{
	struct json_value *value;
	size_t bytes;
	char *text = sample(&bytes);

	for (size_t i = 0; i < bytes; i++)
		ck_assert_int_eq(json_read(text, i, &value), -EBADMSG);
	free(text);
}
END_TEST

START_TEST(what_is_no_json_is_refused)
{
	static const char *const bad[] = {
		"",
		"x",
		"{]",
		"[1 2]",
		"[1,]",
		"{\"a\"}",
		"{1: 2}",
		"\"\\x\"",
		"\"\\u12g4\"",
		"\"\\ud800\"",
		"1 1",
		"-1",
		"tru",
		"18446744073709551616",
		"99999999999999999999",
		"{\"a\": 1,}",
	};
	struct json_value *value;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		ck_assert_msg(read_text(bad[i], &value) == -EBADMSG, "%s", bad[i]);
}
END_TEST

START_TEST(depth_has_a_limit)
{
	char text[2 * JSON_DEPTH_MAX + 5] = { 0 };
	struct json_value *value;

	memset(text, '[', JSON_DEPTH_MAX + 1);
	memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	ck_assert_int_eq(read_text(text, &value), 0);
	(void) json_value_free(value);
	memset(text, '[', JSON_DEPTH_MAX + 2);
	memset(text + JSON_DEPTH_MAX + 2, ']', JSON_DEPTH_MAX + 2);
	ck_assert_int_eq(read_text(text, &value), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_json");
	TCase *tcase = tcase_create("cli_json");

	tcase_add_test(tcase, what_is_written_is_read);
	tcase_add_test(tcase, what_is_not_there_is_zero);
	tcase_add_test(tcase, every_beginning_of_a_value_is_refused);
	tcase_add_test(tcase, what_is_no_json_is_refused);
	tcase_add_test(tcase, depth_has_a_limit);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
