/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/tally.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
	NS_PER_US = 1000
};

unsigned tally_bucket(uint64_t latency_ns)
{
	uint64_t us = latency_ns / NS_PER_US;
	unsigned bucket = us ? 64 - (unsigned) __builtin_clzll(us) : 0;

	return bucket < TALLY_BUCKETS ? bucket : TALLY_BUCKETS - 1;
}

void tally_count(struct tally *tally, const struct tally_event *event)
{
	tally->calls++;
	tally->errors += event->failed;
	tally->read_bytes += event->read_bytes;
	tally->written_bytes += event->written_bytes;
	tally->latency_ns += event->latency_ns;
	tally->latency[tally_bucket(event->latency_ns)]++;
}

void tally_add(struct tally *to, const struct tally *from)
{
	to->calls += from->calls;
	to->errors += from->errors;
	to->read_bytes += from->read_bytes;
	to->written_bytes += from->written_bytes;
	to->latency_ns += from->latency_ns;
	for (unsigned i = 0; i < TALLY_BUCKETS; i++)
		to->latency[i] += from->latency[i];
}

/* ---- the table ---- */

static bool table_begin(struct tally_table *table)
{
	if (table->rows)
		return true;
	table->rows = calloc(TALLY_PLACES, sizeof *table->rows);
	table->used = calloc(TALLY_PLACES, sizeof *table->used);
	if (table->rows && table->used)
		return true;
	tally_table_done(table);
	return false;
}

/* Of @set: the key's row, else a free one, else the one unused for longest; NULL: all are kept. */
static struct tally_row *set_find(struct tally_row *set, const uint8_t *key)
{
	struct tally_row *best = NULL;

	for (unsigned i = 0; i < TALLY_WAYS; i++) {
		struct tally_row *row = &set[i];

		if (!row->used) /* rows are taken in order: the key is not behind a free one */
			return row;
		if (memcmp(row->key, key, sizeof row->key) == 0)
			return row;
		if (row->users == 0 && (!best || row->last_use < best->last_use))
			best = row;
	}
	return best;
}

static void row_begin(struct tally_table *table, struct tally_row *row, const uint8_t *key)
{
	if (row->used)
		tally_add(&table->others.tally, &row->tally);
	else
		table->used[table->used_count++] = (uint16_t) (row - table->rows);
	memset(row, 0, sizeof *row);
	row->used = true;
	memcpy(row->key, key, sizeof row->key);
}

struct tally_row *tally_table_get(struct tally_table *table, const uint8_t key[TALLY_KEY_BYTES])
{
	struct tally_row *row;
	uint64_t hash;

	if (!table_begin(table))
		return &table->others;
	hash = XXH3_64bits(key, TALLY_KEY_BYTES);
	row = set_find(&table->rows[hash % TALLY_SETS * TALLY_WAYS], key);
	if (!row)
		return &table->others;
	if (!row->used || memcmp(row->key, key, sizeof row->key) != 0)
		row_begin(table, row, key);
	row->last_use = ++table->clock;
	return row;
}

unsigned tally_table_copy(const struct tally_table *table, struct tally_row to[TALLY_ROWS_MAX])
{
	unsigned count = 0;

	for (unsigned i = 0; i < table->used_count; i++)
		to[count++] = table->rows[table->used[i]];
	if (table->others.users || table->others.tally.calls)
		to[count++] = table->others;
	return count;
}

/* The others last. */
static int row_compare(const void *a, const void *b)
{
	const struct tally_row *one = a, *other = b;

	if (one->used != other->used)
		return one->used ? -1 : 1;
	return memcmp(one->key, other->key, sizeof one->key);
}

unsigned tally_rows_merge(struct tally_row *rows, unsigned count)
{
	unsigned kept = 0;

	if (count == 0)
		return 0;
	qsort(rows, count, sizeof *rows, row_compare);
	for (unsigned i = 1; i < count; i++) {
		if (row_compare(&rows[kept], &rows[i]) == 0) {
			rows[kept].users += rows[i].users;
			tally_add(&rows[kept].tally, &rows[i].tally);
		} else {
			rows[++kept] = rows[i];
		}
	}
	return kept + 1;
}

const struct tally_row *tally_rows_find(const struct tally_row *rows, unsigned count,
                                        const uint8_t key[TALLY_KEY_BYTES])
{
	struct tally_row wanted = { .used = true };

	memcpy(wanted.key, key, sizeof wanted.key);
	return count ? bsearch(&wanted, rows, count, sizeof *rows, row_compare) : NULL;
}

void tally_table_done(struct tally_table *table)
{
	free(table->rows);
	free(table->used);
	*table = (struct tally_table){ 0 };
}
