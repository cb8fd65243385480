/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lists of MOUNT's DUMP and EXPORT - RFC 1813 section 5.2.2 and 5.2.5.
 */
#include "rpcgen/mount3_results.h"

#include <assert.h>

static size_t opaque_bytes(struct xdr_view view)
{
	return 4 + (size_t) xdr_padded(view.count);
}

static void put_view(struct xdr_out *out, struct xdr_view view)
{
	xdr_put_opaque(out, view.bytes, view.count);
}

size_t mount3_mount_bytes(struct xdr_view hostname, struct xdr_view directory)
{
	return 4 + opaque_bytes(hostname) + opaque_bytes(directory);
}

size_t mount3_export_bytes(struct xdr_view directory, const struct xdr_view *groups,
                           size_t group_count)
{
	size_t bytes = 4 + opaque_bytes(directory) + MOUNT3_LIST_END_BYTES;

	for (size_t i = 0; i < group_count; i++)
		bytes += 4 + opaque_bytes(groups[i]);
	return bytes;
}

void mount3_put_mount(struct xdr_out *out, struct xdr_view hostname, struct xdr_view directory)
{
	assert(hostname.count <= MNTNAMLEN);
	assert(directory.count <= MNTPATHLEN);

	xdr_put_u32(out, 1);
	put_view(out, hostname);
	put_view(out, directory);
}

void mount3_put_export(struct xdr_out *out, struct xdr_view directory,
                       const struct xdr_view *groups, size_t group_count)
{
	assert(directory.count <= MNTPATHLEN);

	xdr_put_u32(out, 1);
	put_view(out, directory);
	for (size_t i = 0; i < group_count; i++) {
		assert(groups[i].count <= MNTNAMLEN);
		xdr_put_u32(out, 1);
		put_view(out, groups[i]);
	}
	mount3_put_list_end(out);
}

void mount3_put_list_end(struct xdr_out *out)
{
	xdr_put_u32(out, 0);
}
