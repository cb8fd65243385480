/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfs3_reply_check.h - is a reply well formed? Held against what rpcgen(1) makes of the RFCs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reply_seen {
	uint32_t xid;
	bool success; /* accepted, SUCCESS: results follow */
	const uint8_t *results;
	size_t result_bytes;
};

/* A reply of RFC 5531, without its record mark: true and what it says. */
bool reply_check_header(const uint8_t *bytes, size_t bytes_count, struct reply_seen *ret_seen);

/* The results of a procedure of NFS version 3, to the last byte. */
bool reply_check_nfs3(uint32_t procedure, const uint8_t *results, size_t result_bytes);
