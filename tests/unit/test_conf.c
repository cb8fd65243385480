/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files: what good ones set, and what is said about bad ones, with the right line.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/alloc_fail.h"
#include "support/check_main.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/conf.h"

struct values {
	uint64_t port, idle_timeout_s, memory_bytes;
	bool rpcbind;
	char *listen, *socket;
	unsigned level;
};

static const char *const levels[] = { "error", "warning", "info", NULL };

static const struct conf_key keys[] = {
	{ .section = "nfsd",
	  .name = "port",
	  .kind = CONF_NUMBER,
	  .offset = offsetof(struct values, port),
	  .min = 1,
	  .max = 65535,
	  .preset = 2049 },
	{ .section = "nfsd",
	  .name = "idle-timeout",
	  .kind = CONF_NUMBER,
	  .offset = offsetof(struct values, idle_timeout_s),
	  .max = 86400,
	  .preset = 300,
	  .unit = "seconds" },
	{ .section = "nfsd",
	  .name = "rpcbind",
	  .kind = CONF_BOOLEAN,
	  .offset = offsetof(struct values, rpcbind),
	  .preset = 1 },
	{ .section = "nfsd",
	  .name = "listen",
	  .kind = CONF_TEXT,
	  .offset = offsetof(struct values, listen) },
	{ .section = "nfsd",
	  .name = "log-level",
	  .kind = CONF_CHOICE,
	  .offset = offsetof(struct values, level),
	  .preset = 2,
	  .choices = levels },
	{ .section = "limits",
	  .name = "memory",
	  .kind = CONF_SIZE,
	  .offset = offsetof(struct values, memory_bytes),
	  .min = 1 << 20,
	  .max = UINT64_C(1) << 40,
	  .preset = 64 << 20 },
	{ .section = "offload",
	  .name = "socket",
	  .kind = CONF_TEXT,
	  .offset = offsetof(struct values, socket),
	  .preset_text = "/run/offload.sock" },
};

static struct values values;
static char reports[64 * 1024];
static unsigned report_count;

static void record(void *context, const char *file, unsigned line, const char *message)
{
	size_t used = strlen(reports);

	ck_assert_ptr_eq(context, &values);
	ck_assert_str_eq(file, "test.conf");
	ck_assert_ptr_null(strchr(message, '\n'));
	(void) snprintf(reports + used, sizeof reports - used, "%u: %s\n", line, message);
	report_count++;
}

static int parse_bytes(const char *text, size_t text_bytes)
{
	reports[0] = '\0';
	report_count = 0;
	return conf_parse(keys, ARRAY_COUNT(keys), &values, "test.conf", text, text_bytes, record,
	                  &values);
}

static int parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static void set_up(void)
{
	ck_assert_int_eq(conf_preset(keys, ARRAY_COUNT(keys), &values), 0);
}

static void tear_down(void)
{
	conf_done(keys, ARRAY_COUNT(keys), &values);
	ck_assert_ptr_null(values.socket);
}

static void assert_presets(void)
{
	ck_assert_uint_eq(values.port, 2049);
	ck_assert_uint_eq(values.idle_timeout_s, 300);
	ck_assert_uint_eq(values.memory_bytes, 64 << 20);
	ck_assert(values.rpcbind);
	ck_assert_ptr_null(values.listen);
	ck_assert_str_eq(values.socket, "/run/offload.sock");
	ck_assert_uint_eq(values.level, 2);
}

START_TEST(without_a_line_the_presets_count)
{
	static const char *const texts[] = { "", "\n\n", "# a\n ; b\n", "[nfsd]",
		                             "[limits] ; c\n" };

	ck_assert_int_eq(parse(texts[_i]), 0);
	ck_assert_str_eq(reports, "");
	assert_presets();
	ck_assert_int_eq(parse_bytes(NULL, 0), 0);
}
END_TEST

