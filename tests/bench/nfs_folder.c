/* SPDX-License-Identifier: Apache-2.0 */
#include "nfs_parts.h"

enum {
	SET_TO_CLIENT_TIME = 2,
};

size_t nfs_call_mkdir(uint8_t *to, uint32_t xid, const struct nfs_handle *parent, const char *name)
{
	uint8_t *at = nfs_call_begin(to, xid, NFS_PROGRAM, NFS_MKDIR);

	return nfs_call_end(to, nfs_put_mode(nfs_put_name(at, parent, name), 0755), 0);
}

size_t nfs_call_remove(uint8_t *to, uint32_t xid, const struct nfs_handle *folder, const char *name)
{
	uint8_t *at = nfs_call_begin(to, xid, NFS_PROGRAM, NFS_REMOVE);

	return nfs_call_end(to, nfs_put_name(at, folder, name), 0);
}

size_t nfs_call_settime(uint8_t *to, uint32_t xid, const struct nfs_handle *file,
                        uint32_t modified_s)
{
	uint8_t *at = nfs_put_handle(nfs_call_begin(to, xid, NFS_PROGRAM, NFS_SETATTR), file);

	at = wire_put_u32(at, 0); /* mode is not set */
	at = wire_put_u32(at, 0); /* uid */
	at = wire_put_u32(at, 0); /* gid */
	at = wire_put_u32(at, 0); /* size */
	at = wire_put_u32(at, 0); /* atime */
	at = wire_put_u32(at, SET_TO_CLIENT_TIME);
	at = wire_put_u32(at, modified_s);
	at = wire_put_u32(at, 0); /* nanoseconds */
	at = wire_put_u32(at, 0); /* no guard */
	return nfs_call_end(to, at, 0);
}

size_t nfs_call_list(uint8_t *to, uint32_t xid, const struct nfs_handle *folder,
                     const struct nfs_listing *listing, bool plus)
{
	uint8_t *at = nfs_call_begin(to, xid, NFS_PROGRAM, plus ? NFS_READDIRPLUS : NFS_READDIR);

	at = wire_put_u64(nfs_put_handle(at, folder), listing->cookie);
	memcpy(at, listing->verifier, sizeof listing->verifier);
	at += sizeof listing->verifier;
	if (plus)
		at = wire_put_u32(at, NFS_LIST_BYTES_MAX); /* of names and cookies */
	at = wire_put_u32(at, NFS_LIST_BYTES_MAX);
	return nfs_call_end(to, at, 0);
}

const char *nfs_reply_mkdir(struct wire_in *in, struct nfs_handle *ret_folder)
{
	uint32_t status = wire_get_u32(in);

	if (status != NFS_OK)
		return nfs_bad_status("MKDIR", status);
	if (wire_get_u32(in) == 0)
		return "MKDIR gave no handle";
	nfs_get_handle(in, ret_folder);
	return nfs_short_unless(in);
}

const char *nfs_reply_remove(struct wire_in *in)
{
	uint32_t status = wire_get_u32(in);

	nfs_skip_wcc(in);
	return status != NFS_OK ? nfs_bad_status("REMOVE", status) : nfs_short_unless(in);
}

const char *nfs_reply_settime(struct wire_in *in)
{
	uint32_t status = wire_get_u32(in);

	nfs_skip_wcc(in);
	return status != NFS_OK ? nfs_bad_status("SETATTR", status) : nfs_short_unless(in);
}

const char *nfs_reply_list(struct wire_in *in, struct nfs_listing *listing)
{
	uint32_t status = wire_get_u32(in);
	const uint8_t *verifier;

	(void) nfs_get_attributes(in);
	if (status != NFS_OK)
		return nfs_bad_status("READDIR", status);
	verifier = wire_get_bytes(in, sizeof listing->verifier);
	if (!verifier)
		return nfs_short_unless(in);
	memcpy(listing->verifier, verifier, sizeof listing->verifier);
	return NULL;
}

bool nfs_list_entry(struct wire_in *in, struct nfs_listing *listing, bool plus,
                    struct nfs_entry *ret_entry)
{
	struct nfs_attributes attributes;
	const uint8_t *name;
	uint32_t name_bytes;

	if (wire_get_u32(in) == 0)
		return false;
	(void) wire_get_u64(in); /* the number of the file */
	name_bytes = wire_get_u32(in);
	if (name_bytes >= sizeof ret_entry->name)
		in->bad = true;
	name = wire_get_bytes(in, wire_padded(name_bytes));
	listing->cookie = wire_get_u64(in);
	if (!name)
		return false;
	memcpy(ret_entry->name, name, name_bytes);
	ret_entry->name[name_bytes] = 0;
	ret_entry->has_handle = false;
	if (!plus)
		return !in->bad;
	attributes = nfs_get_attributes(in);
	ret_entry->is_folder = attributes.is_folder;
	ret_entry->bytes = attributes.bytes;
	ret_entry->has_handle = wire_get_u32(in) != 0;
	if (ret_entry->has_handle)
		nfs_get_handle(in, &ret_entry->handle);
	return !in->bad;
}

const char *nfs_list_end(struct wire_in *in, struct nfs_listing *listing)
{
	listing->ended = wire_get_u32(in) != 0;
	return nfs_short_unless(in);
}
