/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_fail.h - memory runs out at the Nth allocation, for every N.
 *
 *     for (unsigned n = 1; alloc_fail_begin(n); n++) {
 *             r = code_under_test();
 *             if (!alloc_fail_end())
 *                     break;                     it needed fewer than n
 *             ck_assert_int_eq(r, -ENOMEM);
 *     }
 *
 * Replaces malloc(3) and its kin for the whole test program (glibc). With a sanitizer, which has
 * its own, alloc_fail_begin() says so on stderr and returns false.
 */
#pragma once

#include <stdbool.h>

/* The @nth allocation from now on fails, and no other. */
bool alloc_fail_begin(unsigned nth);

/* Back to normal: did an allocation fail? */
bool alloc_fail_end(void);
