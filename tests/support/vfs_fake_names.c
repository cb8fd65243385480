/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfs_fake_names.c - names.h in memory: a table of (directory, name, node).
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "support/vfs_fake_internal.h"

bool vfs_fake_name_add(struct vfs_fake_node *dir, const char *name, struct vfs_fake_node *node)
{
	for (size_t i = 0; i < VFS_FAKE_NAMES; i++)
		if (!vfs_fake_names[i].dir) {
			assert(strlen(name) <= VFS_NAME_BYTES_MAX);
			vfs_fake_names[i].dir = dir;
			vfs_fake_names[i].node = node;
			memcpy(vfs_fake_names[i].name, name, strlen(name) + 1);
			node->attr.nlink++;
			return true;
		}
	return false;
}

static void name_remove(struct vfs_fake_name *name)
{
	struct vfs_fake_node *node = name->node;

	memset(name, 0, sizeof *name);
	node->attr.nlink--;
	vfs_fake_unused(node);
}

static struct vfs_fake_name *name_find(const struct vfs_fake_node *dir, const char *name)
{
	for (size_t i = 0; i < VFS_FAKE_NAMES; i++)
		if (vfs_fake_names[i].dir == dir && strcmp(vfs_fake_names[i].name, name) == 0)
			return &vfs_fake_names[i];
	return NULL;
}

/* Common to all calls on a name in a directory; they act as the caller. */
static int begin(const struct vfs_file *dir, const char *name, const char *function)
{
	int r = vfs_fake_may_fail(function);

	vfs_fake_must_be(true);
	(void) vfs_fake_node_of(dir);
	assert(strlen(name) <= VFS_NAME_BYTES_MAX);
	if (r < 0)
		return r;
	if (dir->type != VFS_DIRECTORY)
		return -ENOTDIR;
	return name[0] == '\0' || strchr(name, '/') ? -EACCES : 0;
}

/* The same for those that change the directory and then flush it. */
static int begin_change(const struct vfs_file *dir, const char *name, const char *function)
{
	int r = begin(dir, name, function);

	assert(r == -ENOTDIR || vfs_file_is(dir, VFS_OPEN_READ));
	if (r == 0 && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
		r = -EINVAL;
	if (r == 0 && vfs_fake_node_of(dir)->attr.nlink == 0)
		r = -ESTALE;
	return r;
}

static int lookup(struct vfs_file *dir, const char *name, struct vfs_file **ret_file)
{
	struct vfs_fake_node *node = vfs_fake_node_of(dir);
	struct vfs_fake_name *found = name_find(node, name);

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		*ret_file = vfs_fake_ref(node);
		return 0;
	}
	if (!found)
		return -ENOENT;
	*ret_file = vfs_fake_ref(found->node);
	return 0;
}

int vfs_lookup(struct vfs_file *dir, const char *name, struct vfs_file **ret_file)
{
	int r = begin(dir, name, __func__);

	return r < 0 ? r : lookup(dir, name, ret_file);
}

int vfs_lookup_cached(struct vfs_file *dir, const char *name, struct vfs_file **ret_file)
{
	vfs_fake_must_be(false);
	if (dir->type != VFS_DIRECTORY || strlen(name) % 2)
		return -EAGAIN;
	return lookup(dir, name, ret_file) < 0 ? -EAGAIN : 0;
}

unsigned vfs_access(struct vfs_file *file, unsigned wanted)
{
	vfs_fake_must_be(true);
	return vfs_fake_node_of(file)->attr.mode & 0200 ? wanted : wanted & VFS_MAY_READ;
}

int vfs_readlink(struct vfs_file *file, char *ret_target, size_t bytes_max, size_t *ret_bytes)
{
	int r = vfs_fake_may_fail(__func__);

	(void) vfs_fake_node_of(file);
	if (r < 0)
		return r;
	if (file->type != VFS_SYMLINK)
		return -EINVAL;
	/* Of any length that the caller has room for, other each time. */
	*ret_bytes = (size_t) vfs_fake_node_of(file)->attr.fileid * 7919 % (bytes_max + 1);
	memset(ret_target, 't', *ret_bytes);
	return 0;
}

