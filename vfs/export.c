/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.c - the exports that are served: from a parsed line to an open root, and reloading.
 *
 * Always holds: table[] lists what is usable, each pointing to its line in `exports`. Both change
 * only under exports_lock for writing. An export's memory lives as long as a file of it is cached.
 */
#include "vfs/export.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

#include "vfs/base/cleanup.h"
#include "vfs/vfs_internal.h"

enum {
	EXPORT_ID_DERIVED = 1u << 31, /* set in ids made of the path; fsid=N has lower numbers */
	EXPORT_PORT_RESERVED_MAX = 1023,
	EXPORT_WHY_BYTES = 512,
};

struct vfs_export *vfs_export_ref(struct vfs_export *export)
{
	atomic_fetch_add(&export->refs, 1);
	return export;
}

struct vfs_export *vfs_export_unref(struct vfs_export *export)
{
	if (export && atomic_fetch_sub(&export->refs, 1) == 1) {
		close_fd(&export->root_fd);
		free(export);
	}
	return NULL;
}

void vfs_open_files_max_set(struct vfs *vfs, unsigned open_files_max)
{
	atomic_store(&vfs->open_files_max, open_files_max);
}

void vfs_tell(struct vfs *vfs, const struct vfs_told *told)
{
	vfs->flush_failed = told->flush_failed;
	vfs->direct_refused = told->direct_refused;
	vfs->told_context = told->context;
}

void vfs_data_path_set(struct vfs *vfs, enum vfs_data_path data_path)
{
	vfs->data_path = data_path;
}

static bool is_direct(enum vfs_data_path data_path, const struct vfs_fs *fs)
{
	if (fs->direct_align_bytes == 0 || data_path == VFS_DATA_BUFFERED)
		return false;
	return data_path == VFS_DATA_DIRECT || fs->durable_without_flush;
}

static struct vfs_parsed *parsed_ref(struct vfs_parsed *parsed)
{
	atomic_fetch_add(&parsed->refs, 1);
	return parsed;
}

static void parsed_unref(struct vfs_parsed *parsed)
{
	if (parsed && atomic_fetch_sub(&parsed->refs, 1) == 1) {
		exports_done(&parsed->exports);
		free(parsed);
	}
}

/* Takes over what is in @exports. */
static struct vfs_parsed *parsed_new(struct exports *exports)
{
	struct vfs_parsed *parsed = calloc(1, sizeof *parsed);

	if (!parsed) {
		exports_done(exports);
		return NULL;
	}
	atomic_store(&parsed->refs, 1);
	parsed->exports = *exports;
	*exports = (struct exports){ 0 };
	return parsed;
}

int vfs_new(const struct vfs_handle_key *key, unsigned open_files_max, struct vfs **ret_vfs)
{
	struct vfs *vfs = calloc(1, sizeof *vfs);

	assert(open_files_max > 0);
	if (!vfs)
		return -ENOMEM;
	vfs->parsed = parsed_new(&(struct exports){ 0 });
	if (!vfs->parsed) {
		free(vfs);
		return -ENOMEM;
	}
	vfs->key = *key;
	vfs->open_files_max = open_files_max;
	pthread_mutex_init(&vfs->load_lock, NULL);
	pthread_rwlock_init(&vfs->exports_lock, NULL);
	vfs_bulk_init(vfs);
	for (unsigned i = 0; i < VFS_SHARDS; i++) {
		pthread_mutex_init(&vfs->shards[i].lock, NULL);
		list_init(&vfs->shards[i].lru);
	}
	*ret_vfs = vfs;
	return 0;
}

static int table_new(struct vfs_table *table, size_t room)
{
	*table = (struct vfs_table){ .slot_count = 4 };
	while (table->slot_count < 2 * (room + 1))
		table->slot_count *= 2;
	table->exports = calloc(room + 1, sizeof *table->exports);
	table->specs = calloc(room + 1, sizeof *table->specs);
	table->slots = calloc(table->slot_count, sizeof *table->slots);
	return table->exports && table->specs && table->slots ? 0 : -ENOMEM;
}

