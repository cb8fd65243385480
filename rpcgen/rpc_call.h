/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc_call.h - RPC messages (RFC 5531): the call's header in, every kind of reply out; and the
 * header of replies to calls of ours.
 *
 * Pure: bytes in, structure or refusal out. Nothing is allocated; views point into the message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RPC_VERSION = 2,
	RPC_RECORD_MARK_BYTES = 4,
	/* Largest payload of one record: a WRITE of 1 MiB and its headers (ours). */
	RPC_RECORD_BYTES_MAX = (1 << 20) + (64 << 10),
	RPC_AUTH_BODY_BYTES_MAX = 400,    /* RFC 5531 section 8.2 */
	RPC_MACHINE_NAME_BYTES_MAX = 255, /* RFC 5531 appendix A */
	RPC_GROUPS_MAX = 16,              /* RFC 5531 appendix A */
	/* xid, REPLY, MSG_ACCEPTED, AUTH_NONE verifier (2 words), accept_stat */
	RPC_ACCEPTED_BYTES = 24,
	/* The longest reply without results: an accepted PROG_MISMATCH, two words more. */
	RPC_REPLY_HEADER_BYTES_MAX = 32,
};

/* AUTH_NONE has no identity: has_identity is 0 and everything else zero. */
struct rpc_cred {
	uint32_t has_identity; /* 1 for AUTH_SYS */
	uint32_t uid, gid;
	uint32_t group_count; /* 0..RPC_GROUPS_MAX */
	uint32_t groups[RPC_GROUPS_MAX];
};

struct rpc_call {
	uint32_t xid;
	uint32_t program, version, procedure;
	struct rpc_cred cred;
	const uint8_t *args; /* in the message; args_bytes may be 0 */
	uint32_t args_bytes;
};

enum rpc_verdict {
	RPC_CALL,   /* *ret_call is a call whose header is right */
	RPC_REFUSE, /* *ret_reply holds the refusal (RFC 5531 section 9): send it */
	RPC_DROP,   /* no call at all, or too short to know its xid: nothing can be answered */
};

/* A reply without results, ready to be sent after its record mark. */
struct rpc_reply {
	uint32_t bytes_count;
	uint8_t bytes[RPC_REPLY_HEADER_BYTES_MAX];
};

/**
 * rpc_call_decode() - the header of one call
 * @message, @message_bytes: one whole record or datagram, without its mark; any bytes
 * @ret_call:                set when RPC_CALL is returned
 * @ret_reply:               set when RPC_REFUSE is returned
 *
 * Refused here, in this order:
 *   - a header cut short: GARBAGE_ARGS, once its xid and CALL are known;
 *   - RPC versions other than 2: RPC_MISMATCH 2..2;
 *   - credentials over 400 bytes, AUTH_SYS that is not well formed (machine name over 255 bytes,
 *     more than 16 groups, a body with bytes left over), flavours that are not AUTH_NONE or
 *     AUTH_SYS: AUTH_BADCRED. AUTH_SHORT: AUTH_REJECTEDCRED. AUTH_TOOWEAK is never ours;
 *   - verifiers over 400 bytes or not of flavour AUTH_NONE: AUTH_BADVERF.
 * The body of an AUTH_NONE credential or verifier may hold anything. Dropped: messages of type
 * REPLY, or of a type that does not exist, and messages under 8 bytes.
 */
enum rpc_verdict rpc_call_decode(const uint8_t *message, size_t message_bytes,
                                 struct rpc_call *ret_call, struct rpc_reply *ret_reply);

/* Replies. @to has room for RPC_REPLY_HEADER_BYTES_MAX; each returns the bytes written. Numbers are
 * those of RFC 5531 section 9: accept_stat in <rpc/rpc_msg.h>, auth_stat in <rpc/auth.h>. */
uint32_t rpc_reply_accepted(uint8_t *to, uint32_t xid, uint32_t accept_stat);
uint32_t rpc_reply_program_mismatch(uint8_t *to, uint32_t xid, uint32_t low, uint32_t high);
uint32_t rpc_reply_rpc_mismatch(uint8_t *to, uint32_t xid);
uint32_t rpc_reply_auth_error(uint8_t *to, uint32_t xid, uint32_t auth_stat);

/* What came in answer to a call of ours. */
struct rpc_answer {
	uint32_t xid;
	bool denied;          /* MSG_DENIED: nothing else is set */
	uint32_t accept_stat; /* SUCCESS: there are results */
	const uint8_t *results;
	uint32_t results_bytes;
};

/* 0, or -EPROTO for what is no reply. */
int rpc_answer_decode(const uint8_t *message, size_t message_bytes, struct rpc_answer *ret_answer);

/* The mark of a record that is one, last fragment (RFC 5531 section 11). */
void rpc_record_mark(uint8_t to[RPC_RECORD_MARK_BYTES], uint32_t payload_bytes);