static int made(struct vfs_file *dir, const char *name, enum vfs_type type,
                const struct vfs_set *set, struct vfs_file **ret_file)
{
	struct vfs_fake_node *node, *parent = vfs_fake_node_of(dir);

	if (name_find(parent, name))
		return -EEXIST;
	node = vfs_fake_make(dir->export, type, set->set_mode ? set->mode : 0644);
	if (!node || !vfs_fake_name_add(parent, name, node)) {
		if (node)
			vfs_fake_unused(node);
		return -ENOSPC;
	}
	if (type == VFS_REGULAR) {
		atomic_store(&node->file.open, VFS_OPEN_READ_WRITE);
		node->attr.size = set->set_size && set->size <= VFS_FAKE_FILE_BYTES ? set->size : 0;
	}
	*ret_file = vfs_fake_ref(node);
	return 0;
}

int vfs_create(struct vfs_file *dir, const char *name, enum vfs_create_how how,
               const struct vfs_set *set, const uint8_t verifier[8],
               const struct vfs_caller *caller, struct vfs_file **ret_file)
{
	int r = begin_change(dir, name, __func__);
	struct vfs_fake_name *there = r == 0 ? name_find(vfs_fake_node_of(dir), name) : NULL;

	(void) caller;
	if (r < 0)
		return r;
	if (there &&
	    (how == VFS_CREATE_GUARDED || there->node->file.type != VFS_REGULAR ||
	     (how == VFS_CREATE_EXCLUSIVE && memcmp(there->node->verifier, verifier, 8) != 0)))
		return -EEXIST;
	if (there) {
		*ret_file = vfs_fake_ref(there->node);
		return 0;
	}
	r = made(dir, name, VFS_REGULAR, set, ret_file);
	if (r == 0 && how == VFS_CREATE_EXCLUSIVE)
		memcpy(vfs_fake_node_of(*ret_file)->verifier, verifier, 8);
	return r;
}

int vfs_mkdir(struct vfs_file *dir, const char *name, const struct vfs_set *set,
              const struct vfs_caller *caller, struct vfs_file **ret_file)
{
	int r = begin_change(dir, name, __func__);

	(void) caller;
	return r < 0 ? r : made(dir, name, VFS_DIRECTORY, set, ret_file);
}

int vfs_symlink(struct vfs_file *dir, const char *name, const char *target,
                const struct vfs_set *set, const struct vfs_caller *caller,
                struct vfs_file **ret_file)
{
	int r = begin_change(dir, name, __func__);

	(void) caller;
	assert(strlen(target) <= VFS_PATH_BYTES_MAX);
	return r < 0 ? r : made(dir, name, VFS_SYMLINK, set, ret_file);
}

int vfs_mknod(struct vfs_file *dir, const char *name, enum vfs_type type, dev_t device,
              const struct vfs_set *set, const struct vfs_caller *caller,
              struct vfs_file **ret_file)
{
	int r = begin_change(dir, name, __func__);

	(void) caller;
	(void) device;
	assert(type == VFS_BLOCK || type == VFS_CHARACTER || type == VFS_FIFO ||
	       type == VFS_SOCKET);
	return r < 0 ? r : made(dir, name, type, set, ret_file);
}

static int removed(struct vfs_file *dir, const char *name, bool is_dir)
{
	struct vfs_fake_name *there = name_find(vfs_fake_node_of(dir), name);

	if (!there)
		return -ENOENT;
	if ((there->node->file.type == VFS_DIRECTORY) != is_dir)
		return is_dir ? -ENOTDIR : -EISDIR;
	for (size_t i = 0; is_dir && i < VFS_FAKE_NAMES; i++)
		if (vfs_fake_names[i].dir == there->node)
			return -ENOTEMPTY;
	name_remove(there);
	return 0;
}

int vfs_remove(struct vfs_file *dir, const char *name, const struct vfs_caller *caller)
{
	int r = begin_change(dir, name, __func__);

	(void) caller;
	return r < 0 ? r : removed(dir, name, false);
}

int vfs_rmdir(struct vfs_file *dir, const char *name, const struct vfs_caller *caller)
{
	int r = begin_change(dir, name, __func__);

	(void) caller;
	return r < 0 ? r : removed(dir, name, true);
}

