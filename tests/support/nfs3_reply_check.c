/* SPDX-License-Identifier: Apache-2.0 */
#include "support/nfs3_reply_check.h"

#include <rpc/rpc.h>
#include <string.h>

#include "rpcgen/nfs3.h"
#include "rpcgen/vaai.h"
#include "vfs/base/cleanup.h"

static const xdrproc_t results_of[] = {
	[NFSPROC3_GETATTR] = (xdrproc_t) xdr_GETATTR3res,
	[NFSPROC3_SETATTR] = (xdrproc_t) xdr_SETATTR3res,
	[NFSPROC3_LOOKUP] = (xdrproc_t) xdr_LOOKUP3res,
	[NFSPROC3_ACCESS] = (xdrproc_t) xdr_ACCESS3res,
	[NFSPROC3_READLINK] = (xdrproc_t) xdr_READLINK3res,
	[NFSPROC3_READ] = (xdrproc_t) xdr_READ3res,
	[NFSPROC3_WRITE] = (xdrproc_t) xdr_WRITE3res,
	[NFSPROC3_CREATE] = (xdrproc_t) xdr_CREATE3res,
	[NFSPROC3_MKDIR] = (xdrproc_t) xdr_MKDIR3res,
	[NFSPROC3_SYMLINK] = (xdrproc_t) xdr_SYMLINK3res,
	[NFSPROC3_MKNOD] = (xdrproc_t) xdr_MKNOD3res,
	[NFSPROC3_REMOVE] = (xdrproc_t) xdr_REMOVE3res,
	[NFSPROC3_RMDIR] = (xdrproc_t) xdr_RMDIR3res,
	[NFSPROC3_RENAME] = (xdrproc_t) xdr_RENAME3res,
	[NFSPROC3_LINK] = (xdrproc_t) xdr_LINK3res,
	[NFSPROC3_READDIR] = (xdrproc_t) xdr_READDIR3res,
	[NFSPROC3_READDIRPLUS] = (xdrproc_t) xdr_READDIRPLUS3res,
	[NFSPROC3_FSSTAT] = (xdrproc_t) xdr_FSSTAT3res,
	[NFSPROC3_FSINFO] = (xdrproc_t) xdr_FSINFO3res,
	[NFSPROC3_PATHCONF] = (xdrproc_t) xdr_PATHCONF3res,
	[NFSPROC3_COMMIT] = (xdrproc_t) xdr_COMMIT3res,
};

/* Any of them: each begins with its status. */
union results {
	nfsstat3 status;
	GETATTR3res getattr;
	LOOKUP3res lookup;
	READ3res read;
	WRITE3res write;
	CREATE3res create;
	RENAME3res rename;
	LINK3res link;
	READDIRPLUS3res readdirplus;
	READDIR3res readdir;
	FSSTAT3res fsstat;
	FSINFO3res fsinfo;
	PATHCONF3res pathconf;
	uint8_t room[1024];
};

bool reply_check_header(const uint8_t *bytes, size_t bytes_count, struct reply_seen *ret_seen)
{
	struct rpc_msg message = { 0 };
	bool good;
	XDR xdrs;

	if (bytes_count % 4 != 0)
		return false;
	message.acpted_rply.ar_results.proc = (xdrproc_t) (void (*)(void)) xdr_void;
	xdrmem_create(&xdrs, (char *) (uintptr_t) bytes, (u_int) bytes_count, XDR_DECODE);
	good = xdr_replymsg(&xdrs, &message) && message.rm_direction == REPLY;
	*ret_seen = (struct reply_seen){
		.xid = (uint32_t) message.rm_xid,
		.success = good && message.rm_reply.rp_stat == MSG_ACCEPTED &&
		           message.acpted_rply.ar_stat == SUCCESS,
	};
	if (good) {
		ret_seen->results = bytes + xdr_getpos(&xdrs);
		ret_seen->result_bytes = bytes_count - xdr_getpos(&xdrs);
		if (message.rm_reply.rp_stat == MSG_ACCEPTED &&
		    message.acpted_rply.ar_verf.oa_length)
			good = false; /* our verifiers are empty */
	}
	return good && (ret_seen->success || ret_seen->result_bytes == 0);
}

/* Procedure 22 where nothing is offloaded: both dialects' "no". */
static bool check_vaai(const uint8_t *results, size_t result_bytes)
{
	struct xdr_in in = xdr_in(results, result_bytes);
	nfsstat3 status = (nfsstat3) xdr_get_u32(&in);
	uint32_t next;

	if (status != NFS3_OK && result_bytes == 4)
		return true; /* dialect Q */
	next = xdr_get_u32(&in);
	if (next == VAAI_REPLY_BYTES)
		return result_bytes == VAAI_RESULT_BYTES_MAX;
	return next == 0 && xdr_get_u32(&in) == 0 && xdr_in_done(&in); /* REGISTER */
}

bool reply_check_nfs3(uint32_t procedure, const uint8_t *results, size_t result_bytes)
{
	union results decoded;
	bool good;
	XDR xdrs;

	if (procedure == NFSPROC3_NULL)
		return result_bytes == 0;
	if (procedure == VAAI_PROCEDURE)
		return check_vaai(results, result_bytes);
	if (procedure >= ARRAY_COUNT(results_of))
		return false;
	memset(&decoded, 0, sizeof decoded);
	xdrmem_create(&xdrs, (char *) (uintptr_t) results, (u_int) result_bytes, XDR_DECODE);
	good = results_of[procedure](&xdrs, &decoded) && xdr_getpos(&xdrs) == result_bytes;
	xdr_free(results_of[procedure], &decoded);
	return good;
}
