/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_mount_portmap_args - any bytes as arguments of MOUNT, the port mapper or rpcbind, which
 * rpcgen's decoders read.
 *
 * The input's first byte is the type. What is accepted can be encoded to as many bytes, and
 * decoding those gives the same bytes again. A path is what xdr_cursor.h makes of the same bytes.
 */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rpcgen/mount3.h"
#include "rpcgen/portmap.h"
#include "rpcgen/xdr_cursor.h"
#include "rpcgen/xdr_generated.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	INPUT_BYTES_MAX = 1 << 14,
};

union any_args {
	dirpath path;
	portmap_mapping portmap;
	rpcbind_mapping rpcbind;
	rpcbind_string string;
};

static const xdrproc_t types[] = {
	(xdrproc_t) xdr_dirpath,
	(xdrproc_t) xdr_portmap_mapping,
	(xdrproc_t) xdr_rpcbind_mapping,
	(xdrproc_t) xdr_rpcbind_string,
};

static void check_path(const dirpath *path, const uint8_t *data, size_t size, bool accepted)
{
	struct xdr_in in = xdr_in(data, size);
	struct xdr_view view = xdr_get_opaque(&in, MNTPATHLEN);

	assert(xdr_in_done(&in) == accepted);
	if (accepted) {
		assert(view.count == path->dirpath_len);
		assert(view.count == 0 || memcmp(view.bytes, path->dirpath_val, view.count) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t first[INPUT_BYTES_MAX], second[INPUT_BYTES_MAX];
	union any_args args;
	xdrproc_t type;
	bool accepted;

	if (size == 0 || size > INPUT_BYTES_MAX)
		return 0;
	type = types[data[0] % (sizeof types / sizeof types[0])];
	data++;
	size--;

	accepted = xdr_args_decode(type, &args, sizeof args, data, size) == 0;
	if (type == (xdrproc_t) xdr_dirpath)
		check_path(&args.path, data, size, accepted);
	if (!accepted)
		return 0;
	assert(xdr_result_encode(type, &args, first, sizeof first) == (int) size);
	xdr_free(type, &args);

	assert(xdr_args_decode(type, &args, sizeof args, first, size) == 0);
	assert(xdr_result_encode(type, &args, second, sizeof second) == (int) size);
	assert(memcmp(first, second, size) == 0);
	xdr_free(type, &args);
	return 0;
}
