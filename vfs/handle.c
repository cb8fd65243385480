/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/handle.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <xxhash.h>

static_assert(crypto_shorthash_BYTES == VFS_HANDLE_MAC_BYTES, "SipHash-2-4 gives 8 bytes");
static_assert(crypto_shorthash_KEYBYTES == VFS_HANDLE_KEY_BYTES, "SipHash-2-4 takes 16");

int vfs_handle_pack(const struct vfs_handle_key *key, const struct vfs_handle_parts *parts,
                    struct vfs_handle *ret_handle)
{
	uint32_t export_id = htobe32(parts->export_id);
	uint64_t fs_identity = htobe64(parts->fs_identity);
	uint8_t *bytes = ret_handle->bytes;
	size_t signed_bytes = (size_t) VFS_HANDLE_HEAD_BYTES + parts->kernel_count;

	if (parts->kernel_count < VFS_HANDLE_KERNEL_BYTES_MIN ||
	    parts->kernel_count > VFS_HANDLE_KERNEL_BYTES_MAX)
		return -EOVERFLOW;
	bytes[0] = VFS_HANDLE_VERSION;
	bytes[1] = parts->kernel_type;
	bytes[2] = bytes[3] = 0;
	memcpy(bytes + 4, &export_id, sizeof export_id);
	memcpy(bytes + 8, &fs_identity, sizeof fs_identity);
	memcpy(bytes + VFS_HANDLE_HEAD_BYTES, parts->kernel, parts->kernel_count);
	(void) crypto_shorthash(bytes + signed_bytes, bytes, signed_bytes, key->bytes);
	ret_handle->count = (uint32_t) (signed_bytes + VFS_HANDLE_MAC_BYTES);
	return 0;
}

int vfs_handle_parse(const uint8_t *wire, size_t wire_bytes, struct vfs_handle_parts *ret_parts)
{
	uint32_t export_id;
	uint64_t fs_identity;

	if (wire_bytes <
	            VFS_HANDLE_HEAD_BYTES + VFS_HANDLE_KERNEL_BYTES_MIN + VFS_HANDLE_MAC_BYTES ||
	    wire_bytes > VFS_HANDLE_BYTES_MAX)
		return -EBADMSG;
	if (wire[0] != VFS_HANDLE_VERSION || wire[2] != 0 || wire[3] != 0)
		return -EBADMSG;
	memcpy(&export_id, wire + 4, sizeof export_id);
	memcpy(&fs_identity, wire + 8, sizeof fs_identity);
	*ret_parts = (struct vfs_handle_parts){
		.export_id = be32toh(export_id),
		.fs_identity = be64toh(fs_identity),
		.kernel_type = wire[1],
		.kernel_count = (uint8_t) (wire_bytes - VFS_HANDLE_HEAD_BYTES -
		                           VFS_HANDLE_MAC_BYTES),
		.kernel = wire + VFS_HANDLE_HEAD_BYTES,
	};
	return 0;
}

int vfs_handle_verify(const struct vfs_handle_key *key, const uint8_t *wire, size_t wire_bytes)
{
	uint8_t mac[VFS_HANDLE_MAC_BYTES];
	size_t signed_bytes;

	assert(wire_bytes > VFS_HANDLE_MAC_BYTES && wire_bytes <= VFS_HANDLE_BYTES_MAX);
	signed_bytes = wire_bytes - VFS_HANDLE_MAC_BYTES;
	(void) crypto_shorthash(mac, wire, signed_bytes, key->bytes);
	return sodium_memcmp(mac, wire + signed_bytes, sizeof mac) == 0 ? 0 : -ESTALE;
}

/* All but the export's id and the signature. */
bool vfs_handle_is_same_file(const struct vfs_handle *one, const struct vfs_handle *two)
{
	const size_t least = (size_t) VFS_HANDLE_HEAD_BYTES + VFS_HANDLE_MAC_BYTES;
	const size_t from = 8;

	return one->count == two->count && one->count > least && one->bytes[1] == two->bytes[1] &&
	       memcmp(one->bytes + from, two->bytes + from,
	              one->count - VFS_HANDLE_MAC_BYTES - from) == 0;
}

uint64_t vfs_handle_hash(const uint8_t *wire, size_t wire_bytes)
{
	return XXH3_64bits(wire, wire_bytes);
}
