/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks.c - what NLM's procedures do.
 *
 * A lock is asked of the table, then of the kernel, then put into the table. All of a file's locks
 * are on one descriptor, so that those of network clients do not conflict in the kernel: it keeps
 * the strongest of them byte by byte, for programs of this machine to see.
 */
#include "nfsd/locks.h"

#include <errno.h>
#include <string.h>

#include "nfsd/locks_internal.h"
#include "vfs/base/cleanup.h"
#include "vfs/lock.h"

static const struct range everything = { 0, UINT64_MAX };

int locks_ask(const struct nlm4_args *args, const struct export_address *client,
              struct lock_ask *ret_ask)
{
	*ret_ask = (struct lock_ask){
		.args = args,
		.key = { *client, opaque_of_view(args->owner), args->svid },
		.monitored = true,
	};
	return lock_range(args->offset, args->bytes, &ret_ask->range);
}

/* ---- the kernel ---- */

static void sync_piece(void *context, const struct range *piece, enum lock_mode mode)
{
	static const enum vfs_lock kinds[] = {
		[LOCK_MODE_NONE] = VFS_LOCK_NONE,
		[LOCK_MODE_SHARED] = VFS_LOCK_SHARED,
		[LOCK_MODE_EXCLUSIVE] = VFS_LOCK_EXCLUSIVE,
	};
	const struct lock_file *file = context;

	/* Nothing is taken here that was not held: it cannot conflict. */
	(void) vfs_lock_set(file->fd, kinds[mode], piece->first, piece->last);
}

void kernel_sync(const struct lock_file *file, const struct range *range)
{
	if (file->fd >= 0)
		lock_cover(file, range, sync_piece, (void *) (uintptr_t) file);
}

int file_lock(struct locks *locks, struct lock_file *file, const struct lock_owner_key *key,
              const struct range *range, bool exclusive)
{
	int r = vfs_lock_set(file->fd, exclusive ? VFS_LOCK_EXCLUSIVE : VFS_LOCK_SHARED,
	                     range->first, range->last);

	if (r == 0)
		r = lock_set(locks->table, file, key, range, exclusive);
	if (r < 0 && r != -EAGAIN)
		kernel_sync(file, range);
	return r;
}

static void file_release(struct locks *locks, struct lock_file *file)
{
	if (file->lock_count == 0 && list_empty(&file->waiters))
		close_fd(&file->fd);
	if (lock_file_is_idle(file))
		lock_file_release(locks->table, file);
}

void file_changed(struct locks *locks, struct lock_file *file, const struct range *range)
{
	kernel_sync(file, range);
	waiting_wake(locks, file);
	file_release(locks, file);
}

/* ---- LOCK ---- */

static nlm4_stats status_of(int error)
{
	switch (error) {
	case 0:
		return NLM4_GRANTED;
	case -EROFS:
		return NLM4_ROFS;
	case -ENOLCK:
	case -ENOMEM:
	case -ENFILE:
	case -EMFILE:
		return NLM4_DENIED_NOLOCKS;
	case -ESTALE:
		return NLM4_STALE_FH;
	default:
		return NLM4_FAILED;
	}
}

static nlm4_stats conflict(struct locks *locks, struct lock_file *file, const struct lock_ask *ask,
                           bool with_program)
{
	nlm4_stats status = NLM4_DENIED;

	if (ask->args->block)
		status = waiting_add(locks, file, ask, with_program);
	if (status == NLM4_BLOCKED)
		locks->counts.blocked++;
	else
		locks->counts.denied++;
	return status;
}

static nlm4_stats lock_in_file(struct locks *locks, struct lock_file *file,
                               const struct lock_ask *ask)
{
	bool exclusive = ask->args->exclusive;
	int r;

	if (exclusive && !file->fd_writable)
		return NLM4_ROFS;
	grants_settle(locks, file, ask);
	if (lock_is_held(locks->table, file, &ask->key, &ask->range, exclusive)) {
		(void) waiting_end(locks, file, ask);
		return NLM4_GRANTED; /* sent again, or it was given what it waited for */
	}
	if (lock_conflict(locks->table, file, &ask->key, &ask->range, exclusive))
		return conflict(locks, file, ask, false);
	r = file_lock(locks, file, &ask->key, &ask->range, exclusive);
	if (r == -EAGAIN)
		return conflict(locks, file, ask, true);
	if (r == 0) {
		locks->counts.granted++;
		(void) waiting_end(locks, file, ask);
		waiting_wake(locks, file); /* exclusive may have become shared */
	}
	return status_of(r);
}

