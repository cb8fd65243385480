/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 1813 for the procedures, RFC 5531 for the envelope. */
#include "nfs_parts.h"

#include <assert.h>
#include <stdio.h>

enum {
	ATTRIBUTES_BYTES = 84,
	ATTRIBUTES_TYPE_TO_SIZE = 16,
	FOLDER = 2, /* NF3DIR */
	WCC_BEFORE_BYTES = 24,
	AUTH_SYS = 1,
};

static const char machine_name[] = "nfsbench";

uint8_t *nfs_call_begin(uint8_t *to, uint32_t xid, uint32_t program, uint32_t procedure)
{
	const uint32_t name_bytes = sizeof machine_name - 1;

	to = wire_put_u32(to + 4, xid); /* the record mark comes last */
	to = wire_put_u32(to, 0);       /* CALL */
	to = wire_put_u32(to, 2);       /* RPC version */
	to = wire_put_u32(to, program);
	to = wire_put_u32(to, 3);
	to = wire_put_u32(to, procedure);
	to = wire_put_u32(to, AUTH_SYS);
	to = wire_put_u32(to, 20 + wire_padded(name_bytes));
	to = wire_put_u32(to, 0); /* stamp */
	to = wire_put_opaque(to, machine_name, name_bytes);
	to = wire_put_u32(to, 0); /* uid */
	to = wire_put_u32(to, 0); /* gid */
	to = wire_put_u32(to, 0); /* no further groups */
	to = wire_put_u32(to, 0); /* verifier: AUTH_NONE */
	return wire_put_u32(to, 0);
}

size_t nfs_call_end(uint8_t *start, const uint8_t *end, uint32_t data_bytes)
{
	size_t bytes = (size_t) (end - start);

	assert(bytes <= NFS_CALL_BYTES_MAX);
	wire_put_u32(start, 1u << RPC_LAST_FRAGMENT | (uint32_t) (bytes - 4 + data_bytes));
	return bytes;
}

uint8_t *nfs_put_handle(uint8_t *to, const struct nfs_handle *handle)
{
	return wire_put_opaque(to, handle->data, handle->bytes);
}

size_t nfs_call_mount(uint8_t *to, uint32_t xid, const char *path)
{
	uint8_t *at = nfs_call_begin(to, xid, MOUNT_PROGRAM, 1);

	at = wire_put_opaque(at, path, (uint32_t) strnlen(path, 1024));
	return nfs_call_end(to, at, 0);
}

size_t nfs_call_null(uint8_t *to, uint32_t xid)
{
	return nfs_call_end(to, nfs_call_begin(to, xid, NFS_PROGRAM, NFS_NULL), 0);
}

size_t nfs_call_getattr(uint8_t *to, uint32_t xid, const struct nfs_handle *file)
{
	return nfs_call_end(
		to, nfs_put_handle(nfs_call_begin(to, xid, NFS_PROGRAM, NFS_GETATTR), file), 0);
}

uint8_t *nfs_put_name(uint8_t *to, const struct nfs_handle *folder, const char *name)
{
	return wire_put_opaque(nfs_put_handle(to, folder), name, (uint32_t) strnlen(name, 255));
}

uint8_t *nfs_put_mode(uint8_t *to, uint32_t mode)
{
	to = wire_put_u32(to, 1); /* mode is set */
	to = wire_put_u32(to, mode);
	to = wire_put_u32(to, 0);   /* uid is not */
	to = wire_put_u32(to, 0);   /* gid */
	to = wire_put_u32(to, 0);   /* size */
	to = wire_put_u32(to, 0);   /* atime */
	return wire_put_u32(to, 0); /* mtime */
}

size_t nfs_call_lookup(uint8_t *to, uint32_t xid, const struct nfs_handle *folder, const char *name)
{
	uint8_t *at = nfs_call_begin(to, xid, NFS_PROGRAM, NFS_LOOKUP);

	return nfs_call_end(to, nfs_put_name(at, folder, name), 0);
}

size_t nfs_call_create(uint8_t *to, uint32_t xid, const struct nfs_handle *folder, const char *name)
{
	uint8_t *at = nfs_call_begin(to, xid, NFS_PROGRAM, NFS_CREATE);

	at = nfs_put_name(at, folder, name);
	at = wire_put_u32(at, 0); /* UNCHECKED */
	return nfs_call_end(to, nfs_put_mode(at, 0644), 0);
}

size_t nfs_call_read(uint8_t *to, uint32_t xid, const struct nfs_handle *file, uint64_t offset,
                     uint32_t count)
{
	uint8_t *at = nfs_put_handle(nfs_call_begin(to, xid, NFS_PROGRAM, NFS_READ), file);

	at = wire_put_u64(at, offset);
	at = wire_put_u32(at, count);
	return nfs_call_end(to, at, 0);
}

size_t nfs_call_write(uint8_t *to, uint32_t xid, const struct nfs_handle *file, uint64_t offset,
                      uint32_t count, enum nfs_stability stability)
{
	uint8_t *at = nfs_put_handle(nfs_call_begin(to, xid, NFS_PROGRAM, NFS_WRITE), file);

	assert(count % 4 == 0);
	at = wire_put_u64(at, offset);
	at = wire_put_u32(at, count);
	at = wire_put_u32(at, stability);
	at = wire_put_u32(at, count);
	return nfs_call_end(to, at, count);
}