START_TEST(every_kind_is_read)
{
	ck_assert_int_eq(parse("\xef\xbb\xbf[nfsd]\r\n"
	                       "port = 20049 ; not the usual one\r\n"
	                       "\tidle-timeout=0\r\n"
	                       "   rpcbind : No\n"
	                       "LISTEN = 10.0.0.1, ::1\n"
	                       "log-level = Warning\n"
	                       "[Limits]\n"
	                       "memory = 2G\n"
	                       "[offload]\n"
	                       "socket = /a dir/with = and # inside"),
	                 0);
	ck_assert_str_eq(reports, "");
	ck_assert_uint_eq(values.port, 20049);
	ck_assert_uint_eq(values.idle_timeout_s, 0);
	ck_assert(!values.rpcbind);
	ck_assert_str_eq(values.listen, "10.0.0.1, ::1");
	ck_assert_uint_eq(values.level, 1);
	ck_assert_uint_eq(values.memory_bytes, UINT64_C(2) << 30);
	ck_assert_str_eq(values.socket, "/a dir/with = and # inside");
}
END_TEST

static const struct {
	const char *text;
	const char *report; /* all of it */
} mistakes[] = {
	{ "[nfsd]\n\nprot = 1\n", "3: There is no key 'prot' in [nfsd]. Did you mean 'port'?\n" },
	{ "[nfsd]\nxylophone = 1\n",
	  "2: There is no key 'xylophone' in [nfsd]. Take the line out.\n" },
	{ "[nfsd]\nmemory = 1M\n",
	  "2: 'memory' belongs into section [limits], not into [nfsd].\n" },
	{ "[limts]\nmemory = 1\n", "1: There is no section [limts]. Did you mean [limits]?\n" },
	{ "[xylophone]\nx\n", "1: There is no section [xylophone]. Take it and its keys out.\n" },
	{ "[nfsd\nport=0\n", "1: '[nfsd' has no ']'. Write '[section]'.\n" },
	{ "[nfsd] port=1\n", "1: There is text after the ']'. Put it on a line of its own.\n" },
	{ "port = 1\n",
	  "1: 'port = 1' stands before the first section. Write '[nfsd]' above it.\n" },
	{ "[nfsd]\nport\n", "2: 'port' has no '='. Write 'key = value'.\n" },
	{ "[nfsd]\nport", "2: 'port' has no '='. Write 'key = value'.\n" },
	{ "[nfsd]\n= 5\n", "2: There is no key before the '='. Write 'key = value'.\n" },
	{ "[nfsd]\nport =\n", "2: 'port' has no value. Write one after the '=', or take the line"
	                      " out to have the preset.\n" },
	{ "[nfsd]\nport = 5\n\nPort = 6\n",
	  "4: 'port' was given in line 2 already. Keep one of the two.\n" },
	{ "[nfsd]\nport = 65536\n", "2: '65536' is no valid value for 'port'. Write a whole number"
	                            " from 1 to 65535, for example 'port = 2049'.\n" },
	{ "[nfsd]\nport = -1\n", "2: '-1' is no valid value for 'port'. Write a whole number from 1"
	                         " to 65535, for example 'port = 2049'.\n" },
	{ "[nfsd]\nport = 1K\n", "2: '1K' is no valid value for 'port'. Write a whole number from 1"
	                         " to 65535, for example 'port = 2049'.\n" },
	{ "[nfsd]\nidle-timeout = 5 # s\n",
	  "2: '5 # s' is no valid value for 'idle-timeout'. Write a whole number of seconds from 0 "
	  "to"
	  " 86400, for example 'idle-timeout = 300'. A comment after a value begins with ' ;'.\n" },
	{ "[nfsd]\nrpcbind = maybe\n",
	  "2: 'maybe' is no valid value for 'rpcbind'. Write yes or no.\n" },
	{ "[nfsd]\nlog-level = warnign\n",
	  "2: 'warnign' is no valid value for 'log-level'. Did you mean 'warning'?\n" },
	{ "[nfsd]\nlog-level = 7\n",
	  "2: '7' is no valid value for 'log-level'. Write one of: error,"
	  " warning, info.\n" },
	{ "[limits]\nmemory = 1K\n",
	  "2: '1K' is no valid value for 'memory'. Write bytes, or with K, M, G or T after the "
	  "number"
	  " (powers of 1024), from 1M to 1T, for example 'memory = 64M'.\n" },
	{ "[limits]\nmemory = much\n",
	  "2: 'much' is no valid value for 'memory'. Write bytes, or with K, M, G or T after the"
	  " number (powers of 1024), from 1M to 1T, for example 'memory = 64M'.\n" },
	{ "[nfsd]\nlisten = a\x01\n",
	  "2: The line has bytes that are no text. Write it anew, in UTF-8.\n" },
};

