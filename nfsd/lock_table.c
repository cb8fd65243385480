/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_table.c - every lock is in two trees: its file's, of its kind, and its owner's.
 */
#include "nfsd/lock_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "vfs/base/cleanup.h"

enum {
	OWNER_CHAINS = 16384,
	FILE_CHAINS = 1024,
	CLIENT_CHAINS = 256,
	/* A lock put into the middle of another: itself, and what is left on both sides. */
	SPARES = 3,
};

struct lock_table {
	struct lock_limits limits;
	struct lock_counts counts;
	struct list_node clients;
	struct lock_client *client_chains[CLIENT_CHAINS];
	struct lock_file *file_chains[FILE_CHAINS];
	struct lock_owner *owner_chains[OWNER_CHAINS];
};

struct spares {
	struct lock *locks[SPARES];
	unsigned count;
};

int lock_range(uint64_t offset, uint64_t bytes, struct range *ret_range)
{
	if (bytes && offset > UINT64_MAX - (bytes - 1))
		return -EFBIG;
	*ret_range = (struct range){ offset, bytes ? offset + (bytes - 1) : UINT64_MAX };
	return 0;
}

struct lock_table *lock_table_new(const struct lock_limits *limits)
{
	struct lock_table *table = calloc(1, sizeof *table);

	if (!table)
		return NULL;
	table->limits = *limits;
	list_init(&table->clients);
	return table;
}

/* ---- clients ---- */

static struct lock_client **client_chain(struct lock_table *table,
                                         const struct export_address *address)
{
	return &table->client_chains[XXH3_64bits(address, sizeof *address) % CLIENT_CHAINS];
}

struct lock_client *lock_client_find(struct lock_table *table, const struct export_address *address)
{
	struct lock_client *client = *client_chain(table, address);

	while (client && memcmp(&client->address, address, sizeof *address) != 0)
		client = client->next;
	return client;
}

static struct lock_client *client_get(struct lock_table *table,
                                      const struct export_address *address)
{
	struct lock_client **chain = client_chain(table, address);
	struct lock_client *client = lock_client_find(table, address);

	if (client)
		return client;
	client = calloc(1, sizeof *client);
	if (!client)
		return NULL;
	client->address = *address;
	list_init(&client->owners);
	list_init(&client->waiters);
	list_node_init(&client->node);
	list_add_tail(&table->clients, &client->node);
	client->next = *chain;
	*chain = client;
	table->counts.clients++;
	return client;
}

/* It goes if it has nothing. */
static void client_release(struct lock_table *table, struct lock_client *client)
{
	struct lock_client **slot = client_chain(table, &client->address);

	if (!list_empty(&client->owners) || !list_empty(&client->waiters))
		return;
	while (*slot != client)
		slot = &(*slot)->next;
	*slot = client->next;
	list_remove(&client->node);
	table->counts.clients--;
	free(client);
}

struct list_node *lock_clients(struct lock_table *table)
{
	return &table->clients;
}

/* ---- files ---- */

static struct lock_file **file_chain(struct lock_table *table, struct lock_opaque handle)
{
	return &table->file_chains[XXH3_64bits(handle.bytes, handle.count) % FILE_CHAINS];
}

struct lock_file *lock_file_find(struct lock_table *table, struct lock_opaque handle)
{
	struct lock_file *file = *file_chain(table, handle);

	while (file && (file->handle_count != handle.count ||
	                memcmp(file->handle, handle.bytes, handle.count) != 0))
		file = file->next;
	return file;
}

int lock_file_get(struct lock_table *table, struct lock_opaque handle, struct lock_file **ret_file)
{
	struct lock_file **chain = file_chain(table, handle);
	struct lock_file *file = lock_file_find(table, handle);

	assert(handle.count > 0 && handle.count <= LOCK_FILE_BYTES_MAX);
	if (!file) {
		if (table->counts.files >= table->limits.files)
			return -ENOLCK;
		file = calloc(1, sizeof *file);
		if (!file)
			return -ENOMEM;
		memcpy(file->handle, handle.bytes, handle.count);
		file->handle_count = handle.count;
		file->fd = -EBADF;
		list_init(&file->waiters);
		list_init(&file->shares);
		list_node_init(&file->touched);
		file->next = *chain;
		*chain = file;
		table->counts.files++;
	}
	*ret_file = file;
	return 0;
}

bool lock_file_is_idle(const struct lock_file *file)
{
	return file->lock_count == 0 && list_empty(&file->waiters) && list_empty(&file->shares);
}

