/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - record marking (RFC 5531 section 11): a stream of bytes into records, in place.
 *
 * The caller receives into a buffer and calls record_next() on what has not been consumed yet.
 * A record of one fragment - every real client's - is used where it lies. Fragments of others are
 * moved together inside the buffer, whatever their sizes: one byte, none, a mark cut in two.
 *
 * The mark never sizes anything here: a record that would be longer than the limit is refused as
 * soon as a mark says so, and need_bytes only tells how much is still to come.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum record_status {
	RECORD_READY, /* payload is a whole record */
	RECORD_MORE,  /* receive more behind what there is */
	RECORD_BAD,   /* over the limit: close the connection */
};

/* What is known of the record that is arriving. Zero it for a new connection, and keep it beside
 * the bytes: offsets are relative to the first byte not consumed, so those bytes may be copied to
 * another buffer between two calls. */
struct record_state {
	uint32_t joined_bytes; /* payload moved together so far, from offset 4 on */
	uint32_t scan_offset;  /* where the next fragment's mark begins; 0: at the very first */
};

struct record {
	enum record_status status;
	uint8_t *payload; /* RECORD_READY: in the caller's buffer */
	uint32_t payload_bytes;
	size_t consumed_bytes; /* RECORD_READY: skip these; the next record begins there */
	size_t have_bytes; /* what of the caller's bytes is left: moving fragments together takes
	                          the marks between them out */
	size_t need_bytes; /* RECORD_MORE: room needed in all, from the first byte, as known now */
};

/**
 * record_next() - the next record of a stream
 * @state:      see above; reset by itself when a record is ready
 * @bytes:      what was received and not consumed, beginning at a record's first mark
 * @have_bytes: how much that is
 * @bytes_max:  longest payload allowed; the same for all of a connection's calls
 *
 * Bytes before have_bytes may move, but only inside the record that is arriving: payloads returned
 * before stay where they are. Linear in what was received: no byte moves more than twice.
 */
struct record record_next(struct record_state *state, uint8_t *bytes, size_t have_bytes,
                          uint32_t bytes_max);
