/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall_fail.h - the Nth system call on files fails, for every N.
 *
 *     for (unsigned n = 1;; n++) {
 *             syscall_fail_begin(n, EIO);
 *             r = code_under_test();
 *             if (!syscall_fail_end())
 *                     break;                     it needed fewer than n
 *     }
 *
 * Link with dep_syscall_fail, which puts this between the test program's objects and libc. What
 * closes descriptors or changes a thread's identity is not in it: it does not fail.
 */
#pragma once

#include <stdbool.h>

/* The @nth call from now on fails with @error, and no other. */
void syscall_fail_begin(unsigned nth, int error);

/* Back to normal: the name of the call that failed, or NULL. */
const char *syscall_fail_end(void);

/* Was it one that makes changes durable? */
bool syscall_is_flush(const char *name);
