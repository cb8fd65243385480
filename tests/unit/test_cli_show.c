/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs as a table, as a bar, as sentences and as JSON.
 */
#include "offload/cli/show.h"

#include <string.h>

#include "support/check_main.h"

#define TEXT(literal)                                               \
	{                                                           \
		sizeof(literal) - 1, (char *) (uintptr_t) (literal) \
	}

static offload_job running(void)
{
	return (offload_job){
		.id = 1764530034269000,
		.kind = OFFLOAD_KIND_CLONE,
		.state = OFFLOAD_STATE_RUNNING,
		.flags = OFFLOAD_CLONE_FAST | OFFLOAD_CLONE_NEW,
		.engine = TEXT("copy"),
		.bytes_done = 9ull << 29,
		.bytes_total = 10ull << 30,
		.bytes_moved = 1 << 20,
		.rate = 112 << 20,
		.created_ms = 1000,
		.started_ms = 2000,
		.source = TEXT("/srv/a\x1b"),
		.destination = TEXT("/srv/b"),
	};
}

static offload_job complete(offload_kind kind, unsigned flags)
{
	offload_job job = running();

	job.kind = kind;
	job.flags = flags;
	job.state = OFFLOAD_STATE_COMPLETE;
	job.bytes_done = job.bytes_total;
	job.finished_ms = 5500;
	job.has_checksum = true;
	job.source = (offload_path) TEXT("/srv/a");
	memset(job.checksum, 0xab, sizeof job.checksum);
	return job;
}

static FILE *to;
static char *text;
static size_t text_bytes;

static void text_begin(void)
{
	to = open_memstream(&text, &text_bytes);
}

static void text_is(const char *wanted)
{
	fclose(to);
	ck_assert_str_eq(text, wanted);
	free(text);
	text = NULL;
}

static void text_has(const char *wanted)
{
	fclose(to);
	ck_assert_msg(strstr(text, wanted), "%s is not in %s", wanted, text);
	free(text);
	text = NULL;
}

START_TEST(a_row_of_the_table)
{
	offload_job job = running();

	text_begin();
	show_jobs_row(to, &job, 62000);
	text_is("1764530034269000  clone     running    copy             4.5G/10G    112M/s"
	        "   1m01s  /srv/a\\x1b -> /srv/b\n");
}
END_TEST

START_TEST(the_table_has_a_column_for_each_head)
{
	offload_job job = running();
	char *head;

	text_begin();
	show_jobs_head(to);
	fclose(to);
	head = text;
	text_begin();
	show_jobs_row(to, &job, 62000);
	fclose(to);
	ck_assert_int_eq(strstr(head, "KIND") - head, strstr(text, "clone") - text);
	ck_assert_int_eq(strstr(head, "STATE") - head, strstr(text, "running") - text);
	ck_assert_int_eq(strstr(head, "ENGINE") - head, strstr(text, "copy") - text);
	ck_assert_int_eq(strstr(head, "RATE") + 4 - head, strstr(text, "/s ") + 2 - text);
	ck_assert_int_eq(strstr(head, "FILES") - head, strstr(text, "/srv/a") - text);
	free(head);
	free(text);
}
END_TEST

START_TEST(a_clock_that_is_behind_makes_no_age)
{
	offload_job job = running();

	text_begin();
	show_jobs_row(to, &job, 0);
	text_has("  0ms  ");
}
END_TEST

START_TEST(all_of_one_job)
{
	offload_job job = complete(OFFLOAD_KIND_CLONE, OFFLOAD_CLONE_VERIFY);

	job.status = OFFLOAD_ERR_DIFFERS;
	job.text = (offload_text) TEXT("comparing: they differ");
	text_begin();
	show_job(to, &job, "nas:", 65500);
	text_is("job:         1764530034269000, complete, begun 1m04s ago\n"
	        "task:        clone of nas:/srv/a to nas:/srv/b\n"
	        "engine:      copy\n"
	        "total:       10G (10737418240 bytes)\n"
	        "done:        10G (10737418240 bytes)\n"
	        "moved:       1M (1048576 bytes)\n"
	        "rate:        112M/s\n"
	        "time:        3.5s\n"
	        "checksum:    abababababababababababababababab\n"
	        "status:      the copy does not equal the source\n"
	        "text:        comparing: they differ\n");
}
END_TEST

