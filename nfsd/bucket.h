/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bucket.h - a token bucket: so many a second, at most a tenth of that at once. Pure: what time it
 * is is an argument, in nanoseconds of any clock that starts at 0 and never goes back far.
 *
 * It does not count tokens but knows when all that was taken will have been paid for. So one amount
 * may be larger than what a whole second gives, and the next one waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_BURST_NS UINT64_C(100000000)

/* Zeroed: full. */
struct bucket {
	uint64_t paid_ns;
};

/* Take @count at @rate_per_s (not 0): returns for how many nanoseconds to wait before using it. Who
 * takes next waits behind that. The rate may differ from call to call. */
uint64_t bucket_take(struct bucket *bucket, uint64_t rate_per_s, uint32_t count, uint64_t now_ns);

/* What was taken was not used after all. */
void bucket_give_back(struct bucket *bucket, uint64_t rate_per_s, uint32_t count);

/* As good as a new one? */
bool bucket_is_full(const struct bucket *bucket, uint64_t now_ns);
