/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - what is served: tables of procedures, a row each, and what a call of one is like.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct call;
struct server;

enum call_kind {
	CALL_INLINE,   /* run() on the worker; -EAGAIN there means: once more on the pool */
	CALL_BLOCKING, /* run() on the pool */
	CALL_RING,     /* prepare() as CALL_INLINE's run(), then start() on the worker */
};

enum {
	PROC_OPEN = 1 << 0,       /* without credentials, too */
	PROC_CHANGES = 1 << 1,    /* refused on read-only exports */
	PROC_ONCE_NAMES = 1 << 2, /* not to be run twice: REPLY_CLASS_NAMESPACE */
	PROC_ONCE_WRITE = 1 << 3, /* not to be run twice: REPLY_CLASS_WRITE */
	PROC_COUNTED = 1 << 4,    /* an export's limits count it (throttle.h) */
	PROC_ELSEWHERE = 1 << 5,  /* another process does it: program->prepare() is skipped */
};

/* What an unsuccessful result carries behind its status (RFC 1813: the resfail of each). */
enum call_fail {
	FAIL_STATUS,   /* nothing */
	FAIL_ATTR,     /* post_op_attr of the first handle */
	FAIL_WCC,      /* wcc_data of the first handle */
	FAIL_WCC_WCC,  /* wcc_data of both (RENAME) */
	FAIL_ATTR_WCC, /* post_op_attr of the first, wcc_data of the second (LINK) */
};

struct proc {
	const char *name;
	enum call_kind kind;
	unsigned flags;
	enum call_fail fail;
	/* Room for the results, from the decoded arguments; NULL: CALL_REPLY_BYTES_MIN. */
	uint32_t (*reply_room)(const struct call *call);
	/* 0: the results are in call->out. -EAGAIN (only if !call->may_block): would block. Other
	 * negative errno: the procedure fails. */
	int (*run)(struct call *call);
	/* CALL_RING: start I/O; ends in call_finish(). */
	void (*start)(struct call *call);
	/* As the program's; NULL: those. */
	int (*decode)(struct call *call);
	void (*failed)(struct call *call, int error);
};

/* What a listening socket is for. */
enum socket_role {
	ROLE_NFS,     /* NFS, MOUNT, offload */
	ROLE_PORTMAP, /* port 111, if no rpcbind runs */
};

/* One version of one program. */
struct program {
	uint32_t number, version;
	const struct proc *procs;
	uint32_t proc_count;
	/* Turn a failure of run() into results at call->out, or an accept_stat but SUCCESS. */
	void (*failed)(struct call *call, int error);
	/* Decode call->rpc.args: 0, -EBADMSG GARBAGE_ARGS, -ENOSYS PROC_UNAVAIL. NULL: no need. */
	int (*decode)(struct call *call);
	/* Common to all procedures with a handle, before run(): 0, -EAGAIN, or a failure. NULL:
	 * nothing. */
	int (*prepare)(struct call *call);
	/* What a call may wait for on the pool (pool.h's group). NULL: the program is one. */
	uint64_t (*waits_for)(const struct call *call);
	/* Is it there at all? NULL: always. */
	bool (*is_served)(const struct server *server);
	enum socket_role role; /* the sockets it is served on */
};

/* Ends with a program whose number is 0. */
extern const struct program *const programs[];