void lock_file_release(struct lock_table *table, struct lock_file *file)
{
	struct lock_file **slot = file_chain(
		table, (struct lock_opaque){ file->handle, file->handle_count });

	assert(lock_file_is_idle(file) && !list_linked(&file->touched));
	while (*slot != file)
		slot = &(*slot)->next;
	*slot = file->next;
	table->counts.files--;
	free(file);
}

/* ---- owners ---- */

static struct lock_opaque opaque_of(const struct lock_owner *owner)
{
	return (struct lock_opaque){ owner->opaque, owner->opaque_count };
}

static struct lock_owner **owner_chain(struct lock_table *table, const struct lock_file *file,
                                       struct lock_opaque opaque, int32_t svid)
{
	uint64_t seed = (uintptr_t) file ^ (uint64_t) (uint32_t) svid << 32;

	return &table->owner_chains[XXH3_64bits_withSeed(opaque.bytes, opaque.count, seed) %
	                            OWNER_CHAINS];
}

static bool opaque_equal(struct lock_opaque one, struct lock_opaque two)
{
	return one.count == two.count &&
	       (one.count == 0 || memcmp(one.bytes, two.bytes, one.count) == 0);
}

bool lock_key_equal(const struct lock_owner_key *one, const struct lock_owner_key *two)
{
	return one->svid == two->svid &&
	       memcmp(&one->client, &two->client, sizeof one->client) == 0 &&
	       opaque_equal(one->opaque, two->opaque);
}

static struct lock_owner *owner_find(struct lock_table *table, const struct lock_file *file,
                                     const struct lock_owner_key *key)
{
	struct lock_owner *owner = *owner_chain(table, file, key->opaque, key->svid);

	while (owner && (owner->file != file || owner->svid != key->svid ||
	                 memcmp(&owner->client->address, &key->client, sizeof key->client) != 0 ||
	                 !opaque_equal(opaque_of(owner), key->opaque)))
		owner = owner->next;
	return owner;
}

static struct lock_owner *owner_get(struct lock_table *table, struct lock_file *file,
                                    const struct lock_owner_key *key)
{
	struct lock_owner **chain = owner_chain(table, file, key->opaque, key->svid);
	struct lock_owner *owner = owner_find(table, file, key);
	struct lock_client *client;

	assert(key->opaque.count <= LOCK_OWNER_BYTES_MAX);
	if (owner)
		return owner;
	client = client_get(table, &key->client);
	owner = client ? calloc(1, sizeof *owner + key->opaque.count) : NULL;
	if (!owner) {
		if (client)
			client_release(table, client);
		return NULL;
	}
	owner->client = client;
	owner->file = file;
	owner->svid = key->svid;
	owner->opaque_count = key->opaque.count;
	if (key->opaque.count)
		memcpy(owner->opaque, key->opaque.bytes, key->opaque.count);
	list_node_init(&owner->node);
	list_add_tail(&client->owners, &owner->node);
	owner->next = *chain;
	*chain = owner;
	return owner;
}

/* It goes if it has no locks, and its client if that has nothing. */
static void owner_release(struct lock_table *table, struct lock_owner *owner)
{
	struct lock_owner **slot = owner_chain(table, owner->file, opaque_of(owner), owner->svid);
	struct lock_client *client = owner->client;

	if (owner->locks.root)
		return;
	while (*slot != owner)
		slot = &(*slot)->next;
	*slot = owner->next;
	list_remove(&owner->node);
	free(owner);
	client_release(table, client);
}

/* ---- locks ---- */

static int spares_get(struct spares *spares)
{
	for (spares->count = 0; spares->count < SPARES; spares->count++) {
		spares->locks[spares->count] = calloc(1, sizeof(struct lock));
		if (!spares->locks[spares->count])
			return -ENOMEM;
	}
	return 0;
}

static void spares_free(struct spares *spares)
{
	while (spares->count > 0)
		free(spares->locks[--spares->count]);
}

static struct lock *lock_of(struct range_node *in_owner)
{
	return in_owner ? container_of(in_owner, struct lock, in_owner) : NULL;
}

static struct lock *own_find(const struct lock_owner *owner, const struct range *range,
                             const struct lock *after)
{
	return lock_of(range_tree_find(&owner->locks, range, after ? &after->in_owner : NULL));
}

static struct range_tree *kind_of(struct lock_file *file, bool exclusive)
{
	return exclusive ? &file->exclusive : &file->shared;
}

static void lock_put(struct lock_table *table, struct lock_owner *owner, struct lock *lock,
                     const struct range *range, bool exclusive)
{
	*lock = (struct lock){ .owner = owner, .exclusive = exclusive };
	lock->in_file.range = lock->in_owner.range = *range;
	range_tree_add(&owner->locks, &lock->in_owner);
	range_tree_add(kind_of(owner->file, exclusive), &lock->in_file);
	owner->file->lock_count++;
	owner->client->lock_count++;
	table->counts.locks++;
}

