/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vfs_internal.h - what vfs/'s own files share.
 *
 * Lock order: vfs->load_lock, vfs->exports_lock, then a shard's lock, then a file's lock. No lock
 * is held over a system call that may wait for a disk, except a file's open_lock and set_lock,
 * which only blocking calls take.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "vfs/base/list.h"
#include "vfs/bulk.h"
#include "vfs/data_gate.h"
#include "vfs/export_internal.h"
#include "vfs/fs.h"
#include "vfs/group_commit.h"
#include "vfs/io/loop.h"
#include "vfs/vfs.h"

enum {
	VFS_SHARDS = 64,
	VFS_SHARD_BUCKETS = 256
};

/*
 * A file that some handle named, kept open while it is used and a while longer. Owned by the cache;
 * `refs` counts users, and only a file without users, clean and without a flush in flight, is
 * closed.
 */
struct vfs_file {
	atomic_uint refs;
	atomic_uint open; /* enum vfs_open; grows under open_lock, with dup3() onto the same fd */
	int fd;
	atomic_int direct_fd;     /* O_DIRECT; negative: written through the page cache only */
	atomic_bool direct_tried; /* to open direct_fd */
	enum vfs_type type;
	struct vfs *vfs;
	struct vfs_export *export;
	uint64_t fileid_mix; /* see fileid in attr.c */
	struct vfs_handle handle;

	struct vfs_file *bucket_next; /* under the shard's lock */
	struct list_node lru;         /* under the shard's lock; in the list while hashed */
	bool hashed;                  /* under the shard's lock; the hash holds a reference */
	atomic_uint_fast64_t used_ms; /* last use */

	pthread_mutex_t open_lock; /* one opens at a time */
	pthread_mutex_t set_lock;  /* a guard is checked and the attributes set in one go */

	pthread_mutex_t commit_lock;
	struct group_commit gate;   /* under commit_lock */
	struct data_gate data_gate; /* under commit_lock */
	struct ring_op flush_op;    /* of the loop that flushes; holds a reference */
	struct loop *flush_loop;
	struct loop_task flush_task;
	atomic_bool dirty;
	atomic_uint_fast64_t dirty_ms; /* since when */
};

struct vfs_shard {
	pthread_mutex_t lock;
	struct vfs_file *buckets[VFS_SHARD_BUCKETS];
	struct list_node lru; /* the least recently used first */
};

struct vfs {
	struct vfs_handle_key key;
	atomic_uint open_files_max;
	atomic_uint open_files;
	atomic_uint evict_hand; /* the shard to evict from next */
	_Atomic(struct vfs_file *)
		unused; /* not hashed, without users: to be closed by who may block */

	pthread_mutex_t load_lock; /* one changes the table at a time; opens under it */
	pthread_rwlock_t exports_lock;
	struct vfs_parsed *parsed; /* what the specs point into */
	struct vfs_table table;
	atomic_uint serial_last;

	enum vfs_data_path data_path;
	void (*flush_failed)(void *context, int error); /* vfs_tell() */
	void (*direct_refused)(void *context, const struct vfs_export *export, int error);
	void *told_context;

	struct vfs_bulk_window bulk[SHARE_GROUPS];
	struct vfs_shard shards[VFS_SHARDS];
	atomic_uint_fast64_t opened, hits, evicted, refused;
	atomic_uint_fast64_t flushes, flush_waiters; /* of group commit; and whom they covered */
};

/* file.c */
uint64_t vfs_now_ms(void);

/* Under the shard's lock. The hash's reference goes to the caller. */
void vfs_file_unhash(struct vfs_shard *shard, struct vfs_file *file);

/**
 * vfs_file_adopt() - put an open descriptor into the cache under its handle
 * @fd: taken over, also on failure
 *
 * Return: 0 with a reference in *ret_file (that of the file already cached, if there is one);
 *         -EXDEV if the descriptor lies on another mount than the export's root; -EAGAIN if others
 *         would have to be closed for it and @may_block is false.
 */
int vfs_file_adopt(struct vfs *vfs, struct vfs_export *export, int fd, enum vfs_open open,
                   bool may_block, struct vfs_file **ret_file);

/* Close what vfs_file_put() left; may wait for a disk. */
void vfs_close_unused(struct vfs *vfs);

/* handle_kernel.c: a descriptor by handle. -ESTALE, -EMFILE, ... */
int vfs_open_by_parts(const struct vfs_export *export, const struct vfs_handle_parts *parts,
                      int flags);
uint64_t vfs_subvolume_mix(const struct vfs_export *export, const uint8_t *kernel,
                           size_t kernel_count);

/* The handle of an open file below an export, and its mix for fileids. */
int vfs_handle_of(const struct vfs *vfs, const struct vfs_export *export, int fd,
                  struct vfs_handle *ret_handle, uint64_t *ret_mix);

/* The same by name, links not followed, and the inode number that is in the handle; 0 if that
 * cannot be told. */
int vfs_handle_of_name(const struct vfs_file *dir, const char *name, struct vfs_handle *ret_handle,
                       uint64_t *ret_mix, uint64_t *ret_inode);

/* A name went away: if it was the file's last, let go of it as soon as nobody uses it. */
void vfs_file_forget_removed(struct vfs *vfs, const struct vfs_handle *handle);

/* The end: every cached file goes, also those whose data the kernel has still to write. */
void vfs_files_forget(struct vfs *vfs);

/* commit.c: tell of it. */
void vfs_flush_failed(struct vfs *vfs, int error);

/* attr.c */
struct stat;
enum vfs_type vfs_type_of(mode_t mode);
void vfs_attr_fill(const struct stat *stat, const struct vfs_export *export, uint64_t mix,
                   struct vfs_attr *ret_attr);
