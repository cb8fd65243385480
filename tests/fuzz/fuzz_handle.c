/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_handle - any bytes as a file handle.
 *
 * The first byte chooses: 0 the rest is a handle off the wire; else the rest is what a handle is
 * made of. What parses is, packed again, the same but for its signature, and only that one
 * verifies; what was packed parses and verifies, and no longer once a byte of it is changed.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/handle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct vfs_handle_key key = { "0123456789abcde" }, other_key = { "fedcba987654321" };

static void check_wire(const uint8_t *wire, size_t wire_bytes)
{
	struct vfs_handle_parts parts;
	struct vfs_handle packed;
	size_t signed_bytes;
	int r = vfs_handle_parse(wire, wire_bytes, &parts);

	if (r < 0) {
		assert(r == -EBADMSG);
		return;
	}
	assert(wire_bytes <= VFS_HANDLE_BYTES_MAX);
	assert(parts.kernel >= wire && parts.kernel + parts.kernel_count <= wire + wire_bytes);
	assert(vfs_handle_pack(&key, &parts, &packed) == 0);
	assert(packed.count == wire_bytes);
	signed_bytes = wire_bytes - VFS_HANDLE_MAC_BYTES;
	assert(memcmp(packed.bytes, wire, signed_bytes) == 0);
	r = vfs_handle_verify(&key, wire, wire_bytes);
	assert(r == (memcmp(packed.bytes, wire, wire_bytes) == 0 ? 0 : -ESTALE));
	assert(vfs_handle_verify(&key, packed.bytes, packed.count) == 0);
	(void) vfs_handle_hash(wire, wire_bytes);
}

static void check_parts(const uint8_t *data, size_t size)
{
	struct vfs_handle_parts parts = { 0 }, parsed;
	struct vfs_handle packed;
	uint8_t change = 0;
	size_t at;

	if (size < 16)
		return;
	memcpy(&parts.export_id, data, 4);
	memcpy(&parts.fs_identity, data + 4, 8);
	parts.kernel_type = data[12];
	at = data[13];
	change = data[14];
	parts.kernel = data + 16;
	parts.kernel_count = (uint8_t) (size - 16 < UINT8_MAX ? size - 16 : UINT8_MAX);
	if (vfs_handle_pack(&key, &parts, &packed) < 0) {
		assert(parts.kernel_count < VFS_HANDLE_KERNEL_BYTES_MIN ||
		       parts.kernel_count > VFS_HANDLE_KERNEL_BYTES_MAX);
		return;
	}
	check_wire(packed.bytes, packed.count);
	assert(vfs_handle_parse(packed.bytes, packed.count, &parsed) == 0);
	assert(parsed.export_id == parts.export_id && parsed.fs_identity == parts.fs_identity);
	assert(parsed.kernel_type == parts.kernel_type);
	assert(parsed.kernel_count == parts.kernel_count);
	assert(memcmp(parsed.kernel, parts.kernel, parts.kernel_count) == 0);
	assert(vfs_handle_verify(&other_key, packed.bytes, packed.count) == -ESTALE);
	packed.bytes[at % packed.count] ^= change;
	if (change && vfs_handle_parse(packed.bytes, packed.count, &parsed) == 0)
		assert(vfs_handle_verify(&key, packed.bytes, packed.count) == -ESTALE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] == 0)
		check_wire(data + 1, size - 1);
	else
		check_parts(data + 1, size - 1);
	return 0;
}
