/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_vaai - any bytes as the arguments of procedure 22.
 *
 * What is accepted lies in the message, is of the dialect that its first word says, and (dialect Q)
 * is as long as its parts encoded anew. What is not refused besides is fit to be relayed: short,
 * with names that are names. Every answer has the length that its dialect wants.
 */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>

#include "rpcgen/vaai.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	INPUT_BYTES_MAX = 64 << 10,
	CLONEFILE = 3,
	FAST = 3,
};

static uint32_t first_word(const uint8_t *data, size_t size)
{
	struct xdr_in in = xdr_in(data, size);

	return xdr_get_u32(&in);
}

static void check_view(const struct xdr_view *view, const uint8_t *data, size_t size)
{
	if (view->count == 0)
		return;
	assert(view->bytes >= data && view->bytes < data + size);
	assert(view->count <= (size_t) (data + size - view->bytes));
}

/* The plain XDR of dialect Q, from what was read of it. */
static size_t encode_q(const struct vaai_call *call, const uint8_t *data, size_t size, uint8_t *to)
{
	struct xdr_out out = xdr_out(to, INPUT_BYTES_MAX);

	xdr_put_u32(&out, call->command);
	if (call->ask == VAAI_SUPPORT) {
		xdr_put_fixed(&out, data + 4, 8); /* the magic is not kept */
	} else if (call->ask == VAAI_CLONE) {
		bool fast = call->file_name.bytes != NULL;

		xdr_put_opaque(&out, call->source.bytes, call->source.count);
		xdr_put_opaque(&out, call->file.bytes, call->file.count);
		/* Flags that are not known are not kept. */
		xdr_put_fixed(&out, data + (out.at - to), 4);
		assert(fast == (first_word(out.at - 4, 4) == FAST));
		if (fast) {
			xdr_put_opaque(&out, call->file_name.bytes, call->file_name.count);
			xdr_put_opaque(&out, call->source_name.bytes, call->source_name.count);
		}
	} else {
		xdr_put_opaque(&out, call->file.bytes, call->file.count);
		if (call->ask == VAAI_RESERVE)
			xdr_put_u64(&out, call->reserve_bytes);
	}
	assert(!out.failed);
	return (size_t) (out.at - to);
}

static void check_names(const struct vaai_call *call)
{
	struct xdr_view name;

	if (call->ask != VAAI_CLONE)
		return;
	assert(call->file_name.count <= VAAI_NAME_BYTES_MAX);
	assert(!call->file_name.count ||
	       !memchr(call->file_name.bytes, '\0', call->file_name.count));
	if (call->dialect == VAAI_DIALECT_Q && call->file_name.count) {
		assert(vaai_last_name(&call->file_name, &name) == NFS3_OK);
		assert(name.count == call->file_name.count);
		assert(vaai_last_name(&call->source_name, &name) == NFS3_OK);
		assert(name.count == call->source_name.count);
	} else if (vaai_last_name(&call->file_name, &name) == NFS3_OK) {
		assert(name.count > 0 && name.count <= call->file_name.count);
		assert(!memchr(name.bytes, '/', name.count));
		assert(name.bytes + name.count == call->file_name.bytes + call->file_name.count);
	}
}

static void check_answer(const struct vaai_call *call, const struct vaai_result *result)
{
	uint8_t bytes[VAAI_RESULT_BYTES_MAX];
	struct xdr_out out = xdr_out(bytes, sizeof bytes);

	vaai_put_result(&out, call, result);
	assert(!out.failed && first_word(bytes, sizeof bytes) == result->status);
	if (call->dialect == VAAI_DIALECT_O)
		assert(out.at - bytes == VAAI_RESULT_BYTES_MAX);
	else if (result->status != NFS3_OK)
		assert(out.at - bytes == 4);
	else
		assert(first_word(bytes + 4, 4) == call->command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t anew[INPUT_BYTES_MAX];
	struct vaai_result result;
	struct vaai_call call;

	if (size > INPUT_BYTES_MAX || vaai_decode(data, size, &call) < 0)
		return 0;
	assert(call.dialect == (first_word(data, size) <= 5 ? VAAI_DIALECT_Q : VAAI_DIALECT_O));
	check_view(&call.file, data, size);
	check_view(&call.source, data, size);
	check_view(&call.file_name, data, size);
	check_view(&call.source_name, data, size);
	if (call.dialect == VAAI_DIALECT_Q)
		assert(encode_q(&call, data, size, anew) == size);
	if (call.refusal == NFS3_OK) {
		assert(size <= VAAI_ARGS_BYTES_MAX);
		check_names(&call);
	}
	result = vaai_unavailable(&call);
	check_answer(&call, &result);
	check_answer(&call, &(struct vaai_result){ .status = NFS3_OK, .done_bytes = size });
	check_answer(&call, &(struct vaai_result){ .status = NFS3ERR_NOSPC });
	return 0;
}