START_TEST(a_mistake_is_told_with_its_line_and_what_to_write)
{
	ck_assert_int_eq(parse(mistakes[_i].text), -EINVAL);
	ck_assert_str_eq(reports, mistakes[_i].report);
}
END_TEST

START_TEST(all_mistakes_are_told_and_good_lines_count)
{
	ck_assert_int_eq(parse("x\n"
	                       "[nfsd]\n"
	                       "prot = 1\n"
	                       "port = 111\n"
	                       "rpcbind\n"
	                       "port = 222\n"
	                       "[none]\n"
	                       "anything goes here\n"
	                       "[limits]\n"
	                       "memory = 3M\n"
	                       "memory\n"),
	                 -EINVAL);
	ck_assert_uint_eq(report_count, 6);
	ck_assert_ptr_nonnull(strstr(reports, "\n11: "));
	ck_assert_uint_eq(values.port, 111);
	ck_assert_uint_eq(values.memory_bytes, 3 << 20);
}
END_TEST

START_TEST(nul_bytes_are_no_text)
{
	static const char text[] = "[nfsd]\nport = 1\0\n\0\nport = 3\n";

	ck_assert_int_eq(parse_bytes(text, sizeof text - 1), -EINVAL);
	ck_assert_uint_eq(report_count, 2);
	ck_assert_uint_eq(values.port, 3);
}
END_TEST

START_TEST(lines_too_long_for_inih_are_refused_not_broken_in_two)
{
	char text[1024] = "[nfsd]\nlisten = ";
	size_t start = strlen("[nfsd]\n"), line_bytes = 197;

	memset(text + strlen(text), 'a', start + line_bytes - strlen(text));
	ck_assert_int_eq(parse(text), 0);
	ck_assert_uint_eq(strlen(values.listen), line_bytes - strlen("listen = "));

	text[start + line_bytes] = 'a';
	ck_assert_int_eq(parse(text), -EINVAL);
	ck_assert_str_eq(reports, "2: The line has 198 bytes. Shorten it to 197.\n");
}
END_TEST

START_TEST(a_huge_line_is_one_mistake)
{
	size_t text_bytes = 10 * 1024 * 1024;
	AUTO(free_ptr) char *text = malloc(text_bytes);

	ck_assert_ptr_nonnull(text);
	memset(text, 'a', text_bytes);
	ck_assert_int_eq(parse_bytes(text, text_bytes), -EINVAL);
	ck_assert_uint_eq(report_count, 1);
}
END_TEST

START_TEST(another_kind_of_file_is_not_read_to_its_end)
{
	size_t text_bytes = 1024 * 1024;
	AUTO(free_ptr) char *text = malloc(text_bytes);

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < text_bytes; i++)
		text[i] = i % 2 ? '\n' : 'x';
	ck_assert_int_eq(parse_bytes(text, text_bytes), -EINVAL);
	ck_assert_uint_eq(report_count, 1001);
}
END_TEST

START_TEST(running_out_of_memory_is_told)
{
	static const char text[] = "[nfsd]\nlisten = a\n[offload]\nsocket = b\n";
	struct values fresh;
	bool failed;
	int r;

	for (unsigned n = 1; alloc_fail_begin(n); n++) {
		r = conf_preset(keys, ARRAY_COUNT(keys), &fresh);
		if (r == 0)
			r = conf_parse(keys, ARRAY_COUNT(keys), &fresh, "test.conf", text,
			               strlen(text), record, &values);
		failed = alloc_fail_end();
		conf_done(keys, ARRAY_COUNT(keys), &fresh);
		ck_assert_int_eq(r, failed ? -ENOMEM : 0);
		if (!failed)
			break;
	}
}
END_TEST

