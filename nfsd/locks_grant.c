/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks_grant.c - who waits for a lock, and how it learns that it has it:
 *
 *     waiting_add     LOCK was answered BLOCKED
 *     waiting_wake    the lock is its: GRANTED is called on the client, which takes or refuses it
 *     grant_answered  it took it, or refused it, or never answered: then it goes to the next
 *
 * A client that asks again, unlocks or cancels meanwhile has said what it knows: nothing more is
 * waited for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/locks_internal.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	COOKIE_BYTES = 8
};

static struct waiting *waiting_of(struct list_node *in_file)
{
	return container_of(in_file, struct waiting, waiter.in_file);
}

/* ---- waiting ---- */

static struct xdr_view keep(uint8_t **to, struct xdr_view view)
{
	struct xdr_view kept = { *to, view.count };

	if (view.count)
		memcpy(*to, view.bytes, view.count);
	*to += view.count;
	return kept;
}

static struct waiting *waiting_new(const struct lock_ask *ask)
{
	const struct nlm4_args *args = ask->args;
	struct waiting *waiting = calloc(1, sizeof *waiting + args->caller.count +
	                                            args->handle.count + args->owner.count);
	uint8_t *to;

	if (!waiting)
		return NULL;
	to = waiting->bytes;
	waiting->args = *args;
	waiting->args.cookie = (struct xdr_view){ 0 };
	waiting->args.caller = keep(&to, args->caller);
	waiting->args.handle = keep(&to, args->handle);
	waiting->args.owner = keep(&to, args->owner);
	waiting->waiter.key = ask->key;
	waiting->waiter.key.opaque = opaque_of_view(waiting->args.owner);
	waiting->waiter.range = ask->range;
	waiting->waiter.exclusive = args->exclusive;
	waiting->local = ask->local;
	waiting->by_message = ask->by_message;
	list_node_init(&waiting->in_grants);
	return waiting;
}

/* Does it wait for exactly this? */
static bool is_asked(const struct lock_waiter *waiter, const struct lock_ask *ask)
{
	return waiter->exclusive == ask->args->exclusive &&
	       waiter->range.first == ask->range.first && waiter->range.last == ask->range.last &&
	       lock_key_equal(&waiter->key, &ask->key);
}

static struct waiting *waiting_find(struct lock_file *file, const struct lock_ask *ask)
{
	list_for_each (node, &file->waiters)
		if (is_asked(&waiting_of(node)->waiter, ask))
			return waiting_of(node);
	return NULL;
}

nlm4_stats waiting_add(struct locks *locks, struct lock_file *file, const struct lock_ask *ask,
                       bool for_program)
{
	struct waiting *waiting = waiting_find(file, ask);

	if (waiting) { /* it asks again, as clients do every 30 s */
		waiting->for_program = for_program;
		return NLM4_BLOCKED;
	}
	waiting = waiting_new(ask);
	if (!waiting || lock_wait(locks->table, file, &waiting->waiter) < 0) {
		free(waiting);
		return NLM4_DENIED_NOLOCKS;
	}
	waiting->for_program = for_program;
	return NLM4_BLOCKED;
}

static void waiting_free(struct locks *locks, struct waiting *waiting)
{
	lock_wait_end(locks->table, &waiting->waiter);
	free(waiting);
}

/* ---- given, and not yet taken ---- */

static void grant_free(struct waiting *grant)
{
	list_remove(&grant->in_grants);
	free(grant);
}

/* The client does not have it: its owner has what it had before it was given this. */
static void grant_take_back(struct locks *locks, struct lock_file *file,
                            const struct waiting *grant)
{
	const struct lock_waiter *waiter = &grant->waiter;

	if (grant->had_shared)
		(void) lock_set(locks->table, file, &waiter->key, &waiter->range, false);
	else
		(void) lock_clear(locks->table, file, &waiter->key, &waiter->range);
}

static void grant_undo(struct locks *locks, struct waiting *grant)
{
	struct lock_file *file = lock_file_find(locks->table, opaque_of_view(grant->args.handle));

	list_remove(&grant->in_grants);
	if (file) {
		grant_take_back(locks, file, grant);
		file_changed(locks, file, &grant->waiter.range);
	}
	free(grant);
}

static struct waiting *grant_find(struct locks *locks, uint64_t id)
{
	list_for_each (node, &locks->grants) {
		struct waiting *grant = container_of(node, struct waiting, in_grants);

		if (grant->id == id)
			return grant;
	}
	return NULL;
}

