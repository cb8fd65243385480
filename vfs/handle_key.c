/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/handle_key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/file_text.h"

#define WHY_BYTES VFS_HANDLE_KEY_WHY_BYTES

static int key_read(const char *path, struct vfs_handle_key *ret_key, char *reterr_why)
{
	AUTO(free_ptr) char *text = NULL;
	size_t bytes;
	int r;

	r = file_text_read(path, &text, &bytes);
	if (r < 0) {
		snprintf(reterr_why, WHY_BYTES,
		         "cannot read the key of the file handles, %s: %s. Mend that, or name"
		         " another directory with --state-dir",
		         path, strerror(-r));
		return r;
	}
	if (bytes != sizeof *ret_key) {
		snprintf(reterr_why, WHY_BYTES,
		         "%s is damaged: it has %zu bytes instead of %zu. Restore it from a backup,"
		         " or remove it and mount all clients anew (their file handles become"
		         " stale)",
		         path, bytes, sizeof *ret_key);
		return -EINVAL;
	}
	memcpy(ret_key, text, sizeof *ret_key);
	return 0;
}

static int key_make(const char *path, struct vfs_handle_key *ret_key, bool *ret_made,
                    char *reterr_why)
{
	struct vfs_handle_key key;
	int r = getrandom(&key, sizeof key, 0) == sizeof key
	                ? file_text_create(path, &key, sizeof key)
	                : -EIO;

	if (r == -EEXIST) /* the other program was quicker */
		return key_read(path, ret_key, reterr_why);
	if (r < 0) {
		snprintf(reterr_why, WHY_BYTES,
		         "cannot make the key of the file handles, %s: %s. Mend that, or name"
		         " another directory with --state-dir",
		         path, strerror(-r));
		return r;
	}
	*ret_key = key;
	*ret_made = true;
	return 0;
}

int vfs_handle_key_load(const char *state_dir, struct vfs_handle_key *ret_key, bool *ret_made,
                        char reterr_why[VFS_HANDLE_KEY_WHY_BYTES])
{
	AUTO(free_ptr) char *path = NULL;
	int r;

	*ret_made = false;
	if (mkdir(state_dir, 0700) < 0 && errno != EEXIST) {
		r = -errno;
		snprintf(reterr_why, WHY_BYTES,
		         "cannot make the state directory %s: %s. Make it, or name another with"
		         " --state-dir",
		         state_dir, strerror(-r));
		return r;
	}
	if (asprintf(&path, "%s/handle.key", state_dir) < 0) {
		snprintf(reterr_why, WHY_BYTES, "memory is short");
		return -ENOMEM;
	}
	r = key_read(path, ret_key, reterr_why);
	return r == -ENOENT ? key_make(path, ret_key, ret_made, reterr_why) : r;
}

int vfs_handle_key_check(const char *state_dir, char reterr_why[VFS_HANDLE_KEY_WHY_BYTES])
{
	AUTO(free_ptr) char *path = NULL;
	struct vfs_handle_key key;
	int r;

	if (asprintf(&path, "%s/handle.key", state_dir) < 0) {
		snprintf(reterr_why, WHY_BYTES, "memory is short");
		return -ENOMEM;
	}
	r = key_read(path, &key, reterr_why);
	if (r == -ENOENT)
		snprintf(reterr_why, WHY_BYTES,
		         "%s is not there: the next start makes a new key. If hosts have used this"
		         " server, restore it from a backup first, or they must mount again",
		         path);
	return r;
}
