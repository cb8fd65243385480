/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks_clients.c - the clients that hold locks, across restarts: theirs, of which a status monitor
 * tells us, and ours, of which we tell theirs.
 *
 * Where the machine's own rpc.statd runs it has the program's number, so clients tell that one:
 * then it is asked to watch each client and calls us back (NLMPROC4_SM_NOTIFY), as it does for the
 * kernel's lock manager. Our own restarts we tell clients in any case.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd/locks_internal.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	NOTIFY_PATIENCE_MS =
		900000, /* a client may be down as long as that; then at the next start */
	STATD_PATIENCE_MS = 3000,
	MS_PER_S = 1000,
	HOST_NAME_BYTES = 256,
};

static const struct export_address loopback = {
	{ [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 },
};

/* ---- telling clients of our start ---- */

static void host_told(struct rpc_out_call *call, int error, struct xdr_view results)
{
	struct locks *locks = call->context;
	char text[EXPORT_ADDRESS_TEXT_BYTES];

	(void) results;
	if (error == 0 || error == -EPROTO) /* no status monitor there: nothing to reclaim with */
		nsm_hosts_told(locks->hosts, &call->to);
	else if (error != -ECONNRESET)
		log_warn("%s held locks and cannot be told that the server has restarted: %s. It is"
		         " tried again at the next start",
		         export_address_print(&call->to, text), strerror(-error));
}

static void host_tell(void *context, const struct export_address *client,
                      const struct export_address *local)
{
	struct locks *locks = context;
	char name[HOST_NAME_BYTES] = "";
	uint8_t bytes[HOST_NAME_BYTES + 16];
	struct xdr_out out = xdr_out(bytes, sizeof bytes);
	struct rpc_out_call *call;

	(void) gethostname(name, sizeof name - 1);
	xdr_put_opaque(&out, name, (uint32_t) strlen(name));
	xdr_put_u32(&out, (uint32_t) nsm_hosts_state(locks->hosts));
	call = rpc_out_new(bytes, (size_t) (out.at - bytes));
	if (!call)
		return;
	call->to = *client;
	call->from = *local;
	call->program = NSM_PROGRAM;
	call->version = NSM_V1;
	call->procedure = NSMPROC_NOTIFY;
	call->patience_ms = NOTIFY_PATIENCE_MS;
	call->done = host_told;
	call->context = locks;
	(void) rpc_out_submit(locks->out, call);
}

/* ---- the machine's own status monitor ---- */

struct statd_answer {
	sem_t came;
	int error;
	bool refused;
};

/* Its waiter may be gone: then it is freed here. */
struct statd_wait {
	atomic_int users;
	struct statd_answer answer;
};

static void statd_wait_put(struct statd_wait *wait)
{
	if (atomic_fetch_sub(&wait->users, 1) != 1)
		return;
	sem_destroy(&wait->answer.came);
	free(wait);
}

static void statd_answered(struct rpc_out_call *call, int error, struct xdr_view results)
{
	struct xdr_in in = xdr_in(results.bytes, results.count);
	struct statd_wait *wait = call->context;

	wait->answer.error = error;
	wait->answer.refused = call->procedure == NSMPROC_MON && xdr_get_u32(&in) != NSM_STAT_SUCC;
	sem_post(&wait->answer.came);
	statd_wait_put(wait);
}

/* Ask it and wait: on the pool, or at the start. 0 or a negative errno. */
static int statd_call(struct locks *locks, uint32_t procedure, const uint8_t *args, size_t bytes)
{
	struct statd_wait *wait = calloc(1, sizeof *wait);
	struct rpc_out_call *call = wait ? rpc_out_new(args, bytes) : NULL;
	int r;

	if (!call) {
		free(wait);
		return -ENOMEM;
	}
	atomic_store(&wait->users, 2);
	sem_init(&wait->answer.came, 0, 0);
	call->to = loopback;
	call->program = NSM_PROGRAM;
	call->version = NSM_V1;
	call->procedure = procedure;
	call->patience_ms = STATD_PATIENCE_MS;
	call->ask_once = true;
	call->done = statd_answered;
	call->context = wait;
	r = rpc_out_submit(locks->out, call);
	if (r < 0) {
		statd_wait_put(wait);
	} else {
		while (sem_wait(&wait->answer.came) < 0)
			;
		r = wait->answer.error == 0 && wait->answer.refused ? -EPERM : wait->answer.error;
	}
	statd_wait_put(wait);
	return r;
}

/* By its address; the private bytes, which come back with the news, are the address, too. */
static int statd_watch(struct locks *locks, const struct export_address *client)
{
	uint8_t bytes[256];
	struct xdr_out out = xdr_out(bytes, sizeof bytes);
	char text[EXPORT_ADDRESS_TEXT_BYTES];

	(void) export_address_print(client, text);
	xdr_put_opaque(&out, text, (uint32_t) strlen(text));
	xdr_put_opaque(&out, "localhost", 9);
	xdr_put_u32(&out, NLM4_PROGRAM);
	xdr_put_u32(&out, NLM4_V4);
	xdr_put_u32(&out, NLMPROC4_SM_NOTIFY);
	xdr_put_fixed(&out, client->bytes, sizeof client->bytes);
	return statd_call(locks, NSMPROC_MON, bytes, (size_t) (out.at - bytes));
}

bool locks_serve_nsm(const struct locks *locks)
{
	return locks && locks->serves_nsm;
}

/* ---- clients ---- */

int client_watch(struct locks *locks, const struct lock_ask *ask)
{
	const struct export_address *client = &ask->key.client;
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	bool is_new;
	int r = nsm_hosts_watch(locks->hosts, client, &ask->local, &is_new);

	(void) export_address_print(client, text);
	if (r == -ENOLCK)
		log_warn("%s gets no locks: %d clients have some already", text, NSM_HOSTS_MAX);
	else if (r < 0)
		log_error("%s gets no locks: it cannot be written down in the state directory: %s",
		          text, strerror(-r));
	if (r < 0 || !is_new)
		return r;
	r = locks->has_statd ? statd_watch(locks, client) : 0;
	if (r < 0)
		log_warn("rpc.statd does not watch %s: %s. If that client dies, release its locks"
		         " with 'lodestore locks --release %s'",
		         text, strerror(-r), text);
	return 0;
}

bool locks_client_watched(struct locks *locks, const struct export_address *client)
{
	int32_t state;

	return nsm_hosts_find(locks->hosts, client, &state);
}

/* In one step: of two who hear of it one drops what it held, and nothing that it locks after.
 * @by_lock: its first number is no news. Returns whether the client is watched. */
static bool client_hear(struct locks *locks, const struct export_address *client, int32_t state,
                        bool by_lock)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	bool watched, first, news;
	unsigned count = 0;
	int32_t known;

	pthread_mutex_lock(&locks->lock);
	watched = nsm_hosts_find(locks->hosts, client, &known);
	first = watched && known == 0;
	news = first ? !by_lock : watched && lock_state_is_newer(known, state);
	if (first || news)
		nsm_hosts_state_set(locks->hosts, client, state);
	if (news) {
		count = client_drop(locks, client);
		locks->counts.clients_dropped++;
	}
	pthread_mutex_unlock(&locks->lock);
	if (news)
		log_info("%s has restarted: its %u locks are released",
		         export_address_print(client, text), count);
	return watched;
}

