/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_plugin_wire - both sides of procedure 22 against each other: they share no code.
 *
 * A call made of the input, as a plug-in encodes it, is read by the server as the same call; the
 * server's answer is read by the plug-in as the same answer. Any bytes as an answer are read whole
 * or refused.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/plugin/plugin_wire.h"
#include "rpcgen/vaai.h"
#include "vfs/base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	HANDLE_BYTES_MIN = 8,
};

/* Numbers and bytes of the input; zeros when there are no more. */
struct source {
	const uint8_t *at, *end;
};

static uint8_t take_u8(struct source *source)
{
	return source->at < source->end ? *source->at++ : 0;
}

static uint64_t take_u64(struct source *source)
{
	uint64_t number = 0;

	for (int i = 0; i < 8; i++)
		number = number << 8 | take_u8(source);
	return number;
}

static struct plugin_handle take_handle(struct source *source)
{
	/* A shorter one could be taken for an operation of dialect Q; ours are longer. */
	struct plugin_handle handle = {
		.bytes = HANDLE_BYTES_MIN +
		         take_u8(source) % (PLUGIN_HANDLE_BYTES_MAX - HANDLE_BYTES_MIN + 1),
	};

	for (uint32_t i = 0; i < handle.bytes; i++)
		handle.data[i] = take_u8(source);
	return handle;
}

static void take_name(struct source *source, char name[400])
{
	size_t count = take_u8(source);

	count += count > 250 ? take_u8(source) % 140u : 0; /* too long, too */
	for (size_t i = 0; i < count; i++) {
		name[i] = (char) take_u8(source);
		name[i] = name[i] ? name[i] : 'n';
	}
	name[count] = '\0';
}

static bool is_same(const struct xdr_view *view, const struct plugin_handle *handle)
{
	return view->count == handle->bytes &&
	       memcmp(view->bytes, handle->data, handle->bytes) == 0;
}

static bool is_text(const struct xdr_view *view, const char *text)
{
	return view->count == strlen(text) && memcmp(view->bytes, text, view->count) == 0;
}

static struct vaai_result take_result(struct source *source)
{
	static const nfsstat3 statuses[] = { NFS3_OK, NFS3ERR_NOENT, NFS3ERR_IO, NFS3ERR_STALE,
		                             NFS3ERR_NOSPC };

	return (struct vaai_result){
		.status = statuses[take_u8(source) % ARRAY_COUNT(statuses)],
		.primitives = take_u8(source) & VAAI_CAN_ALL,
		.total_bytes = take_u64(source),
		.allocated_bytes = take_u64(source),
		.unique_bytes = take_u64(source),
		.done_bytes = take_u64(source),
		.state = take_u8(source) % (VAAI_STATE_ABORTED + 1),
	};
}

/* The server's answer to @call. */
static size_t answer(const struct vaai_call *call, const struct vaai_result *result,
                     uint8_t to[VAAI_RESULT_BYTES_MAX])
{
	struct xdr_out out = xdr_out(to, VAAI_RESULT_BYTES_MAX);

	vaai_put_result(&out, call, result);
	assert(!out.failed);
	return (size_t) (out.at - to);
}

/* ---- dialect O ---- */

static void try_o(struct source *source)
{
	struct plugin_handle target = take_handle(source), from = take_handle(source);
	uint8_t args[PLUGIN_ARGS_BYTES_MAX], reply_bytes[VAAI_RESULT_BYTES_MAX];
	struct plugin_o_call said = { 0 };
	struct plugin_o_reply reply;
	struct vaai_result result;
	struct vaai_call call;
	char path[400];
	size_t reply_count;
	int bytes;

	said.command = 1 + take_u8(source) % PLUGIN_O_HAS_STAT;
	said.target = &target;
	said.source = said.command == PLUGIN_O_CLONE ? &from : NULL;
	take_name(source, path);
	said.path = said.command == PLUGIN_O_CLONE ? path : "";
	bytes = plugin_o_encode(&said, args);
	if (bytes < 0) {
		assert(bytes == -EMSGSIZE && strlen(path) >= PLUGIN_O_PATH_BYTES);
		return;
	}
	assert(vaai_decode(args, (size_t) bytes, &call) == 0);
	assert(call.dialect == VAAI_DIALECT_O && call.command == said.command);
	assert(is_same(&call.file, &target));
	if (said.source)
		assert(is_same(&call.source, &from));
	if (said.source && call.refusal == NFS3_OK)
		assert(is_text(&call.file_name, path));

	result = take_result(source);
	reply_count = answer(&call, &result, reply_bytes);
	assert(plugin_o_decode(said.command, reply_bytes, reply_count, &reply) == 0);
	assert(reply.status == result.status);
	if (result.status == NFS3_OK && said.command == PLUGIN_O_STAT)
		assert(reply.total_bytes == result.total_bytes &&
		       reply.allocated_bytes == result.allocated_bytes &&
		       reply.unique_bytes == result.unique_bytes);
}

