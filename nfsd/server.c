/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - putting lodestore-nfsd together, and taking it apart.
 */
#include "nfsd/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "nfsd/confined.h"
#include "nfsd/http.h"
#include "nfsd/listen.h"
#include "nfsd/locks.h"
#include "nfsd/locks_socket.h"
#include "nfsd/mount3.h"
#include "nfsd/mounts.h"
#include "nfsd/nfs3.h"
#include "nfsd/nlm4.h"
#include "nfsd/peers.h"
#include "nfsd/portmap.h"
#include "nfsd/rates.h"
#include "nfsd/relay.h"
#include "nfsd/reload.h"
#include "nfsd/server_run.h"
#include "nfsd/status.h"
#include "nfsd/trace.h"
#include "nfsd/worker.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"
#include "vfs/base/log.h"
#include "vfs/handle_key.h"

enum {
	STOP_GRACE_MS = 3500, /* for calls that run; then connections are closed */
	/* What is not the cache's: rings, logs, the state directory; a directory and an entry for
	 * each thread of the pool; an export's root each. */
	DESCRIPTORS_SPARE = 64,
	DESCRIPTORS_PER_POOL_THREAD = 4,
	DESCRIPTORS_MIN = 64, /* of the cache */
	REPLY_BYTES_NAMES = 512,
	REPLY_BYTES_WRITE = 192,
};

const struct program *const programs[] = {
	&nfs3_program,
	&mount3_program,
	&mount2_program,
	&mount1_program,
	&portmap2_program,
	&rpcbind3_program,
	&rpcbind4_program,
	&offload_program,
	&nlm4_program,
	&nsm_program,
	NULL,
};

static void verifier_new(struct server *server)
{
	struct timespec now;
	uint64_t random = 0;

	/* Time and chance: two starts within one tick of a clock that stands still still differ. */
	clock_gettime(CLOCK_REALTIME, &now);
	(void) !getrandom(&random, sizeof random, 0);
	atomic_store(&server->write_verifier,
	             (uint64_t) now.tv_sec << 32 ^ (uint64_t) now.tv_nsec ^ random);
}

/* Unstable data may be lost, and every client must be able to tell: vfs/ calls this before it
 * answers anybody whom the flush covered. */
static void server_flush_failed(void *context, int error)
{
	struct server *server = context;

	log_error(
		"a flush failed: %s. The calls it covered are told; the write verifier changes, so"
		" that clients write again what was not committed",
		strerror(-error));
	atomic_fetch_add(&server->write_verifier, 1);
	atomic_store(&server->flush_failed_ms, clock_ms(CLOCK_REALTIME));
	atomic_fetch_add(&server->flush_failures, 1);
}

static void server_direct_refused(void *context, const struct vfs_export *export, int error)
{
	log_always(LOG_LEVEL_WARNING,
	           "export %u: its disk refuses direct writes: %s. They go through the page cache"
	           " from now on; 'data_path = buffered' in lodestore.conf does not try",
	           vfs_export_id(export), strerror(-error));
}

/* ---- state directory ---- */

static int server_key(const struct config *config, struct vfs_handle_key *ret_key)
{
	char why[VFS_HANDLE_KEY_WHY_BYTES];
	bool made;
	int r;

	r = vfs_handle_key_load(config->settings.state_dir, ret_key, &made, why);
	if (r < 0)
		log_error("%s", why);
	else if (made)
		log_info("made the key of the file handles, %s/handle.key: keep it with your"
		         " backups. If hosts have used this server before, stop it and restore the"
		         " old one, or they must mount again",
		         config->settings.state_dir);
	return r;
}

/* ---- descriptors ---- */

/* As many descriptors as the system gives; the cache's share of them. */
static unsigned open_files_max(const struct config *config, size_t exports)
{
	struct rlimit limit;
	uint64_t others = DESCRIPTORS_SPARE + config->pool_threads * DESCRIPTORS_PER_POOL_THREAD +
	                  config->connections + exports + (config->nlm ? config->lock_files : 0);
	uint64_t left;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return DESCRIPTORS_MIN;
	if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= others + config->open_files)
		return (unsigned) config->open_files;
	left = limit.rlim_cur > 2 * others ? limit.rlim_cur - others : limit.rlim_cur / 2;
	if (left < DESCRIPTORS_MIN)
		left = DESCRIPTORS_MIN;
	log_always(LOG_LEVEL_WARNING,
	           "only %llu descriptors are allowed: %llu files are kept open at most instead of"
	           " %llu, and connections may be refused. Raise LimitNOFILE= in the unit, or"
	           " 'ulimit -n'",
	           (unsigned long long) limit.rlim_cur, (unsigned long long) left,
	           (unsigned long long) config->open_files);
	return (unsigned) left;
}

