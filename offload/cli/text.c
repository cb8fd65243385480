/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/text.h"

#include <inttypes.h>
#include <string.h>

#include "vfs/base/cleanup.h"

enum {
	MS_PER_S = 1000,
	S_PER_MINUTE = 60,
	S_PER_HOUR = 3600,
	S_PER_DAY = 86400,
};

const char *text_size(uint64_t bytes, char to[TEXT_SHORT_BYTES])
{
	static const char units[] = "KMGTPE";
	uint64_t whole = bytes, rest = 0; /* in 1024ths */
	unsigned tenths, unit = 0;

	while (whole >= 1024) {
		rest = whole % 1024;
		whole /= 1024;
		unit++;
	}
	tenths = (unsigned) (rest * 10 + 512) / 1024;
	if (tenths == 10) {
		tenths = 0;
		whole++;
	}
	if (whole == 1024) {
		whole = 1;
		unit++;
	}
	if (unit == 0)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64, whole);
	else if (tenths == 0)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "%c", whole, units[unit - 1]);
	else
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 ".%u%c", whole, tenths, units[unit - 1]);
	return to;
}

const char *text_duration(uint64_t duration_ms, char to[TEXT_SHORT_BYTES])
{
	uint64_t s = duration_ms / MS_PER_S;

	if (s < 1)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "ms", duration_ms);
	else if (s < 10)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 ".%" PRIu64 "s", s,
		         duration_ms % MS_PER_S / 100);
	else if (s < S_PER_MINUTE)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "s", s);
	else if (s < S_PER_HOUR)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "m%02" PRIu64 "s", s / S_PER_MINUTE,
		         s % S_PER_MINUTE);
	else if (s < S_PER_DAY)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "h%02" PRIu64 "m", s / S_PER_HOUR,
		         s % S_PER_HOUR / S_PER_MINUTE);
	else if (s / S_PER_DAY < 10000)
		snprintf(to, TEXT_SHORT_BYTES, "%" PRIu64 "d%02" PRIu64 "h", s / S_PER_DAY,
		         s % S_PER_DAY / S_PER_HOUR);
	else
		snprintf(to, TEXT_SHORT_BYTES, "ages");
	return to;
}

void text_put(FILE *to, const char *bytes, size_t count)
{
	const uint8_t *at = (const uint8_t *) bytes;

	for (size_t i = 0, step; i < count; i += step) {
		uint32_t character;
		size_t shown = json_character(at + i, count - i, &character);

		step = shown ? shown : 1;
		if (shown && !json_is_control(character))
			fwrite(at + i, 1, step, to);
		else
			for (size_t j = i; j < i + step; j++)
				fprintf(to, "\\x%02x", at[j]);
	}
}