#define AB "abababababababababababababababab"

static const struct {
	offload_kind kind;
	unsigned flags;
	const char *text;
} ends[] = {
	{ OFFLOAD_KIND_CLONE, 0, "cloned nas:/srv/a to nas:/srv/b: 10G by copy in 3.5s\n" },
	{ OFFLOAD_KIND_CLONE, OFFLOAD_CLONE_VERIFY,
	  "cloned nas:/srv/a to nas:/srv/b: 10G by copy in 3.5s, verified: " AB "\n" },
	{ OFFLOAD_KIND_RESERVE, 0, "reserved 10G of nas:/srv/a: 1M newly allocated\n" },
	{ OFFLOAD_KIND_CHECKSUM, 0, AB "  nas:/srv/a\n" },
	{ OFFLOAD_KIND_PUNCH, 0, "nas:/srv/a: 1M came back\n" },
	{ OFFLOAD_KIND_PUNCH, OFFLOAD_PUNCH_DRY_RUN,
	  "nas:/srv/a: 1M of zeros would become holes. Nothing was changed: --yes does it\n" },
};

START_TEST(what_was_done_in_a_line)
{
	offload_job job = complete(ends[_i].kind, ends[_i].flags);

	text_begin();
	show_done(to, &job, "nas:");
	text_is(ends[_i].text);
}
END_TEST

START_TEST(a_remark_is_told)
{
	offload_job job = complete(OFFLOAD_KIND_CLONE, 0);

	job.text = (offload_text) TEXT("space is not reserved any more");
	text_begin();
	show_done(to, &job, "");
	text_has("3.5s; space is not reserved any more\n");
}
END_TEST

START_TEST(a_job_as_json)
{
	offload_job job = running();

	text_begin();
	show_job_json(&(struct json){ to }, NULL, &job);
	text_is("{\"id\": 1764530034269000, \"kind\": \"clone\", \"state\": \"running\","
	        " \"status\": \"ok\", \"flags\": [\"fast\", \"new\"], \"engine\": \"copy\","
	        " \"bytes_done\": 4831838208, \"bytes_total\": 10737418240,"
	        " \"bytes_moved\": 1048576, \"rate\": 117440512, \"created_ms\": 1000,"
	        " \"started_ms\": 2000, \"finished_ms\": 0, \"checksum\": null, \"text\": \"\","
	        " \"source\": \"/srv/a\\u001b\", \"destination\": \"/srv/b\"}");
}
END_TEST

START_TEST(other_kinds_have_no_destination)
{
	offload_job job = complete(OFFLOAD_KIND_PUNCH, OFFLOAD_PUNCH_DRY_RUN);

	text_begin();
	show_job_json(&(struct json){ to }, NULL, &job);
	text_has("\"flags\": [\"dry_run\"]");
	text_begin();
	show_job_json(&(struct json){ to }, NULL, &job);
	text_has("\"checksum\": \"" AB "\", \"text\": \"\", \"source\": \"/srv/a\","
	         " \"destination\": null}");
}
END_TEST

START_TEST(stat_and_support)
{
	offload_stat stat = { 10ull << 30, 1 << 20, 512, 3, false };
	offload_support support = {
		OFFLOAD_CAN_CLONE | OFFLOAD_CAN_PUNCH,
		TEXT("ext4"),
		TEXT("0.1.0"),
	};

	text_begin();
	show_stat(to, &stat);
	text_is("total:       10G (10737418240 bytes)\n"
	        "allocated:   1M (1048576 bytes)\n"
	        "unique:      512 (512 bytes)\n"
	        "             it is not known here what other files share\n"
	        "extents:     3\n");
	text_begin();
	show_support(to, &support);
	text_is("file system: ext4\ncan:         clone, punch\nserver:      0.1.0\n");
	text_begin();
	show_stat_json(&(struct json){ to }, NULL, &stat);
	text_is("{\"total_bytes\": 10737418240, \"allocated_bytes\": 1048576,"
	        " \"unique_bytes\": 512, \"extents\": 3, \"knows_shared\": false}");
	text_begin();
	show_support_json(&(struct json){ to }, NULL, &support);
	text_is("{\"can\": [\"clone\", \"punch\"], \"file_system\": \"ext4\","
	        " \"server_version\": \"0.1.0\"}");
}
END_TEST

