/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot becomes Prometheus's text: values of labels escaped, buckets that add up, and no more
 * series than were promised.
 */
#include "nfsd/metrics.h"

#include <string.h>

#include "nfsd/prometheus.h"
#include "support/check_main.h"

enum {
	CLIENTS = 6
};

static struct {
	char *text;
	size_t bytes;
	FILE *to;
	struct summary summary;
	struct sidecar_seen sidecar;
	struct snapshot snapshot;
	struct metrics_series series;
	struct tally_row clients[CLIENTS + 1], exports[3];
	struct snapshot_export listed[2];
} t;

static void setup(void)
{
	memset(&t, 0, sizeof t);
	t.summary.clients = t.clients;
	t.summary.exports = t.exports;
	t.snapshot = (struct snapshot){
		.summary = &t.summary,
		.sidecar = &t.sidecar,
		.exports = t.listed,
		.exports_served = 1,
		.connections_limit = 10,
		.buffers_limit_bytes = 1000,
	};
	t.series.max = METRICS_CLIENTS_MAX;
	t.to = open_memstream(&t.text, &t.bytes);
	ck_assert_ptr_nonnull(t.to);
}

static void teardown(void)
{
	if (t.to)
		fclose(t.to);
	free(t.text);
}

static const char *written(void)
{
	fclose(t.to);
	t.to = NULL;
	return t.text;
}

/* The whole text of one scrape; valid until the next. */
static const char *scrape(void)
{
	teardown();
	t.text = NULL;
	t.to = open_memstream(&t.text, &t.bytes);
	ck_assert_ptr_nonnull(t.to);
	metrics_text(t.to, &t.snapshot, &t.series);
	return written();
}

static void must_have(const char *text, const char *line)
{
	ck_assert_msg(strstr(text, line) != NULL, "no %s in %s", line, text);
}

static void must_not_have(const char *text, const char *line)
{
	ck_assert_msg(strstr(text, line) == NULL, "%s is there", line);
}

/* ---- the format ---- */

static const struct {
	const char *value, *text;
} values[] = {
	{ "", "" },
	{ "/srv/lab", "/srv/lab" },
	{ "a\"b", "a\\\"b" },
	{ "a\\b", "a\\\\b" },
	{ "a\nb", "a\\nb" },
	{ "\\n", "\\\\n" },
	{ "tab\there", "tab\there" },
	{ "caf\xc3\xa9", "caf\xc3\xa9" },
	{ "bad\xff!", "bad\\\\xff!" },
	{ "cut\xc3", "cut\\\\xc3" },
	{ "\xf0\x9f\x92\xbe", "\xf0\x9f\x92\xbe" },
};

START_TEST(values_of_labels_are_escaped)
{
	prometheus_label_value(t.to, values[_i].value);
	ck_assert_str_eq(written(), values[_i].text);
}
END_TEST

START_TEST(a_family_has_its_help_and_type_and_samples)
{
	struct prometheus out = { t.to };

	prometheus_family(&out, "counter", "a_total", "What a is.");
	prometheus_u64(&out, "", NULL, UINT64_MAX);
	prometheus_u64(&out, "", LABELS({ "x", "1" }, { "y", "\"" }), 0);
	prometheus_ns(&out, "_sum", LABELS({ "x", "1" }), 1000000001);
	ck_assert_str_eq(written(), "# HELP a_total What a is.\n# TYPE a_total counter\n"
	                            "a_total 18446744073709551615\n"
	                            "a_total{x=\"1\",y=\"\\\"\"} 0\n"
	                            "a_total_sum{x=\"1\"} 1.000000001\n");
}
END_TEST

/* ---- what is told ---- */

START_TEST(a_histogram_adds_up)
{
	struct tally *read = &t.summary.procedures[COUNTERS_NFS][6];
	const char *text;

	for (uint64_t us = 1; us <= 1000000000; us *= 10)
		tally_count(read, &(struct tally_event){ .latency_ns = us * 1000 });
	text = scrape();
#define READ "{program=\"nfs\",procedure=\"READ\""
	must_have(text, "_bucket" READ ",le=\"0.000004\"} 1\n");
	must_have(text, "_bucket" READ ",le=\"0.000016\"} 2\n");
	must_have(text, "_bucket" READ ",le=\"1.048576\"} 7\n");
	must_have(text, "_bucket" READ ",le=\"16.777216\"} 8\n");
	must_have(text, "_bucket" READ ",le=\"+Inf\"} 10\n");
	must_have(text, "_count" READ "} 10\n");
	must_have(text, "_sum" READ "} 1111.111111000\n");
	must_have(text, "_count{program=\"nfs\",procedure=\"WRITE\"} 0\n"); /* not called yet */
	must_not_have(text, "program=\"mount\"");
}
END_TEST