/* With a descriptor, which is opened without the lock being held. */
static nlm4_stats lock_with_fd(struct locks *locks, const struct vfs_file *vfs_file,
                               const struct lock_ask *ask)
{
	struct lock_opaque handle = opaque_of_view(ask->args->handle);
	AUTO(close_fd) int fd = -EBADF;
	struct lock_file *file;
	bool writable = false;
	nlm4_stats status;
	int r;

	pthread_mutex_lock(&locks->lock);
	file = lock_file_find(locks->table, handle);
	if (!file || file->fd < 0) {
		pthread_mutex_unlock(&locks->lock);
		r = vfs_lock_open(vfs_file, &fd, &writable);
		if (r < 0)
			return status_of(r);
		pthread_mutex_lock(&locks->lock);
		r = lock_file_get(locks->table, handle, &file);
		if (r < 0) {
			pthread_mutex_unlock(&locks->lock);
			return status_of(r);
		}
		if (file->fd < 0) { /* nobody was quicker */
			file->fd = take_fd(&fd);
			file->fd_writable = writable;
		}
	}
	status = lock_in_file(locks, file, ask);
	file_release(locks, file);
	pthread_mutex_unlock(&locks->lock);
	return status;
}

static bool grace_refuses(struct locks *locks, bool reclaim)
{
	bool refused;

	pthread_mutex_lock(&locks->lock);
	refused = !lock_grace_admits(&locks->grace, rpc_out_now_ms(), reclaim);
	locks->counts.grace_refused += refused;
	pthread_mutex_unlock(&locks->lock);
	return refused;
}

nlm4_stats locks_lock(struct locks *locks, const struct vfs_file *file, const struct lock_ask *ask)
{
	int r;

	if (grace_refuses(locks, ask->args->reclaim))
		return NLM4_DENIED_GRACE_PERIOD;
	r = ask->monitored ? client_watch(locks, ask) : 0;
	if (r < 0)
		return status_of(r);
	if (ask->monitored)
		client_state(locks, &ask->key.client, ask->args->state);
	return lock_with_fd(locks, file, ask);
}

/* ---- TEST ---- */

static uint64_t bytes_of(const struct range *range)
{
	return range->last == UINT64_MAX ? 0 : range->last - range->first + 1;
}

static bool test_table(struct locks *locks, const struct lock_ask *ask, struct nlm4_who *ret_holder,
                       uint8_t ret_owner[LOCK_OWNER_BYTES_MAX])
{
	const struct lock_file *file;
	const struct lock *lock = NULL;

	pthread_mutex_lock(&locks->lock);
	file = lock_file_find(locks->table, opaque_of_view(ask->args->handle));
	if (file)
		lock = lock_conflict(locks->table, file, &ask->key, &ask->range,
		                     ask->args->exclusive);
	if (lock) {
		memcpy(ret_owner, lock->owner->opaque, lock->owner->opaque_count);
		*ret_holder = (struct nlm4_who){
			.exclusive = lock->exclusive,
			.svid = lock->owner->svid,
			.owner = { ret_owner, lock->owner->opaque_count },
			.offset = lock->in_file.range.first,
			.bytes = bytes_of(&lock->in_file.range),
		};
	}
	pthread_mutex_unlock(&locks->lock);
	return lock != NULL;
}

/* On the file's own descriptor: on another one our own locks would conflict. */
static int test_kernel(struct locks *locks, const struct vfs_file *vfs_file,
                       const struct lock_ask *ask, struct vfs_lock_holder *ret_holder)
{
	enum vfs_lock kind = ask->args->exclusive ? VFS_LOCK_EXCLUSIVE : VFS_LOCK_SHARED;
	AUTO(close_fd) int fd = -EBADF;
	const struct lock_file *file;
	bool writable, known;
	int r = 0;

	pthread_mutex_lock(&locks->lock);
	file = lock_file_find(locks->table, opaque_of_view(ask->args->handle));
	known = file && file->fd >= 0;
	if (known)
		r = vfs_lock_test(file->fd, kind, ask->range.first, ask->range.last, ret_holder);
	pthread_mutex_unlock(&locks->lock);
	if (known)
		return r;
	r = vfs_lock_open(vfs_file, &fd, &writable);
	return r < 0 ? r : vfs_lock_test(fd, kind, ask->range.first, ask->range.last, ret_holder);
}

