/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/plugin/plugin_wire.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#define O_VERSION 1

enum {
	O_COMMAND_BYTES = 296,
	O_REPLY_BYTES = 80,
	/* Offsets in a command and in a reply. */
	O_AT_COMMAND = 8,
	O_AT_FLAGS = 16,
	O_AT_PATH_BYTES = 20,
	O_AT_PATH = 24,
	O_AT_RESULT = 12,
	O_AT_TOTAL = 16,
	O_AT_ALLOCATED = 24,
	O_AT_UNIQUE = 32,
	O_AT_STATE = 48,
	O_AT_DONE = 56,
};

/* ---- XDR, as far as it is needed ---- */

/* Where the next bytes go; the callers know that there is room. */
static uint8_t *put_u32(uint8_t *to, uint32_t value)
{
	value = htobe32(value);
	memcpy(to, &value, sizeof value);
	return to + sizeof value;
}

static uint8_t *put_u64(uint8_t *to, uint64_t value)
{
	to = put_u32(to, (uint32_t) (value >> 32));
	return put_u32(to, (uint32_t) value);
}

static uint8_t *put_opaque(uint8_t *to, const void *bytes, uint32_t bytes_count)
{
	uint32_t padded = (bytes_count + 3) & ~3u;

	to = put_u32(to, bytes_count);
	memset(to, 0, padded);
	memcpy(to, bytes, bytes_count);
	return to + padded;
}

static uint8_t *put_handle(uint8_t *to, const struct plugin_handle *handle)
{
	assert(handle->bytes <= PLUGIN_HANDLE_BYTES_MAX);
	return put_opaque(to, handle->data, handle->bytes);
}

/* What is left to read. A read past the end sets bad and gives zeros from then on. */
struct words {
	const uint8_t *at, *end;
	bool bad;
};

static uint32_t take_u32(struct words *words)
{
	uint32_t value;

	if (words->bad || words->end - words->at < (ptrdiff_t) sizeof value) {
		words->bad = true;
		return 0;
	}
	memcpy(&value, words->at, sizeof value);
	words->at += sizeof value;
	return be32toh(value);
}

static uint64_t take_u64(struct words *words)
{
	uint64_t high = take_u32(words);

	return high << 32 | take_u32(words);
}

static int words_end(const struct words *words)
{
	return words->bad || words->at != words->end ? -EBADMSG : 0;
}

/* ---- dialect O ---- */

static void le32_set(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof value);
}

static void le64_set(uint8_t *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof value);
}

static uint32_t le32_get(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return le32toh(value);
}

static uint64_t le64_get(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof value);
	return le64toh(value);
}

int plugin_o_encode(const struct plugin_o_call *call, uint8_t to[PLUGIN_ARGS_BYTES_MAX])
{
	uint8_t command[O_COMMAND_BYTES] = { 0 };
	size_t path_bytes = strlen(call->path) + 1;
	uint8_t *at = to;

	if (path_bytes > PLUGIN_O_PATH_BYTES)
		return -EMSGSIZE;
	le64_set(command, O_VERSION);
	le32_set(command + O_AT_COMMAND, call->command);
	le32_set(command + O_AT_FLAGS, call->flags);
	le32_set(command + O_AT_PATH_BYTES, (uint32_t) path_bytes);
	memcpy(command + O_AT_PATH, call->path, path_bytes);

	at = put_handle(at, call->target);
	at = put_u32(at, call->source ? 0 : 1);
	if (call->source)
		at = put_handle(at, call->source);
	at = put_opaque(at, command, sizeof command);
	return (int) (at - to);
}

int plugin_o_decode(enum plugin_o_command command, const uint8_t *bytes, size_t bytes_count,
                    struct plugin_o_reply *ret_reply)
{
	struct words words = { .at = bytes, .end = bytes + bytes_count };
	uint32_t status = take_u32(&words), reply_bytes = take_u32(&words);
	const uint8_t *reply = words.at;

	if (words.bad || reply_bytes != O_REPLY_BYTES || words.end - reply != O_REPLY_BYTES)
		return -EBADMSG;
	if (le64_get(reply) != O_VERSION || le32_get(reply + O_AT_COMMAND) != command)
		return -EBADMSG;
	*ret_reply = (struct plugin_o_reply){
		.status = status,
		.result = (int32_t) le32_get(reply + O_AT_RESULT),
		.total_bytes = le64_get(reply + O_AT_TOTAL),
		.allocated_bytes = le64_get(reply + O_AT_ALLOCATED),
		.unique_bytes = le64_get(reply + O_AT_UNIQUE),
		.state = le64_get(reply + O_AT_STATE),
		.done_bytes = le64_get(reply + O_AT_DONE),
	};
	return 0;
}

/* ---- dialect Q ---- */

static int q_encode_clone(const struct plugin_q_call *call, uint8_t *to, uint8_t **ret_end)
{
	to = put_handle(to, call->source);
	to = put_handle(to, call->file);
	to = put_u32(to, call->flags);
	if (call->flags == PLUGIN_Q_FLAGS_FAST) {
		size_t name_bytes = strlen(call->name), source_bytes = strlen(call->source_name);

		if (name_bytes > PLUGIN_Q_NAME_BYTES_MAX || source_bytes > PLUGIN_Q_NAME_BYTES_MAX)
			return -EMSGSIZE;
		to = put_opaque(to, call->name, (uint32_t) name_bytes);
		to = put_opaque(to, call->source_name, (uint32_t) source_bytes);
	}
	*ret_end = to;
	return 0;
}

int plugin_q_encode(const struct plugin_q_call *call, uint8_t to[PLUGIN_ARGS_BYTES_MAX])
{
	uint8_t *at = put_u32(to, call->op);
	int r = 0;

	switch (call->op) {
	case PLUGIN_Q_REGISTER:
		at = put_u64(at, call->magic);
		break;
	case PLUGIN_Q_RESERVE:
		at = put_handle(at, call->file);
		at = put_u64(at, call->count);
		break;
	case PLUGIN_Q_STAT:
	case PLUGIN_Q_INQUIRY:
	case PLUGIN_Q_ABORT:
		at = put_handle(at, call->file);
		break;
	case PLUGIN_Q_CLONE:
		r = q_encode_clone(call, at, &at);
		break;
	}
	return r < 0 ? r : (int) (at - to);
}

int plugin_q_decode(enum plugin_q_op op, const uint8_t *bytes, size_t bytes_count,
                    struct plugin_q_reply *ret_reply)
{
	struct words words = { .at = bytes, .end = bytes + bytes_count };
	struct plugin_q_reply reply = { .status = take_u32(&words) };

	if (!words.bad && reply.status == 0) {
		if (take_u32(&words) != op)
			return -EBADMSG;
		if (op == PLUGIN_Q_REGISTER)
			reply.primitives = take_u32(&words);
		if (op == PLUGIN_Q_STAT) {
			reply.total_bytes = take_u64(&words);
			reply.allocated_bytes = take_u64(&words);
			reply.unique_bytes = take_u64(&words);
		}
		if (op == PLUGIN_Q_INQUIRY || op == PLUGIN_Q_ABORT)
			reply.state = take_u32(&words);
		if (op == PLUGIN_Q_INQUIRY)
			reply.done_bytes = take_u64(&words);
	}
	if (words_end(&words) < 0)
		return -EBADMSG;
	*ret_reply = reply;
	return 0;
}
