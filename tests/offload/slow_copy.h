/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_copy.h - a clone that is met under way.
 */
#pragma once

#include "offload/jobs_fixture.h"

/* Its job, which has begun to copy. */
static inline uint64_t begin_slow_copy(const char *source, const char *destination)
{
	struct job_record wanted = clone_of(source, destination, OFFLOAD_CLONE_VERIFY);
	struct job_record now;
	uint64_t id;

	settings.copy_rate = 8 * MIB;
	jobs = jobs_close(jobs);
	ck_assert_int_eq(jobs_open(vfs, &settings, &jobs), 0);
	ck_assert_int_eq(jobs_begin(jobs, &wanted, &id), 0);
	do {
		usleep(20000);
		ck_assert_int_eq(jobs_get(jobs, id, &now), 0);
	} while (job_is_live(&now) && now.bytes_moved == 0);
	ck_assert(job_is_live(&now));
	return id;
}