nlm4_stats locks_test(struct locks *locks, const struct vfs_file *file, const struct lock_ask *ask,
                      struct nlm4_who *ret_holder, uint8_t ret_owner[LOCK_OWNER_BYTES_MAX])
{
	struct vfs_lock_holder holder;
	int r;

	if (grace_refuses(locks, false)) /* it may still be reclaimed */
		return NLM4_DENIED_GRACE_PERIOD;
	if (test_table(locks, ask, ret_holder, ret_owner))
		return NLM4_DENIED;
	r = test_kernel(locks, file, ask, &holder);
	if (r < 0 || holder.lock == VFS_LOCK_NONE)
		return status_of(r);
	*ret_holder = (struct nlm4_who){
		.exclusive = holder.lock == VFS_LOCK_EXCLUSIVE,
		.svid = holder.pid,
		.offset = holder.first,
		.bytes = bytes_of(&(struct range){ holder.first, holder.last }),
	};
	return NLM4_DENIED;
}

/* ---- UNLOCK, CANCEL ---- */

nlm4_stats locks_unlock(struct locks *locks, const struct lock_ask *ask)
{
	struct lock_file *file;
	int r = 0;

	pthread_mutex_lock(&locks->lock);
	file = lock_file_find(locks->table, opaque_of_view(ask->args->handle));
	if (file) {
		grants_settle(locks, file, ask);
		r = lock_clear(locks->table, file, &ask->key, &ask->range);
		file_changed(locks, file, &ask->range);
	}
	pthread_mutex_unlock(&locks->lock);
	return status_of(r);
}

nlm4_stats locks_cancel(struct locks *locks, const struct lock_ask *ask)
{
	struct lock_file *file;
	unsigned count = 0;

	pthread_mutex_lock(&locks->lock);
	file = lock_file_find(locks->table, opaque_of_view(ask->args->handle));
	if (file) {
		count = waiting_end(locks, file, ask);
		file_changed(locks, file, &ask->range);
	}
	pthread_mutex_unlock(&locks->lock);
	return count ? NLM4_GRANTED : NLM4_DENIED;
}

/* ---- SHARE, UNSHARE ---- */

static struct lock_share_ask share_of(const struct lock_ask *ask)
{
	return (struct lock_share_ask){
		.client = ask->key.client,
		.opaque = ask->key.opaque,
		.access = ask->args->access,
		.deny = ask->args->mode,
	};
}

nlm4_stats locks_share(struct locks *locks, const struct lock_ask *ask)
{
	const struct lock_share_ask share = share_of(ask);
	struct lock_file *file;
	int r;

	if (grace_refuses(locks, ask->args->reclaim))
		return NLM4_DENIED_GRACE_PERIOD;
	r = client_watch(locks, ask);
	if (r < 0)
		return status_of(r);
	pthread_mutex_lock(&locks->lock);
	r = lock_file_get(locks->table, opaque_of_view(ask->args->handle), &file);
	if (r == 0) {
		r = lock_share_set(&locks->shares, file, &share);
		file_release(locks, file);
	}
	pthread_mutex_unlock(&locks->lock);
	return r == -EAGAIN ? NLM4_DENIED : status_of(r);
}

nlm4_stats locks_unshare(struct locks *locks, const struct lock_ask *ask)
{
	const struct lock_share_ask share = share_of(ask);
	struct lock_file *file;

	pthread_mutex_lock(&locks->lock);
	file = lock_file_find(locks->table, opaque_of_view(ask->args->handle));
	if (file) {
		lock_share_clear(&locks->shares, file, &share);
		file_release(locks, file);
	}
	pthread_mutex_unlock(&locks->lock);
	return NLM4_GRANTED;
}

/* ---- all of a client's ---- */

unsigned client_drop(struct locks *locks, const struct export_address *client)
{
	struct export_address whom = *client; /* it may lie in what is freed */
	struct list_node touched = LIST_INIT(touched), *node;
	unsigned count;

	waiting_drop(locks, &whom, &touched);
	count = lock_client_drop(locks->table, &whom, &touched);
	lock_share_drop(&locks->shares, &whom, &touched);
	while ((node = list_pop(&touched)))
		file_changed(locks, container_of(node, struct lock_file, touched), &everything);
	return count;
}

unsigned locks_client_drop(struct locks *locks, const struct export_address *client)
{
	unsigned count;

	pthread_mutex_lock(&locks->lock);
	count = client_drop(locks, client);
	pthread_mutex_unlock(&locks->lock);
	return count;
}
