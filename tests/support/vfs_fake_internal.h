/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfs_fake_internal.h - what vfs_fake.c and vfs_fake_names.c share.
 */
#pragma once

#include "support/vfs_fake.h"
#include "vfs/vfs_internal.h"

enum {
	VFS_FAKE_NAMES = 64,
};

struct vfs_fake_node {
	struct vfs_file file; /* first: vfs_fake_node_of() */
	bool used;
	uint8_t generation;
	struct vfs_attr attr; /* nlink: names */
	uint8_t verifier[8];
	uint8_t data[VFS_FAKE_DATA_BYTES];
};

struct vfs_fake_name {
	struct vfs_fake_node *dir, *node; /* dir NULL: unused */
	char name[VFS_NAME_BYTES_MAX + 1];
};

extern struct vfs_fake_node vfs_fake_nodes[VFS_FAKE_NODES];
extern struct vfs_fake_name vfs_fake_names[VFS_FAKE_NAMES];

int vfs_fake_may_fail(const char *function);
void vfs_fake_must_be(bool caller);
struct vfs_fake_node *vfs_fake_node_of(const struct vfs_file *file);
struct vfs_file *vfs_fake_ref(struct vfs_fake_node *node);
void vfs_fake_unused(struct vfs_fake_node *node);

/* NULL: no node is left. */
struct vfs_fake_node *vfs_fake_make(struct vfs_export *export, enum vfs_type type, uint32_t mode);

/* False: no name is left. */
bool vfs_fake_name_add(struct vfs_fake_node *dir, const char *name, struct vfs_fake_node *node);
