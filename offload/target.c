/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/target.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/status.h"
#include "vfs/base/cleanup.h"
#include "vfs/squash.h"

enum {
	PORT_RESERVED_MAX = 1023
};

void target_done(struct target *target)
{
	target->file = vfs_file_put(target->file);
	target->dir = vfs_file_put(target->dir);
}

/* ---- names ---- */

static int path_text(const offload_path *path, char to[JOB_SHOWN_BYTES])
{
	if (path->offload_path_len >= JOB_SHOWN_BYTES)
		return -ENAMETOOLONG;
	to[0] = '\0';
	if (path->offload_path_len == 0) /* then it may be NULL */
		return 0;
	if (memchr(path->offload_path_val, '\0', path->offload_path_len))
		return -EINVAL;
	memcpy(to, path->offload_path_val, path->offload_path_len);
	to[path->offload_path_len] = '\0';
	return 0;
}

static void show_handle(const offload_handle *handle, const char *below, char *to)
{
	char digits[2 * OFFLOAD_HANDLE_BYTES_MAX + 1] = "";

	for (u_int i = 0; i < handle->offload_handle_len; i++)
		snprintf(digits + 2 * i, 3, "%02x", (uint8_t) handle->offload_handle_val[i]);
	snprintf(to, JOB_SHOWN_BYTES, "handle:%s%s%s", digits, below[0] ? "/" : "", below);
}

/* ---- rights ---- */

static int enter_export(struct vfs *vfs, const struct caller *caller, struct vfs_file *file,
                        bool write, struct vfs_cred *ret_cred)
{
	struct export_options options;
	int r;

	if (caller->local) {
		*ret_cred = caller->cred;
		return 0;
	}
	r = vfs_export_access(vfs, vfs_file_export(file), &caller->address, &export_names_system,
	                      true, &options);
	if (r < 0)
		return r;
	if (options.secure && caller->port > PORT_RESERVED_MAX)
		return -EACCES;
	if (!options.offload)
		return -OFFLOAD_EOFF;
	vfs_squash(&caller->cred, &options, ret_cred);
	return write && options.read_only ? -EROFS : 0;
}

static int may_use(const struct target *target, enum target_use use)
{
	struct vfs_attr attr;
	int r;

	if (use == TARGET_LOOK)
		return 0;
	if (!target->file)
		return vfs_access(target->dir, VFS_MAY_WRITE | VFS_MAY_EXECUTE) ==
		                       (VFS_MAY_WRITE | VFS_MAY_EXECUTE)
		               ? 0
		               : -EACCES;
	r = vfs_file_attr(target->file, &attr);
	if (r == 0)
		r = vfs_file_may(target->file, &attr, &target->cred, use != TARGET_READ);
	if (r == -EAGAIN)
		r = vfs_access(target->file, use == TARGET_READ ? VFS_MAY_READ : VFS_MAY_WRITE)
		            ? 0
		            : -EACCES;
	return r;
}

/* ---- finding ---- */

/* One component; the one found before is the directory then. */
static int step_down(struct target *target, const char *name)
{
	struct vfs_file *found = NULL;
	int r;

	if (!target->file)
		return -ENOENT;
	vfs_file_put(target->dir);
	target->dir = target->file;
	target->file = NULL;
	if (snprintf(target->where.name, sizeof target->where.name, "%s", name) >=
	    (int) sizeof target->where.name)
		return -ENAMETOOLONG;
	r = vfs_lookup(target->dir, name, &found);
	if (r == 0)
		target->file = found;
	return r;
}

