/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfs.h - the few calls of MOUNT and NFS version 3 that the load generator makes.
 *
 * nfs_call_*() write one call with its record mark and give its length; `to` has room for
 * NFS_CALL_BYTES_MAX. nfs_reply_*() read what follows the RPC header; they return NULL or what is
 * wrong.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

enum {
	NFS_PROGRAM = 100003,
	MOUNT_PROGRAM = 100005,
	NFS_HANDLE_BYTES_MAX = 64,
	NFS_CALL_BYTES_MAX = 1200,  /* the longest: MNT with a path of 1024 bytes */
	NFS_REPLY_HEAD_BYTES = 256, /* a reply's bytes before READ's data, at most */
	NFS_BLOCK_BYTES_MAX = 1 << 20,
	NFS_LIST_BYTES_MAX = 64 << 10, /* that one READDIR or READDIRPLUS may answer */
	RPC_LAST_FRAGMENT = 31,        /* the bit in a record mark */
};

enum nfs_procedure {
	NFS_NULL = 0,
	NFS_GETATTR = 1,
	NFS_SETATTR = 2,
	NFS_LOOKUP = 3,
	NFS_READ = 6,
	NFS_WRITE = 7,
	NFS_CREATE = 8,
	NFS_MKDIR = 9,
	NFS_REMOVE = 12,
	NFS_READDIR = 16,
	NFS_READDIRPLUS = 17,
	NFS_FSINFO = 19,
	NFS_COMMIT = 21,
};

enum nfs_stability {
	NFS_UNSTABLE = 0,
	NFS_FILE_SYNC = 2
};

enum {
	NFS_OK = 0,
	NFS_ERROR_NOENT = 2
};

struct nfs_handle {
	uint32_t bytes;
	uint8_t data[NFS_HANDLE_BYTES_MAX];
};

/* A folder being listed, from one call to the next; begin with zeros. */
struct nfs_listing {
	uint64_t cookie;
	uint8_t verifier[8];
	bool ended;
};

struct nfs_entry {
	char name[256];
	/* READDIRPLUS, if the server gave them */
	bool has_handle;
	struct nfs_handle handle;
	bool is_folder;
	uint64_t bytes;
};

size_t nfs_call_mount(uint8_t *to, uint32_t xid, const char *path);
size_t nfs_call_null(uint8_t *to, uint32_t xid);
size_t nfs_call_getattr(uint8_t *to, uint32_t xid, const struct nfs_handle *file);
size_t nfs_call_lookup(uint8_t *to, uint32_t xid, const struct nfs_handle *folder,
                       const char *name);
size_t nfs_call_create(uint8_t *to, uint32_t xid, const struct nfs_handle *folder,
                       const char *name);
size_t nfs_call_read(uint8_t *to, uint32_t xid, const struct nfs_handle *file, uint64_t offset,
                     uint32_t count);
/* Without the data: `count` bytes, a multiple of four, follow it on the wire. */
size_t nfs_call_write(uint8_t *to, uint32_t xid, const struct nfs_handle *file, uint64_t offset,
                      uint32_t count, enum nfs_stability stability);
size_t nfs_call_commit(uint8_t *to, uint32_t xid, const struct nfs_handle *file);

const char *nfs_reply_header(struct wire_in *in, uint32_t *ret_xid);
const char *nfs_reply_mount(struct wire_in *in, struct nfs_handle *ret_root);
/* ret_status may be NFS_ERROR_NOENT: nothing else is set then. */
const char *nfs_reply_lookup(struct wire_in *in, uint32_t *ret_status, struct nfs_handle *ret_file,
                             uint64_t *ret_file_bytes);
const char *nfs_reply_create(struct wire_in *in, struct nfs_handle *ret_file);
const char *nfs_reply_getattr(struct wire_in *in);
/* The data may not have arrived yet: only its place is given. */
const char *nfs_reply_read(struct wire_in *in, uint32_t *ret_count, const uint8_t **ret_data);
const char *nfs_reply_write(struct wire_in *in, uint32_t *ret_count, uint32_t *ret_committed);
const char *nfs_reply_commit(struct wire_in *in);

/* Folders (nfs_folder.c). */
size_t nfs_call_mkdir(uint8_t *to, uint32_t xid, const struct nfs_handle *parent, const char *name);
size_t nfs_call_remove(uint8_t *to, uint32_t xid, const struct nfs_handle *folder,
                       const char *name);
/* Sets the time of modification. */
size_t nfs_call_settime(uint8_t *to, uint32_t xid, const struct nfs_handle *file,
                        uint32_t modified_s);
size_t nfs_call_list(uint8_t *to, uint32_t xid, const struct nfs_handle *folder,
                     const struct nfs_listing *listing, bool plus);

const char *nfs_reply_mkdir(struct wire_in *in, struct nfs_handle *ret_folder);
const char *nfs_reply_remove(struct wire_in *in);
const char *nfs_reply_settime(struct wire_in *in);
/* Before the entries; then each until nfs_list_entry() is false, then the end. */
const char *nfs_reply_list(struct wire_in *in, struct nfs_listing *listing);
bool nfs_list_entry(struct wire_in *in, struct nfs_listing *listing, bool plus,
                    struct nfs_entry *ret_entry);
const char *nfs_list_end(struct wire_in *in, struct nfs_listing *listing);
