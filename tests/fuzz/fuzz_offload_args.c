/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_offload_args - any bytes as arguments or results of lodestore's own program, alone or behind
 * the envelope of the relay.
 *
 * The first byte says which. What is accepted was read to its end; encoded anew it has the same
 * length and is read as the same; and what the lodestore command shows of it is text that no
 * terminal obeys.
 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/cli/show.h"
#include "rpcgen/offload.h"
#include "rpcgen/xdr_generated.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	INPUT_BYTES_MAX = 256 << 10,
	NOW_MS = 1764530034,
};

union value {
	offload_file file;
	offload_clone_args clone;
	offload_reserve_args reserve;
	offload_checksum_args checksum;
	offload_punch_args punch;
	offload_which which;
	offload_wait_args wait;
	offload_jobs_args list;
	offload_vaai vaai;
	offload_envelope envelope;
	offload_job_result job;
	offload_support_result support;
	offload_stat_result stat;
	offload_jobs_result jobs;
};

static void show_one_job(FILE *to, const offload_job *job)
{
	struct json json = { to };
	char bar[SHOW_BAR_BYTES];

	show_job(to, job, "nas:", NOW_MS);
	show_jobs_row(to, job, NOW_MS);
	show_done(to, job, "nas:");
	show_task(to, job, "nas:");
	show_bar(bar, job, 80);
	assert(strlen(bar) < 80);
	show_job_json(&json, NULL, job);
}

static void show_job_result(FILE *to, const union value *value)
{
	const offload_job_result *result = &value->job;

	if (result->status == OFFLOAD_OK)
		show_one_job(to, &result->offload_job_result_u.job);
	else
		text_put(to, result->offload_job_result_u.text.offload_text_val,
		         result->offload_job_result_u.text.offload_text_len);
}

static void show_jobs(FILE *to, const union value *value)
{
	const offload_jobs *list = &value->jobs.offload_jobs_result_u.list;

	if (value->jobs.status != OFFLOAD_OK)
		return;
	assert(list->jobs.jobs_len <= OFFLOAD_JOBS_MAX);
	for (u_int i = 0; i < list->jobs.jobs_len; i++)
		show_one_job(to, &list->jobs.jobs_val[i]);
}

static void show_support_result(FILE *to, const union value *value)
{
	struct json json = { to };

	if (value->support.status != OFFLOAD_OK)
		return;
	show_support(to, &value->support.offload_support_result_u.support);
	show_support_json(&json, NULL, &value->support.offload_support_result_u.support);
}

static void show_stat_result(FILE *to, const union value *value)
{
	struct json json = { to };

	if (value->stat.status != OFFLOAD_OK)
		return;
	show_stat(to, &value->stat.offload_stat_result_u.stat);
	show_stat_json(&json, NULL, &value->stat.offload_stat_result_u.stat);
}

static const struct {
	xdrproc_t code;
	void (*show)(FILE *to, const union value *value);
} kinds[] = {
	{ (xdrproc_t) xdr_offload_file },
	{ (xdrproc_t) xdr_offload_clone_args },
	{ (xdrproc_t) xdr_offload_reserve_args },
	{ (xdrproc_t) xdr_offload_checksum_args },
	{ (xdrproc_t) xdr_offload_punch_args },
	{ (xdrproc_t) xdr_offload_which },
	{ (xdrproc_t) xdr_offload_wait_args },
	{ (xdrproc_t) xdr_offload_jobs_args },
	{ (xdrproc_t) xdr_offload_vaai },
	{ (xdrproc_t) xdr_offload_envelope },
	{ (xdrproc_t) xdr_offload_job_result, show_job_result },
	{ (xdrproc_t) xdr_offload_support_result, show_support_result },
	{ (xdrproc_t) xdr_offload_stat_result, show_stat_result },
	{ (xdrproc_t) xdr_offload_jobs_result, show_jobs },
};

enum {
	KIND_COUNT = sizeof kinds / sizeof kinds[0],
};

static void check_shown(unsigned kind, const union value *value)
{
	char *text = NULL;
	size_t text_bytes;
	FILE *to;

	if (!kinds[kind].show)
		return;
	to = open_memstream(&text, &text_bytes);
	assert(to);
	kinds[kind].show(to, value);
	assert(fclose(to) == 0);
	for (size_t at = 0; at < text_bytes; at++)
		assert(text[at] == '\n' || ((unsigned char) text[at] >= ' ' && text[at] != 0x7f));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t anew[INPUT_BYTES_MAX], again[INPUT_BYTES_MAX];
	union value value, read;
	unsigned kind;
	xdrproc_t code;

	if (size == 0 || size > INPUT_BYTES_MAX)
		return 0;
	kind = data[0] % KIND_COUNT;
	code = kinds[kind].code;
	data++;
	size--;
	if (xdr_args_decode(code, &value, sizeof value, data, size) < 0)
		return 0;
	assert(xdr_result_encode(code, &value, anew, sizeof anew) == (int) size);
	check_shown(kind, &value);
	assert(xdr_args_decode(code, &read, sizeof read, anew, size) == 0);
	assert(xdr_result_encode(code, &read, again, sizeof again) == (int) size);
	assert(memcmp(anew, again, size) == 0);
	xdr_free(code, &value);
	xdr_free(code, &read);
	return 0;
}
