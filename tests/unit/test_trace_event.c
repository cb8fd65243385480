/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a call's arguments a trace keeps, and how it is told.
 */
#include "nfsd/trace_event.h"

#include <stdlib.h>
#include <string.h>

#include "rpcgen/mount3.h"
#include "rpcgen/nlm4.h"
#include "rpcgen/offload.h"
#include "support/check_main.h"
#include "vfs/base/cleanup.h"

static const uint8_t bytes[] = "abcdefgh";

static struct xdr_view view(const char *text)
{
	return (struct xdr_view){ (const uint8_t *) text, (uint32_t) strlen(text) };
}

static char *json_of(const struct trace_event *event)
{
	char *text;
	size_t count;
	FILE *to = open_memstream(&text, &count);

	trace_event_json(to, event);
	ck_assert_int_eq(fclose(to), 0);
	return text;
}

START_TEST(an_event_is_a_line)
{
	struct trace_event event = { .at_ms = 5,
		                     .latency_us = 7,
		                     .program = "nfs",
		                     .procedure = "WRITE",
		                     .answered = true,
		                     .status = 13 };
	union nfs3_args args = { .write = { .file = { bytes, 0 }, .offset = 8, .count = 9 } };
	AUTO(free_ptr) char *text = NULL;

	trace_event_args(&event, NFSPROC3_WRITE, &args);
	event.files[0].handle = 4711;
	text = json_of(&event);
	ck_assert_str_eq(text, "{\"at_ms\": 5, \"program\": \"nfs\", \"procedure\": \"WRITE\", "
	                       "\"files\": [{\"handle\": 4711, \"name\": \"\"}], \"offset\": 8, "
	                       "\"count\": 9, \"status\": 13, \"latency_us\": 7}\n");
}
END_TEST

START_TEST(two_names_are_two_files)
{
	struct trace_event event = { .program = "nfs", .procedure = "RENAME" };
	union nfs3_args args = { .rename = { { { bytes, 4 }, view("a\n") },
		                             { { bytes, 8 }, view("b") } } };
	AUTO(free_ptr) char *text = NULL;

	trace_event_args(&event, NFSPROC3_RENAME, &args);
	ck_assert_uint_ne(event.files[0].handle, event.files[1].handle);
	text = json_of(&event);
	ck_assert_ptr_nonnull(strstr(text, "\"a\\u000a\"}, {"));
	ck_assert_ptr_nonnull(strstr(text, "\"status\": null"));
	args = (union nfs3_args){ .link = { { bytes, 4 }, { { bytes, 8 }, view("c") } } };
	trace_event_args(&event, NFSPROC3_LINK, &args);
	ck_assert_int_eq(event.files[1].name[0], 'c');
}
END_TEST

START_TEST(long_names_are_cut)
{
	static char name[500];
	struct trace_event event = { .program = "nfs", .procedure = "LOOKUP" };
	union nfs3_args args = { .dirop = { { bytes, 4 }, { (const uint8_t *) name, 500 } } };

	trace_event_args(&event, NFSPROC3_LOOKUP, &args);
	ck_assert_uint_eq(event.files[0].name_bytes, TRACE_NAME_BYTES);
}
END_TEST

START_TEST(what_has_no_file_has_none)
{
	struct trace_event event = { .program = "nfs", .procedure = "NULL" };
	union nfs3_args args = { 0 };

	trace_event_args(&event, NFSPROC3_NULL, &args);
	ck_assert(!event.files[0].has_handle && !event.has_range);
	args.read = (struct nfs3_read_args){ { bytes, 4 }, 1, 2 };
	trace_event_args(&event, NFSPROC3_READ, &args);
	ck_assert_uint_eq(event.count, 2);
	args.commit = (struct nfs3_commit_args){ { bytes, 4 }, 3, 4 };
	trace_event_args(&event, NFSPROC3_COMMIT, &args);
	ck_assert_uint_eq(event.offset, 3);
}
END_TEST

static const struct {
	uint32_t program, procedure;
	uint32_t words[4];
	unsigned word_count;
	uint32_t status;
} answers[] = {
	{ NFS_PROGRAM, NFSPROC3_LOOKUP, { NFS3ERR_NOENT, 7 }, 2, NFS3ERR_NOENT },
	{ NFS_PROGRAM, 22, { NFS3ERR_NOTSUPP }, 1, NFS3ERR_NOTSUPP },
	{ NFS_PROGRAM, NFSPROC3_NULL, { 0 }, 0, 0 },
	{ MOUNT_PROGRAM, MOUNTPROC3_MNT, { MNT3ERR_ACCES }, 1, MNT3ERR_ACCES },
	{ MOUNT_PROGRAM, MOUNTPROC3_DUMP, { 1, 3, 0x61620000 }, 3, 0 },   /* a list's first row */
	{ MOUNT_PROGRAM, MOUNTPROC3_EXPORT, { 1, 3, 0x61620000 }, 3, 0 }, /* the same */
	{ NLM4_PROGRAM, NLMPROC4_LOCK, { 4, 0x61626364, NLM4_BLOCKED }, 3, NLM4_BLOCKED },
	{ NLM4_PROGRAM, NLMPROC4_LOCK, { 0, NLM4_DENIED }, 2, NLM4_DENIED }, /* no cookie */
	{ NLM4_PROGRAM, NLMPROC4_LOCK_MSG, { 0 }, 0, 0 },
	{ OFFLOAD_PROGRAM, OFFLOAD_CLONE, { OFFLOAD_ERR_BUSY }, 1, OFFLOAD_ERR_BUSY },
	{ 100000, 3, { 2049 }, 1, 0 }, /* GETPORT: a port */
};

START_TEST(an_answer_has_its_status_where_its_procedure_puts_it)
{
	struct trace_event event = { 0 };
	uint8_t results[sizeof answers[0].words];
	struct xdr_out out = xdr_out(results, sizeof results);

	for (unsigned i = 0; i < answers[_i].word_count; i++)
		xdr_put_u32(&out, answers[_i].words[i]);
	trace_event_results(&event, answers[_i].program, answers[_i].procedure, results,
	                    (size_t) (out.at - results));
	ck_assert_uint_eq(event.status, answers[_i].status);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_event");
	TCase *tcase = tcase_create("trace_event");

	tcase_add_test(tcase, an_event_is_a_line);
	tcase_add_test(tcase, two_names_are_two_files);
	tcase_add_test(tcase, long_names_are_cut);
	tcase_add_test(tcase, what_has_no_file_has_none);
	tcase_add_loop_test(tcase, an_answer_has_its_status_where_its_procedure_puts_it, 0,
	                    ARRAY_COUNT(answers));
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