START_TEST(each_error_and_refusal_has_its_name)
{
	const char *text;

	t.summary.statuses[0] = 3;
	t.summary.statuses[COUNTERS_STATUSES - 1] = 4;
	t.summary.refusals[REFUSED_HOST] = 5;
	text = scrape();
	must_have(text, "lodestore_errors_total{status=\"NFS3ERR_PERM\"} 3\n");
	must_have(text, "lodestore_errors_total{status=\"NFS3ERR_STALE\"} 0\n");
	must_have(text, "lodestore_errors_total{status=\"other\"} 4\n");
	must_have(text, "lodestore_refusals_total{reason=\"host\"} 5\n");
}
END_TEST

static void add_client(unsigned last_byte, uint64_t calls)
{
	struct tally_row *row = &t.clients[t.summary.client_count++];

	memset(row, 0, sizeof *row);
	row->used = true;
	memcpy(row->key, (uint8_t[]){ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0 }, 15);
	row->key[15] = (uint8_t) last_byte;
	row->users = 1;
	row->tally.calls = calls;
}

START_TEST(clients_beyond_the_limit_are_one)
{
	const char *text;

	t.series.max = 2;
	add_client(5, 10);
	add_client(7, 20);
	add_client(9, 40);
	t.clients[t.summary.client_count++] = (struct tally_row){ .tally.calls = 100 };
	text = scrape();
	must_have(text, "lodestore_client_calls_total{client=\"10.0.0.5\"} 10\n");
	must_have(text, "lodestore_client_calls_total{client=\"10.0.0.7\"} 20\n");
	must_have(text, "lodestore_client_calls_total{client=\"other\"} 140\n");
	must_have(text, "lodestore_client_connections{client=\"other\"} 1\n");
	must_not_have(text, "10.0.0.9");

	/* One that comes first in the table later takes nobody's place. */
	t.summary.client_count = 0;
	add_client(1, 1000);
	add_client(5, 11);
	text = scrape();
	must_have(text, "lodestore_client_calls_total{client=\"10.0.0.5\"} 11\n");
	must_have(text, "lodestore_client_calls_total{client=\"other\"} 1000\n");
	must_not_have(text, "10.0.0.1\"");
}
END_TEST

START_TEST(without_a_limit_for_clients_all_are_others)
{
	const char *text;

	t.series.max = 0;
	add_client(5, 10);
	text = scrape();
	must_have(text, "lodestore_client_calls_total{client=\"other\"} 10\n");
	must_not_have(text, "10.0.0.5");
}
END_TEST

START_TEST(exports_that_are_gone_are_counted_among_the_others)
{
	static char quoted[] = "/srv/\"a\\b\"\n", plain[] = "/srv/b";
	const char *text;

	t.listed[0] = (struct snapshot_export){ quoted, 7, { true, 1000, 400 } };
	t.listed[1] = (struct snapshot_export){ plain, 9, { false, 1, 1 } };
	t.snapshot.export_count = 2;
	for (unsigned i = 0; i < 2; i++) {
		t.exports[i].used = true;
		counters_export_key(i == 0 ? 7 : 8, t.exports[i].key);
		t.exports[i].tally.written_bytes = 100 + i;
	}
	t.exports[2].tally.written_bytes = 1000; /* the table's others */
	t.summary.export_count = 3;
	text = scrape();
	must_have(text, "lodestore_export_written_bytes_total"
	                "{export=\"/srv/\\\"a\\\\b\\\"\\n\"} 100\n");
	must_have(text, "lodestore_export_written_bytes_total{export=\"/srv/b\"} 0\n");
	must_have(text, "lodestore_export_written_bytes_total{export=\"other\"} 1101\n");
	must_have(text,
	          "lodestore_export_available_bytes{export=\"/srv/\\\"a\\\\b\\\"\\n\"} 400\n");
	must_not_have(text, "lodestore_export_available_bytes{export=\"/srv/b\"}");
}
END_TEST