START_TEST(a_bar_fits_every_terminal)
{
	offload_job job = running();
	char bar[SHOW_BAR_BYTES];

	show_bar(bar, &job, 80);
	ck_assert_str_eq(bar, "[#################......................]  45%"
	                      "  4.5G/10G  112M/s  ETA 50s  copy");
	for (unsigned columns = 0; columns < 2 * SHOW_BAR_BYTES; columns++) {
		show_bar(bar, &job, columns);
		ck_assert_uint_lt(strlen(bar), columns < 1 ? 1 : columns);
	}
	show_bar(bar, &job, 40);
	ck_assert_str_eq(bar, " 45%  4.5G/10G  112M/s  ETA 50s  copy");
}
END_TEST

START_TEST(a_bar_tells_what_is_waited_for)
{
	offload_job job = running();
	char bar[SHOW_BAR_BYTES];

	job.state = OFFLOAD_STATE_QUEUED;
	show_bar(bar, &job, 80);
	ck_assert_ptr_nonnull(strstr(bar, "waiting"));
	job.state = OFFLOAD_STATE_RUNNING;
	job.rate = 0;
	show_bar(bar, &job, 80);
	ck_assert_ptr_nonnull(strstr(bar, "ETA ?"));
	job.bytes_done = UINT64_MAX; /* a server's mistake is not ours */
	show_bar(bar, &job, 80);
	ck_assert_str_eq(bar, "flushing it to the disk");
	job.flags |= OFFLOAD_CLONE_VERIFY;
	show_bar(bar, &job, 80);
	ck_assert_str_eq(bar, "reading both to compare them");
	job.bytes_total = job.bytes_done = 0;
	show_bar(bar, &job, 80);
	ck_assert_ptr_nonnull(strstr(bar, "  0%"));
}
END_TEST

START_TEST(a_bar_obeys_no_stranger)
{
	offload_job job = running();
	char bar[SHOW_BAR_BYTES];

	job.engine = (offload_engine) TEXT("\x1b[2J");
	show_bar(bar, &job, 80);
	ck_assert_ptr_null(strchr(bar, '\x1b'));
}
END_TEST

START_TEST(advice_is_for_those_who_can_follow_it)
{
	ck_assert_str_eq(show_advice(OFFLOAD_ERR_UNSUPPORTED, false), "");
	ck_assert_ptr_nonnull(strstr(show_advice(OFFLOAD_ERR_UNSUPPORTED, true), "--fast"));
	ck_assert_ptr_nonnull(strstr(show_advice(OFFLOAD_ERR_UNAVAILABLE, false), "systemctl"));
	ck_assert_str_eq(show_advice(OFFLOAD_OK, false), "");
	for (unsigned i = 0; i < 64; i++) {
		const char *advice = show_advice((offload_status) i, true);

		ck_assert(!advice[0] || advice[strlen(advice) - 1] != '.');
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_show");
	TCase *tcase = tcase_create("cli_show");

	tcase_add_test(tcase, a_row_of_the_table);
	tcase_add_test(tcase, the_table_has_a_column_for_each_head);
	tcase_add_test(tcase, a_clock_that_is_behind_makes_no_age);
	tcase_add_test(tcase, all_of_one_job);
	tcase_add_loop_test(tcase, what_was_done_in_a_line, 0, sizeof ends / sizeof ends[0]);
	tcase_add_test(tcase, a_remark_is_told);
	tcase_add_test(tcase, a_job_as_json);
	tcase_add_test(tcase, other_kinds_have_no_destination);
	tcase_add_test(tcase, stat_and_support);
	tcase_add_test(tcase, a_bar_fits_every_terminal);
	tcase_add_test(tcase, a_bar_tells_what_is_waited_for);
	tcase_add_test(tcase, a_bar_obeys_no_stranger);
	tcase_add_test(tcase, advice_is_for_those_who_can_follow_it);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
