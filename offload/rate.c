/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/rate.h"

enum {
	NS_PER_MS = 1000000,
};
static const uint64_t ns_per_s = 1000000000;

uint64_t rate_take(struct rate *rate, uint64_t now_ns, uint64_t bytes)
{
	uint64_t burst_ns = (uint64_t) RATE_BURST_MS * NS_PER_MS;

	if (rate->bytes_per_s == 0)
		return 0;
	if (rate->free_ns + burst_ns < now_ns)
		rate->free_ns = now_ns - burst_ns;
	if (rate->free_ns > now_ns)
		return rate->free_ns - now_ns;
	rate->free_ns += (uint64_t) ((__uint128_t) bytes * ns_per_s / rate->bytes_per_s);
	return 0;
}
