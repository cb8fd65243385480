/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.h - which system calls a daemon may make (seccomp(2)): a list of its own, beside the one
 * that every daemon of ours has for memory, threads, time and files.
 *
 * What io_uring does is no system call, and not seen here: vfs/io/ring.c limits a ring to the
 * operations that are used.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What becomes of a call that is not on a list. */
enum confine_mode {
	CONFINE_REFUSE, /* it fails with EPERM, and the kernel logs it */
	CONFINE_KILL,   /* the process ends with SIGSYS: for tests, which must notice */
	CONFINE_LOG,    /* it is made, and logged: to find out what a list lacks */
	CONFINE_OFF,
};

/* Their words in lodestore.conf(5), for struct conf_key. */
extern const char *const confine_mode_words[];

/* Unless lodestore.conf says another. */
#ifdef LODESTORE_SECCOMP_KILL
#define CONFINE_MODE_DEFAULT CONFINE_KILL
#else
#define CONFINE_MODE_DEFAULT CONFINE_REFUSE
#endif

#define CONFINE_INT UINT64_C(0xffffffff) /* mask of an int: the kernel looks at no other bits */

/* With a @mask: only if (argument & mask) == value. A call may be in several rows. */
struct confine_call {
	const char *name;
	unsigned argument; /* 0 is the first */
	uint64_t mask, value;
};

/* confine_common.c: what both daemons need, for memory, threads, time and files. */
extern const struct confine_call confine_common[];
extern const size_t confine_common_count;

/**
 * confine_calls() - from now on, and for all threads, the process makes no other calls
 * @calls: what it needs beside confine_common
 *
 * Once the daemon is set up. no_new_privs goes with it.
 *
 * Return: 0 or a negative errno.
 */
int confine_calls(const struct confine_call *calls, size_t count, enum confine_mode mode);
