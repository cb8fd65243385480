/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_record - any stream, received in parts of any size.
 *
 * The first two bytes of the input say how to cut (a seed) and what the limit is; the rest is the
 * stream. However it is cut, record_next() must give the records that plain concatenation gives,
 * refuse where that refuses, never ask for more than the limit allows, and leave payloads alone
 * that it has handed out.
 */
#undef NDEBUG
#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rpcgen/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	RECORDS_MAX = 256,
	STREAM_BYTES_MAX = 1 << 16,
};

static const uint32_t limits[] = { 0, 1, 5, 64, 1000, STREAM_BYTES_MAX };

struct expected {
	uint8_t payload[STREAM_BYTES_MAX];
	size_t ends[RECORDS_MAX]; /* of each record, in payload */
	size_t count;
	bool bad;
};

struct receiver {
	struct record_state state;
	uint8_t *bytes; /* what was not consumed begins here */
	size_t have_bytes;
	const uint8_t *payloads[RECORDS_MAX];
	size_t count;
	bool bad;
	uint32_t random;
};

/* The record marking of RFC 5531 section 11 as plainly as it can be written. */
static void concatenate(const uint8_t *stream, size_t stream_bytes, uint32_t bytes_max,
                        struct expected *expected)
{
	size_t begin = 0, end = 0;

	expected->count = 0;
	expected->bad = false;
	while (stream_bytes >= 4 && expected->count < RECORDS_MAX) {
		uint32_t mark, fragment_bytes;

		memcpy(&mark, stream, 4);
		mark = be32toh(mark);
		fragment_bytes = mark & 0x7fffffff;
		if (end - begin + fragment_bytes > bytes_max) {
			expected->bad = true;
			return;
		}
		if (stream_bytes - 4 < fragment_bytes)
			return;
		memcpy(expected->payload + end, stream + 4, fragment_bytes);
		end += fragment_bytes;
		stream += 4 + fragment_bytes;
		stream_bytes -= 4 + fragment_bytes;
		if (mark >> 31) {
			expected->ends[expected->count++] = end;
			begin = end;
		}
	}
}

static uint32_t next_random(struct receiver *receiver)
{
	receiver->random = receiver->random * 1103515245 + 12345;
	return receiver->random >> 16;
}

static void check_payload(const struct expected *expected, size_t i, const uint8_t *payload)
{
	size_t begin = i ? expected->ends[i - 1] : 0;

	assert(memcmp(payload, expected->payload + begin, expected->ends[i] - begin) == 0);
}

/* Takes all records that are whole. */
static void take_records(struct receiver *receiver, uint32_t bytes_max,
                         const struct expected *expected)
{
	while (receiver->count < RECORDS_MAX) {
		size_t i = receiver->count, begin = i ? expected->ends[i - 1] : 0;
		struct record record = record_next(&receiver->state, receiver->bytes,
		                                   receiver->have_bytes, bytes_max);

		if (record.status == RECORD_BAD) {
			receiver->bad = true;
			return;
		}
		if (record.status == RECORD_MORE) {
			assert(record.have_bytes <= receiver->have_bytes);
			assert(record.need_bytes > record.have_bytes);
			assert(record.need_bytes <= (size_t) bytes_max + 8);
			receiver->have_bytes = record.have_bytes;
			return;
		}
		assert(i < expected->count);
		assert(record.payload_bytes == expected->ends[i] - begin);
		assert(record.consumed_bytes <= receiver->have_bytes);
		check_payload(expected, i, record.payload);
		receiver->payloads[receiver->count++] = record.payload;
		receiver->bytes += record.consumed_bytes;
		receiver->have_bytes -= record.consumed_bytes;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct expected expected;
	struct receiver receiver = { .count = 0 };
	uint32_t bytes_max, part_max;
	uint8_t *buffer;

	if (size < 2 || size - 2 > STREAM_BYTES_MAX)
		return 0;
	receiver.random = data[0];
	part_max = 1U << (data[0] & 15);
	bytes_max = limits[data[1] % (sizeof limits / sizeof limits[0])];
	data += 2;
	size -= 2;
	concatenate(data, size, bytes_max, &expected);

	buffer = malloc(size + 1);
	assert(buffer);
	receiver.bytes = buffer;
	for (size_t at = 0; at < size && !receiver.bad && receiver.count < RECORDS_MAX;) {
		size_t part = 1 + next_random(&receiver) % part_max;

		part = part < size - at ? part : size - at;
		memcpy(receiver.bytes + receiver.have_bytes, data + at, part);
		receiver.have_bytes += part;
		at += part;
		take_records(&receiver, bytes_max, &expected);
	}
	assert(receiver.count == expected.count);
	assert(receiver.bad == expected.bad || receiver.count == RECORDS_MAX);
	for (size_t i = 0; i < receiver.count; i++)
		check_payload(&expected, i, receiver.payloads[i]);
	free(buffer);
	return 0;
}
