/* SPDX-License-Identifier: Apache-2.0 */
#include "support/nfsd_fake.h"

#undef NDEBUG
#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/mounts.h"
#include "nfsd/peers.h"
#include "rpcgen/vaai.h"
#include "nfsd/rates.h"
#include "vfs/base/log.h"

static void tick(void *context)
{
	(void) context;
}

static void flush_failed(void *context, int error)
{
	struct nfsd_fake *fake = context;

	assert(error < 0);
	fake->flush_failures++;
	atomic_fetch_add(&fake->server.write_verifier, 1);
}

static void server_open(struct nfsd_fake *fake, size_t buffer_bytes)
{
	static const struct reply_cache_limits limits = {
		.entries = { 64, 64 },
		.reply_bytes_max = { 512, 192 },
		.lifetime_s = 300,
	};

	fake->config = (struct config){
		.connections = 16,
		.connections_per_address = 16,
		.calls_per_connection = 16,
		.offload_dialects = VAAI_DIALECT_O | VAAI_DIALECT_Q,
		.reply_bytes_per_connection = 32 << 20,
		.first_call_timeout_s = 3600,
		.record_timeout_s = 3600,
		.reply_timeout_s = 3600,
	};
	fake->server.config = &fake->config;
	fake->server.names = &export_names_system;
	fake->server.budget.limit_bytes = buffer_bytes;
	fake->server.calls_per_worker = 4096;
	fake->server.port = 2049;
	fake->server.serves_ipv4 = true;
	fake->server.vfs = vfs_fake_new();
	vfs_tell(fake->server.vfs, &(struct vfs_told){ flush_failed, NULL, fake });
	atomic_store(&fake->server.write_verifier, 1000);
	fake->server.replies = reply_cache_new(&limits);
	fake->server.mounts = mounts_new();
	fake->server.peers = peers_new(16, 16);
	fake->server.rates = rates_new();
	assert(fake->server.replies && fake->server.mounts && fake->server.peers);
	assert(fake->server.rates);
	fake->server.workers[0] = &fake->worker;
	fake->server.worker_count = 1;
}

void nfsd_fake_open(struct nfsd_fake *fake, size_t buffer_bytes)
{
	const char *hint;
	int r;

	memset(fake, 0, sizeof *fake);
	log_level_set(LOG_LEVEL_ERROR);
	server_open(fake, buffer_bytes);
	fake->worker.server = &fake->server;
	fake->worker.buffers = buffer_pool_new(&fake->server.budget);
	assert(fake->worker.buffers);
	list_init(&fake->worker.starved);
	list_init(&fake->worker.listeners);
	list_init(&fake->worker.udp_sockets);
	r = loop_open(tick, fake, &fake->worker.loop, &hint);
	assert(r == 0);
}

int nfsd_fake_connect(struct nfsd_fake *fake, uint8_t host)
{
	const struct export_address client = {
		{ [10] = 0xff, [11] = 0xff, [12] = 10, [15] = host },
	};
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	enum peers_verdict verdict = peers_take(fake->server.peers, &client);

	assert(fd >= 0 && verdict == PEERS_TAKEN);
	conn_open(&fake->worker, fd, ROLE_NFS, &client, 1000, ++fake->worker.accepted_count);
	return fd;
}

void nfsd_fake_resume(struct nfsd_fake *fake)
{
	if (!buffer_budget_has_room(&fake->server.budget))
		buffer_pool_trim(fake->worker.buffers);
	list_for_each (node, &fake->worker.starved)
		conn_turn_schedule(conn_of_starved(node));
}

void nfsd_fake_close(struct nfsd_fake *fake)
{
	struct worker *worker = &fake->worker;

	assert(atomic_load(&worker->conn_count) == 0);
	assert(worker->call_count == 0);
	assert(list_empty(&worker->starved));
	assert(peers_count(fake->server.peers) == 0);
	worker->loop = loop_close(worker->loop);
	worker->buffers = buffer_pool_free(worker->buffers);
	assert(atomic_load(&fake->server.budget.used_bytes) == 0);
	while (worker->free_calls) {
		struct call *call = worker->free_calls;

		worker->free_calls = call->next;
		free(call);
	}
	counters_done(&worker->counters);
	free(worker->conns);
	peers_free(fake->server.peers);
	rates_free(fake->server.rates);
	mounts_free(fake->server.mounts);
	reply_cache_free(fake->server.replies);
	vfs_fake_free();
}