static void table_done(struct vfs_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		vfs_export_unref(table->exports[i]);
	free(table->exports);
	free(table->specs);
	free(table->slots);
	*table = (struct vfs_table){ 0 };
}

static void export_remove(struct vfs_export *export)
{
	atomic_store(&export->removed, true);
	export->spec = NULL;
}

static void table_clear(struct vfs *vfs)
{
	for (size_t i = 0; i < vfs->table.count; i++)
		export_remove(vfs->table.exports[i]);
	table_done(&vfs->table);
}

struct vfs *vfs_free(struct vfs *vfs)
{
	if (!vfs)
		return NULL;
	table_clear(vfs);
	vfs_files_forget(vfs);
	vfs_bulk_done(vfs);
	for (unsigned i = 0; i < VFS_SHARDS; i++)
		pthread_mutex_destroy(&vfs->shards[i].lock);
	parsed_unref(vfs->parsed);
	pthread_rwlock_destroy(&vfs->exports_lock);
	pthread_mutex_destroy(&vfs->load_lock);
	free(vfs);
	return NULL;
}

static uint32_t export_id(const struct export_spec *spec)
{
	if (spec->fsid)
		return spec->fsid;
	return (uint32_t) XXH3_64bits(spec->path, strlen(spec->path)) | EXPORT_ID_DERIVED;
}

