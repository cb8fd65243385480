/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_job - any bytes as a job's record in the sidecar's journal.
 *
 * An odd first byte: what follows is cut into lines and ended with the checksum that it should
 * have, so that changed fields are read too and not just refused for their sum.
 *
 * What is accepted is within job.h's bounds and, printed, is read as the same record; one byte
 * less or changed, it is none.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "offload/job.h"
#include "vfs/base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	END_BYTES = 32,
};

static bool is_ended(const char *text, size_t bytes)
{
	return memchr(text, '\0', bytes) != NULL;
}

static void check_file(const struct job_file *file)
{
	assert(file->handle.count <= VFS_HANDLE_BYTES_MAX);
	assert(file->dir.count <= VFS_HANDLE_BYTES_MAX);
	assert(is_ended(file->name, sizeof file->name));
	assert(is_ended(file->shown, sizeof file->shown));
}

static void check_record(const struct job_record *record)
{
	assert(record->id != 0);
	assert(record->phase <= JOB_ENDED);
	assert(record->cred.group_count <= VFS_GROUPS_MAX);
	assert(is_ended(record->engine, sizeof record->engine));
	assert(is_ended(record->text, sizeof record->text));
	check_file(&record->source);
	check_file(&record->destination);
	(void) job_is_live(record);
	(void) job_is_expired(record, UINT64_MAX);
	(void) job_rate(record, 0);
	(void) job_is_same(record, record); /* of handles that are none, no two are the same */
}

static void check_round_trip(const struct job_record *record, uint8_t chance)
{
	static char text[JOB_RECORD_TEXT_BYTES], again[JOB_RECORD_TEXT_BYTES];
	struct job_record read;
	size_t bytes = job_print(record, text), at = (size_t) chance * bytes / 256;

	assert(bytes < sizeof text && text[bytes] == '\0');
	assert(job_parse(text, bytes, &read) == 0);
	assert(job_print(&read, again) == bytes && memcmp(text, again, bytes) == 0);

	assert(job_parse(text, at, &read) == -EBADMSG);
	text[at] ^= 1;
	assert(job_parse(text, bytes, &read) == -EBADMSG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free_ptr) char *text = NULL;
	struct job_record record;
	size_t text_bytes;

	if (size == 0)
		return 0;
	text_bytes = size - 1;
	text = malloc(text_bytes + END_BYTES);
	assert(text);
	memcpy(text, data + 1, text_bytes);
	if (data[0] & 1)
		text_bytes += (size_t) snprintf(text + text_bytes, END_BYTES,
		                                "end %016" PRIx64 "\n",
		                                (uint64_t) XXH3_64bits(text, text_bytes));
	text = realloc(text,
	               text_bytes ? text_bytes : 1); /* a sanitizer sees what is read behind */
	assert(text);
	if (job_parse(text, text_bytes, &record) < 0)
		return 0;
	check_record(&record);
	check_round_trip(&record, data[0]);
	return 0;
}
