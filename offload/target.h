/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.h - from what a caller says to a file that it may use.
 */
#pragma once

#include "offload/job.h"
#include "rpcgen/offload.h"
#include "vfs/vfs.h"

struct caller {
	bool local; /* root on our own socket: no export's rules are for it */
	struct export_address address;
	unsigned port;
	struct vfs_cred cred; /* as it says */
};

enum target_use {
	TARGET_LOOK, /* attributes, or only its name */
	TARGET_READ,
	TARGET_WRITE,
	TARGET_MAKE, /* written, or made if it is not there */
};

struct target {
	struct vfs_file *file; /* NULL: not there (TARGET_MAKE, TARGET_LOOK) */
	struct vfs_file *dir;  /* where it is or shall be; NULL: named by handle */
	struct job_file where;
	struct vfs_cred cred; /* who the caller is there */
};

/* -EINVAL, -ENOENT, -EACCES, -EROFS, -ESTALE, ... Blocks. In any case target_done(). */
int target_resolve(struct vfs *vfs, const struct caller *caller, const offload_file *named,
                   enum target_use use, struct target *ret_target);
void target_done(struct target *target);

/* May this caller know of the job, and (@write) stop it? */
bool target_job_allowed(struct vfs *vfs, const struct caller *caller,
                        const struct job_record *record, bool write);
