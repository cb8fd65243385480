/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_wire.h - the two plug-in dialects of NFSv3 procedure 22 as the plug-in's side speaks them.
 *
 * Pure functions over bytes. They share nothing with the server's side of the dialects, on purpose:
 * a mistake made in both alike would hide, so each was written from the description alone.
 *
 * Dialect O wraps little-endian structures of a fixed length in XDR opaques; dialect Q is XDR
 * throughout. Decoders are strict: bytes that are missing or left over are -EBADMSG.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PLUGIN_HANDLE_BYTES_MAX = 64, /* RFC 1813's NFS3_FHSIZE */
	PLUGIN_O_PATH_BYTES = 256,    /* of a command, final NUL included */
	PLUGIN_Q_NAME_BYTES_MAX = 255,
	PLUGIN_ARGS_BYTES_MAX = 1024,  /* more than the longest call takes */
	PLUGIN_REPLY_BYTES_MAX = 1100, /* status, length and opaque<1024> of dialect O, and a bit */
};

#define PLUGIN_Q_MAGIC     0x8068269529234103ull
#define PLUGIN_Q_MAGIC_OLD 0x8068269529234111ull

struct plugin_handle {
	uint32_t bytes;
	uint8_t data[PLUGIN_HANDLE_BYTES_MAX];
};

/* Bits of plugin_q_reply's primitives. */
enum {
	PLUGIN_CAN_CLONE = 1,
	PLUGIN_CAN_RESERVE = 2,
	PLUGIN_CAN_STAT = 4,
};

/* ---- dialect O ---- */

enum plugin_o_command {
	PLUGIN_O_CLONE = 1,
	PLUGIN_O_RESERVE = 2,
	PLUGIN_O_STAT = 3,
	PLUGIN_O_PROGRESS = 4,
	PLUGIN_O_ABORT = 5,
	PLUGIN_O_HAS_CLONE = 6,
	PLUGIN_O_HAS_RESERVE = 7,
	PLUGIN_O_HAS_STAT = 8,
};

/* Result on failure; the client maps the status for any other. */
enum plugin_o_result {
	PLUGIN_O_OK = 0,
	PLUGIN_O_TOO_DEEP = 1001,
	PLUGIN_O_TOO_MANY = 1002,
	PLUGIN_O_BUSY = 1003,
	PLUGIN_O_FULL = 1004,
};

enum plugin_o_state {
	PLUGIN_O_STARTED = 0,
	PLUGIN_O_COPYING = 1,
	PLUGIN_O_COMPLETE = 2,
};

struct plugin_o_call {
	enum plugin_o_command command;
	const struct plugin_handle *target;
	const struct plugin_handle *source; /* NULL: none */
	uint32_t flags;
	const char *path; /* below the mounted directory; "" where a command needs none */
};

struct plugin_o_reply {
	uint32_t status; /* nfsstat3 */
	int32_t result;
	uint64_t total_bytes, allocated_bytes, unique_bytes;
	uint64_t state, done_bytes;
};

/* Bytes written, or -EMSGSIZE: the path is too long. */
int plugin_o_encode(const struct plugin_o_call *call, uint8_t to[PLUGIN_ARGS_BYTES_MAX]);

/* 0, or -EBADMSG: no reply of this dialect to this command. */
int plugin_o_decode(enum plugin_o_command command, const uint8_t *bytes, size_t bytes_count,
                    struct plugin_o_reply *ret_reply);

/* ---- dialect Q ---- */

enum plugin_q_op {
	PLUGIN_Q_REGISTER = 0,
	PLUGIN_Q_RESERVE = 1,
	PLUGIN_Q_STAT = 2,
	PLUGIN_Q_CLONE = 3,
	PLUGIN_Q_INQUIRY = 4,
	PLUGIN_Q_ABORT = 5,
};

enum plugin_q_state {
	PLUGIN_Q_WAITING = 0,
	PLUGIN_Q_RUNNING = 1,
	PLUGIN_Q_FINISHED = 2,
	PLUGIN_Q_FAILED = 3,
	PLUGIN_Q_ABORTED = 4,
	PLUGIN_Q_ENDED = 5,
};

enum {
	PLUGIN_Q_FLAGS_FAST = 3,
	PLUGIN_Q_FLAG_THIN = 0x10,
};

struct plugin_q_call {
	enum plugin_q_op op;
	uint64_t magic;                     /* REGISTER */
	const struct plugin_handle *file;   /* all but REGISTER; of CLONE the destination */
	const struct plugin_handle *source; /* CLONE */
	uint64_t count;                     /* RESERVE */
	uint32_t flags;                     /* CLONE */
	const char *name, *source_name;     /* CLONE with PLUGIN_Q_FLAGS_FAST */
};

struct plugin_q_reply {
	uint32_t status; /* nfsstat3; nothing below counts unless it is 0 */
	uint32_t primitives;
	uint64_t total_bytes, allocated_bytes, unique_bytes;
	uint32_t state;
	uint64_t done_bytes;
};

/* As those of dialect O. */
int plugin_q_encode(const struct plugin_q_call *call, uint8_t to[PLUGIN_ARGS_BYTES_MAX]);
int plugin_q_decode(enum plugin_q_op op, const uint8_t *bytes, size_t bytes_count,
                    struct plugin_q_reply *ret_reply);
