/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logger, by what arrives on stderr: each test runs in a process of its own, with stderr in a
 * file.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	OUTPUT_BYTES_MAX = 1024 * 1024,
	THREADS = 4,
	THREAD_LINES = 500,
};

static char output_path[] = "/tmp/test-log-XXXXXX";

static void set_up(void)
{
	int fd = mkostemp(output_path, O_CLOEXEC | O_APPEND);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(unsetenv("JOURNAL_STREAM"), 0);
}

static void tear_down(void)
{
	(void) unlink(output_path);
}

/* All that was written so far. */
static const char *output(void)
{
	static char text[OUTPUT_BYTES_MAX];
	AUTO(close_fd) int fd = open(output_path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes;

	ck_assert_int_ge(fd, 0);
	bytes = read(fd, text, sizeof text - 1);
	ck_assert_int_ge(bytes, 0);
	text[bytes] = '\0';
	return text;
}

static unsigned line_count(const char *text)
{
	unsigned count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

static void assert_matches(const char *text, const char *pattern)
{
	regex_t regex;

	ck_assert_int_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	ck_assert_msg(regexec(&regex, text, 0, NULL, 0) == 0, "'%s' does not match %s", text,
	              pattern);
	regfree(&regex);
}

static void use_journal(const char *format)
{
	char stream[64];
	struct stat st;

	ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
	(void) snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t) st.st_dev,
	                (uintmax_t) st.st_ino);
	ck_assert_int_eq(setenv("JOURNAL_STREAM", format ? format : stream, 1), 0);
}

START_TEST(a_plain_line_has_time_and_level)
{
	log_warn("export %s has %d hosts", "/srv", 3);
	assert_matches(output(), "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
	                         "\\.[0-9]{3}Z warning: export /srv has 3 hosts\n$");
}
END_TEST

START_TEST(the_journal_gets_priorities)
{
	use_journal(NULL);
	log_level_set(LOG_LEVEL_DEBUG);
	log_error("one");
	log_warn("two");
	log_info("three");
	log_debug("four");
	ck_assert_str_eq(output(), "<3>one\n<4>two\n<6>three\n<7>four\n");
}
END_TEST

START_TEST(another_stream_or_nonsense_is_no_journal)
{
	static const char *const streams[] = { "1:1", "nonsense", "" };

	use_journal(streams[_i]);
	log_info("here");
	assert_matches(output(), "^[0-9].*Z info: here\n$");
}
END_TEST

START_TEST(levels_above_the_set_one_are_not_even_evaluated)
{
	unsigned evaluated = 0;

	log_debug("%u", ++evaluated);
	log_level_set(LOG_LEVEL_ERROR);
	log_warn("%u", ++evaluated);
	log_info("%u", ++evaluated);
	log_always(LOG_LEVEL_WARNING, "%u", ++evaluated);
	ck_assert_uint_eq(evaluated, 0);
	ck_assert_str_eq(output(), "");
	log_error("%u", ++evaluated);
	ck_assert_uint_eq(line_count(output()), 1);
}
END_TEST

START_TEST(level_names_are_parsed)
{
	enum log_level level = LOG_LEVEL_DEBUG;

	ck_assert_int_eq(log_level_parse("error", &level), 0);
	ck_assert_int_eq(level, LOG_LEVEL_ERROR);
	ck_assert_int_eq(log_level_parse("debug", &level), 0);
	ck_assert_int_eq(level, LOG_LEVEL_DEBUG);
	ck_assert_int_eq(log_level_parse("loud", &level), -EINVAL);
	ck_assert_int_eq(level, LOG_LEVEL_DEBUG);
}
END_TEST

START_TEST(one_event_is_one_line_whatever_it_holds)
{
	log_info("a\nb\rc\x1b[31m\x7f\td");
	assert_matches(output(), "info: a[?]b[?]c[?]\\[31m[?][?]d\n$");
	ck_assert_uint_eq(line_count(output()), 1);
}
END_TEST

START_TEST(long_lines_are_cut_and_say_so)
{
	char text[3 * LOG_LINE_BYTES_MAX];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	log_info("%s", text);
	ck_assert_uint_le(strlen(output()), LOG_LINE_BYTES_MAX);
	ck_assert_uint_ge(strlen(output()), LOG_LINE_BYTES_MAX - 2);
	assert_matches(output(), "xxx[.][.][.]\n$");
}
END_TEST

START_TEST(errno_is_kept_and_printed)
{
	errno = ENOSPC;
	log_info("cannot write: %m");
	ck_assert_int_eq(errno, ENOSPC);
	log_flush(true);
	ck_assert_int_eq(errno, ENOSPC);
	assert_matches(output(), "cannot write: No space left on device\n$");
}
END_TEST

START_TEST(a_broken_stderr_harms_nobody)
{
	ck_assert_int_eq(close(STDERR_FILENO), 0);
	errno = 0;
	log_error("nobody reads this");
	ck_assert_int_eq(errno, 0);
}
END_TEST

START_TEST(a_site_admits_so_many_lines_a_second)
{
	struct log_site site = { 0 };

	for (uint64_t second = 1; second <= 3; second++) {
		for (unsigned i = 0; i < LOG_SITE_LINES_PER_S; i++)
			ck_assert(log_site_admit(&site, second));
		ck_assert(!log_site_admit(&site, second));
		ck_assert_uint_eq(site.suppressed_count, second);
	}
}
END_TEST

