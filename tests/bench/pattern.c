/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern.h"

#include <assert.h>

#include "tool.h"

enum {
	BOOT_RUN_CALLS_MAX = 32,
};

/* Of eight reads while a guest boots, how many are of which size: half are small, as pages that a
 * program touches; the rest are read-ahead. */
static const uint32_t boot_bytes[8] = {
	4 << 10, 4 << 10, 4 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10,
};

static void boot_next(struct pattern *pattern, uint64_t *ret_offset, uint32_t *ret_bytes)
{
	const uint64_t pages = pattern->file_bytes / PATTERN_BOOT_BYTES_MIN;

	*ret_bytes = boot_bytes[(random_next(&pattern->random) >> 32) % 8];
	if (pattern->run_left == 0 || pattern->file_bytes - pattern->next_offset < *ret_bytes) {
		pattern->run_left = 1 + (random_next(&pattern->random) >> 32) % BOOT_RUN_CALLS_MAX;
		pattern->next_offset = random_next(&pattern->random) %
		                       (pages - PATTERN_BOOT_BYTES_MAX / PATTERN_BOOT_BYTES_MIN +
		                        1) *
		                       PATTERN_BOOT_BYTES_MIN;
	}
	pattern->run_left--;
	*ret_offset = pattern->next_offset;
	pattern->next_offset += *ret_bytes;
}

void pattern_next(struct pattern *pattern, uint64_t *ret_offset, uint32_t *ret_bytes)
{
	const uint64_t blocks = pattern->file_bytes / pattern->block_bytes;

	assert(blocks > 0 && pattern->random != 0);
	if (pattern->kind == PATTERN_BOOT) {
		assert(pattern->file_bytes >= PATTERN_BOOT_BYTES_MAX);
		boot_next(pattern, ret_offset, ret_bytes);
		return;
	}
	*ret_bytes = pattern->block_bytes;
	if (pattern->kind == PATTERN_RANDOM) {
		*ret_offset = random_next(&pattern->random) % blocks * pattern->block_bytes;
		return;
	}
	*ret_offset = pattern->next_offset % (blocks * pattern->block_bytes);
	pattern->next_offset = *ret_offset + pattern->block_bytes;
}
