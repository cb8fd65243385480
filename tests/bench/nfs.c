/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 1813 for the procedures, RFC 5531 for the envelope. */
#include "nfs.h"

#include <assert.h>
#include <stdio.h>

enum {
	ATTRIBUTES_BYTES = 84,
	ATTRIBUTES_BEFORE_SIZE = 20,
	WCC_BEFORE_BYTES = 24,
	AUTH_SYS = 1,
};

static const char machine_name[] = "nfsbench";

static uint8_t *call_begin(uint8_t *to, uint32_t xid, uint32_t program, uint32_t procedure)
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

static size_t call_end(uint8_t *start, const uint8_t *end, uint32_t data_bytes)
{
	size_t bytes = (size_t) (end - start);

	assert(bytes <= NFS_CALL_BYTES_MAX);
	wire_put_u32(start, 1u << RPC_LAST_FRAGMENT | (uint32_t) (bytes - 4 + data_bytes));
	return bytes;
}

static uint8_t *put_handle(uint8_t *to, const struct nfs_handle *handle)
{
	return wire_put_opaque(to, handle->data, handle->bytes);
}

size_t nfs_call_mount(uint8_t *to, uint32_t xid, const char *path)
{
	uint8_t *at = call_begin(to, xid, MOUNT_PROGRAM, 1);

	at = wire_put_opaque(at, path, (uint32_t) strnlen(path, 1024));
	return call_end(to, at, 0);
}

size_t nfs_call_null(uint8_t *to, uint32_t xid)
{
	return call_end(to, call_begin(to, xid, NFS_PROGRAM, NFS_NULL), 0);
}

size_t nfs_call_getattr(uint8_t *to, uint32_t xid, const struct nfs_handle *file)
{
	return call_end(to, put_handle(call_begin(to, xid, NFS_PROGRAM, NFS_GETATTR), file), 0);
}

size_t nfs_call_lookup(uint8_t *to, uint32_t xid, const struct nfs_handle *folder, const char *name)
{
	uint8_t *at = put_handle(call_begin(to, xid, NFS_PROGRAM, NFS_LOOKUP), folder);

	at = wire_put_opaque(at, name, (uint32_t) strnlen(name, 255));
	return call_end(to, at, 0);
}

size_t nfs_call_create(uint8_t *to, uint32_t xid, const struct nfs_handle *folder, const char *name)
{
	uint8_t *at = put_handle(call_begin(to, xid, NFS_PROGRAM, NFS_CREATE), folder);

	at = wire_put_opaque(at, name, (uint32_t) strnlen(name, 255));
	at = wire_put_u32(at, 0); /* UNCHECKED */
	at = wire_put_u32(at, 1); /* mode is set */
	at = wire_put_u32(at, 0644);
	at = wire_put_u32(at, 0); /* uid is not */
	at = wire_put_u32(at, 0); /* gid */
	at = wire_put_u32(at, 0); /* size */
	at = wire_put_u32(at, 0); /* atime */
	at = wire_put_u32(at, 0); /* mtime */
	return call_end(to, at, 0);
}

size_t nfs_call_read(uint8_t *to, uint32_t xid, const struct nfs_handle *file, uint64_t offset,
                     uint32_t count)
{
	uint8_t *at = put_handle(call_begin(to, xid, NFS_PROGRAM, NFS_READ), file);

	at = wire_put_u64(at, offset);
	at = wire_put_u32(at, count);
	return call_end(to, at, 0);
}

size_t nfs_call_write(uint8_t *to, uint32_t xid, const struct nfs_handle *file, uint64_t offset,
                      uint32_t count, enum nfs_stability stability)
{
	uint8_t *at = put_handle(call_begin(to, xid, NFS_PROGRAM, NFS_WRITE), file);

	assert(count % 4 == 0);
	at = wire_put_u64(at, offset);
	at = wire_put_u32(at, count);
	at = wire_put_u32(at, stability);
	at = wire_put_u32(at, count);
	return call_end(to, at, count);
}

