/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vaai.h - procedure 22 of NFSv3, which VAAI-NAS plug-ins call: decoded in place, answers encoded.
 *
 * RFC 1813 ends at procedure 21, and no standard says what follows. Two plug-ins' wires are public
 * (docs/vaai.md); the first word of the arguments tells them apart:
 *
 *     8..64  dialect O: the length of a handle; then a source, then a command of 296 bytes in
 *            little-endian. Answered by a status and always 80 bytes in little-endian.
 *     0..5   dialect Q: an operation, then its own arguments, all XDR. Answered by a status, and
 *            by operation and values only if that is NFS3_OK.
 *
 * Both ask for the same few things, so both are decoded into one structure. Pure: bytes in,
 * structure or error out. Views point into the message.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rpcgen/nfs3.h"
#include "rpcgen/xdr_cursor.h"

enum {
	VAAI_PROCEDURE = 22,
	VAAI_COMMAND_BYTES = 296,  /* of dialect O */
	VAAI_PATH_BYTES_MAX = 256, /* in it, with NUL */
	VAAI_REPLY_BYTES = 80,
	VAAI_NAME_BYTES_MAX = 255, /* Linux's NAME_MAX */
	VAAI_RESULT_BYTES_MAX = 4 + 4 + VAAI_REPLY_BYTES,
	/* What vaai_decode() lets pass is never longer. */
	VAAI_ARGS_BYTES_MAX = 1024,
};

enum vaai_dialect { /* bits of a set */
	VAAI_DIALECT_O = 1,
	VAAI_DIALECT_Q = 2,
};

enum vaai_ask {
	VAAI_SUPPORT, /* which of @primitives can be done? */
	VAAI_CLONE,
	VAAI_RESERVE,
	VAAI_STAT,
	VAAI_PROGRESS, /* of the job into @file */
	VAAI_ABORT,
};

enum { /* primitives, as bits */
	VAAI_CAN_CLONE = 1,
	VAAI_CAN_RESERVE = 2,
	VAAI_CAN_STAT = 4,
	VAAI_CAN_ALL = 7,
};

struct vaai_call {
	enum vaai_dialect dialect;
	enum vaai_ask ask;
	uint32_t command; /* its number in the dialect, which the answer repeats */
	nfsstat3 refusal; /* not NFS3_OK: read in full, but it asks for what cannot be */
	uint32_t primitives;
	struct xdr_view file; /* the handle of the file, the destination, or a directory; none when
	                         dialect Q asks for support */
	struct xdr_view source;
	/* CLONE, below the directories that are the handles then. Dialect O: a path relative to the
	 * mounted directory, which counts only if @file is a directory. Dialect Q: a name each, or
	 * empty. */
	struct xdr_view file_name, source_name;
	bool keep_thin;         /* CLONE: write no runs of zeros */
	uint64_t reserve_bytes; /* RESERVE; 0: as long as the file is */
};

enum vaai_state { /* with the numbers of dialect Q */
	VAAI_STATE_WAITING = 0,
	VAAI_STATE_RUNNING = 1,
	VAAI_STATE_FINISHED = 2,
	VAAI_STATE_FAILED = 3,
	VAAI_STATE_ABORTED = 4,
};

struct vaai_result {
	nfsstat3 status;     /* the rest counts only with NFS3_OK */
	uint32_t primitives; /* SUPPORT: which can be done */
	uint64_t total_bytes, allocated_bytes, unique_bytes, done_bytes;
	enum vaai_state state;
};

/**
 * vaai_decode() - the arguments of one call
 * @bytes, @bytes_count: what follows the call's header; any bytes
 * @ret_call: set on success
 *
 * Refusals (@ret_call->refusal): a command of dialect O that has another length or version than
 * there is, NFS3ERR_INVAL, or another number, NFS3ERR_NOTSUPP; a clone without source; names that
 * are empty, not terminated, not names, or too long; wrong magic in dialect Q.
 *
 * Return: 0; -EBADMSG if the bytes are of neither dialect: answer GARBAGE_ARGS.
 */
int vaai_decode(const uint8_t *bytes, size_t bytes_count, struct vaai_call *ret_call);

/* The results, VAAI_RESULT_BYTES_MAX at most. Of @call only dialect, ask, command and primitives
 * are looked at. */
void vaai_put_result(struct xdr_out *out, const struct vaai_call *call,
                     const struct vaai_result *result);

/* What is answered where there is no offload: support queries get "no", the rest
 * NFS3ERR_NOTSUPP. */
struct vaai_result vaai_unavailable(const struct vaai_call *call);

/* The last name of dialect O's path: NFS3_OK; NFS3ERR_INVAL if the path is empty or absolute, ends
 * in "/" or ".", or has ".." in it. */
nfsstat3 vaai_last_name(const struct xdr_view *path, struct xdr_view *ret_name);

/* "CLONE", for the log. */
const char *vaai_ask_name(enum vaai_ask ask);
