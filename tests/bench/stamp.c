/* SPDX-License-Identifier: Apache-2.0 */
#include "stamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t word_at(uint64_t offset, uint64_t generation)
{
	uint64_t word = offset * UINT64_C(0x9e3779b97f4a7c15) + generation;

	return (word ^ (word >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
}

void stamp_fill(uint8_t *to, uint32_t bytes, uint64_t offset, uint64_t generation)
{
	memcpy(to, &generation, sizeof generation);
	for (uint32_t i = 8; i < bytes; i += 8) {
		uint64_t word = word_at(offset + i, generation);

		memcpy(to + i, &word, sizeof word);
	}
}

const char *stamp_check(const uint8_t *data, uint32_t bytes, uint64_t offset, uint64_t generation)
{
	static _Thread_local char text[160];
	uint64_t found;

	memcpy(&found, data, sizeof found);
	if (found != generation) {
		snprintf(text, sizeof text,
		         "block at %" PRIu64 ": generation %" PRIu64 " read, %" PRIu64 " written",
		         offset, found, generation);
		return text;
	}
	for (uint32_t i = 8; i < bytes; i += 8) {
		memcpy(&found, data + i, sizeof found);
		if (found != word_at(offset + i, generation)) {
			snprintf(text, sizeof text,
			         "block at %" PRIu64 ", generation %" PRIu64
			         ": byte %u is not what was written",
			         offset, generation, i);
			return text;
		}
	}
	return NULL;
}
