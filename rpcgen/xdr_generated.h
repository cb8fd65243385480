/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xdr_generated.h - call the encoders and decoders that rpcgen(1) makes, safely.
 */
#pragma once

#include <rpc/types.h>
#include <rpc/xdr.h>
#include <stddef.h>
#include <stdint.h>

/**
 * xdr_result_encode() - encode with one of rpcgen's functions
 * @encode: for example (xdrproc_t) xdr_CREATE3res
 * @result: what it takes
 * @to, @to_bytes: where the bytes go; at most INT_MAX, in which the XDR library counts
 *
 * Return: the bytes written, or -EMSGSIZE if they do not fit.
 */
int xdr_result_encode(xdrproc_t encode, const void *result, uint8_t *to, size_t to_bytes);

/**
 * xdr_args_decode() - decode with one of rpcgen's functions (MOUNT, portmapper, rpcbind)
 * @decode: for example (xdrproc_t) xdr_dirpath
 * @ret_args, @args_bytes: the structure, zeroed first; on success free it with xdr_free()
 *
 * Return: 0, or -EBADMSG (cut short, out of bounds, trailing bytes): nothing to free then.
 */
int xdr_args_decode(xdrproc_t decode, void *ret_args, size_t args_bytes, const uint8_t *bytes,
                    size_t bytes_count);
