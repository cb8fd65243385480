/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks_internal.h - what the files of the lock service share.
 *
 * Under `lock` is everything that changes. The kernel's record locks are set under it, too: they do
 * not wait. No file is opened and nothing written under it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "nfsd/config.h"
#include "nfsd/lock_grace.h"
#include "nfsd/locks.h"
#include "nfsd/nsm_hosts.h"
#include "nfsd/rpc_out.h"

enum {
	GRANT_PATIENCE_MS = 60000, /* for a client to take what it waited for */
	GRANT_AGAIN_MS = 5000,     /* between two GRANTED_MSG */
};

struct locks_counts {
	uint64_t granted, denied, blocked, callbacks, callbacks_lost, grace_refused,
		clients_dropped;
};

struct locks {
	const struct config *config;
	pthread_mutex_t lock;
	struct lock_table *table;
	struct lock_shares shares;
	struct lock_grace grace;
	struct list_node grants; /* given, and not yet taken by the client */
	uint64_t grant_last;
	struct locks_counts counts;
	struct nsm_hosts *hosts;
	struct rpc_out *out; /* NULL at the end: nobody is told any more */
	/* Once, by locks_find_monitor(): does the machine's own status monitor watch clients for
	 * us, or are we it? */
	atomic_bool has_statd, serves_nsm;
};

/* Somebody waits; or has been given it and has not said that it knows. */
struct waiting {
	struct lock_waiter waiter; /* linked while it waits */
	struct list_node in_grants;
	struct nlm4_args args; /* views into bytes */
	struct export_address local;
	bool by_message;
	bool had_shared;  /* all of it, when it was given */
	bool for_program; /* of this machine: nobody tells us when that is done */
	uint64_t id;
	uint64_t until_ms, again_ms;
	uint8_t bytes[]; /* caller, handle, owner */
};

/* ---- locks_grant.c, under lock ---- */

/* A LOCK that is to wait: NLM4_BLOCKED, or why not. */
nlm4_stats waiting_add(struct locks *locks, struct lock_file *file, const struct lock_ask *ask,
                       bool for_program);

/* The owner's that wait for, or were given, exactly this: they end. How many. */
unsigned waiting_end(struct locks *locks, struct lock_file *file, const struct lock_ask *ask);

/* What the owner was given in the range is its now: it has spoken of it. */
void grants_settle(struct locks *locks, const struct lock_file *file, const struct lock_ask *ask);

/* All that a client waits for. @touched: its files, which file_changed() is still to see. */
void waiting_drop(struct locks *locks, const struct export_address *client,
                  struct list_node *touched);

/* Something of the file was unlocked: who can have it now, in the order they came? */
void waiting_wake(struct locks *locks, struct lock_file *file);

/* Once a second, not under lock. */
void grants_tick(void *context);

/* ---- locks.c, under lock ---- */

/* The kernel's locks are again what the table says, in this range. */
void kernel_sync(const struct lock_file *file, const struct range *range);

/* After something went: the kernel, who waits, and the file if it is idle. */
void file_changed(struct locks *locks, struct lock_file *file, const struct range *range);

/* All that a client has and waits for. How many locks it had. */
unsigned client_drop(struct locks *locks, const struct export_address *client);

/* Of the kernel first: 0, -EAGAIN a program of this machine holds it, -ENOLCK, ... */
int file_lock(struct locks *locks, struct lock_file *file, const struct lock_owner_key *key,
              const struct range *range, bool exclusive);

/* ---- locks_clients.c ---- */

/* A LOCK carries its client's number: if that has restarted, what it held goes, as
 * locks_client_restarted(). Not under lock. */
void client_state(struct locks *locks, const struct export_address *client, int32_t state);

/* Watch the client from now on; may wait for a disk. 0 or a negative errno. */
int client_watch(struct locks *locks, const struct lock_ask *ask);

static inline struct lock_opaque opaque_of_view(struct xdr_view view)
{
	return (struct lock_opaque){ view.bytes, view.count };
}