/* ---- dialect Q ---- */

static void check_q_reply(enum plugin_q_op op, const struct plugin_q_reply *reply,
                          const struct vaai_result *result)
{
	assert(reply->status == result->status);
	if (reply->status != NFS3_OK)
		return;
	if (op == PLUGIN_Q_STAT)
		assert(reply->total_bytes == result->total_bytes &&
		       reply->allocated_bytes == result->allocated_bytes &&
		       reply->unique_bytes == result->unique_bytes);
	if (op == PLUGIN_Q_INQUIRY)
		assert(reply->done_bytes == result->done_bytes && reply->state == result->state);
}

static void try_q(struct source *source)
{
	struct plugin_handle file = take_handle(source), from = take_handle(source);
	uint8_t args[PLUGIN_ARGS_BYTES_MAX], reply_bytes[VAAI_RESULT_BYTES_MAX];
	struct plugin_q_reply reply;
	struct vaai_result result;
	struct plugin_q_call said;
	struct vaai_call call;
	char name[400], source_name[400];
	size_t reply_count;
	int bytes;

	said = (struct plugin_q_call){
		.op = take_u8(source) % (PLUGIN_Q_ABORT + 1),
		.magic = take_u8(source) & 1 ? PLUGIN_Q_MAGIC : take_u64(source),
		.file = &file,
		.source = &from,
		.count = take_u64(source),
		.flags = take_u8(source) & 1 ? PLUGIN_Q_FLAGS_FAST : PLUGIN_Q_FLAG_THIN,
		.name = name,
		.source_name = source_name,
	};
	take_name(source, name);
	take_name(source, source_name);
	bytes = plugin_q_encode(&said, args);
	if (bytes < 0) {
		assert(bytes == -EMSGSIZE && said.op == PLUGIN_Q_CLONE);
		return;
	}
	assert(vaai_decode(args, (size_t) bytes, &call) == 0);
	assert(call.dialect == VAAI_DIALECT_Q && call.command == said.op);
	if (said.op != PLUGIN_Q_REGISTER)
		assert(is_same(&call.file, &file));
	if (said.op == PLUGIN_Q_RESERVE)
		assert(call.reserve_bytes == said.count);
	if (said.op == PLUGIN_Q_CLONE)
		assert(is_same(&call.source, &from));

	result = take_result(source);
	reply_count = answer(&call, &result, reply_bytes);
	assert(plugin_q_decode(said.op, reply_bytes, reply_count, &reply) == 0);
	check_q_reply(said.op, &reply, &result);
}

/* ---- any bytes as an answer ---- */

static void try_replies(const uint8_t *data, size_t size)
{
	struct plugin_o_reply o;
	struct plugin_q_reply q;
	int r;

	for (unsigned command = PLUGIN_O_CLONE; command <= PLUGIN_O_HAS_STAT; command++) {
		r = plugin_o_decode(command, data, size, &o);
		assert(r == 0 || r == -EBADMSG);
	}
	for (unsigned op = PLUGIN_Q_REGISTER; op <= PLUGIN_Q_ABORT; op++) {
		r = plugin_q_decode(op, data, size, &q);
		assert(r == 0 || r == -EBADMSG);
		assert(r < 0 || q.status == 0 || size == 4);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source source = { data, data + size };

	switch (take_u8(&source) % 3) {
	case 0:
		try_o(&source);
		break;
	case 1:
		try_q(&source);
		break;
	default:
		try_replies(source.at, (size_t) (source.end - source.at));
		break;
	}
	return 0;
}
