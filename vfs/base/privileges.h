/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privileges.h - a daemon's capabilities (capabilities(7)): what it needs is kept, all else given
 * up.
 *
 * Whoever starts it - root by hand, or a unit that gives capabilities to a user - it ends up with
 * the same set, and cannot get more (no_new_privs, bounding set).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct privilege {
	int capability; /* CAP_... of <linux/capability.h> */
	const char *name;
	const char *without; /* what does not work, as "nobody can ..." */
	bool optional;       /* the daemon goes on, and tells when it comes to it */
};

/**
 * privileges_keep() - keep these and give up all others, for good
 * @reterr_missing: of those that are not optional, "NAME (WITHOUT)" with commas between them
 *
 * Before threads start: capabilities are a thread's, and passed on.
 *
 * Return: 0; -EPERM if some are missing: then nothing has changed; or a negative errno.
 */
int privileges_keep(const struct privilege *privileges, size_t count, char *reterr_missing,
                    size_t missing_bytes_max);