START_TEST(how_many_is_for_the_administrator)
{
	struct log_site site = { 0 };
	uint64_t before = log_suppressed_count();

	log_rate_set(2);
	ck_assert(log_site_admit(&site, 1));
	ck_assert(log_site_admit(&site, 1));
	ck_assert(!log_site_admit(&site, 1));
	ck_assert_uint_eq(log_suppressed_count(), before + 1);
	log_rate_set(LOG_SITE_LINES_PER_S);
	ck_assert(log_site_admit(&site, 1));
}
END_TEST

static void log_burst(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		log_info("burst");
}

START_TEST(what_was_suppressed_is_told_in_one_line)
{
	log_burst(200);
	log_flush(true);
	/* The burst may have met the turn of a second. */
	ck_assert_uint_le(line_count(output()), 2 * (LOG_SITE_LINES_PER_S + 1));
	assert_matches(output(), "warning: 1[0-9][0-9] similar lines suppressed "
	                         "\\(from .*test_log\\.c:[0-9]+\\)\n");
	log_flush(true);
	ck_assert_ptr_eq(strstr(strstr(output(), "similar") + 1, "similar"), NULL);
}
END_TEST

START_TEST(a_later_line_from_elsewhere_tells_what_was_suppressed)
{
	log_burst(200);
	ck_assert_int_eq(usleep(1100 * 1000), 0);
	log_info("elsewhere");
	assert_matches(output(), "similar lines suppressed.*\n.*info: elsewhere\n$");
}
END_TEST

START_TEST(several_sites_are_told_of_each)
{
	log_burst(100);
	for (unsigned i = 0; i < 100; i++)
		log_warn("another");
	log_flush(true);
	ck_assert_ptr_ne(strstr(strstr(output(), "similar") + 1, "similar"), NULL);
}
END_TEST

START_TEST(always_is_not_limited)
{
	for (unsigned i = 0; i < 100; i++)
		log_always(LOG_LEVEL_ERROR, "mistake %u", i);
	ck_assert_uint_eq(line_count(output()), 100);
}
END_TEST

static void *log_lines(void *argument)
{
	for (unsigned i = 0; i < THREAD_LINES; i++) {
		log_always(LOG_LEVEL_INFO, "thread line end");
		log_burst(1);
	}
	return NULL;
}

START_TEST(lines_of_threads_do_not_mix)
{
	pthread_t threads[THREADS];
	const char *line;
	unsigned whole_count = 0;

	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, log_lines, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	for (line = output(); (line = strstr(line, "Z info: thread line end\n")); line++)
		whole_count++;
	ck_assert_uint_eq(whole_count, THREADS * THREAD_LINES);
}
END_TEST

static const struct {
	const char *bytes;
	size_t count;
	size_t to_bytes;
	const char *escaped;
} escapes[] = {
	/* clang-format off */
	{ "plain name.vmdk", 15, 64, "plain name.vmdk" },
	{ "",                 0, 64, "" },
	{ NULL,               0,  8, "" },
	{ "a\nb",             3, 64, "a\\x0ab" },
	{ "\0\x1b\x7f\xff",   4, 64, "\\x00\\x1b\\x7f\\xff" },
	{ "\"'\\",            3, 64, "\\\"\\'\\\\" },
	{ "1234567",          7,  8, "1234567" },
	{ "12345678",         8,  8, "1234..." },
	{ "123\n56",          6,  8, "123..." },
	{ "1\n\n",            3,  8, "1..." },
	{ "\n\n",             2,  8, "\\x0a..." },
	/* clang-format on */
};

START_TEST(strangers_bytes_are_escaped_and_cut_at_whole_characters)
{
	char to[64];

	memset(to, 'z', sizeof to);
	ck_assert_ptr_eq(log_escape(escapes[_i].bytes, escapes[_i].count, to, escapes[_i].to_bytes),
	                 to);
	ck_assert_uint_lt(strlen(to), escapes[_i].to_bytes);
	ck_assert_str_eq(to, escapes[_i].escaped);
}
END_TEST

START_TEST(escaping_is_an_argument)
{
	log_info("no file \"%s\"", LOG_ESCAPED("evil\n\""));
	assert_matches(output(), "no file \"evil\\\\x0a\\\\\"\"\n$");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tcase = tcase_create("log");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, a_plain_line_has_time_and_level);
	tcase_add_test(tcase, the_journal_gets_priorities);
	tcase_add_loop_test(tcase, another_stream_or_nonsense_is_no_journal, 0, 3);
	tcase_add_test(tcase, levels_above_the_set_one_are_not_even_evaluated);
	tcase_add_test(tcase, level_names_are_parsed);
	tcase_add_test(tcase, one_event_is_one_line_whatever_it_holds);
	tcase_add_test(tcase, long_lines_are_cut_and_say_so);
	tcase_add_test(tcase, errno_is_kept_and_printed);
	tcase_add_test(tcase, a_broken_stderr_harms_nobody);
	tcase_add_test(tcase, a_site_admits_so_many_lines_a_second);
	tcase_add_test(tcase, how_many_is_for_the_administrator);
	tcase_add_test(tcase, what_was_suppressed_is_told_in_one_line);
	tcase_add_test(tcase, a_later_line_from_elsewhere_tells_what_was_suppressed);
	tcase_add_test(tcase, several_sites_are_told_of_each);
	tcase_add_test(tcase, always_is_not_limited);
	tcase_add_test(tcase, lines_of_threads_do_not_mix);
	tcase_add_loop_test(tcase, strangers_bytes_are_escaped_and_cut_at_whole_characters, 0,
	                    ARRAY_COUNT(escapes));
	tcase_add_test(tcase, escaping_is_an_argument);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