static void lock_take(struct lock_table *table, struct lock *lock)
{
	struct lock_owner *owner = lock->owner;

	range_tree_remove(&owner->locks, &lock->in_owner);
	range_tree_remove(kind_of(owner->file, lock->exclusive), &lock->in_file);
	owner->file->lock_count--;
	owner->client->lock_count--;
	table->counts.locks--;
	free(lock);
}

/* What the owner has of the range goes; what sticks out stays. */
static void owner_carve(struct lock_table *table, struct lock_owner *owner,
                        const struct range *range, struct spares *spares)
{
	struct lock *lock;

	while ((lock = own_find(owner, range, NULL))) {
		struct range whole = lock->in_owner.range;
		bool exclusive = lock->exclusive;

		lock_take(table, lock);
		if (whole.first < range->first)
			lock_put(table, owner, spares->locks[--spares->count],
			         &(struct range){ whole.first, range->first - 1 }, exclusive);
		if (whole.last > range->last)
			lock_put(table, owner, spares->locks[--spares->count],
			         &(struct range){ range->last + 1, whole.last }, exclusive);
	}
}

/* The range with the owner's locks of the same kind that touch it. */
static struct range with_neighbours(const struct lock_owner *owner, const struct range *range,
                                    bool exclusive)
{
	struct range look = { range->first ? range->first - 1 : 0,
		              range->last < UINT64_MAX ? range->last + 1 : UINT64_MAX };
	struct range all = *range;

	for (struct lock *lock = own_find(owner, &look, NULL); lock;
	     lock = own_find(owner, &look, lock)) {
		const struct range *other = &lock->in_owner.range;

		if (lock->exclusive != exclusive)
			continue;
		all.first = other->first < all.first ? other->first : all.first;
		all.last = other->last > all.last ? other->last : all.last;
	}
	return all;
}

/* How many locks more the client has after this one. */
static int growth(const struct lock_owner *owner, const struct range *range)
{
	int more = 1;

	for (struct lock *lock = own_find(owner, range, NULL); lock;
	     lock = own_find(owner, range, lock))
		more += -1 + (lock->in_owner.range.first < range->first) +
		        (lock->in_owner.range.last > range->last);
	return more;
}

int lock_set(struct lock_table *table, struct lock_file *file, const struct lock_owner_key *key,
             const struct range *range, bool exclusive)
{
	struct lock_owner *owner = owner_get(table, file, key);
	struct spares spares;
	struct range all;
	int more, r;

	if (!owner)
		return -ENOMEM;
	all = with_neighbours(owner, range, exclusive);
	more = growth(owner, &all);
	r = spares_get(&spares);
	if (r == 0 && more > 0 &&
	    (owner->client->lock_count + (unsigned) more > table->limits.locks_per_client ||
	     table->counts.locks + (unsigned) more > table->limits.locks))
		r = -ENOLCK;
	if (r == 0) {
		owner_carve(table, owner, &all, &spares);
		lock_put(table, owner, spares.locks[--spares.count], &all, exclusive);
	}
	spares_free(&spares);
	owner_release(table, owner);
	return r;
}

int lock_clear(struct lock_table *table, struct lock_file *file, const struct lock_owner_key *key,
               const struct range *range)
{
	struct lock_owner *owner = owner_find(table, file, key);
	struct spares spares;
	int r;

	if (!owner || !own_find(owner, range, NULL))
		return 0;
	r = spares_get(&spares);
	if (r == 0) {
		owner_carve(table, owner, range, &spares);
		owner_release(table, owner);
	}
	spares_free(&spares);
	return r;
}

bool lock_is_held(struct lock_table *table, const struct lock_file *file,
                  const struct lock_owner_key *key, const struct range *range, bool exclusive)
{
	const struct lock_owner *owner = owner_find(table, file, key);
	const struct lock *lock = owner ? own_find(owner, range, NULL) : NULL;

	/* Neighbours of one kind are one: it is one lock or none. */
	return lock && lock->exclusive == exclusive && lock->in_owner.range.first <= range->first &&
	       lock->in_owner.range.last >= range->last;
}

static const struct lock *other_in(const struct range_tree *tree, const struct lock_owner *owner,
                                   const struct range *range)
{
	struct range_node *node = range_tree_find(tree, range, NULL);

	while (node && container_of(node, struct lock, in_file)->owner == owner)
		node = range_tree_find(tree, range, node);
	return node ? container_of(node, struct lock, in_file) : NULL;
}