int vfs_rename(struct vfs_file *from_dir, const char *from_name, struct vfs_file *to_dir,
               const char *to_name, const struct vfs_caller *caller)
{
	int r = begin_change(from_dir, from_name, __func__);
	struct vfs_fake_name *from, *to;

	(void) caller;
	if (r == 0)
		r = begin_change(to_dir, to_name, __func__);
	if (r < 0)
		return r;
	assert(from_dir->export == to_dir->export);
	from = name_find(vfs_fake_node_of(from_dir), from_name);
	to = name_find(vfs_fake_node_of(to_dir), to_name);
	if (!from)
		return -ENOENT;
	if (to && to->node == from->node)
		return 0;
	if (from->node->file.type == VFS_DIRECTORY || (to && to->node->file.type == VFS_DIRECTORY))
		return -EINVAL;
	if (to)
		name_remove(to);
	from->dir = vfs_fake_node_of(to_dir);
	memset(from->name, 0, sizeof from->name);
	memcpy(from->name, to_name, strlen(to_name) + 1);
	return 0;
}

int vfs_link(struct vfs_file *file, struct vfs_file *dir, const char *name,
             const struct vfs_caller *caller)
{
	int r = begin_change(dir, name, __func__);
	struct vfs_fake_node *node = vfs_fake_node_of(file);

	(void) caller;
	if (r < 0)
		return r;
	assert(file->export == dir->export);
	if (file->type == VFS_DIRECTORY || node->attr.nlink == 0)
		return node->attr.nlink ? -EISDIR : -ESTALE;
	if (name_find(vfs_fake_node_of(dir), name))
		return -EEXIST;
	return vfs_fake_name_add(vfs_fake_node_of(dir), name, node) ? 0 : -ENOSPC;
}

int vfs_setattr(struct vfs_file *file, const struct vfs_set *set, const struct timespec *guard,
                const struct vfs_caller *caller)
{
	struct vfs_fake_node *node = vfs_fake_node_of(file);
	int r = vfs_fake_may_fail(__func__);

	(void) caller;
	vfs_fake_must_be(true);
	if (r < 0)
		return r;
	if (guard && guard->tv_sec != node->attr.ctime.tv_sec)
		return -EDEADLK;
	if (set->set_size && file->type != VFS_REGULAR)
		return -EINVAL;
	if (set->set_size && set->size > VFS_FAKE_FILE_BYTES)
		return -EFBIG;
	if (set->set_size) {
		assert(vfs_file_is(file, VFS_OPEN_READ_WRITE));
		node->attr.size = set->size;
	}
	if (set->set_mode)
		node->attr.mode = set->mode & 07777;
	return 0;
}

int vfs_drop_set_id(struct vfs_file *file)
{
	vfs_fake_must_be(false);
	vfs_fake_node_of(file)->attr.mode &= ~(uint32_t) 06000;
	return vfs_fake_may_fail(__func__);
}

int vfs_readdir(struct vfs_file *dir, uint64_t cookie, bool with_attr,
                bool (*entry)(void *context, const struct vfs_entry *entry), void *context,
                bool *ret_eof)
{
	struct vfs_fake_node *node = vfs_fake_node_of(dir);
	int r = vfs_fake_may_fail(__func__);

	vfs_fake_must_be(true);
	if (r < 0 || cookie > INT64_MAX)
		return r < 0 ? r : -ESPIPE;
	assert(dir->type == VFS_DIRECTORY);
	for (uint64_t i = cookie; i < VFS_FAKE_NAMES; i++) {
		const struct vfs_fake_name *name = &vfs_fake_names[i];
		struct vfs_entry filled = { .name = name->name,
			                    .name_bytes = (uint32_t) strlen(name->name),
			                    .cookie = i + 1 };

		if (name->dir != node)
			continue;
		filled.fileid = name->node->attr.fileid;
		filled.has_attr = with_attr && i % 5 != 4; /* some vanished meanwhile */
		filled.attr = name->node->attr;
		filled.handle = name->node->file.handle;
		if (!entry(context, &filled)) {
			*ret_eof = false;
			return 0;
		}
	}
	*ret_eof = true;
	return 0;
}

int vfs_space(struct vfs_file *file, struct vfs_space *ret_space)
{
	(void) vfs_fake_node_of(file);
	*ret_space = (struct vfs_space){ .total_bytes = 1 << 30, .free_bytes = 1 << 20 };
	return vfs_fake_may_fail(__func__);
}

int vfs_limits(struct vfs_file *file, struct vfs_limits *ret_limits)
{
	(void) vfs_fake_node_of(file);
	*ret_limits = (struct vfs_limits){ .file_bytes_max = VFS_FAKE_FILE_BYTES,
		                           .link_max = 100,
		                           .name_bytes_max = VFS_NAME_BYTES_MAX };
	return vfs_fake_may_fail(__func__);
}
