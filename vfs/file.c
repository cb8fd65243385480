/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - the cache of open files: from a wire handle to a descriptor.
 *
 * Always holds: a file in the hash has one reference for being there. Seen under the shard's lock,
 * a count of one therefore means that nobody uses the file and nobody can begin to.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/vfs_internal.h"

enum {
	EVICT_BATCH = 16, /* closed at once when descriptors run out */
	EVICT_TRIES = 50,
	EVICT_PAUSE_NS = 2000000,
	EVICT_LOOK_MAX = 32, /* looked at in one shard before going on to the next */
};

uint64_t vfs_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static struct vfs_shard *shard_of(struct vfs *vfs, uint64_t hash)
{
	return &vfs->shards[hash % VFS_SHARDS];
}

static struct vfs_file **bucket_of(struct vfs_shard *shard, uint64_t hash)
{
	return &shard->buckets[hash / VFS_SHARDS % VFS_SHARD_BUCKETS];
}

static void direct_close(struct vfs_file *file)
{
	AUTO(close_fd) int fd = atomic_exchange(&file->direct_fd, -EBADF);

	if (fd >= 0)
		atomic_fetch_sub(&file->vfs->open_files, 1);
}

static void file_free(struct vfs_file *file)
{
	assert(!group_commit_busy(&file->gate));
	assert(file->data_gate.inside == 0);
	close_fd(&file->fd);
	direct_close(file);
	atomic_fetch_sub(&file->vfs->open_files, 1);
	vfs_export_unref(file->export);
	pthread_mutex_destroy(&file->open_lock);
	pthread_mutex_destroy(&file->set_lock);
	pthread_mutex_destroy(&file->commit_lock);
	free(file);
}

/* Closing the last descriptor of a removed file gives its space back, which may take long: that is
 * not for a worker to do. What nobody uses waits for vfs_close_unused(). */
struct vfs_file *vfs_file_put(struct vfs_file *file)
{
	struct vfs *vfs;
	struct vfs_file *top;

	if (!file || atomic_fetch_sub(&file->refs, 1) != 1)
		return NULL;
	vfs = file->vfs;
	top = atomic_load(&vfs->unused);
	do {
		file->bucket_next = top;
	} while (!atomic_compare_exchange_weak(&vfs->unused, &top, file));
	return NULL;
}

void vfs_close_unused(struct vfs *vfs)
{
	struct vfs_file *file = atomic_exchange(&vfs->unused, NULL);

	while (file) {
		struct vfs_file *next = file->bucket_next;

		file_free(file);
		file = next;
	}
}

void vfs_file_unhash(struct vfs_shard *shard, struct vfs_file *file)
{
	struct vfs_file **slot = bucket_of(shard,
	                                   vfs_handle_hash(file->handle.bytes, file->handle.count));

	assert(file->hashed);
	while (*slot != file)
		slot = &(*slot)->bucket_next;
	*slot = file->bucket_next;
	list_remove(&file->lru);
	file->hashed = false;
}

/* Under the shard's lock. */
static struct vfs_file *bucket_find(struct vfs_shard *shard, uint64_t hash, const uint8_t *wire,
                                    size_t wire_bytes)
{
	struct vfs_file *file = *bucket_of(shard, hash);

	while (file && (file->handle.count != wire_bytes ||
	                memcmp(file->handle.bytes, wire, wire_bytes) != 0))
		file = file->bucket_next;
	return file;
}

int vfs_file_find(struct vfs *vfs, const uint8_t *wire, size_t wire_bytes,
                  struct vfs_file **ret_file)
{
	uint64_t hash = vfs_handle_hash(wire, wire_bytes);
	struct vfs_shard *shard = shard_of(vfs, hash);
	struct vfs_file *file, *stale = NULL;

	pthread_mutex_lock(&shard->lock);
	file = bucket_find(shard, hash, wire, wire_bytes);
	if (file && atomic_load(&file->export->removed)) {
		vfs_file_unhash(shard, file); /* the export may have come back as another */
		stale = file;
		file = NULL;
	}
	if (file) {
		atomic_fetch_add(&file->refs, 1);
		list_remove(&file->lru);
		list_add_tail(&shard->lru, &file->lru);
	}
	pthread_mutex_unlock(&shard->lock);
	vfs_file_put(stale);
	if (!file)
		return -EAGAIN;
	atomic_store_explicit(&file->used_ms, vfs_now_ms(), memory_order_relaxed);
	atomic_fetch_add_explicit(&vfs->hits, 1, memory_order_relaxed);
	*ret_file = file;
	return 0;
}

