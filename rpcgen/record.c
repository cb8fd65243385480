/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Record marking - RFC 5531 section 11.
 *
 * Fragments are moved together behind the record's first mark. While a call works, three places
 * matter, and they never change their order:
 *
 *     bytes       + 4 + joined_bytes     scan              bytes + have_bytes
 *     | mark | joined payload | old marks | mark | fragment ... |
 *
 * Every byte moves at most twice, whatever the sizes of fragments and receives: once when its
 * fragment is whole and joins, and at most once with the tail that a call leaves behind (from then
 * on the tail lies directly behind the joined payload, and stays there).
 */
#include "rpcgen/record.h"

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <string.h>

enum {
	MARK_BYTES = 4,
};

#define MARK_LAST UINT32_C(0x80000000)

static uint32_t mark_read(const uint8_t *at)
{
	uint32_t mark;

	memcpy(&mark, at, sizeof mark);
	return be32toh(mark);
}

/* The record's payload is whole; it ends at @scan. */
static struct record record_ready(struct record_state *state, uint8_t *bytes, size_t have_bytes,
                                  size_t scan)
{
	struct record record = {
		.status = RECORD_READY,
		.payload = bytes + MARK_BYTES,
		.payload_bytes = state->joined_bytes,
		.consumed_bytes = scan,
		.have_bytes = have_bytes,
	};

	*state = (struct record_state){ 0 };
	return record;
}

/* The fragment whose mark is at @scan is not whole: @more_bytes with its mark, as known now. */
static struct record record_more(struct record_state *state, uint8_t *bytes, size_t have_bytes,
                                 size_t scan, size_t more_bytes)
{
	size_t joined_end = scan == 0 ? 0 : MARK_BYTES + (size_t) state->joined_bytes;
	size_t tail_bytes = have_bytes - scan;

	assert(joined_end <= scan);
	if (joined_end < scan)
		memmove(bytes + joined_end, bytes + scan, tail_bytes);
	state->scan_offset = (uint32_t) joined_end;
	return (struct record){
		.status = RECORD_MORE,
		.have_bytes = joined_end + tail_bytes,
		.need_bytes = joined_end + more_bytes,
	};
}

struct record record_next(struct record_state *state, uint8_t *bytes, size_t have_bytes,
                          uint32_t bytes_max)
{
	size_t scan = state->scan_offset;

	assert(scan <= have_bytes);
	assert(scan == 0 || scan == MARK_BYTES + (size_t) state->joined_bytes);

	for (;;) {
		size_t left_bytes = have_bytes - scan;
		uint32_t mark, fragment_bytes;

		if (left_bytes < MARK_BYTES)
			return record_more(state, bytes, have_bytes, scan, MARK_BYTES);

		mark = mark_read(bytes + scan);
		fragment_bytes = mark & ~MARK_LAST;
		if (fragment_bytes > bytes_max - state->joined_bytes)
			return (struct record){ .status = RECORD_BAD, .have_bytes = have_bytes };
		if (left_bytes - MARK_BYTES < fragment_bytes)
			return record_more(state, bytes, have_bytes, scan,
			                   MARK_BYTES + (size_t) fragment_bytes);

		if (scan > 0 && fragment_bytes > 0)
			memmove(bytes + MARK_BYTES + state->joined_bytes, bytes + scan + MARK_BYTES,
			        fragment_bytes);
		state->joined_bytes += fragment_bytes;
		scan += MARK_BYTES + (size_t) fragment_bytes;
		if (mark & MARK_LAST)
			return record_ready(state, bytes, have_bytes, scan);
	}
}