static bool is_mountpoint(const char *path)
{
	struct statx stat;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &stat) == 0 &&
	       (stat.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* A thousand exports of one file system, one behind the other, are probed once. */
static bool fs_known(const struct vfs_table *table, const struct export_spec *spec, int root_fd,
                     struct vfs_fs *ret_fs)
{
	size_t last = table->count - 1;
	struct stat stat;

	if (table->count == 0 || spec->fsid || table->specs[last]->fsid ||
	    fstat(root_fd, &stat) < 0 || table->exports[last]->fs.device != stat.st_dev)
		return false;
	*ret_fs = table->exports[last]->fs;
	return true;
}

/* Open an export's root and find out what it lies on. @why has room for EXPORT_WHY_BYTES. */
static int export_open(const struct vfs_table *table, const struct export_spec *spec,
                       struct vfs_export **ret_export, char *why)
{
	AUTO(close_fd) int root_fd = -EBADF;
	struct vfs_export *export;
	const char *fs_why = "";
	struct vfs_fs fs;
	int r;

	if (spec->mountpoint && !is_mountpoint(spec->mountpoint)) {
		snprintf(why, EXPORT_WHY_BYTES,
		         "nothing is mounted on %s, so %s is not exported."
		         " Mount it; the next MOUNT request or a reload picks it up",
		         spec->mountpoint, spec->path);
		return -ENXIO;
	}
	root_fd = open(spec->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0) {
		r = -errno;
		snprintf(why, EXPORT_WHY_BYTES,
		         "cannot open the directory %s: %s. Create it or"
		         " mount what belongs there, or take the line out",
		         spec->path, strerror(-r));
		return r;
	}
	r = fs_known(table, spec, root_fd, &fs) ? 0
	                                        : vfs_fs_probe(root_fd, spec->fsid, &fs, &fs_why);
	if (r < 0) {
		snprintf(why, EXPORT_WHY_BYTES, "%s cannot be exported: %s (%s)", spec->path,
		         fs_why, strerror(-r));
		return r;
	}
	export = calloc(1, sizeof *export);
	if (!export)
		return -ENOMEM;
	atomic_store(&export->refs, 1);
	export->id = export_id(spec);
	export->fs = fs;
	export->fsid = fs.identity ^ (uint64_t) export->id << 32;
	export->root_fd = take_fd(&root_fd);
	*ret_export = export;
	return 0;
}

/* The root's handle, which also tells the mount and, on Btrfs, the subvolume. */
static int export_root(struct vfs *vfs, struct vfs_export *export)
{
	struct file_handle probe = { .handle_bytes = 0 };
	uint64_t mix;
	int r;

	if (name_to_handle_at(export->root_fd, "", &probe, &export->mount_id, AT_EMPTY_PATH) < 0 &&
	    errno != EOVERFLOW)
		return -errno;
	r = vfs_handle_of(vfs, export, export->root_fd, &export->root_handle, &mix);
	if (r == 0 && export->fs.has_subvolumes)
		memcpy(&export->root_subvolume,
		       export->root_handle.bytes + VFS_HANDLE_HEAD_BYTES + 8, 8);
	return r;
}

/* The slot of an id, or the free one where it would be. */
static uint32_t *table_slot(const struct vfs_table *table, uint32_t id)
{
	size_t at = XXH32(&id, sizeof id, 0) & (table->slot_count - 1);

	while (table->slots[at] && table->exports[table->slots[at] - 1]->id != id)
		at = (at + 1) & (table->slot_count - 1);
	return &table->slots[at];
}

/* Its place in the table, or the table's count. */
static size_t table_find(const struct vfs_table *table, uint32_t id)
{
	uint32_t place = table->slot_count ? *table_slot(table, id) : 0;

	return place ? place - 1 : table->count;
}

/* Takes over the reference. The id is not in it yet, and there is room. */
static void table_add(struct vfs_table *table, struct vfs_export *export,
                      const struct export_spec *spec)
{
	uint32_t *slot = table_slot(table, export->id);

	table->exports[table->count] = export;
	table->specs[table->count++] = spec;
	*slot = (uint32_t) table->count;
}

static uint32_t next_serial(struct vfs *vfs)
{
	return atomic_fetch_add(&vfs->serial_last, 1) + 1;
}

/* Is it the same place as one that is served now? Then that one goes on. Under load_lock. */
static struct vfs_export *export_keep_old(struct vfs *vfs, struct vfs_export *export)
{
	size_t i = table_find(&vfs->table, export->id);
	struct vfs_export *old = i < vfs->table.count ? vfs->table.exports[i] : NULL;

	if (!old || old->mount_id != export->mount_id ||
	    memcmp(&old->root_handle, &export->root_handle, sizeof old->root_handle) != 0)
		return export;
	vfs_export_unref(export);
	return vfs_export_ref(old);
}

/* Make one line usable and add it to @table. Under load_lock; waits for disks. */
static int export_bring_up(struct vfs *vfs, const struct export_spec *spec, struct vfs_table *table,
                           char *why)
{
	struct vfs_export *export = NULL;
	size_t same = table_find(table, export_id(spec));
	int r;

	why[0] = '\0';
	if (same < table->count) {
		snprintf(why, EXPORT_WHY_BYTES,
		         "%s has the same id as %s:%u. Give both different numbers with fsid=N",
		         spec->path, table->specs[same]->file, table->specs[same]->line);
		return -EEXIST;
	}
	r = export_open(table, spec, &export, why);
	if (r == 0) {
		export->gated = is_direct(vfs->data_path, &export->fs);
		atomic_store(&export->direct, export->gated);
		r = export_root(vfs, export);
	}
	if (r < 0) {
		if (!why[0])
			snprintf(why, EXPORT_WHY_BYTES, "%s cannot be exported: %s", spec->path,
			         strerror(-r));
		vfs_export_unref(export);
		same = table_find(&vfs->table, export_id(spec));
		if ((r != -EMFILE && r != -ENFILE && r != -ENOMEM) || same == vfs->table.count)
			return r;
		/* We are short of something, not the export: it goes on as it is. */
		table_add(table, vfs_export_ref(vfs->table.exports[same]), spec);
		return 0;
	}
	table_add(table, export_keep_old(vfs, export), spec);
	return 0;
}

/* Bring up every line that can be. Under load_lock. */
static void table_fill(struct vfs *vfs, const struct exports *exports, struct vfs_table *table,
                       vfs_report_fn *report, void *context)
{
	char why[EXPORT_WHY_BYTES];

	for (size_t i = 0; i < exports->count; i++) {
		const struct export_spec *spec = &exports->specs[i];

		if (export_bring_up(vfs, spec, table, why) < 0)
			report(context, EXPORTS_ERROR, spec, why);
		else if (!table->exports[table->count - 1]->fs.identity_lasts)
			report(context, EXPORTS_WARNING, spec,
			       "this file system's identity changes when it is mounted again, and"
			       " clients' handles with it. fsid=N makes them last");
	}
}

/* Put the new table in the old one's place. Exports in both go on under a new serial; those only in
 * the old one are stale from now on. Under exports_lock, for writing. */
static void table_swap(struct vfs *vfs, struct vfs_table *table)
{
	struct vfs_table old = vfs->table;

	for (size_t i = 0; i < old.count; i++) {
		size_t now = table_find(table, old.exports[i]->id);

		if (now == table->count || table->exports[now] != old.exports[i])
			export_remove(old.exports[i]);
	}
	for (size_t i = 0; i < table->count; i++) {
		table->exports[i]->spec = table->specs[i];
		atomic_store(&table->exports[i]->serial, next_serial(vfs));
	}
	vfs->table = *table;
	*table = old;
}

int vfs_exports_set(struct vfs *vfs, struct exports *exports, vfs_report_fn *report, void *context,
                    size_t *ret_usable)
{
	struct vfs_parsed *old, *parsed = parsed_new(exports);
	struct vfs_table table;

	if (!parsed)
		return -ENOMEM;
	if (table_new(&table, parsed->exports.count) < 0) {
		table_done(&table);
		parsed_unref(parsed);
		return -ENOMEM;
	}
	pthread_mutex_lock(&vfs->load_lock);
	table_fill(vfs, &parsed->exports, &table, report, context);
	*ret_usable = table.count;
	pthread_rwlock_wrlock(&vfs->exports_lock);
	table_swap(vfs, &table);
	old = vfs->parsed;
	vfs->parsed = parsed;
	pthread_rwlock_unlock(&vfs->exports_lock);
	pthread_mutex_unlock(&vfs->load_lock);
	table_done(&table); /* the old one */
	parsed_unref(old);
	return 0;
}

void vfs_exports_visit(struct vfs *vfs,
                       void (*visit)(void *context, const struct export_spec *spec), void *context)
{
	pthread_rwlock_rdlock(&vfs->exports_lock);
	for (size_t i = 0; i < vfs->parsed->exports.count; i++)
		visit(context, &vfs->parsed->exports.specs[i]);
	pthread_rwlock_unlock(&vfs->exports_lock);
}

struct vfs_export *vfs_export_by_id(struct vfs *vfs, uint32_t id)
{
	struct vfs_export *export = NULL;
	size_t i;

	pthread_rwlock_rdlock(&vfs->exports_lock);
	i = table_find(&vfs->table, id);
	if (i < vfs->table.count)
		export = vfs_export_ref(vfs->table.exports[i]);
	pthread_rwlock_unlock(&vfs->exports_lock);
	return export;
}

uint32_t vfs_export_serial(const struct vfs_export *export)
{
	return atomic_load_explicit(&export->serial, memory_order_relaxed);
}

uint32_t vfs_export_id(const struct vfs_export *export)
{
	return export->id;
}

int vfs_export_access(struct vfs *vfs, struct vfs_export *export,
                      const struct export_address *client, const struct export_names *names,
                      bool may_block, struct export_options *ret_options)
{
	const struct export_rule *rule;
	const struct export_spec *spec;
	struct vfs_parsed *parsed;
	int r = 0;

	pthread_rwlock_rdlock(&vfs->exports_lock);
	parsed = parsed_ref(vfs->parsed);
	spec = export->spec;
	pthread_rwlock_unlock(&vfs->exports_lock);
	if (!spec)
		r = -ESTALE;
	else if (!may_block && export_needs_names(spec))
		r = -EAGAIN;
	if (r == 0) {
		rule = export_match(spec, client, names);
		if (rule) {
			*ret_options = rule->options;
			ret_options->total_rate = spec->total_rate;
		} else {
			r = -EACCES;
		}
	}
	parsed_unref(parsed);
	return r;
}

/* ---- MOUNT ---- */

/* The export that serves a path now: 0 and a reference, -ENOENT if no line has the path, -ESTALE if
 * its line could not be served. */
static int export_of_path(struct vfs *vfs, const char *path, struct vfs_export **ret_export,
                          char ret_below[VFS_MOUNT_PATH_BYTES_MAX + 1])
{
	const struct export_spec *spec;
	const char *below;
	int r = -ENOENT;

	pthread_rwlock_rdlock(&vfs->exports_lock);
	spec = exports_find_path(&vfs->parsed->exports, path, &below);
	if (spec) {
		size_t i = table_find(&vfs->table, export_id(spec));

		snprintf(ret_below, VFS_MOUNT_PATH_BYTES_MAX + 1, "%s", below);
		r = -ESTALE;
		if (i < vfs->table.count && vfs->table.specs[i] == spec) {
			*ret_export = vfs_export_ref(vfs->table.exports[i]);
			r = 0;
		}
	}
	pthread_rwlock_unlock(&vfs->exports_lock);
	return r;
}

/* A line that could not be served at start, because its disk was not mounted, is tried again when a
 * client asks for it. */
static void export_try_again(struct vfs *vfs, const char *path)
{
	const struct export_spec *spec;
	struct vfs_table one;
	char why[EXPORT_WHY_BYTES];
	const char *below;

	if (table_new(&one, 1) < 0) {
		table_done(&one);
		return;
	}
	pthread_mutex_lock(&vfs->load_lock); /* nobody else changes parsed or the table meanwhile */
	spec = exports_find_path(&vfs->parsed->exports, path, &below);
	if (spec && table_find(&vfs->table, export_id(spec)) == vfs->table.count &&
	    export_bring_up(vfs, spec, &one, why) == 0) {
		pthread_rwlock_wrlock(&vfs->exports_lock);
		one.exports[0]->spec = spec;
		atomic_store(&one.exports[0]->serial, next_serial(vfs));
		table_add(&vfs->table, vfs_export_ref(one.exports[0]), spec);
		pthread_rwlock_unlock(&vfs->exports_lock);
	}
	pthread_mutex_unlock(&vfs->load_lock);
	table_done(&one);
}

static int export_of_path_patiently(struct vfs *vfs, const char *path,
                                    struct vfs_export **ret_export,
                                    char ret_below[VFS_MOUNT_PATH_BYTES_MAX + 1])
{
	int r;

	if (strlen(path) > VFS_MOUNT_PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	r = export_of_path(vfs, path, ret_export, ret_below);
	if (r != -ESTALE)
		return r;
	export_try_again(vfs, path);
	return export_of_path(vfs, path, ret_export, ret_below);
}

/* Below the root by components, never out of it, never through a link or onto another mount. */
static int open_below(const struct vfs_export *export, const char *below)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	long fd = syscall(SYS_openat2, export->root_fd, below[0] ? below : ".", &how, sizeof how);

	if (fd < 0 && errno == ELOOP)
		return -ENOTDIR;
	return fd < 0 ? -errno : (int) fd;
}

int vfs_mount(struct vfs *vfs, const char *path, const struct export_address *client,
              unsigned client_port, const struct export_names *names, struct vfs_file **ret_file,
              struct export_options *ret_options)
{
	char below[VFS_MOUNT_PATH_BYTES_MAX + 1];
	struct export_options options;
	struct vfs_export *export;
	int fd, r;

	r = export_of_path_patiently(vfs, path, &export, below);
	if (r < 0)
		return r;
	r = vfs_export_access(vfs, export, client, names, true, &options);
	if (r == 0 && options.secure && client_port > EXPORT_PORT_RESERVED_MAX)
		r = -EPERM;
	if (r == 0) {
		fd = open_below(export, below);
		r = fd < 0 ? fd : vfs_file_adopt(vfs, export, fd, VFS_OPEN_PATH, true, ret_file);
	}
	if (r == 0)
		*ret_options = options;
	vfs_export_unref(export);
	return r;
}

int vfs_path_root(struct vfs *vfs, const char *path, struct vfs_file **ret_root,
                  char ret_below[VFS_MOUNT_PATH_BYTES_MAX + 1])
{
	struct vfs_export *export;
	int fd, r;

	r = export_of_path_patiently(vfs, path, &export, ret_below);
	if (r < 0)
		return r;
	fd = open_below(export, "");
	r = fd < 0 ? fd : vfs_file_adopt(vfs, export, fd, VFS_OPEN_PATH, true, ret_root);
	vfs_export_unref(export);
	return r;
}