const struct lock *lock_conflict(struct lock_table *table, const struct lock_file *file,
                                 const struct lock_owner_key *key, const struct range *range,
                                 bool exclusive)
{
	const struct lock_owner *owner = owner_find(table, file, key);
	const struct lock *other = other_in(&file->exclusive, owner, range);

	if (!other && exclusive)
		other = other_in(&file->shared, owner, range);
	return other;
}

/* ---- what the kernel is to be told ---- */

/* The piece that begins with @left->first. */
static enum lock_mode piece_at(const struct lock_file *file, const struct range *left,
                               uint64_t *ret_last)
{
	const struct range at = { left->first, left->first };
	const struct range_node *exclusive = range_tree_find(&file->exclusive, &at, NULL);
	const struct range_node *shared = range_tree_find(&file->shared, &at, NULL);
	const struct range_node *here = exclusive ? exclusive : shared;

	*ret_last = left->last;
	if (here) {
		if (here->range.last < *ret_last)
			*ret_last = here->range.last;
		return exclusive ? LOCK_MODE_EXCLUSIVE : LOCK_MODE_SHARED;
	}
	exclusive = range_tree_find(&file->exclusive, left, NULL);
	shared = range_tree_find(&file->shared, left, NULL);
	if (exclusive)
		*ret_last = exclusive->range.first - 1;
	if (shared && shared->range.first - 1 < *ret_last)
		*ret_last = shared->range.first - 1;
	return LOCK_MODE_NONE;
}

void lock_cover(const struct lock_file *file, const struct range *range,
                void (*visit)(void *context, const struct range *piece, enum lock_mode mode),
                void *context)
{
	struct range left = *range;
	enum lock_mode mode;
	uint64_t last;

	do {
		mode = piece_at(file, &left, &last);
		visit(context, &(struct range){ left.first, last }, mode);
		left.first = last + 1;
	} while (last < range->last);
}

/* ---- waiting ---- */

int lock_wait(struct lock_table *table, struct lock_file *file, struct lock_waiter *waiter)
{
	struct lock_client *client = client_get(table, &waiter->key.client);

	if (!client)
		return -ENOMEM;
	if (client->waiter_count >= table->limits.waiters_per_client ||
	    table->counts.waiters >= table->limits.waiters) {
		client_release(table, client);
		return -ENOLCK;
	}
	waiter->file = file;
	waiter->client = client;
	list_node_init(&waiter->in_file);
	list_node_init(&waiter->in_client);
	list_add_tail(&file->waiters, &waiter->in_file);
	list_add_tail(&client->waiters, &waiter->in_client);
	client->waiter_count++;
	table->counts.waiters++;
	return 0;
}

void lock_wait_end(struct lock_table *table, struct lock_waiter *waiter)
{
	list_remove(&waiter->in_file);
	list_remove(&waiter->in_client);
	waiter->client->waiter_count--;
	table->counts.waiters--;
	client_release(table, waiter->client);
}

/* ---- all of a client's, all of everybody's ---- */

unsigned lock_client_drop(struct lock_table *table, const struct export_address *address,
                          struct list_node *touched)
{
	static const struct range everything = { 0, UINT64_MAX };
	struct lock_client *client = lock_client_find(table, address);
	unsigned count = client ? client->lock_count : 0;
	struct list_node *node;

	/* The last owner takes the client along, unless somebody waits. */
	for (unsigned left = count; left > 0;) {
		struct lock_owner *owner;
		struct lock *lock;

		node = list_first(&client->owners);
		owner = container_of(node, struct lock_owner, node);
		while ((lock = own_find(owner, &everything, NULL))) {
			lock_take(table, lock);
			left--;
		}
		if (!list_linked(&owner->file->touched))
			list_add_tail(touched, &owner->file->touched);
		owner_release(table, owner);
	}
	return count;
}

struct lock_table *lock_table_free(struct lock_table *table)
{
	if (!table)
		return NULL;
	while (!list_empty(&table->clients)) {
		struct lock_client *client = container_of(list_first(&table->clients),
		                                          struct lock_client, node);
		struct export_address address = client->address;
		struct list_node touched = LIST_INIT(touched);

		assert(list_empty(&client->waiters));
		(void) lock_client_drop(table, &address, &touched);
		while (list_pop(&touched))
			;
	}
	for (unsigned i = 0; i < FILE_CHAINS; i++)
		while (table->file_chains[i])
			lock_file_release(table, table->file_chains[i]);
	free(table);
	return NULL;
}

void lock_counts(const struct lock_table *table, struct lock_counts *ret_counts)
{
	*ret_counts = table->counts;
}
