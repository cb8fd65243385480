/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the XDR that a load generator needs: integers and opaque bytes, put and got.
 *
 * Written for this program alone, so that a mistake in the server's codec cannot hide in it.
 */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint8_t *wire_put_u32(uint8_t *to, uint32_t value)
{
	value = htobe32(value);
	memcpy(to, &value, sizeof value);
	return to + sizeof value;
}

static inline uint8_t *wire_put_u64(uint8_t *to, uint64_t value)
{
	value = htobe64(value);
	memcpy(to, &value, sizeof value);
	return to + sizeof value;
}

static inline uint32_t wire_padded(uint32_t bytes)
{
	return (bytes + 3) & ~3u;
}

/* A counted string of bytes with its padding. */
static inline uint8_t *wire_put_opaque(uint8_t *to, const void *bytes, uint32_t count)
{
	to = wire_put_u32(to, count);
	memset(to + (count & ~3u), 0, wire_padded(count) - (count & ~3u));
	memcpy(to, bytes, count);
	return to + wire_padded(count);
}

/* What is being read. Past the end everything is 0 and `bad` stays set, so one check is enough. */
struct wire_in {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

static inline const uint8_t *wire_get_bytes(struct wire_in *in, uint32_t count)
{
	const uint8_t *bytes = in->at;

	if (in->bad || count > (size_t) (in->end - in->at)) {
		in->bad = true;
		return NULL;
	}
	in->at += count;
	return bytes;
}

static inline uint32_t wire_get_u32(struct wire_in *in)
{
	const uint8_t *bytes = wire_get_bytes(in, 4);
	uint32_t value = 0;

	if (bytes)
		memcpy(&value, bytes, sizeof value);
	return be32toh(value);
}

static inline uint64_t wire_get_u64(struct wire_in *in)
{
	uint64_t high = wire_get_u32(in);

	return high << 32 | wire_get_u32(in);
}