static bool is_same_handle(const struct waiting *grant, const struct lock_file *file)
{
	return grant->args.handle.count == file->handle_count &&
	       memcmp(grant->args.handle.bytes, file->handle, file->handle_count) == 0;
}

void grants_settle(struct locks *locks, const struct lock_file *file, const struct lock_ask *ask)
{
	list_for_each_safe (node, &locks->grants) {
		struct waiting *grant = container_of(node, struct waiting, in_grants);

		if (is_same_handle(grant, file) &&
		    range_overlaps(&grant->waiter.range, &ask->range) &&
		    lock_key_equal(&grant->waiter.key, &ask->key))
			grant_free(grant);
	}
}

unsigned waiting_end(struct locks *locks, struct lock_file *file, const struct lock_ask *ask)
{
	struct waiting *waiting = waiting_find(file, ask);
	unsigned count = 0;

	if (waiting) {
		waiting_free(locks, waiting);
		count++;
	}
	list_for_each_safe (node, &locks->grants) {
		struct waiting *grant = container_of(node, struct waiting, in_grants);

		if (!is_same_handle(grant, file) || !is_asked(&grant->waiter, ask))
			continue;
		grant_take_back(locks, file, grant);
		grant_free(grant);
		count++;
	}
	return count;
}

void waiting_drop(struct locks *locks, const struct export_address *address,
                  struct list_node *touched)
{
	struct lock_client *client;

	list_for_each_safe (node, &locks->grants) {
		struct waiting *grant = container_of(node, struct waiting, in_grants);

		if (memcmp(&grant->waiter.key.client, address, sizeof *address) == 0)
			grant_free(grant);
	}
	/* With its last waiter the client may go. */
	while ((client = lock_client_find(locks->table, address)) &&
	       !list_empty(&client->waiters)) {
		struct list_node *node = list_first(&client->waiters);
		struct waiting *waiting = container_of(node, struct waiting, waiter.in_client);
		struct lock_file *file = waiting->waiter.file;

		waiting_free(locks, waiting);
		if (!list_linked(&file->touched))
			list_add_tail(touched, &file->touched);
	}
}

/* ---- telling ---- */

static void grant_lost(struct locks *locks, struct waiting *grant)
{
	locks->counts.callbacks_lost++;
	grant_undo(locks, grant);
}

/* Not under lock. */
static void say_lost(const struct export_address *client, const char *why)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];

	log_warn("%s does not take a lock that it waited for (%s): it is given to others. Is its"
	         " port mapper reachable from here (port 111, then the port of 100021)?",
	         export_address_print(client, text), why);
}

/* The RPC was answered, or was not. */
static void grant_answered(struct rpc_out_call *call, int error, struct xdr_view results)
{
	struct xdr_in in = xdr_in(results.bytes, results.count);
	struct locks *locks = call->context;
	struct waiting *grant;
	bool lost = false;
	uint32_t status;

	(void) xdr_get_opaque(&in, MAXNETOBJ_SZ);
	status = xdr_get_u32(&in);
	pthread_mutex_lock(&locks->lock);
	grant = grant_find(locks, call->id);
	if (!grant || error == -ECONNRESET)
		; /* settled meanwhile, or the server ends */
	else if ((lost = error < 0 || !xdr_in_done(&in)))
		grant_lost(locks, grant);
	else if (status == NLM4_GRANTED)
		grant_free(grant);
	else
		grant_undo(locks, grant); /* it has given up waiting */
	pthread_mutex_unlock(&locks->lock);
	if (lost)
		say_lost(&call->to, error < 0 ? strerror(-error) : "no such answer");
}

/* What was settled meanwhile must not be told late: the client may wait for the same again by then,
 * and would take it for that. */
static bool grant_wanted(const struct rpc_out_call *call)
{
	struct locks *locks = call->context;
	bool wanted;

	pthread_mutex_lock(&locks->lock);
	wanted = grant_find(locks, call->id) != NULL;
	pthread_mutex_unlock(&locks->lock);
	return wanted;
}

