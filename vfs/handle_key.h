/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle_key.h - the key of the file handles, in the state directory: DIR/handle.key. nfsd and the
 * sidecar have the same; whichever starts first makes it.
 */
#pragma once

#include <stdbool.h>

#include "vfs/handle.h"

enum {
	VFS_HANDLE_KEY_WHY_BYTES = 512
};

/* Read the key; make the directory and the key if they are not there (@ret_made). 0 or a negative
 * errno, and then in @reterr_why what is wrong and what to do. */
int vfs_handle_key_load(const char *state_dir, struct vfs_handle_key *ret_key, bool *ret_made,
                        char reterr_why[VFS_HANDLE_KEY_WHY_BYTES]);

/* Only look: as above, and -ENOENT if it is still to be made. */
int vfs_handle_key_check(const char *state_dir, char reterr_why[VFS_HANDLE_KEY_WHY_BYTES]);
