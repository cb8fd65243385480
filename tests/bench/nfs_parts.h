/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfs_parts.h - the parts that calls and replies are made of, for nfs.c and nfs_folder.c alone.
 */
#pragma once

#include "nfs.h"

uint8_t *nfs_call_begin(uint8_t *to, uint32_t xid, uint32_t program, uint32_t procedure);
size_t nfs_call_end(uint8_t *start, const uint8_t *end, uint32_t data_bytes);
uint8_t *nfs_put_handle(uint8_t *to, const struct nfs_handle *handle);
uint8_t *nfs_put_name(uint8_t *to, const struct nfs_handle *folder, const char *name);
/* sattr3 with the mode alone */
uint8_t *nfs_put_mode(uint8_t *to, uint32_t mode);

const char *nfs_bad_status(const char *procedure, uint32_t status);
const char *nfs_short_unless(const struct wire_in *in);
void nfs_get_handle(struct wire_in *in, struct nfs_handle *handle);

/* What is of interest in fattr3. */
struct nfs_attributes {
	bool there;
	bool is_folder;
	uint64_t bytes;
};

/* post_op_attr */
struct nfs_attributes nfs_get_attributes(struct wire_in *in);
void nfs_skip_wcc(struct wire_in *in);
