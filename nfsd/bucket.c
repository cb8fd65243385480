/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/bucket.h"

#include <assert.h>

#define NS_PER_S UINT64_C(1000000000)

/* Rounded up, so that no rate is ever exceeded. */
static uint64_t cost_ns(uint64_t rate_per_s, uint32_t count)
{
	assert(rate_per_s > 0);
	return (count * NS_PER_S + rate_per_s - 1) / rate_per_s;
}

uint64_t bucket_take(struct bucket *bucket, uint64_t rate_per_s, uint32_t count, uint64_t now_ns)
{
	uint64_t wait_ns;

	if (bucket_is_full(bucket, now_ns))
		bucket->paid_ns = now_ns > BUCKET_BURST_NS ? now_ns - BUCKET_BURST_NS : 0;
	wait_ns = bucket->paid_ns > now_ns ? bucket->paid_ns - now_ns : 0;
	bucket->paid_ns += cost_ns(rate_per_s, count);
	return wait_ns;
}

void bucket_give_back(struct bucket *bucket, uint64_t rate_per_s, uint32_t count)
{
	uint64_t cost = cost_ns(rate_per_s, count);

	bucket->paid_ns -= cost < bucket->paid_ns ? cost : bucket->paid_ns;
}

bool bucket_is_full(const struct bucket *bucket, uint64_t now_ns)
{
	return bucket->paid_ns + BUCKET_BURST_NS <= now_ns || bucket->paid_ns == 0;
}
