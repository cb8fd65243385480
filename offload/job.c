/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/job.h"

#include <assert.h>
#include <string.h>

enum {
	MS_PER_S = 1000
};

bool job_is_live(const struct job_record *record)
{
	return record->phase != JOB_ENDED;
}

bool job_is_into_existing(const struct job_record *record)
{
	/* A new destination has its handle noted only while it is placed, and afterwards. */
	return record->kind == OFFLOAD_KIND_CLONE && record->destination.handle.count > 0 &&
	       record->phase != JOB_PLACING;
}

bool job_is_slow(const struct job_record *record)
{
	/* Back in a queue, or out of it again. */
	return record->started_ms != 0 &&
	       (record->state == OFFLOAD_STATE_QUEUED || strcmp(record->engine, "copy") == 0 ||
	        strcmp(record->engine, "kernel") == 0);
}

void job_start(struct job_record *record, uint64_t now_ms)
{
	assert(job_is_live(record));
	record->state = OFFLOAD_STATE_RUNNING;
	if (record->started_ms == 0)
		record->started_ms = now_ms;
}

void job_enter(struct job_record *record, enum job_phase phase)
{
	switch (phase) {
	case JOB_ACCEPTED:
		assert(record->phase == JOB_PLACING || record->phase == JOB_ACCEPTED);
		break;
	case JOB_FILLING:
		assert(record->phase == JOB_ACCEPTED || record->phase == JOB_FILLING);
		break;
	case JOB_PLACING:
		assert(record->phase == JOB_ACCEPTED || record->phase == JOB_FILLING);
		break;
	case JOB_EMPTYING:
		assert(record->phase == JOB_FILLING || record->phase == JOB_EMPTYING);
		break;
	case JOB_ENDED:
		assert(record->phase != JOB_ENDED);
		break;
	}
	record->phase = phase;
}

void job_end(struct job_record *record, offload_status status, uint64_t now_ms)
{
	job_enter(record, JOB_ENDED);
	record->status = status;
	record->state = status == OFFLOAD_OK              ? OFFLOAD_STATE_COMPLETE
	                : status == OFFLOAD_ERR_CANCELLED ? OFFLOAD_STATE_CANCELLED
	                                                  : OFFLOAD_STATE_FAILED;
	record->finished_ms = now_ms;
}

/* By handle if both have one; a file that is still to be is known by its place. */
static bool files_equal(const struct job_file *one, const struct job_file *two)
{
	if (one->handle.count > 0 && two->handle.count > 0)
		return vfs_handle_is_same_file(&one->handle, &two->handle);
	return vfs_handle_is_same_file(&one->dir, &two->dir) && strcmp(one->name, two->name) == 0;
}

bool job_is_onto_itself(const struct job_record *record)
{
	return record->kind == OFFLOAD_KIND_CLONE &&
	       vfs_handle_is_same_file(&record->source.handle, &record->destination.handle);
}

bool job_is_same(const struct job_record *record, const struct job_record *wanted)
{
	if (record->kind != wanted->kind || record->flags != wanted->flags ||
	    record->reserve_bytes != wanted->reserve_bytes ||
	    !files_equal(&record->source, &wanted->source))
		return false;
	return record->kind != OFFLOAD_KIND_CLONE ||
	       files_equal(&record->destination, &wanted->destination);
}

bool job_is_fresh(const struct job_record *record, uint64_t now_ms)
{
	return record->state == OFFLOAD_STATE_COMPLETE &&
	       now_ms < record->finished_ms + (uint64_t) OFFLOAD_JOIN_S * MS_PER_S;
}

static bool writes(const struct job_record *record, const struct job_file *file)
{
	switch (record->kind) {
	case OFFLOAD_KIND_CLONE:
		return files_equal(&record->destination, file);
	case OFFLOAD_KIND_RESERVE:
	case OFFLOAD_KIND_PUNCH:
		return files_equal(&record->source, file);
	case OFFLOAD_KIND_CHECKSUM:
		return false;
	}
	return false;
}

static bool touches(const struct job_record *record, const struct job_file *file)
{
	return files_equal(&record->source, file) ||
	       (record->kind == OFFLOAD_KIND_CLONE && files_equal(&record->destination, file));
}

static bool writes_what_touches(const struct job_record *one, const struct job_record *two)
{
	return (writes(one, &one->source) && touches(two, &one->source)) ||
	       (one->kind == OFFLOAD_KIND_CLONE && touches(two, &one->destination));
}

bool job_conflicts(const struct job_record *record, const struct job_record *wanted)
{
	return job_is_live(record) &&
	       (writes_what_touches(record, wanted) || writes_what_touches(wanted, record));
}

bool job_is_for(const struct job_record *record, const struct job_file *file)
{
	return files_equal(
		record->kind == OFFLOAD_KIND_CLONE ? &record->destination : &record->source, file);
}

bool job_is_expired(const struct job_record *record, uint64_t now_ms)
{
	return !job_is_live(record) &&
	       now_ms >= record->finished_ms + (uint64_t) OFFLOAD_RESULT_S * MS_PER_S;
}

uint64_t job_rate(const struct job_record *record, uint64_t now_ms)
{
	uint64_t end_ms = job_is_live(record) ? now_ms : record->finished_ms;

	if (record->started_ms == 0 || end_ms <= record->started_ms)
		return record->started_ms && !job_is_live(record) ? record->bytes_done * MS_PER_S
		                                                  : 0;
	return (uint64_t) ((__uint128_t) record->bytes_done * MS_PER_S /
	                   (end_ms - record->started_ms));
}
