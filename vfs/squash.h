/* SPDX-License-Identifier: Apache-2.0 */
/*
 * squash.h - who a caller is on an export. Pure.
 */
#pragma once

#include "vfs/exports.h"
#include "vfs/identity.h"

/* As whom the caller that says it is @from acts: root_squash, all_squash, anonuid and anongid. */
void vfs_squash(const struct vfs_cred *from, const struct export_options *options,
                struct vfs_cred *ret_cred);