bool locks_client_restarted(struct locks *locks, const struct export_address *client, int32_t state)
{
	return client_hear(locks, client, state, false);
}

void client_state(struct locks *locks, const struct export_address *client, int32_t state)
{
	(void) client_hear(locks, client, state, true);
}

bool locks_client_release(struct locks *locks, const struct export_address *client,
                          unsigned *ret_count)
{
	bool watched = locks_client_watched(locks, client), has_some;

	pthread_mutex_lock(&locks->lock);
	has_some = lock_client_find(locks->table, client);
	pthread_mutex_unlock(&locks->lock);
	if (!watched && !has_some)
		return false;
	*ret_count = locks_client_drop(locks, client);
	nsm_hosts_forget(locks->hosts, client);
	return true;
}

int32_t locks_state(const struct locks *locks)
{
	return nsm_hosts_state(locks->hosts);
}

/* ---- the whole ---- */

struct rpc_out *locks_rpc_out(struct locks *locks)
{
	return locks->out;
}

static void ignore_host(void *context, const struct export_address *client,
                        const struct export_address *local)
{
	(void) context;
	(void) client;
	(void) local;
}

static int locks_make(struct locks *locks, const struct config *config)
{
	const struct lock_limits limits = {
		.locks = (unsigned) config->locks,
		.locks_per_client = (unsigned) config->locks_per_client,
		.waiters = (unsigned) config->lock_waiters,
		.waiters_per_client = (unsigned) config->lock_waiters_per_client,
		.files = (unsigned) config->lock_files,
	};
	int r;

	locks->table = lock_table_new(&limits);
	if (!locks->table)
		return -ENOMEM;
	r = nsm_hosts_open(config->settings.state_dir, &locks->hosts);
	if (r < 0) {
		log_error("cannot keep who holds locks in %s/nsm: %s. Say 'nlm = no' in"
		          " lodestore.conf to do without locks",
		          config->settings.state_dir, strerror(-r));
		return r;
	}
	return rpc_out_open(grants_tick, locks, &locks->out);
}

