/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks_text.c - what the lock service shows: in the status document, and to 'lodestore locks'.
 */
#include <string.h>

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