/* Nobody uses it, its data is on disk (or it has no name any more). Under the shard's lock. */
static bool evictable(const struct vfs_file *file)
{
	return atomic_load(&file->refs) == 1 && !atomic_load(&file->dirty);
}

static unsigned evict_from(struct vfs_shard *shard, unsigned count_max)
{
	struct vfs_file *out[EVICT_BATCH];
	unsigned out_count = 0, looked = 0;

	pthread_mutex_lock(&shard->lock);
	list_for_each_safe (node, &shard->lru) {
		struct vfs_file *file = container_of(node, struct vfs_file, lru);

		if (out_count == count_max || ++looked > EVICT_LOOK_MAX)
			break;
		if (!evictable(file))
			continue;
		vfs_file_unhash(shard, file);
		out[out_count++] = file;
	}
	pthread_mutex_unlock(&shard->lock);
	for (unsigned i = 0; i < out_count; i++)
		vfs_file_put(out[i]);
	return out_count;
}

/* Nothing but files with data to write: flush some of one shard, so that they can go. */
static unsigned flush_some_of(struct vfs_shard *shard, unsigned count_max)
{
	struct vfs_file *dirty[EVICT_BATCH];
	unsigned count = 0;

	pthread_mutex_lock(&shard->lock);
	list_for_each (node, &shard->lru) {
		struct vfs_file *file = container_of(node, struct vfs_file, lru);

		if (count == count_max)
			break;
		if (atomic_load(&file->refs) == 1 && atomic_load(&file->dirty)) {
			atomic_fetch_add(&file->refs, 1);
			dirty[count++] = file;
		}
	}
	pthread_mutex_unlock(&shard->lock);
	for (unsigned i = 0; i < count; i++) {
		(void) vfs_file_flush(dirty[i]); /* failing tells by itself */
		vfs_file_put(dirty[i]);
	}
	return count;
}

static unsigned evict_round(struct vfs *vfs, bool flush)
{
	unsigned evicted = 0, flushed = 0;

	for (unsigned i = 0; i < VFS_SHARDS && evicted < EVICT_BATCH; i++) {
		unsigned hand = atomic_fetch_add(&vfs->evict_hand, 1) % VFS_SHARDS;
		struct vfs_shard *shard = &vfs->shards[hand];

		if (flush && flushed < EVICT_BATCH)
			flushed += flush_some_of(shard, EVICT_BATCH - flushed);
		evicted += evict_from(shard, EVICT_BATCH - evicted);
	}
	return evicted;
}

static bool evict_some(struct vfs *vfs)
{
	unsigned evicted = evict_round(vfs, false);

	if (evicted == 0)
		evicted = evict_round(vfs, true);
	atomic_fetch_add(&vfs->evicted, evicted);
	vfs_close_unused(vfs);
	return evicted > 0;
}

/* Reserve a descriptor of the cache's share. -EAGAIN: only with closing others. */
static int reserve_open_file(struct vfs *vfs, bool may_block)
{
	static const struct timespec pause = { .tv_nsec = EVICT_PAUSE_NS };

	if (atomic_fetch_add(&vfs->open_files, 1) < vfs->open_files_max)
		return 0;
	if (!may_block) {
		atomic_fetch_sub(&vfs->open_files, 1);
		return -EAGAIN;
	}
	vfs_close_unused(vfs);
	/* What one thread flushes to close it, another may close for itself: then once more. */
	for (unsigned i = 0; i < EVICT_TRIES; i++) {
		if (atomic_load(&vfs->open_files) <= vfs->open_files_max || evict_some(vfs))
			return 0;
		(void) nanosleep(&pause, NULL);
	}
	atomic_fetch_sub(&vfs->open_files, 1);
	atomic_fetch_add(&vfs->refused, 1);
	return -ENFILE;
}

static struct vfs_file *file_new(struct vfs *vfs, struct vfs_export *export, int fd,
                                 const struct vfs_handle *handle)
{
	struct vfs_file *file = calloc(1, sizeof *file);

	if (!file)
		return NULL;
	atomic_store(&file->refs, 2); /* the hash's and the caller's */
	list_node_init(&file->lru);
	file->fd = fd;
	atomic_store(&file->direct_fd, -EBADF);
	file->vfs = vfs;
	file->export = vfs_export_ref(export);
	file->handle = *handle;
	atomic_store(&file->used_ms, vfs_now_ms());
	pthread_mutex_init(&file->open_lock, NULL);
	pthread_mutex_init(&file->set_lock, NULL);
	pthread_mutex_init(&file->commit_lock, NULL);
	return file;
}