START_TEST(the_sidecar_is_told_while_it_answers)
{
	static char reflink[] = "reflink";
	offload_total total = { .kind = OFFLOAD_KIND_CLONE,
		                .engine = { 7, reflink },
		                .state = OFFLOAD_STATE_COMPLETE,
		                .jobs = 2,
		                .bytes = 4096,
		                .moved_bytes = 1 };
	const char *text = scrape();

	must_have(text, "lodestore_offload_up 0\n");
	must_not_have(text, "lodestore_offload_jobs");
	t.sidecar.answers = true;
	t.sidecar.totals.ended = (__typeof__(t.sidecar.totals.ended)){ 1, &total };
	t.sidecar.totals.queued = 3;
	t.sidecar.totals.refused[OFFLOAD_ERR_ACCESS] = 6;
	text = scrape();
	must_have(text, "lodestore_offload_up 1\n");
	must_have(text, "lodestore_offload_jobs{state=\"queued\"} 3\n");
	must_have(text, "lodestore_offload_bytes_total"
	                "{kind=\"clone\",engine=\"reflink\",state=\"complete\"} 4096\n");
	must_have(text, "lodestore_offload_refusals_total{reason=\"access\"} 6\n");
	total.engine.offload_engine_len = 0;
	must_have(scrape(), "engine=\"none\"");
}
END_TEST

/* Such as "# TYPE lodestore_refusals_total counter": of sums over workers there are none. */
START_TEST(sums_are_left_out_while_a_worker_is_silent)
{
	static const char *const sums[] = {
		"lodestore_connections_accepted_total",
		"lodestore_calls_delayed_total",
		"lodestore_refusals_total",
		"lodestore_errors_total",
		"lodestore_connections_closed_total",
		"lodestore_call_duration_seconds",
		"lodestore_call_errors_total",
		"lodestore_export_calls_total",
		"lodestore_client_calls_total",
	};
	const char *text = scrape();

	for (size_t i = 0; i < ARRAY_COUNT(sums); i++)
		must_have(text, sums[i]);
	t.summary.silent = 1;
	text = scrape();
	for (size_t i = 0; i < ARRAY_COUNT(sums); i++)
		must_not_have(text, sums[i]);
	must_have(text, "lodestore_workers_silent 1\n");
	must_have(text, "lodestore_flushes_total");
	must_have(text, "lodestore_export_size_bytes");
	must_have(text, "lodestore_log_lines_suppressed_total");
}
END_TEST

/* ---- health ---- */

START_TEST(what_is_wrong_is_told_with_what_to_do)
{
	ck_assert_str_eq(snapshot_trouble(&t.snapshot), "");
	must_have(scrape(), "lodestore_healthy 1\n");
	t.snapshot.flush_failures = 1;
	must_have(snapshot_trouble(&t.snapshot), "dmesg");
	t.snapshot.exports_unserved = 1;
	must_have(snapshot_trouble(&t.snapshot), "journalctl");
	t.snapshot.exports_served = 0;
	must_have(snapshot_trouble(&t.snapshot), "lodestore-exports(5)");
	t.snapshot.buffers_used_bytes = 950;
	must_have(snapshot_trouble(&t.snapshot), "limits.buffer_bytes");
	t.summary.connections = 10;
	must_have(snapshot_trouble(&t.snapshot), "limits.connections");
	t.summary.silent = 1;
	must_have(snapshot_trouble(&t.snapshot), "worker");
	must_have(scrape(), "lodestore_healthy 0\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metrics");
	TCase *tcase = tcase_create("metrics");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, values_of_labels_are_escaped, 0,
	                    sizeof values / sizeof values[0]);
	tcase_add_test(tcase, a_family_has_its_help_and_type_and_samples);
	tcase_add_test(tcase, a_histogram_adds_up);
	tcase_add_test(tcase, each_error_and_refusal_has_its_name);
	tcase_add_test(tcase, clients_beyond_the_limit_are_one);
	tcase_add_test(tcase, without_a_limit_for_clients_all_are_others);
	tcase_add_test(tcase, exports_that_are_gone_are_counted_among_the_others);
	tcase_add_test(tcase, the_sidecar_is_told_while_it_answers);
	tcase_add_test(tcase, sums_are_left_out_while_a_worker_is_silent);
	tcase_add_test(tcase, what_is_wrong_is_told_with_what_to_do);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
