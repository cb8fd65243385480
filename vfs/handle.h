/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.h - what clients keep to name a file: shape and signature. Pure; opening is vfs/file.c's.
 *
 * Clients keep handles for years and across our restarts, so nothing in one may change at boot or
 * at mount time. ESXi cannot mount handles longer than 56 bytes. All integers big-endian:
 *
 *     byte  0      version, VFS_HANDLE_VERSION
 *     byte  1      type of the kernel's handle (name_to_handle_at(2)), 0..255
 *     byte  2..3   zero
 *     byte  4..7   export id
 *     byte  8..15  identity of the file system (vfs/fs.h)
 *     byte 16..    the kernel's handle, 4..32 bytes
 *     last 8       SipHash-2-4 of all before, with the key in the state directory
 *
 * The signature is what confines clients to the export: open_by_handle_at(2) would open any file of
 * the file system, but only handles that we made, for files found below an export, verify.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	VFS_HANDLE_VERSION = 1,
	VFS_HANDLE_HEAD_BYTES = 16,
	VFS_HANDLE_MAC_BYTES = 8,
	VFS_HANDLE_BYTES_MAX = 56,
	VFS_HANDLE_KERNEL_BYTES_MIN = 4,
	VFS_HANDLE_KERNEL_BYTES_MAX = VFS_HANDLE_BYTES_MAX - VFS_HANDLE_HEAD_BYTES -
	                              VFS_HANDLE_MAC_BYTES,
	VFS_HANDLE_KEY_BYTES = 16,
};

struct vfs_handle_key {
	uint8_t bytes[VFS_HANDLE_KEY_BYTES];
};

struct vfs_handle {
	uint32_t count;
	uint8_t bytes[VFS_HANDLE_BYTES_MAX];
};

/* What a handle says; kernel points into the handle that was parsed. */
struct vfs_handle_parts {
	uint32_t export_id;
	uint64_t fs_identity;
	uint8_t kernel_type;
	uint8_t kernel_count;
	const uint8_t *kernel;
};

/* Make and sign a handle. -EOVERFLOW if the kernel's handle does not fit. */
int vfs_handle_pack(const struct vfs_handle_key *key, const struct vfs_handle_parts *parts,
                    struct vfs_handle *ret_handle);

/* Check the shape of bytes off the wire, whatever they are. -EBADMSG: cannot be ours. */
int vfs_handle_parse(const uint8_t *wire, size_t wire_bytes, struct vfs_handle_parts *ret_parts);

/* Check the signature of bytes that vfs_handle_parse() accepted. -ESTALE: not made with this
 * key. */
int vfs_handle_verify(const struct vfs_handle_key *key, const uint8_t *wire, size_t wire_bytes);

/* Do two handles that verify name one file? Exports that overlap each give it a handle of their
 * own. */
bool vfs_handle_is_same_file(const struct vfs_handle *one, const struct vfs_handle *two);

uint64_t vfs_handle_hash(const uint8_t *wire, size_t wire_bytes);
