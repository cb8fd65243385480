/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_table.h - who has locked which bytes of which file, and who waits. Pure: no file is touched,
 * nobody is told; locks.c does that.
 *
 * An owner is what POSIX calls a process: a client's address, the opaque bytes it names the owner
 * by, and a number (svid). Its locks on a file never overlap: a new one replaces what it covers of
 * the old, neighbours of one kind become one. Shared locks of several owners may overlap, exclusive
 * ones overlap nobody else's. Finding out takes time for the logarithm of a file's locks.
 * Clients and owners that have nothing are forgotten at once; a file when it is released.
 */
#pragma once

#include <stddef.h>

#include "nfsd/range_tree.h"
#include "vfs/base/list.h"
#include "vfs/export_address.h"

struct lock_table;

enum {
	LOCK_OWNER_BYTES_MAX = 1024, /* MAXNETOBJ_SZ */
	LOCK_FILE_BYTES_MAX = 64,    /* of a handle */
};

struct lock_limits {
	unsigned locks, locks_per_client, waiters, waiters_per_client, files;
};

struct lock_opaque {
	const uint8_t *bytes;
	uint32_t count;
};
/* Whose lock; the bytes are the caller's. */
struct lock_owner_key {
	struct export_address client;
	struct lock_opaque opaque;
	int32_t svid;
};

struct lock_client {
	struct export_address address;
	unsigned lock_count, waiter_count;
	struct list_node owners, waiters;
	struct lock_client *next; /* in its chain */
	struct list_node node;    /* of all clients */
};

struct lock_file {
	uint8_t handle[LOCK_FILE_BYTES_MAX];
	uint32_t handle_count;
	struct range_tree exclusive, shared; /* of lock.in_file */
	unsigned lock_count;
	struct list_node waiters; /* who came first is first */
	struct list_node touched; /* lock_client_drop() */
	struct list_node shares;  /* lock_shares.c's */
	struct lock_file *next;
	int fd; /* of locks.c, negative at first: the kernel's locks are on it */
	bool fd_writable;
};

struct lock_owner {
	struct lock_client *client;
	struct lock_file *file;
	struct range_tree locks; /* of lock.in_owner */
	struct list_node node;   /* of the client's */
	struct lock_owner *next;
	int32_t svid;
	uint32_t opaque_count;
	uint8_t opaque[];
};

struct lock {
	struct range_node in_file, in_owner; /* one range, twice */
	struct lock_owner *owner;
	bool exclusive;
};

struct lock_waiter {
	struct lock_owner_key key; /* opaque: the caller's, as long as it waits */
	struct range range;
	bool exclusive;
	struct lock_file *file;
	struct lock_client *client;
	struct list_node in_file, in_client;
};

struct lock_table *lock_table_new(const struct lock_limits *limits);
struct lock_table *lock_table_free(struct lock_table *table); /* takes NULL; returns NULL */
/* NLM's offset and length, where length 0 means to the end however far that is. -EFBIG: past the
 * last byte that 64 bits can name. */
int lock_range(uint64_t offset, uint64_t bytes, struct range *ret_range);

/* The file of a handle, or NULL if nothing is known of it. */
struct lock_file *lock_file_find(struct lock_table *table, struct lock_opaque handle);

/* The same, made if need be. -ENOLCK: there are limits.files; -ENOMEM. */
int lock_file_get(struct lock_table *table, struct lock_opaque handle, struct lock_file **ret_file);

/* Nothing is locked, waited for or shared: it can be released. */
bool lock_file_is_idle(const struct lock_file *file);
void lock_file_release(struct lock_table *table, struct lock_file *file);

/* A lock of somebody else's that forbids this one, or NULL. */
const struct lock *lock_conflict(struct lock_table *table, const struct lock_file *file,
                                 const struct lock_owner_key *key, const struct range *range,
                                 bool exclusive);

/* There is no conflict. 0, -ENOLCK (limits), -ENOMEM: nothing has changed then. */
int lock_set(struct lock_table *table, struct lock_file *file, const struct lock_owner_key *key,
             const struct range *range, bool exclusive);

/* What the owner has of the range goes. 0, or -ENOMEM: nothing has changed. */
int lock_clear(struct lock_table *table, struct lock_file *file, const struct lock_owner_key *key,
               const struct range *range);

/* Does the owner hold all of the range in this mode? */
bool lock_is_held(struct lock_table *table, const struct lock_file *file,
                  const struct lock_owner_key *key, const struct range *range, bool exclusive);

enum lock_mode {
	LOCK_MODE_NONE,
	LOCK_MODE_SHARED,
	LOCK_MODE_EXCLUSIVE,
};

/* All of @range in pieces, in order, each with the strongest lock anybody has there. */
void lock_cover(const struct lock_file *file, const struct range *range,
                void (*visit)(void *context, const struct range *piece, enum lock_mode mode),
                void *context);

/* Wait: key, range and exclusive are set. 0, -ENOLCK (limits), -ENOMEM. */
int lock_wait(struct lock_table *table, struct lock_file *file, struct lock_waiter *waiter);
void lock_wait_end(struct lock_table *table, struct lock_waiter *waiter);

bool lock_key_equal(const struct lock_owner_key *one, const struct lock_owner_key *two);

struct lock_client *lock_client_find(struct lock_table *table,
                                     const struct export_address *address);
struct list_node *lock_clients(struct lock_table *table); /* by node */
/* All its locks go, their files are put into @touched; waiters stay. How many locks. */
unsigned lock_client_drop(struct lock_table *table, const struct export_address *address,
                          struct list_node *touched);

struct lock_counts {
	unsigned locks, waiters, files, clients;
};
void lock_counts(const struct lock_table *table, struct lock_counts *ret_counts);