/* Put @file into the hash, or find out that another thread was quicker: that one's is used then. */
static struct vfs_file *file_insert(struct vfs *vfs, struct vfs_file *file)
{
	uint64_t hash = vfs_handle_hash(file->handle.bytes, file->handle.count);
	struct vfs_shard *shard = shard_of(vfs, hash);
	struct vfs_file *there;

	pthread_mutex_lock(&shard->lock);
	there = bucket_find(shard, hash, file->handle.bytes, file->handle.count);
	if (there) {
		atomic_fetch_add(&there->refs, 1);
	} else {
		file->bucket_next = *bucket_of(shard, hash);
		*bucket_of(shard, hash) = file;
		list_add_tail(&shard->lru, &file->lru);
		file->hashed = true;
	}
	pthread_mutex_unlock(&shard->lock);
	if (!there)
		return file;
	file_free(file);
	return there;
}

/* Takes over @fd and a reserved place among the open files, also on failure. */
static int file_make(struct vfs *vfs, struct vfs_export *export, int fd, enum vfs_open open,
                     const struct vfs_handle *handle, uint64_t mix, struct vfs_file **ret_file)
{
	AUTO(close_fd) int owned = fd;
	struct vfs_file *file;
	struct stat stat;
	int r = 0;

	if (fstat(fd, &stat) < 0)
		r = -errno;
	else if (stat.st_nlink == 0)
		r = -ESTALE;
	file = r == 0 ? file_new(vfs, export, fd, handle) : NULL;
	if (!file) {
		atomic_fetch_sub(&vfs->open_files, 1);
		return r < 0 ? r : -ENOMEM;
	}
	(void) take_fd(&owned);
	file->type = vfs_type_of(stat.st_mode);
	file->fileid_mix = mix;
	atomic_store(&file->open, open);
	*ret_file = file_insert(vfs, file);
	atomic_fetch_add(&vfs->opened, 1);
	return 0;
}

int vfs_file_adopt(struct vfs *vfs, struct vfs_export *export, int fd, enum vfs_open open,
                   bool may_block, struct vfs_file **ret_file)
{
	AUTO(close_fd) int owned = fd;
	struct vfs_handle handle;
	uint64_t mix;
	int r;

	r = vfs_handle_of(vfs, export, fd, &handle, &mix);
	if (r == 0 && vfs_file_find(vfs, handle.bytes, handle.count, ret_file) == 0)
		return 0;
	if (r == 0)
		r = reserve_open_file(vfs, may_block);
	return r < 0 ? r : file_make(vfs, export, take_fd(&owned), open, &handle, mix, ret_file);
}

/* As vfs_open_by_parts(), closing files of the cache if descriptors have run out. */
static int open_patiently(struct vfs *vfs, const struct vfs_export *export,
                          const struct vfs_handle_parts *parts, int flags)
{
	int fd = vfs_open_by_parts(export, parts, flags);

	if ((fd == -EMFILE || fd == -ENFILE) && evict_some(vfs))
		fd = vfs_open_by_parts(export, parts, flags);
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM) {
		atomic_fetch_add(&vfs->refused, 1);
		return -ENFILE;
	}
	return fd;
}

static int file_open_in(struct vfs *vfs, struct vfs_export *export,
                        const struct vfs_handle_parts *parts, const struct vfs_handle *handle,
                        struct vfs_file **ret_file)
{
	int fd, r;

	if (parts->fs_identity != export->fs.identity)
		return -ESTALE;
	r = reserve_open_file(vfs, true);
	if (r < 0)
		return r;
	fd = open_patiently(vfs, export, parts, O_PATH);
	if (fd < 0) {
		atomic_fetch_sub(&vfs->open_files, 1);
		return fd;
	}
	return file_make(vfs, export, fd, VFS_OPEN_PATH, handle,
	                 vfs_subvolume_mix(export, parts->kernel, parts->kernel_count), ret_file);
}

int vfs_file_open(struct vfs *vfs, const uint8_t *wire, size_t wire_bytes,
                  struct vfs_file **ret_file)
{
	struct vfs_handle_parts parts;
	struct vfs_handle handle;
	struct vfs_export *export;
	int r;

	if (vfs_file_find(vfs, wire, wire_bytes, ret_file) == 0)
		return 0;
	r = vfs_handle_parse(wire, wire_bytes, &parts);
	if (r < 0)
		return r;
	r = vfs_handle_verify(&vfs->key, wire, wire_bytes);
	if (r < 0)
		return r;
	export = vfs_export_by_id(vfs, parts.export_id);
	if (!export)
		return -ESTALE;
	handle.count = (uint32_t) wire_bytes;
	memcpy(handle.bytes, wire, wire_bytes);
	r = file_open_in(vfs, export, &parts, &handle, ret_file);
	vfs_export_unref(export);
	return r;
}

