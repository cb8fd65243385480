/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command is about: hosts, paths and jobs as they are written.
 */
#include "offload/cli/place.h"

#include <errno.h>
#include <string.h>

#include "support/check_main.h"

#define HERE "/srv/here"

static const struct {
	const char *text, *host, *path;
	enum place_kind kind;
	uint64_t job_id;
} good[] = {
	/* clang-format off */
	{ "/srv/a",                  "",            "/srv/a",     PLACE_FILE,   0 },
	{ "/srv/a:b",                "",            "/srv/a:b",   PLACE_FILE,   0 },
	{ "/srv/..a/b..",            "",            "/srv/..a/b..", PLACE_FILE, 0 },
	{ "a",                       "",            HERE "/a",    PLACE_FILE,   0 },
	{ "17a",                     "",            HERE "/17a",  PLACE_FILE,   0 },
	{ "./17",                    "",            HERE "/./17", PLACE_FILE,   0 },
	{ "nas:/srv/a",              "nas",         "/srv/a",     PLACE_FILE,   0 },
	{ "192.0.2.1:/srv/a:b",      "192.0.2.1",   "/srv/a:b",   PLACE_FILE,   0 },
	{ "[2001:db8::1]:/srv/a",    "2001:db8::1", "/srv/a",     PLACE_FILE,   0 },
	{ "[fe80::1%eth0]:/a",       "fe80::1%eth0", "/a",        PLACE_FILE,   0 },
	{ "17",                      "",            "",           PLACE_JOB,    17 },
	{ "nas:17",                  "nas",         "",           PLACE_JOB,    17 },
	{ "18446744073709551615",    "",            "",           PLACE_JOB,    UINT64_MAX },
	{ "[::1]:5",                 "::1",         "",           PLACE_JOB,    5 },
	{ "nas:",                    "nas",         "",           PLACE_SERVER, 0 },
	{ "[::1]:",                  "::1",         "",           PLACE_SERVER, 0 },
	/* clang-format on */
};

START_TEST(places_are_understood)
{
	struct place place;
	const char *why = NULL;

	ck_assert_int_eq(place_parse(good[_i].text, HERE, &place, &why), 0);
	ck_assert_ptr_null(why);
	ck_assert_str_eq(place.host, good[_i].host);
	ck_assert_str_eq(place.path, good[_i].path);
	ck_assert_int_eq(place.kind, good[_i].kind);
	ck_assert_uint_eq(place.job_id, good[_i].job_id);
}
END_TEST

static const struct {
	const char *text, *why;
} bad[] = {
	{ "", "empty" },
	{ ":/srv/a", "no host" },
	{ "[]:/srv/a", "no host" },
	{ "[::1]/srv/a", "IPv6" },
	{ "[::1:/srv/a", "IPv6" },
	{ "2001:db8::1:/srv/a", "IPv6" },
	{ "::1:/srv/a", "IPv6" },
	{ "nas:srv/a", "begins with /" },
	{ "nas:a", "begins with /" },
	{ "0", "no job" },
	{ "nas:0", "no job" },
	{ "18446744073709551616", "no job" },
	{ "/srv/../etc/passwd", "'..'" },
	{ "nas:/..", "'..'" },
	{ "..", "'..'" },
	{ "../a", "'..'" },
};

START_TEST(what_is_no_place_is_refused_with_a_reason)
{
	struct place place = { .job_id = 4711 };
	const char *why = NULL;

	ck_assert_int_eq(place_parse(bad[_i].text, HERE, &place, &why), -EINVAL);
	ck_assert_ptr_nonnull(why);
	ck_assert_msg(strstr(why, bad[_i].why), "%s: %s", bad[_i].text, why);
	ck_assert_uint_eq(place.job_id, 4711);
}
END_TEST

START_TEST(without_a_directory_names_begin_at_the_root)
{
	struct place place;
	const char *why = NULL;

	ck_assert_int_eq(place_parse("a", NULL, &place, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "begins with /"));
	ck_assert_int_eq(place_parse("a", "/", &place, &why), 0);
	ck_assert_str_eq(place.path, "/a");
}
END_TEST

/* @prefix, and 'n' up to @bytes in all. */
static const char *long_text(const char *prefix, size_t bytes, char *to)
{
	memset(to, 'n', bytes);
	memcpy(to, prefix, strlen(prefix));
	to[bytes] = '\0';
	return to;
}

START_TEST(limits_are_kept)
{
	struct place place;
	const char *why = NULL;
	char text[2048];

	ck_assert_int_eq(place_parse(long_text("/", 1024, text), HERE, &place, &why), 0);
	ck_assert_uint_eq(strlen(place.path), 1024);
	ck_assert_int_eq(place_parse(long_text("/", 1025, text), HERE, &place, &why), -EINVAL);
	ck_assert_int_eq(place_parse(long_text("", 1020, text), HERE, &place, &why), -EINVAL);
	long_text("", 255, text);
	memcpy(text + 255, ":/a", 4);
	ck_assert_int_eq(place_parse(text, HERE, &place, &why), 0);
	long_text("", 256, text);
	memcpy(text + 256, ":/a", 4);
	ck_assert_int_eq(place_parse(text, HERE, &place, &why), -EINVAL);
}
END_TEST

START_TEST(offload_x_gets_a_path_or_a_number)
{
	struct place place;
	const char *why;
	offload_which which;

	ck_assert_int_eq(place_parse("nas:/srv/a", NULL, &place, &why), 0);
	which = place_which(&place);
	ck_assert_int_eq(which.kind, OFFLOAD_WHICH_FILE);
	ck_assert_int_eq(which.offload_which_u.file.kind, OFFLOAD_FILE_PATH);
	ck_assert_uint_eq(which.offload_which_u.file.offload_file_u.path.offload_path_len, 6);
	ck_assert_int_eq(place_parse("nas:9", NULL, &place, &why), 0);
	which = place_which(&place);
	ck_assert_int_eq(which.kind, OFFLOAD_WHICH_ID);
	ck_assert_uint_eq(which.offload_which_u.id, 9);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_place");
	TCase *tcase = tcase_create("cli_place");

	tcase_add_loop_test(tcase, places_are_understood, 0, sizeof good / sizeof good[0]);
	tcase_add_loop_test(tcase, what_is_no_place_is_refused_with_a_reason, 0,
	                    sizeof bad / sizeof bad[0]);
	tcase_add_test(tcase, without_a_directory_names_begin_at_the_root);
	tcase_add_test(tcase, limits_are_kept);
	tcase_add_test(tcase, offload_x_gets_a_path_or_a_number);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
