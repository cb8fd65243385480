/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.h - counting calls: how many, how much, how long they took. Pure.
 *
 * A tally is counted into by one thread. Tallies of several are added up for whoever looks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* Bucket n has the calls that took less than 2^n us, and not less than 2^(n-1); the last
	 * one all that took longer. */
	TALLY_BUCKETS = 26,

	TALLY_KEY_BYTES = 16,
	TALLY_WAYS = 8, /* places that a key may be at */
	TALLY_SETS = 128,
	TALLY_PLACES = TALLY_SETS * TALLY_WAYS,
};

struct tally {
	uint64_t calls, errors;
	uint64_t read_bytes, written_bytes;
	uint64_t latency_ns; /* of all calls together */
	uint64_t latency[TALLY_BUCKETS];
};

struct tally_event {
	bool failed;
	uint32_t read_bytes, written_bytes;
	uint64_t latency_ns;
};

unsigned tally_bucket(uint64_t latency_ns);
void tally_count(struct tally *tally, const struct tally_event *event);
void tally_add(struct tally *to, const struct tally *from);

/* ---- a bounded table of tallies ---- */

struct tally_row {
	uint8_t key[TALLY_KEY_BYTES];
	bool used;
	unsigned users;    /* while there are any it keeps its place */
	size_t held_bytes; /* of memory, by its users (conn_receive.c) */
	uint64_t last_use; /* the table's clock */
	struct tally tally;
};

/* Zeroed: empty. Who finds no place is counted together with others; so is, from then on, the row
 * that was not used for longest when it has to go. */
struct tally_table {
	struct tally_row *rows; /* TALLY_PLACES, once there is one */
	uint16_t *used;         /* places in use, in the order of first use */
	unsigned used_count;
	uint64_t clock;
	struct tally_row others;
};

/* The key's row, made if need be; the others' if there is no place or no memory. It stays this
 * key's until the next call for another, or as long as it has users. */
struct tally_row *tally_table_get(struct tally_table *table, const uint8_t key[TALLY_KEY_BYTES]);

enum {
	TALLY_ROWS_MAX = TALLY_PLACES + 1
};

/* The rows in use and, if anybody is counted there, the others' (used: false): how many. */
unsigned tally_table_copy(const struct tally_table *table, struct tally_row to[TALLY_ROWS_MAX]);

/* Rows of several tables: sorted by key, those of one key added up. Returns how many are left. */
unsigned tally_rows_merge(struct tally_row *rows, unsigned count);

/* Of rows that are merged: the key's; NULL if it has none. */
const struct tally_row *tally_rows_find(const struct tally_row *rows, unsigned count,
                                        const uint8_t key[TALLY_KEY_BYTES]);

void tally_table_done(struct tally_table *table);