size_t nfs_call_commit(uint8_t *to, uint32_t xid, const struct nfs_handle *file)
{
	uint8_t *at = put_handle(call_begin(to, xid, NFS_PROGRAM, NFS_COMMIT), file);

	at = wire_put_u64(at, 0);
	at = wire_put_u32(at, 0); /* to the end */
	return call_end(to, at, 0);
}

static const char *bad_status(const char *procedure, uint32_t status)
{
	static _Thread_local char text[64];

	snprintf(text, sizeof text, "%s answered status %u", procedure, status);
	return text;
}

static const char *short_unless(const struct wire_in *in)
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
	return accepted ? bad_status("RPC", accepted) : NULL;
}

static void get_handle(struct wire_in *in, struct nfs_handle *handle)
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

/* post_op_attr; gives the file's size, 0 if there are no attributes. */
static uint64_t get_attributes(struct wire_in *in)
{
	struct wire_in attributes;

	if (wire_get_u32(in) == 0)
		return 0;
	attributes = *in;
	(void) wire_get_bytes(in, ATTRIBUTES_BYTES);
	(void) wire_get_bytes(&attributes, ATTRIBUTES_BEFORE_SIZE);
	return wire_get_u64(&attributes);
}

static void skip_wcc(struct wire_in *in)
{
	if (wire_get_u32(in))
		(void) wire_get_bytes(in, WCC_BEFORE_BYTES);
	(void) get_attributes(in);
}

const char *nfs_reply_mount(struct wire_in *in, struct nfs_handle *ret_root)
{
	uint32_t status = wire_get_u32(in);

	if (status != NFS_OK)
		return bad_status("MNT", status);
	get_handle(in, ret_root);
	return short_unless(in);
}

const char *nfs_reply_lookup(struct wire_in *in, uint32_t *ret_status, struct nfs_handle *ret_file,
                             uint64_t *ret_file_bytes)
{
	*ret_status = wire_get_u32(in);
	if (*ret_status == NFS_ERROR_NOENT)
		return short_unless(in);
	if (*ret_status != NFS_OK)
		return bad_status("LOOKUP", *ret_status);
	get_handle(in, ret_file);
	*ret_file_bytes = get_attributes(in);
	return short_unless(in);
}

const char *nfs_reply_create(struct wire_in *in, struct nfs_handle *ret_file)
{
	uint32_t status = wire_get_u32(in);

	if (status != NFS_OK)
		return bad_status("CREATE", status);
	if (wire_get_u32(in) == 0)
		return "CREATE gave no handle";
	get_handle(in, ret_file);
	return short_unless(in);
}

const char *nfs_reply_getattr(struct wire_in *in)
{
	uint32_t status = wire_get_u32(in);

	if (status != NFS_OK)
		return bad_status("GETATTR", status);
	(void) wire_get_bytes(in, ATTRIBUTES_BYTES);
	return short_unless(in);
}

const char *nfs_reply_read(struct wire_in *in, uint32_t *ret_count, const uint8_t **ret_data)
{
	uint32_t status = wire_get_u32(in);
	uint32_t data_bytes;

	if (status != NFS_OK)
		return bad_status("READ", status);
	(void) get_attributes(in);
	*ret_count = wire_get_u32(in);
	(void) wire_get_u32(in); /* end of file */
	data_bytes = wire_get_u32(in);
	*ret_data = in->at;
	if (!in->bad && data_bytes != *ret_count)
		return "READ's count is not its data's length";
	return short_unless(in);
}

const char *nfs_reply_write(struct wire_in *in, uint32_t *ret_count, uint32_t *ret_committed)
{
	uint32_t status = wire_get_u32(in);

	skip_wcc(in);
	if (status != NFS_OK)
		return bad_status("WRITE", status);
	*ret_count = wire_get_u32(in);
	*ret_committed = wire_get_u32(in);
	(void) wire_get_u64(in); /* the verifier */
	return short_unless(in);
}

const char *nfs_reply_commit(struct wire_in *in)
{
	uint32_t status = wire_get_u32(in);

	skip_wcc(in);
	if (status != NFS_OK)
		return bad_status("COMMIT", status);
	(void) wire_get_u64(in);
	return short_unless(in);
}