static void descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void) setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- exports ---- */

static void report_unusable(void *context, enum exports_severity severity,
                            const struct export_spec *spec, const char *message)
{
	log_always(severity == EXPORTS_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, "%s:%u: %s",
	           spec->file, spec->line, message);
}

/* Takes over what is in @exports. */
static int exports_serve(struct server *server, struct exports *exports)
{
	size_t usable, all = exports->count;
	int r = vfs_exports_set(server->vfs, exports, report_unusable, NULL, &usable);

	if (r < 0)
		return r;
	server->exports_usable = usable;
	vfs_open_files_max_set(server->vfs, open_files_max(server->config, usable));
	if (usable < all)
		log_always(LOG_LEVEL_WARNING, "%zu of %zu exports can be served", usable, all);
	else
		log_always(LOG_LEVEL_INFO, "serving %zu export%s", all, all == 1 ? "" : "s");
	return 0;
}

int server_exports_load(struct server *server)
{
	struct reload_outcome *outcome;
	struct exports exports;
	int r = config_exports(server->config, &exports);

	outcome = reload_compare(server, r < 0 ? NULL : &exports);
	if (r == 0)
		r = exports_serve(server, &exports);
	reload_end(server->reload, outcome, r == 0);
	return r;
}

/* ---- starting ---- */

/* Takes over what is in @exports. */
static int server_files(struct server *server, struct exports *exports)
{
	const struct config *config = server->config;
	struct vfs_handle_key key;
	int r = server_key(config, &key);

	if (r == 0)
		r = vfs_new(&key, DESCRIPTORS_MIN, &server->vfs);
	if (r < 0) {
		exports_done(exports);
		return r;
	}
	vfs_tell(server->vfs, &(struct vfs_told){ .flush_failed = server_flush_failed,
	                                          .direct_refused = server_direct_refused,
	                                          .context = server });
	vfs_data_path_set(server->vfs, config->data_path);
	vfs_bulk_bytes_set(server->vfs, config->bulk_bytes);
	r = exports_serve(server, exports);
	if (r == 0 && server->exports_usable == 0 && config->settings.export_line_count) {
		log_error("nothing can be served");
		r = -ENOENT;
	}
	return r;
}

static int server_caches(struct server *server)
{
	const struct config *config = server->config;
	struct reply_cache_limits limits = {
		.entries = { (uint32_t) config->reply_cache_names,
		             (uint32_t) config->reply_cache_writes },
		.reply_bytes_max = { REPLY_BYTES_NAMES, REPLY_BYTES_WRITE },
		.lifetime_s = (uint32_t) config->reply_cache_lifetime_s,
	};
	int r;

	server->replies = reply_cache_new(&limits);
	server->mounts = mounts_new();
	server->peers = peers_new((unsigned) config->connections,
	                          (unsigned) config->connections_per_address);
	server->rates = rates_new();
	server->reload = reload_new();
	if (!server->replies || !server->mounts || !server->peers || !server->rates ||
	    !server->reload)
		return -ENOMEM;
	r = pool_open((unsigned) config->pool_threads, NULL, &server->pool);
	if (r < 0)
		log_error("cannot start %llu threads: %s",
		          (unsigned long long) config->pool_threads, strerror(-r));
	return r;
}

static int server_workers(struct server *server)
{
	unsigned count = server->config->workers ? (unsigned) server->config->workers
	                                         : (unsigned) get_nprocs();
	const char *hint;
	int r;

	if (count > SERVER_WORKERS_MAX)
		count = SERVER_WORKERS_MAX;
	server->calls_per_worker = (unsigned) (server->config->calls + count - 1) / count;
	for (unsigned i = 0; i < count; i++) {
		r = worker_start(server, i, &server->workers[i], &hint);
		if (r < 0) {
			log_error("cannot start worker %u: %s%s%s", i, strerror(-r),
			          hint[0] ? ": " : "", hint);
			return r;
		}
		server->worker_count++;
	}
	return 0;
}

