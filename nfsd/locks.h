/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks.h - the lock service behind NLM and NSM: the table of locks, the same locks in the kernel
 * so that programs of this machine see them, who waits and how it is told, and the clients that
 * hold locks, across restarts of both sides.
 *
 * All functions are thread-safe; those that say so may wait for a disk.
 */
#pragma once

#include <stdio.h>

#include "nfsd/lock_shares.h"
#include "nfsd/lock_table.h"
#include "rpcgen/nlm4_args.h"
#include "vfs/base/json.h"
#include "vfs/vfs.h"

struct config;
struct locks;
struct rpc_out;

/* What a call asks for; views point into the call. */
struct lock_ask {
	const struct nlm4_args *args;
	struct lock_owner_key key;
	struct export_address local; /* of ours, that was asked */
	bool monitored;              /* not NM_LOCK */
	bool by_message;             /* it is told by GRANTED_MSG, as it asked by LOCK_MSG */
	struct range range;
};

/* From the decoded arguments: 0, or -EFBIG. */
int locks_ask(const struct nlm4_args *args, const struct export_address *client,
              struct lock_ask *ret_ask);

/* Reads who held locks before; the grace period begins. What is wrong is logged. */
int locks_open(const struct config *config, struct locks **ret_locks);

/* Before anything is registered: is there a status monitor on this machine (only where rpcbind
 * runs, @has_rpcbind), or are we it? Takes NULL. */
void locks_find_monitor(struct locks *locks, bool has_rpcbind);

/* The server answers: tell the clients of before. Takes NULL. */
void locks_begin(struct locks *locks);

/* When nobody calls any more. Takes NULL; returns NULL. */
struct locks *locks_close(struct locks *locks);

/* Is NSM served by us (not by the machine's rpc.statd)? */
bool locks_serve_nsm(const struct locks *locks);

/* ---- procedures: their status ---- */

/* May wait for a disk. @file: that of the handle. */
nlm4_stats locks_lock(struct locks *locks, const struct vfs_file *file, const struct lock_ask *ask);
nlm4_stats locks_test(struct locks *locks, const struct vfs_file *file, const struct lock_ask *ask,
                      struct nlm4_who *ret_holder, uint8_t ret_owner[LOCK_OWNER_BYTES_MAX]);
nlm4_stats locks_share(struct locks *locks, const struct lock_ask *ask);

/* For these the file may be gone. */
nlm4_stats locks_unlock(struct locks *locks, const struct lock_ask *ask);
nlm4_stats locks_cancel(struct locks *locks, const struct lock_ask *ask);
nlm4_stats locks_unshare(struct locks *locks, const struct lock_ask *ask);

/* GRANTED_RES: the answer to GRANTED_MSG. */
void locks_granted_res(struct locks *locks, const struct export_address *client,
                       struct xdr_view cookie, nlm4_stats status);

/* ---- clients ---- */

/* Its status monitor says that it has restarted (a host's own NOTIFY comes from its address).
 * False: nobody here watches it. */
bool locks_client_restarted(struct locks *locks, const struct export_address *client,
                            int32_t state);

/* All that a client has goes. How many locks. */
unsigned locks_client_drop(struct locks *locks, const struct export_address *client);

/* It is gone for good, as the administrator says: all it has goes, and it is not watched any more.
 * False: it has nothing and is not watched. */
bool locks_client_release(struct locks *locks, const struct export_address *client,
                          unsigned *ret_count);

bool locks_client_watched(struct locks *locks, const struct export_address *client);
int32_t locks_state(const struct locks *locks);

/* ---- for others' eyes (locks_text.c) ---- */

/* Members of an object: how many, and what happened so far. */
void locks_put_counts(struct locks *locks, struct json *json);

/* How many there are right now; none without a lock service (NULL). */
void locks_now(struct locks *locks, struct lock_counts *ret_counts);

/* "locks", a list of what is held and waited for, at most @rows_max, by client; and "omitted".
 * Each has client, file (a path; null if it is not known), owner, svid, first and last byte (null:
 * to the end, however far), exclusive, and waiting. */
void locks_put_list(struct locks *locks, struct json *json, unsigned rows_max);

struct rpc_out *locks_rpc_out(struct locks *locks);