bool vfs_file_is(const struct vfs_file *file, enum vfs_open open)
{
	if (open == VFS_OPEN_READ_WRITE && file->type == VFS_REGULAR &&
	    atomic_load(&file->export->direct) && !atomic_load(&file->direct_tried))
		return false;
	return atomic_load(&file->open) >= open;
}

/* Without it, too, everything works: through the page cache. Under open_lock. */
static void direct_open(struct vfs_file *file, const struct vfs_handle_parts *parts)
{
	int fd;

	if (!atomic_load(&file->export->direct) || atomic_load(&file->direct_tried))
		return;
	if (reserve_open_file(file->vfs, false) == 0) {
		fd = vfs_open_by_parts(file->export, parts, O_RDWR | O_DIRECT | O_NONBLOCK);
		if (fd < 0)
			atomic_fetch_sub(&file->vfs->open_files, 1);
		else
			atomic_store(&file->direct_fd, fd);
	}
	atomic_store(&file->direct_tried, true);
}

int vfs_file_need(struct vfs_file *file, enum vfs_open open)
{
	AUTO(close_fd) int fd = -EBADF;
	struct vfs_handle_parts parts;
	int flags = file->type == VFS_DIRECTORY ? O_RDONLY | O_DIRECTORY : O_RDONLY;
	int r = 0;

	assert(file->type == VFS_REGULAR || (file->type == VFS_DIRECTORY && open <= VFS_OPEN_READ));
	if (vfs_file_is(file, open))
		return 0;
	if (open == VFS_OPEN_READ_WRITE)
		flags = O_RDWR;
	pthread_mutex_lock(&file->open_lock);
	r = vfs_handle_parse(file->handle.bytes, file->handle.count, &parts);
	assert(r == 0);
	if (atomic_load(&file->open) < open) {
		fd = open_patiently(file->vfs, file->export, &parts, flags | O_NONBLOCK);
		/* Same number, another description: who uses the number sees one or the other. */
		if (fd < 0)
			r = fd;
		else if (dup3(fd, file->fd, O_CLOEXEC) < 0)
			r = -errno;
		else
			atomic_store(&file->open, open);
	}
	if (r == 0 && open == VFS_OPEN_READ_WRITE)
		direct_open(file, &parts);
	pthread_mutex_unlock(&file->open_lock);
	return r;
}

int vfs_file_fd(const struct vfs_file *file)
{
	return file->fd;
}

const struct vfs_handle *vfs_file_handle(const struct vfs_file *file)
{
	return &file->handle;
}

struct vfs_export *vfs_file_export(const struct vfs_file *file)
{
	return file->export;
}

uint64_t vfs_device(struct vfs *vfs, const uint8_t *wire, size_t wire_bytes)
{
	struct vfs_handle_parts parts;
	struct vfs_export *export;
	uint64_t device;

	if (vfs_handle_parse(wire, wire_bytes, &parts) < 0)
		return 0;
	export = vfs_export_by_id(vfs, parts.export_id);
	device = export ? export->fs.device : 0;
	vfs_export_unref(export);
	return device;
}

uint64_t vfs_file_device(const struct vfs_file *file)
{
	return file->export->fs.device;
}

enum vfs_type vfs_file_type(const struct vfs_file *file)
{
	return file->type;
}

bool vfs_file_is_root(const struct vfs_file *file)
{
	const struct vfs_handle *root = &file->export->root_handle;

	return file->handle.count == root->count &&
	       memcmp(file->handle.bytes, root->bytes, root->count) == 0;
}

void vfs_file_forget_removed(struct vfs *vfs, const struct vfs_handle *handle)
{
	uint64_t hash = vfs_handle_hash(handle->bytes, handle->count);
	struct vfs_shard *shard = shard_of(vfs, hash);
	struct vfs_file *file;
	struct stat stat;

	pthread_mutex_lock(&shard->lock);
	file = bucket_find(shard, hash, handle->bytes, handle->count);
	if (file && (fstat(file->fd, &stat) < 0 || stat.st_nlink > 0))
		file = NULL;
	if (file)
		vfs_file_unhash(shard, file);
	pthread_mutex_unlock(&shard->lock);
	vfs_file_put(file);
	vfs_close_unused(vfs);
}

void vfs_stats_get(struct vfs *vfs, struct vfs_stats *ret_stats)
{
	*ret_stats = (struct vfs_stats){
		.opened = atomic_load(&vfs->opened),
		.hits = atomic_load(&vfs->hits),
		.evicted = atomic_load(&vfs->evicted),
		.refused = atomic_load(&vfs->refused),
		.open_files = atomic_load(&vfs->open_files),
	};
}