/* Failing is seen by grants_tick(). */
static void grant_tell(struct locks *locks, struct waiting *grant)
{
	uint8_t bytes[RPC_OUT_ARGS_BYTES_MAX], cookie[COOKIE_BYTES];
	struct xdr_out out = xdr_out(bytes, sizeof bytes), id = xdr_out(cookie, sizeof cookie);
	struct rpc_out_call *call;

	xdr_put_u64(&id, grant->id);
	grant->args.cookie = (struct xdr_view){ cookie, sizeof cookie };
	nlm4_put_granted(&out, &grant->args);
	grant->args.cookie = (struct xdr_view){ 0 };
	grant->again_ms = rpc_out_now_ms() + GRANT_AGAIN_MS;
	call = locks->out ? rpc_out_new(bytes, (size_t) (out.at - bytes)) : NULL;
	if (!call)
		return;
	call->to = grant->waiter.key.client;
	call->from = grant->local;
	call->program = NLM4_PROGRAM;
	call->version = NLM4_V4;
	call->procedure = grant->by_message ? NLMPROC4_GRANTED_MSG : NLMPROC4_GRANTED;
	call->is_message = grant->by_message;
	call->patience_ms = GRANT_PATIENCE_MS;
	call->done = grant->by_message ? NULL : grant_answered;
	call->wanted = grant_wanted;
	call->context = locks;
	call->id = grant->id;
	locks->counts.callbacks++;
	(void) rpc_out_submit(locks->out, call);
}

/* The waiter has the lock. */
static void grant(struct locks *locks, struct waiting *waiting)
{
	lock_wait_end(locks->table, &waiting->waiter);
	waiting->id = ++locks->grant_last;
	waiting->until_ms = rpc_out_now_ms() + GRANT_PATIENCE_MS + GRANT_AGAIN_MS;
	list_add_tail(&locks->grants, &waiting->in_grants);
	locks->counts.granted++;
	grant_tell(locks, waiting);
}

void waiting_wake(struct locks *locks, struct lock_file *file)
{
	list_for_each_safe (node, &file->waiters) {
		struct waiting *waiting = waiting_of(node);
		const struct lock_waiter *waiter = &waiting->waiter;
		int r;

		waiting->for_program = false;
		if (lock_conflict(locks->table, file, &waiter->key, &waiter->range,
		                  waiter->exclusive))
			continue;
		waiting->had_shared = lock_is_held(locks->table, file, &waiter->key, &waiter->range,
		                                   false);
		r = file_lock(locks, file, &waiter->key, &waiter->range, waiter->exclusive);
		if (r == 0)
			grant(locks, waiting);
		else
			waiting->for_program = true; /* or short of something: tried again */
	}
}

void locks_granted_res(struct locks *locks, const struct export_address *client,
                       struct xdr_view cookie, nlm4_stats status)
{
	struct xdr_in in = xdr_in(cookie.bytes, cookie.count);
	uint64_t id = xdr_get_u64(&in);
	struct waiting *grant;

	if (!xdr_in_done(&in))
		return;
	pthread_mutex_lock(&locks->lock);
	grant = grant_find(locks, id);
	if (grant && memcmp(&grant->waiter.key.client, client, sizeof *client) == 0) {
		if (status == NLM4_GRANTED)
			grant_free(grant);
		else
			grant_undo(locks, grant);
	}
	pthread_mutex_unlock(&locks->lock);
}

/* ---- once a second ---- */

/* Nobody says when a program of this machine unlocks: look. */
static void programs_look(struct locks *locks)
{
	struct list_node touched = LIST_INIT(touched), *found;

	list_for_each (node, lock_clients(locks->table)) {
		struct lock_client *client = container_of(node, struct lock_client, node);

		list_for_each (waiter, &client->waiters) {
			struct waiting *waiting = container_of(waiter, struct waiting,
			                                       waiter.in_client);
			struct lock_file *file = waiting->waiter.file;

			if (waiting->for_program && !list_linked(&file->touched))
				list_add_tail(&touched, &file->touched);
		}
	}
	while ((found = list_pop(&touched)))
		waiting_wake(locks, container_of(found, struct lock_file, touched));
}

/* True: one of @ret_client's was lost. Undoing it may have given another: look again. */
static bool grants_look(struct locks *locks, struct export_address *ret_client)
{
	uint64_t now_ms = rpc_out_now_ms();

	list_for_each (node, &locks->grants) {
		struct waiting *grant = container_of(node, struct waiting, in_grants);

		if (now_ms >= grant->until_ms) {
			*ret_client = grant->waiter.key.client;
			grant_lost(locks, grant);
			return true;
		}
		if (grant->by_message && now_ms >= grant->again_ms)
			grant_tell(locks, grant);
	}
	return false;
}

void grants_tick(void *context)
{
	struct locks *locks = context;
	struct export_address client;
	bool lost;

	pthread_mutex_lock(&locks->lock);
	programs_look(locks);
	pthread_mutex_unlock(&locks->lock);
	do {
		pthread_mutex_lock(&locks->lock);
		lost = grants_look(locks, &client);
		pthread_mutex_unlock(&locks->lock);
		if (lost)
			say_lost(&client, "no answer");
	} while (lost);
}
