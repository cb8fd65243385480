/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpcgen's encoders and decoders over memory that is the caller's.
 */
#include "rpcgen/xdr_generated.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

int xdr_result_encode(xdrproc_t encode, const void *result, uint8_t *to, size_t to_bytes)
{
	XDR xdrs;
	bool_t fits;
	int written_bytes;

	assert(to_bytes <= INT_MAX);
	xdrmem_create(&xdrs, (char *) to, (u_int) to_bytes, XDR_ENCODE);
	fits = encode(&xdrs, (void *) (uintptr_t) result); /* reads only: x_op is XDR_ENCODE */
	written_bytes = (int) xdr_getpos(&xdrs);
	xdr_destroy(&xdrs);
	return fits ? written_bytes : -EMSGSIZE;
}

int xdr_args_decode(xdrproc_t decode, void *ret_args, size_t args_bytes, const uint8_t *bytes,
                    size_t bytes_count)
{
	XDR xdrs;
	bool_t whole;

	memset(ret_args, 0, args_bytes);
	if (bytes_count > INT_MAX)
		return -EBADMSG;
	xdrmem_create(&xdrs, (char *) (uintptr_t) bytes, (u_int) bytes_count, XDR_DECODE);
	whole = decode(&xdrs, ret_args) && xdr_getpos(&xdrs) == bytes_count;
	xdr_destroy(&xdrs);
	if (!whole) {
		xdr_free(decode, ret_args); /* what it allocated before it failed */
		memset(ret_args, 0, args_bytes);
		return -EBADMSG;
	}
	return 0;
}
