/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xdr_cursor.h - read and write XDR (RFC 4506) in place.
 *
 * A cursor never passes its end: once something does not fit it has failed, later reads give zero
 * (an empty view), later writes do nothing, and one check at the end tells. Nothing is allocated or
 * copied: views point into the caller's bytes and live as long as those do.
 */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct xdr_view { /* bytes that lie in somebody else's buffer */
	const uint8_t *bytes;
	uint32_t count;
};

struct xdr_in {
	const uint8_t *at, *end;
	bool failed;
};

struct xdr_out {
	uint8_t *at, *end;
	bool failed;
};

/* Unsigned and without wrap for every 32-bit count: computed in 64 bits. */
static inline uint64_t xdr_padded(uint32_t count)
{
	return ((uint64_t) count + 3) & ~(uint64_t) 3;
}

static inline struct xdr_in xdr_in(const void *bytes, size_t count)
{
	return (struct xdr_in){ .at = bytes,
		                .end = bytes ? (const uint8_t *) bytes + count : NULL };
}

static inline struct xdr_out xdr_out(void *bytes, size_t count)
{
	return (struct xdr_out){ .at = bytes, .end = (uint8_t *) bytes + count };
}

static inline size_t xdr_in_left(const struct xdr_in *in)
{
	return (size_t) (in->end - in->at);
}

/* Everything was read, and it was enough. */
static inline bool xdr_in_done(const struct xdr_in *in)
{
	return !in->failed && in->at == in->end;
}

static inline uint32_t xdr_get_u32(struct xdr_in *in)
{
	uint32_t value;

	if (in->failed || xdr_in_left(in) < 4) {
		in->failed = true;
		return 0;
	}
	memcpy(&value, in->at, 4);
	in->at += 4;
	return be32toh(value);
}

static inline uint64_t xdr_get_u64(struct xdr_in *in)
{
	uint64_t high = xdr_get_u32(in);

	return high << 32 | xdr_get_u32(in);
}

/* A bool is 0 or 1 (RFC 4506 section 4.4); anything else fails the cursor. */
static inline bool xdr_get_bool(struct xdr_in *in)
{
	uint32_t value = xdr_get_u32(in);

	in->failed |= value > 1;
	return value == 1;
}

/* opaque[count] with a fixed length: a pointer to it, or NULL. */
static inline const uint8_t *xdr_get_fixed(struct xdr_in *in, uint32_t count)
{
	const uint8_t *bytes = in->at;

	if (in->failed || xdr_padded(count) > xdr_in_left(in)) {
		in->failed = true;
		return NULL;
	}
	in->at += xdr_padded(count);
	return bytes;
}

/* opaque<count_max> or string<count_max>: the length, the bytes, the padding. Padding may hold
 * anything: RFC 4506 asks for zeros, but no decoder in use refuses others. */
static inline struct xdr_view xdr_get_opaque(struct xdr_in *in, uint32_t count_max)
{
	uint32_t count = xdr_get_u32(in);
	const uint8_t *bytes;

	in->failed |= count > count_max;
	bytes = xdr_get_fixed(in, count);
	return (struct xdr_view){ .bytes = bytes, .count = bytes ? count : 0 };
}

static inline void xdr_put_u32(struct xdr_out *out, uint32_t value)
{
	if (out->failed || out->end - out->at < 4) {
		out->failed = true;
		return;
	}
	value = htobe32(value);
	memcpy(out->at, &value, 4);
	out->at += 4;
}

static inline void xdr_put_u64(struct xdr_out *out, uint64_t value)
{
	xdr_put_u32(out, (uint32_t) (value >> 32));
	xdr_put_u32(out, (uint32_t) value);
}

/* The bytes of an opaque without its length, padded with zeros. */
static inline void xdr_put_fixed(struct xdr_out *out, const void *bytes, uint32_t count)
{
	uint64_t padded = xdr_padded(count);

	if (out->failed || padded > (uint64_t) (out->end - out->at)) {
		out->failed = true;
		return;
	}
	if (count)
		memcpy(out->at, bytes, count);
	memset(out->at + count, 0, padded - count);
	out->at += padded;
}

static inline void xdr_put_opaque(struct xdr_out *out, const void *bytes, uint32_t count)
{
	xdr_put_u32(out, count);
	xdr_put_fixed(out, bytes, count);
}
