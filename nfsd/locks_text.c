/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks_text.c - what the lock service shows: in the status document, and to 'lodestore locks'.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "nfsd/locks_internal.h"
#include "vfs/base/cleanup.h"

void locks_put_counts(struct locks *locks, struct json *json)
{
	struct locks_counts counts;
	struct lock_counts now;
	bool grace;

	pthread_mutex_lock(&locks->lock);
	counts = locks->counts;
	lock_counts(locks->table, &now);
	grace = lock_grace_lasts(&locks->grace, rpc_out_now_ms());
	pthread_mutex_unlock(&locks->lock);
	json_u64(json, "held", now.locks);
	json_u64(json, "waiting", now.waiters);
	json_u64(json, "files", now.files);
	json_u64(json, "clients", now.clients);
	json_bool(json, "grace", grace);
	json_u64(json, "granted", counts.granted);
	json_u64(json, "denied", counts.denied);
	json_u64(json, "blocked", counts.blocked);
	json_u64(json, "callbacks", counts.callbacks);
	json_u64(json, "callbacks_lost", counts.callbacks_lost);
	json_u64(json, "grace_refused", counts.grace_refused);
	json_u64(json, "clients_restarted", counts.clients_dropped);
}

void locks_now(struct locks *locks, struct lock_counts *ret_counts)
{
	*ret_counts = (struct lock_counts){ 0 };
	if (!locks)
		return;
	pthread_mutex_lock(&locks->lock);
	lock_counts(locks->table, ret_counts);
	pthread_mutex_unlock(&locks->lock);
}

/* ---- one by one ---- */

struct row {
	const struct lock_file *file;
	const struct export_address *client;
	struct lock_opaque owner;
	int32_t svid;
	const struct range *range;
	bool exclusive, waiting;
};

struct rows {
	struct json *json;
	unsigned room;
	uint64_t omitted;
	/* Of the last row, and where it is; most rows have the same. */
	const struct lock_file *file;
	ssize_t path_bytes; /* -1: it is not known */
	char path[PATH_MAX];
};

/* Where the kernel has it now; a name that a removed file had is none. */
static ssize_t path_of(const struct lock_file *file, char path[PATH_MAX])
{
	static const char removed[] = " (deleted)";
	char link[64];
	ssize_t bytes;

	if (file->fd < 0)
		return -1;
	snprintf(link, sizeof link, "/proc/self/fd/%d", file->fd);
	bytes = readlink(link, path, PATH_MAX);
	if (bytes > (ssize_t) strlen(removed) &&
	    memcmp(path + bytes - strlen(removed), removed, strlen(removed)) == 0)
		return -1;
	return bytes;
}

static void put_path(struct rows *rows, const struct lock_file *file)
{
	if (rows->file != file) {
		rows->file = file;
		rows->path_bytes = path_of(file, rows->path);
	}
	if (rows->path_bytes < 0)
		json_null(rows->json, "file");
	else
		json_text(rows->json, "file", rows->path, (size_t) rows->path_bytes);
}

static void put_row(struct rows *rows, const struct row *row)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	struct json *json = rows->json;

	if (rows->room == 0) {
		rows->omitted++;
		return;
	}
	rows->room--;
	json_begin(json, NULL, '{');
	json_word(json, "client", export_address_print(row->client, text));
	put_path(rows, row->file);
	json_text(json, "owner", (const char *) row->owner.bytes, row->owner.count);
	json_u64(json, "svid", (uint32_t) row->svid);
	json_u64(json, "first", row->range->first);
	if (row->range->last == UINT64_MAX)
		json_null(json, "last");
	else
		json_u64(json, "last", row->range->last);
	json_bool(json, "exclusive", row->exclusive);
	json_bool(json, "waiting", row->waiting);
	json_end(json, '}');
}

static void put_owner(struct rows *rows, const struct lock_owner *owner)
{
	static const struct range all = { 0, UINT64_MAX };
	struct range_node *node = NULL;

	while ((node = range_tree_find(&owner->locks, &all, node))) {
		const struct lock *lock = container_of(node, struct lock, in_owner);

		put_row(rows, &(struct row){
				      .file = owner->file,
				      .client = &owner->client->address,
				      .owner = { owner->opaque, owner->opaque_count },
				      .svid = owner->svid,
				      .range = &node->range,
				      .exclusive = lock->exclusive,
			      });
	}
}

static void put_waiter(struct rows *rows, const struct lock_waiter *waiter)
{
	put_row(rows, &(struct row){
			      .file = waiter->file,
			      .client = &waiter->key.client,
			      .owner = waiter->key.opaque,
			      .svid = waiter->key.svid,
			      .range = &waiter->range,
			      .exclusive = waiter->exclusive,
			      .waiting = true,
		      });
}

void locks_put_list(struct locks *locks, struct json *json, unsigned rows_max)
{
	struct rows rows = { .json = json, .room = rows_max };

	json_begin(json, "locks", '[');
	pthread_mutex_lock(&locks->lock);
	list_for_each (node, lock_clients(locks->table)) {
		struct lock_client *client = container_of(node, struct lock_client, node);

		list_for_each (of_owner, &client->owners)
			put_owner(&rows, container_of(of_owner, struct lock_owner, node));
		list_for_each (of_waiter, &client->waiters)
			put_waiter(&rows, container_of(of_waiter, struct lock_waiter, in_client));
	}
	pthread_mutex_unlock(&locks->lock);
	json_end(json, ']');
	json_u64(json, "omitted", rows.omitted);
}