/* ---- listening ---- */

/* rpcbind if it runs, else port 111 ourselves. Failing is no reason not to serve: clients that name
 * the port need neither. */
static void server_announce(struct server *server)
{
	bool has_rpcbind = server->config->rpcbind && rpcbind_runs();
	int r;

	locks_find_monitor(server->locks, has_rpcbind);
	if (!server->config->rpcbind)
		return;
	if (has_rpcbind) {
		server->registered = rpcbind_register(server) == 0;
		if (server->registered)
			log_info("registered with rpcbind");
		return;
	}
	r = server_listen(server, PORTMAP_PORT, ROLE_PORTMAP);
	if (r == 0)
		log_info("no rpcbind runs here: answering port 111 ourselves");
	else
		log_warn("no rpcbind runs here, and port 111 cannot be answered: %s. ESXi and "
		         "clients"
		         " that do not name the port will not find us; install rpcbind, run as "
		         "root, or"
		         " say --no-rpcbind to be content with that",
		         strerror(-r));
}

int server_start(struct server *server, const struct config *config)
{
	struct exports exports;
	int r;

	kept_receive(&server->kept);
	server->config = config;
	server->names = &export_names_system;
	server->budget.limit_bytes = config->buffer_bytes;
	server->port = (uint16_t) config->port;
	verifier_new(server);
	descriptors_raise();
	r = confined_privileges();
	/* Before anything is made: a start that is refused leaves nothing. */
	if (r == 0)
		r = config_exports(config, &exports);
	if (r == 0)
		r = server_files(server, &exports);
	if (r == 0)
		r = server_caches(server);
	if (r == 0) {
		r = relay_open(config->offload_socket, &server->relay);
		if (r < 0)
			log_error("cannot start the relay to lodestore-offloadd: %s", strerror(-r));
	}
	if (r == 0)
		r = locks_open(config, &server->locks);
	if (r == 0)
		r = server_workers(server);
	if (r == 0)
		r = server_listen(server, server->port, ROLE_NFS);
	if (r == 0) {
		server_announce(server);
		locks_begin(server->locks);
		server->status = status_open(server, config->status_socket);
		trace_open(server, config->status_socket);
		server->locks_socket = locks_socket_open(server->locks, config->status_socket);
		server->http = http_open(server);
		r = confined_calls(config->seccomp);
	}
	return r;
}

bool server_is_alive(struct server *server)
{
	bool alive = true;

	for (unsigned i = 0; i < server->worker_count; i++) {
		unsigned now = atomic_load(&server->workers[i]->alive);

		alive &= now != server->alive_seen[i];
		server->alive_seen[i] = now;
	}
	return alive;
}

/* ---- stopping ---- */

void server_stop(struct server *server)
{
	if (server->registered)
		rpcbind_unregister(server);
	status_stop(server->status);
	trace_stop(server->trace);
	server->locks_socket = locks_socket_close(server->locks_socket);
	http_stop(server->http);
	relay_stop(server->relay); /* what it has would keep the workers from ending */
	for (unsigned i = 0; i < server->worker_count; i++)
		worker_stop(server->workers[i], STOP_GRACE_MS);
	for (unsigned i = 0; i < server->worker_count; i++)
		worker_wait(server->workers[i]);
	server->relay = relay_close(server->relay);
	server->pool = pool_close(server->pool);
	for (unsigned i = 0; i < server->worker_count; i++)
		(void) worker_join(server->workers[i]);
	server->status = status_close(server->status);
	server->trace = trace_close(server->trace);
	server->http = http_close(server->http);
	server->locks = locks_close(server->locks);
	server->worker_count = 0;
	server->vfs = vfs_free(server->vfs);
	server->replies = reply_cache_free(server->replies);
	server->mounts = mounts_free(server->mounts);
	server->peers = peers_free(server->peers);
	server->rates = rates_free(server->rates);
	server->reload = reload_free(server->reload);
}
