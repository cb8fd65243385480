/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a configuration: sizes, and the word that was probably meant.
 */
#include "vfs/base/conf.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONF_NEAREST_BYTES_MAX = 63
}; /* longer words are near to nothing */

int conf_size_parse(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "KMGT";
	unsigned long long number;
	unsigned shift = 0;
	const char *unit;
	char *end;

	if (!isdigit((unsigned char) text[0]))
		return -EINVAL; /* strtoull() would take blanks and signs */
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (*end) {
		unit = strchr(units, toupper((unsigned char) *end));
		if (!unit || end[1])
			return -EINVAL;
		shift = 10 * (unsigned) (unit - units + 1);
	}
	if (number > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_bytes = number << shift;
	return 0;
}

static unsigned min_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Edits from @a to @b: characters added, left out, exchanged, or two neighbours swapped. */
static unsigned edit_distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	unsigned rows[3][CONF_NEAREST_BYTES_MAX + 1];
	unsigned *before = rows[0], *above = rows[1], *row = rows[2], *recycled;

	assert(a_bytes <= CONF_NEAREST_BYTES_MAX && b_bytes <= CONF_NEAREST_BYTES_MAX);

	for (unsigned j = 0; j <= b_bytes; j++)
		above[j] = before[j] = j;
	for (unsigned i = 1; i <= a_bytes; i++) {
		row[0] = i;
		for (unsigned j = 1; j <= b_bytes; j++) {
			int x = tolower((unsigned char) a[i - 1]);
			int y = tolower((unsigned char) b[j - 1]);

			row[j] = min_of(above[j - 1] + (x != y), min_of(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && x == tolower((unsigned char) b[j - 2]) &&
			    y == tolower((unsigned char) a[i - 2]))
				row[j] = min_of(row[j], before[j - 2] + 1);
		}
		recycled = before;
		before = above;
		above = row;
		row = recycled;
	}
	return above[b_bytes];
}

const char *conf_nearest(const char *word, const char *const *candidates, size_t count)
{
	size_t word_bytes = strlen(word), candidate_bytes;
	const char *nearest = NULL;
	unsigned distance, nearest_distance;

	if (word_bytes > CONF_NEAREST_BYTES_MAX)
		return NULL;
	/* A third of the letters may be wrong; of two letters, one. */
	nearest_distance = word_bytes < 6 ? 2 : (unsigned) word_bytes / 3 + 1;

	for (size_t i = 0; i < count; i++) {
		candidate_bytes = strlen(candidates[i]);
		if (candidate_bytes > CONF_NEAREST_BYTES_MAX)
			continue;
		distance = edit_distance(word, word_bytes, candidates[i], candidate_bytes);
		if (distance < nearest_distance && distance < candidate_bytes) {
			nearest_distance = distance;
			nearest = candidates[i];
		}
	}
	return nearest;
}
