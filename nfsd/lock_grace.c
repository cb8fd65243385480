/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/lock_grace.h"

void lock_grace_begin(struct lock_grace *grace, unsigned hosts, uint64_t now_ms, uint64_t grace_ms)
{
	grace->until_ms = hosts ? now_ms + grace_ms : 0;
}

bool lock_grace_lasts(const struct lock_grace *grace, uint64_t now_ms)
{
	return now_ms < grace->until_ms;
}

bool lock_grace_admits(const struct lock_grace *grace, uint64_t now_ms, bool reclaim)
{
	return lock_grace_lasts(grace, now_ms) == reclaim;
}

int32_t lock_state_after(int32_t state)
{
	uint32_t next = ((uint32_t) state | 1) + (state & 1 ? 2 : 0);

	return (int32_t) (next & INT32_MAX);
}

bool lock_state_is_newer(int32_t known, int32_t told)
{
	if (known == 0 || told == 0)
		return false;
	return (int32_t) ((uint32_t) told - (uint32_t) known) > 0;
}