size_t nfs_call_commit(uint8_t *to, uint32_t xid, const struct nfs_handle *file)
{
	uint8_t *at = nfs_put_handle(nfs_call_begin(to, xid, NFS_PROGRAM, NFS_COMMIT), file);

	at = wire_put_u64(at, 0);
	at = wire_put_u32(at, 0); /* to the end */
	return nfs_call_end(to, at, 0);
}

const char *nfs_bad_status(const char *procedure, uint32_t status)
{
	static _Thread_local char text[64];

	snprintf(text, sizeof text, "%s answered status %u", procedure, status);
	return text;
}

const char *nfs_short_unless(const struct wire_in *in)
{
	return in->bad ? "a reply is too short" : NULL;
}

const char *nfs_reply_header(struct wire_in *in, uint32_t *ret_xid)
{
	uint32_t kind, state, verifier_bytes, accepted;

	*ret_xid = wire_get_u32(in);
	kind = wire_get_u32(in);
	state = wire_get_u32(in);
	(void) wire_get_u32(in); /* the verifier's flavour */
	verifier_bytes = wire_get_u32(in);
	(void) wire_get_bytes(in, wire_padded(verifier_bytes));
	accepted = wire_get_u32(in);
	if (in->bad || kind != 1)
		return "something other than an RPC reply came";
	if (state != 0)
		return "the server denied an RPC call";
	return accepted ? nfs_bad_status("RPC", accepted) : NULL;
}

void nfs_get_handle(struct wire_in *in, struct nfs_handle *handle)
{
	uint32_t bytes = wire_get_u32(in);
	const uint8_t *data = wire_get_bytes(in, wire_padded(bytes));

	if (!data || bytes > NFS_HANDLE_BYTES_MAX) {
		in->bad = true;
		return;
	}
	handle->bytes = bytes;
	memcpy(handle->data, data, bytes);
}

struct nfs_attributes nfs_get_attributes(struct wire_in *in)
{
	struct nfs_attributes attributes = { .there = wire_get_u32(in) != 0 };
	struct wire_in inside;

	if (!attributes.there)
		return attributes;
	inside = *in;
	(void) wire_get_bytes(in, ATTRIBUTES_BYTES);
	attributes.is_folder = wire_get_u32(&inside) == FOLDER;
	(void) wire_get_bytes(&inside, ATTRIBUTES_TYPE_TO_SIZE);
	attributes.bytes = wire_get_u64(&inside);
	return attributes;
}

void nfs_skip_wcc(struct wire_in *in)
{
	if (wire_get_u32(in))
		(void) wire_get_bytes(in, WCC_BEFORE_BYTES);
	(void) nfs_get_attributes(in);
}

const char *nfs_reply_mount(struct wire_in *in, struct nfs_handle *ret_root)
{
	uint32_t status = wire_get_u32(in);

	if (status != NFS_OK)
		return nfs_bad_status("MNT", status);
	nfs_get_handle(in, ret_root);
	return nfs_short_unless(in);
}

const char *nfs_reply_lookup(struct wire_in *in, uint32_t *ret_status, struct nfs_handle *ret_file,
                             uint64_t *ret_file_bytes)
{
	*ret_status = wire_get_u32(in);
	if (*ret_status == NFS_ERROR_NOENT)
		return nfs_short_unless(in);
	if (*ret_status != NFS_OK)
		return nfs_bad_status("LOOKUP", *ret_status);
	nfs_get_handle(in, ret_file);
	*ret_file_bytes = nfs_get_attributes(in).bytes;
	return nfs_short_unless(in);
}

const char *nfs_reply_create(struct wire_in *in, struct nfs_handle *ret_file)
{
	uint32_t status = wire_get_u32(in);

	if (status != NFS_OK)
		return nfs_bad_status("CREATE", status);
	if (wire_get_u32(in) == 0)
		return "CREATE gave no handle";
	nfs_get_handle(in, ret_file);
	return nfs_short_unless(in);
}

const char *nfs_reply_getattr(struct wire_in *in)
{
	uint32_t status = wire_get_u32(in);

	if (status != NFS_OK)
		return nfs_bad_status("GETATTR", status);
	(void) wire_get_bytes(in, ATTRIBUTES_BYTES);
	return nfs_short_unless(in);
}

const char *nfs_reply_read(struct wire_in *in, uint32_t *ret_count, const uint8_t **ret_data)
{
	uint32_t status = wire_get_u32(in);
	uint32_t data_bytes;

	if (status != NFS_OK)
		return nfs_bad_status("READ", status);
	(void) nfs_get_attributes(in);
	*ret_count = wire_get_u32(in);
	(void) wire_get_u32(in); /* end of file */
	data_bytes = wire_get_u32(in);
	*ret_data = in->at;
	if (!in->bad && data_bytes != *ret_count)
		return "READ's count is not its data's length";
	return nfs_short_unless(in);
}

const char *nfs_reply_write(struct wire_in *in, uint32_t *ret_count, uint32_t *ret_committed)
{
	uint32_t status = wire_get_u32(in);

	nfs_skip_wcc(in);
	if (status != NFS_OK)
		return nfs_bad_status("WRITE", status);
	*ret_count = wire_get_u32(in);
	*ret_committed = wire_get_u32(in);
	(void) wire_get_u64(in); /* the verifier */
	return nfs_short_unless(in);
}

const char *nfs_reply_commit(struct wire_in *in)
{
	uint32_t status = wire_get_u32(in);

	nfs_skip_wcc(in);
	if (status != NFS_OK)
		return nfs_bad_status("COMMIT", status);
	(void) wire_get_u64(in);
	return nfs_short_unless(in);
}
