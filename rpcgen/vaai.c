/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vaai.c - what both dialects share; vaai_o.c and vaai_q.c have one each.
 */
#include "rpcgen/vaai.h"

#include <errno.h>

#include "rpcgen/vaai_dialects.h"

enum {
	Q_OPERATION_MAX = 5,
	O_HANDLE_BYTES_MIN = 8,
};

int vaai_decode(const uint8_t *bytes, size_t bytes_count, struct vaai_call *ret_call)
{
	struct xdr_in in = xdr_in(bytes, bytes_count), peek = in;
	struct vaai_call call = { .refusal = NFS3_OK };
	uint32_t first = xdr_get_u32(&peek);

	if (peek.failed)
		return -EBADMSG;
	if (first <= Q_OPERATION_MAX)
		vaai_q_read(&in, &call);
	else if (first >= O_HANDLE_BYTES_MIN && first <= NFS3_FHSIZE)
		vaai_o_read(&in, &call);
	else
		return -EBADMSG;
	if (!xdr_in_done(&in))
		return -EBADMSG;
	*ret_call = call;
	return 0;
}

void vaai_put_result(struct xdr_out *out, const struct vaai_call *call,
                     const struct vaai_result *result)
{
	if (call->dialect == VAAI_DIALECT_O)
		vaai_o_put(out, call, result);
	else
		vaai_q_put(out, call, result);
}

struct vaai_result vaai_unavailable(const struct vaai_call *call)
{
	if (call->ask == VAAI_SUPPORT)
		return (struct vaai_result){ .status = NFS3_OK, .primitives = 0 };
	return (struct vaai_result){ .status = NFS3ERR_NOTSUPP };
}

static bool is_dots(const uint8_t *name, size_t bytes)
{
	return (bytes == 1 || bytes == 2) && memcmp(name, "..", bytes) == 0;
}

nfsstat3 vaai_check_name(const struct xdr_view *name)
{
	if (name->count > VAAI_NAME_BYTES_MAX)
		return NFS3ERR_NAMETOOLONG;
	if (name->count == 0 || is_dots(name->bytes, name->count) ||
	    memchr(name->bytes, '/', name->count) || memchr(name->bytes, '\0', name->count))
		return NFS3ERR_INVAL;
	return NFS3_OK;
}

nfsstat3 vaai_last_name(const struct xdr_view *path, struct xdr_view *ret_name)
{
	struct xdr_view name = { path->bytes, 0 };
	nfsstat3 status;

	if (path->count == 0 || path->bytes[0] == '/')
		return NFS3ERR_INVAL;
	for (uint32_t at = 0; at < path->count; at++) {
		if (path->bytes[at] != '/') {
			name.count++;
			continue;
		}
		if (name.count == 2 && is_dots(name.bytes, 2))
			return NFS3ERR_INVAL;
		name = (struct xdr_view){ path->bytes + at + 1, 0 };
	}
	status = vaai_check_name(&name);
	if (status == NFS3_OK)
		*ret_name = name;
	return status;
}

const char *vaai_ask_name(enum vaai_ask ask)
{
	static const char *const names[] = {
		[VAAI_SUPPORT] = "SUPPORT",   [VAAI_CLONE] = "CLONE",
		[VAAI_RESERVE] = "RESERVE",   [VAAI_STAT] = "STAT",
		[VAAI_PROGRESS] = "PROGRESS", [VAAI_ABORT] = "ABORT",
	};

	return names[ask];
}