static const struct {
	const char *text;
	int result;
	uint64_t bytes;
} sizes[] = {
	/* clang-format off */
	{ "0",                    0,       0 },
	{ "4096",                 0,       4096 },
	{ "64K",                  0,       65536 },
	{ "64k",                  0,       65536 },
	{ "1M",                   0,       1 << 20 },
	{ "1G",                   0,       1 << 30 },
	{ "2T",                   0,       UINT64_C(2) << 40 },
	{ "18446744073709551615", 0,       UINT64_MAX },
	{ "18446744073709551616", -ERANGE, 0 },
	{ "16777215T",            0,       UINT64_C(16777215) << 40 },
	{ "16777216T",            -ERANGE, 0 },
	{ "",                     -EINVAL, 0 },
	{ "K",                    -EINVAL, 0 },
	{ " 1",                   -EINVAL, 0 },
	{ "+1",                   -EINVAL, 0 },
	{ "-1",                   -EINVAL, 0 },
	{ "1 K",                  -EINVAL, 0 },
	{ "1KB",                  -EINVAL, 0 },
	{ "1.5G",                 -EINVAL, 0 },
	{ "0x10",                 -EINVAL, 0 },
	/* clang-format on */
};

START_TEST(sizes_are_read_strictly)
{
	uint64_t bytes = 0;

	ck_assert_int_eq(conf_size_parse(sizes[_i].text, &bytes), sizes[_i].result);
	ck_assert_uint_eq(bytes, sizes[_i].bytes);
}
END_TEST

static const struct {
	const char *word, *nearest;
} words[] = {
	/* clang-format off */
	{ "no_root_sqaush", "no_root_squash" },
	{ "noroot_squash",  "no_root_squash" },
	{ "NO_ROOT_SQUASH", "no_root_squash" },
	{ "rwx",            "rw" },
	{ "wr",             "rw" },
	{ "asycn",          "async" },
	{ "x",              NULL },
	{ "qq",             NULL },
	{ "completely_different", NULL },
	{ "",               NULL },
	{ "0123456789012345678901234567890123456789012345678901234567890123456789", NULL },
	/* clang-format on */
};

START_TEST(the_nearest_word_is_near)
{
	static const char *const candidates[] = {
		"rw",
		"async",
		"root_squash",
		"no_root_squash",
		"no_root_squash_but_far_too_long_a_word_to_be_meant_by_anybody_at_all",
	};
	const char *nearest = conf_nearest(words[_i].word, candidates, ARRAY_COUNT(candidates));

	if (words[_i].nearest)
		ck_assert_pstr_eq(nearest, words[_i].nearest);
	else
		ck_assert_ptr_null(nearest);
	ck_assert_ptr_null(conf_nearest(words[_i].word, NULL, 0));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("conf");
	TCase *tcase = tcase_create("conf");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, without_a_line_the_presets_count, 0, 5);
	tcase_add_test(tcase, every_kind_is_read);
	tcase_add_loop_test(tcase, a_mistake_is_told_with_its_line_and_what_to_write, 0,
	                    ARRAY_COUNT(mistakes));
	tcase_add_test(tcase, all_mistakes_are_told_and_good_lines_count);
	tcase_add_test(tcase, nul_bytes_are_no_text);
	tcase_add_test(tcase, lines_too_long_for_inih_are_refused_not_broken_in_two);
	tcase_add_test(tcase, a_huge_line_is_one_mistake);
	tcase_add_test(tcase, another_kind_of_file_is_not_read_to_its_end);
	tcase_add_test(tcase, running_out_of_memory_is_told);
	tcase_add_loop_test(tcase, sizes_are_read_strictly, 0, ARRAY_COUNT(sizes));
	tcase_add_loop_test(tcase, the_nearest_word_is_near, 0, ARRAY_COUNT(words));
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
