/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_nfs3_args - any bytes as the arguments of any procedure: our decoders against rpcgen's.
 *
 * The input's first byte is the procedure. What ours accept, rpcgen's accept with the same values.
 * What rpcgen's accept, ours accept too, but for bools other than 0 and 1 and enumerations out of
 * range; then the call as rpcgen encodes it anew, where bools are 0 or 1, is accepted if the
 * enumerations are in range.
 */
#undef NDEBUG
#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "rpcgen/rpc_call.h"
#include "support/nfs3_generated.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Is there a word that was true and is now 1? Padding cannot look like that: it ends a word. */
static bool has_odd_bool(const uint8_t *data, const uint8_t *anew, size_t size)
{
	for (size_t at = 0; at + 4 <= size; at += 4) {
		uint32_t before, after;

		memcpy(&before, data + at, 4);
		memcpy(&after, anew + at, 4);
		if (be32toh(before) > 1 && be32toh(after) == 1)
			return true;
	}
	return false;
}

static void check_refused(uint32_t procedure, const union nfs3_generated *generated,
                          const uint8_t *data, size_t size)
{
	static uint8_t anew[RPC_RECORD_BYTES_MAX];
	bool in_range = nfs3_generated_in_range(procedure, generated);
	union nfs3_args args;
	int anew_bytes;

	anew_bytes = xdr_result_encode(nfs3_generated_proc(procedure), generated, anew,
	                               sizeof anew);
	assert(anew_bytes == (int) size);
	assert(!in_range || has_odd_bool(data, anew, size));
	if (nfs3_args_decode(procedure, anew, size, &args) == 0) {
		assert(in_range);
		assert(nfs3_generated_same(procedure, generated, &args));
	} else {
		assert(!in_range);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	union nfs3_generated generated;
	union nfs3_args args;
	uint32_t procedure;
	int ours, theirs;

	if (size == 0 || size > RPC_RECORD_BYTES_MAX)
		return 0;
	procedure = data[0] % (NFSPROC3_COMMIT + 1);
	data++;
	size--;

	ours = nfs3_args_decode(procedure, data, size, &args);
	if (procedure == NFSPROC3_NULL) {
		assert(ours == 0);
		return 0;
	}
	theirs = xdr_args_decode(nfs3_generated_proc(procedure), &generated, sizeof generated, data,
	                         size);
	if (ours == 0) {
		assert(theirs == 0);
		assert(nfs3_generated_in_range(procedure, &generated));
		assert(nfs3_generated_same(procedure, &generated, &args));
	} else if (theirs == 0) {
		check_refused(procedure, &generated, data, size);
	}
	if (theirs == 0)
		xdr_free(nfs3_generated_proc(procedure), &generated);
	return 0;
}