int locks_open(const struct config *config, struct locks **ret_locks)
{
	struct locks *locks;
	unsigned count;
	int r;

	if (!config->nlm)
		return 0;
	locks = calloc(1, sizeof *locks);
	if (!locks)
		return -ENOMEM;
	locks->config = config;
	pthread_mutex_init(&locks->lock, NULL);
	list_init(&locks->grants);
	lock_shares_init(&locks->shares);
	r = locks_make(locks, config);
	if (r < 0) {
		locks_close(locks);
		return r;
	}
	count = nsm_hosts_visit_old(locks->hosts, ignore_host, NULL);
	lock_grace_begin(&locks->grace, count, rpc_out_now_ms(), config->nlm_grace_s * MS_PER_S);
	if (count)
		log_info("%u client%s held locks: for %llu s locks can only be reclaimed (reading"
		         " and writing do not wait)",
		         count, count == 1 ? "" : "s", (unsigned long long) config->nlm_grace_s);
	*ret_locks = locks;
	return 0;
}

void locks_find_monitor(struct locks *locks, bool has_rpcbind)
{
	if (!locks)
		return;
	/* We do not answer for the program yet: who does is another. Without rpcbind rpc.statd does
	 * not run. */
	locks->has_statd = has_rpcbind && statd_call(locks, NSMPROC_NULL, NULL, 0) == 0;
	locks->serves_nsm = !locks->has_statd;
	if (locks->has_statd)
		log_info("this machine's rpc.statd runs: it is asked to watch the clients that hold"
		         " locks");
}

void locks_begin(struct locks *locks)
{
	if (locks)
		(void) nsm_hosts_visit_old(locks->hosts, host_tell, locks);
}

struct locks *locks_close(struct locks *locks)
{
	if (!locks)
		return NULL;
	locks->out = rpc_out_close(locks->out);
	lock_shares_done(&locks->shares);
	while (locks->table && !list_empty(lock_clients(locks->table)))
		(void) locks_client_drop(locks,
		                         &container_of(list_first(lock_clients(locks->table)),
		                                       struct lock_client, node)
		                                  ->address);
	locks->table = lock_table_free(locks->table);
	locks->hosts = nsm_hosts_close(locks->hosts);
	pthread_mutex_destroy(&locks->lock);
	free(locks);
	return NULL;
}