/* From target->file down. Missing may only the last one be. */
static int walk(struct target *target, char *below, bool may_be_missing)
{
	char *rest, *name;
	int r = 0;

	for (name = strtok_r(below, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
		if (r == -ENOENT)
			return r; /* more below what is missing */
		if (strcmp(name, "..") == 0)
			return -EINVAL;
		if (strcmp(name, ".") == 0)
			continue;
		r = step_down(target, name);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return r == -ENOENT && may_be_missing ? 0 : r;
}

/* Where to begin, and what is left to walk. */
static int find_start(struct vfs *vfs, const offload_file *named, struct target *target,
                      char ret_below[JOB_SHOWN_BYTES])
{
	const offload_handle *handle = &named->offload_file_u.handle;
	int r;

	ret_below[0] = '\0';
	if (named->kind == OFFLOAD_FILE_PATH) {
		r = path_text(&named->offload_file_u.path, target->where.shown);
		return r < 0 ? r
		             : vfs_path_root(vfs, target->where.shown, &target->file, ret_below);
	}
	if (named->kind == OFFLOAD_FILE_BELOW) {
		handle = &named->offload_file_u.below.dir;
		r = path_text(&named->offload_file_u.below.path, ret_below);
		if (r < 0)
			return r;
	}
	show_handle(handle, ret_below, target->where.shown);
	return vfs_file_open(vfs, (const uint8_t *) handle->offload_handle_val,
	                     handle->offload_handle_len, &target->file);
}

static int resolve(struct vfs *vfs, const struct caller *caller, const offload_file *named,
                   enum target_use use, struct target *target)
{
	static_assert((int) JOB_SHOWN_BYTES > (int) VFS_MOUNT_PATH_BYTES_MAX,
	              "find_start() fills it");
	char below[JOB_SHOWN_BYTES];
	int r;

	r = find_start(vfs, named, target, below);
	if (r == 0)
		r = enter_export(vfs, caller, target->file,
		                 use == TARGET_WRITE || use == TARGET_MAKE, &target->cred);
	if (r < 0)
		return r;
	if (!caller->local)
		vfs_identity_assume(&target->cred);
	r = walk(target, below, use == TARGET_MAKE || use == TARGET_LOOK);
	if (r == 0)
		r = may_use(target, use);
	vfs_identity_server();
	return r;
}

int target_resolve(struct vfs *vfs, const struct caller *caller, const offload_file *named,
                   enum target_use use, struct target *ret_target)
{
	int r;

	memset(ret_target, 0, sizeof *ret_target);
	r = resolve(vfs, caller, named, use, ret_target);
	if (r < 0)
		return r;
	if (ret_target->file)
		ret_target->where.handle = *vfs_file_handle(ret_target->file);
	if (ret_target->dir)
		ret_target->where.dir = *vfs_file_handle(ret_target->dir);
	return 0;
}

/* ---- jobs ---- */

/* @ret_cred: who the caller is there, if the file's export knows it. */
static bool handle_allowed(struct vfs *vfs, const struct caller *caller,
                           const struct vfs_handle *handle, bool write, struct vfs_cred *ret_cred)
{
	struct vfs_file *file;
	bool allowed;

	if (vfs_file_open(vfs, handle->bytes, handle->count, &file) < 0)
		return false;
	allowed = enter_export(vfs, caller, file, write, ret_cred) == 0;
	vfs_file_put(file);
	return allowed;
}

bool target_job_allowed(struct vfs *vfs, const struct caller *caller,
                        const struct job_record *record, bool write)
{
	const struct job_file *last = record->kind == OFFLOAD_KIND_CLONE ? &record->destination
	                                                                 : &record->source;
	bool same_host = memcmp(&caller->address, &record->host, sizeof record->host) == 0;
	struct vfs_cred cred = caller->cred, source_cred;
	bool allowed = false;

	if (caller->local)
		return true;
	if (write || !same_host)
		allowed = handle_allowed(vfs, caller, last->dir.count ? &last->dir : &last->handle,
		                         write, &cred);
	if (write && cred.uid != 0 && cred.uid != record->cred.uid)
		return false;
	return same_host || (allowed && handle_allowed(vfs, caller, &record->source.handle, false,
	                                               &source_cred));
}
