/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fairbench - how long a heartbeat and a lock file's refresh wait, quiet and beside bulk writes.
 *
 * Probes, each a connection and a thread of its own that makes one call every PERIOD_MS:
 *
 *     heartbeat   GETATTR of the export's root
 *     lock        84 bytes FILE_SYNC to a small file, as ESXi refreshes its locks
 *     read        4 KiB anywhere in a file; from the disk, if the caller saw to it that it is cold
 *     same file   as the lock, into a file that bulk writes go to
 *
 * They run alone for a while and then beside load_run()'s connections; with --op none only alone,
 * beside whatever the caller does. The output is one JSON object.
 */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "tool.h"

enum {
	PERIOD_MS = 10,
	LOCK_BYTES = 84, /* a multiple of four: no padding follows */
	READ_BYTES = 4096,
	READ_FILE_BYTES = 512 << 20,
	FILE_BYTES = 64 << 20,
	DEPTH = 4,
	BLOCK_BYTES = 1 << 20,
	CONNECTIONS = 8,
};

enum {
	QUIET,
	LOADED,
	OVER,
};

enum probe_call {
	PROBE_GETATTR,
	PROBE_WRITE,
	PROBE_READ,
};

struct probe {
	const char *name;
	enum probe_call call;
	uint64_t random; /* where PROBE_READ reads */
	struct nfs_handle file;
	pthread_t thread;
	struct client *client;
	struct histogram latencies[OVER];
	uint64_t longest_ns[OVER];
};

static atomic_int phase;

static const char *probe_getattr(struct probe *probe)
{
	struct client *client = probe->client;
	size_t used = nfs_call_getattr(client->call, client->xid, &probe->file);
	struct wire_in in = client_transact(client, used, NULL, 0);

	return nfs_reply_getattr(&in);
}

static const char *probe_write(struct probe *probe)
{
	static const uint8_t lock[LOCK_BYTES] = "locked";
	struct client *client = probe->client;
	size_t used = nfs_call_write(client->call, client->xid, &probe->file, 0, LOCK_BYTES,
	                             NFS_FILE_SYNC);
	struct wire_in in = client_transact(client, used, lock, LOCK_BYTES);
	uint32_t count, committed;
	const char *fault = nfs_reply_write(&in, &count, &committed);

	if (!fault && (count != LOCK_BYTES || committed != NFS_FILE_SYNC))
		fault = "a lock file's WRITE was not carried out as asked";
	return fault;
}

static const char *probe_read(struct probe *probe)
{
	struct client *client = probe->client;
	uint64_t offset = random_next(&probe->random) % (READ_FILE_BYTES / READ_BYTES) * READ_BYTES;
	size_t used = nfs_call_read(client->call, client->xid, &probe->file, offset, READ_BYTES);
	struct wire_in in = client_transact(client, used, NULL, 0);
	const uint8_t *data;
	uint32_t count;
	const char *fault = nfs_reply_read(&in, &count, &data);

	return fault || count == READ_BYTES ? fault : "READ gave another count than was asked for";
}

static const char *probe_once(struct probe *probe)
{
	probe->client->xid++;
	switch (probe->call) {
	case PROBE_GETATTR:
		return probe_getattr(probe);
	case PROBE_WRITE:
		return probe_write(probe);
	case PROBE_READ:
		return probe_read(probe);
	}
	return "no such probe";
}

static void *probe_run(void *arg)
{
	struct probe *probe = arg;
	int now;

	while ((now = atomic_load(&phase)) != OVER) {
		uint64_t began_ns = now_ns(), took_ns;

		client_expect(probe_once(probe));
		took_ns = now_ns() - began_ns;
		if (now == atomic_load(&phase)) {
			histogram_add(&probe->latencies[now], took_ns);
			if (took_ns > probe->longest_ns[now])
				probe->longest_ns[now] = took_ns;
		}
		if (took_ns < PERIOD_MS * UINT64_C(1000000))
			sleep_s(PERIOD_MS / 1e3 - (double) took_ns / 1e9);
	}
	client_free(probe->client);
	return NULL;
}

static void print_phase(const struct probe *probe, int number)
{
	static const double shares[] = { 0.5, 0.99, 0.999 };
	static const char *const names[] = { "p50_ms", "p99_ms", "p999_ms" };
	const struct histogram *latencies = &probe->latencies[number];

	printf("{\"calls\": %" PRIu64, latencies->count);
	for (unsigned i = 0; i < 3; i++)
		printf(", \"%s\": %.3f", names[i],
		       (double) histogram_quantile(latencies, shares[i]) / 1e6);
	printf(", \"longest_ms\": %.3f}", (double) probe->longest_ns[number] / 1e6);
}

static void usage(void)
{
	fputs("usage: fairbench --server ADDRESS --export PATH [--port N] [--mount-port N]\n"
	      "                 [--op sync|write|none] [--seconds S]\n",
	      stderr);
	exit(2);
}

static void parse(int argc, char **argv, struct load_options *load)
{
	static const struct option options[] = {
		{ "server", required_argument, NULL, 's' },
		{ "export", required_argument, NULL, 'e' },
		{ "port", required_argument, NULL, 'p' },
		{ "mount-port", required_argument, NULL, 'm' },
		{ "op", required_argument, NULL, 'o' },
		{ "seconds", required_argument, NULL, 'T' },
		{ NULL, 0, NULL, 0 },
	};
	struct target *target = &load->target;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'o' && strcmp(optarg, "none") == 0)
			load->connections = 0;
		else if (option == 's')
			target->address = optarg;
		else if (option == 'e')
			target->export = optarg;
		else if (option == 'p')
			target->nfs_port = (uint16_t) option_number(optarg, "port", 1, 65535);
		else if (option == 'm')
			target->mount_port = (uint16_t) option_number(optarg, "mount-port", 1,
			                                              65535);
		else if (option == 'o')
			load->kind = strcmp(optarg, "write") == 0 ? LOAD_WRITE : LOAD_SYNC;
		else if (option == 'T')
			load->seconds = option_seconds(optarg, "seconds");
		else
			usage();
	}
	if (!target->address || !target->export || optind != argc)
		usage();
	if (!target->mount_port)
		target->mount_port = target->nfs_port;
}

static void print_results(const struct load_options *load, const struct measurement *result,
                          const struct probe *probes, unsigned count)
{
	const char *op = load->connections == 0    ? "none"
	                 : load->kind == LOAD_SYNC ? "sync"
	                                           : "write";

	printf("{\"op\": \"%s\", \"bytes_per_s\": %.0f", op,
	       load->connections ? (double) result->bytes / result->seconds : 0.0);
	for (unsigned i = 0; i < count; i++) {
		printf(", \"%s\": {\"quiet\": ", probes[i].name);
		print_phase(&probes[i], QUIET);
		printf(", \"loaded\": ");
		print_phase(&probes[i], LOADED);
		printf("}");
	}
	puts("}");
}

static void probes_prepare(struct probe *probes, const struct load_options *load)
{
	struct file *lock = files_prepare(&load->target, ".lck-fair", 1, BLOCK_BYTES, BLOCK_BYTES,
	                                  false);
	struct file *read = files_prepare(&load->target, "fair-read", 1, READ_FILE_BYTES,
	                                  BLOCK_BYTES, false);

	probes[0].file = client_mount(&load->target);
	probes[1].file = lock->handle;
	probes[2].file = read->handle;
	probes[2].random = random_seed(1);
	if (load->connections > 0)
		probes[3].file = load->files[0].handle;
	files_free(lock, 1);
	files_free(read, 1);
}

/* Quiet, then loaded. */
static void run_phases(const struct load_options *load, struct measurement *result)
{
	sleep_s(load->seconds);
	if (load->connections > 0) {
		atomic_store(&phase, LOADED);
		load_run(load, result);
	}
	atomic_store(&phase, OVER);
}

int main(int argc, char **argv)
{
	static struct probe probes[] = {
		{ .name = "heartbeat", .call = PROBE_GETATTR },
		{ .name = "lock", .call = PROBE_WRITE },
		{ .name = "read", .call = PROBE_READ },
		{ .name = "same file", .call = PROBE_WRITE }, /* of the load's: last */
	};
	unsigned probe_count = sizeof probes / sizeof probes[0];
	struct load_options load = {
		.target = { .nfs_port = 2049 },
		.kind = LOAD_SYNC,
		.pattern = PATTERN_SEQUENTIAL,
		.depth = DEPTH,
		.connections = CONNECTIONS,
		.threads = 2,
		.warm_up_s = 0.5,
		.seconds = 4,
		.block_bytes = BLOCK_BYTES,
		.file_bytes = FILE_BYTES,
		.file_count = CONNECTIONS,
	};
	static struct measurement result;

	parse(argc, argv, &load);
	load.files = files_prepare(&load.target, "fair", load.connections ? load.file_count : 0,
	                           FILE_BYTES, BLOCK_BYTES, false);
	probes_prepare(probes, &load);
	probe_count -= load.connections == 0;
	for (unsigned i = 0; i < probe_count; i++) {
		probes[i].client = client_new(&load.target, load.target.nfs_port);
		if (pthread_create(&probes[i].thread, NULL, probe_run, &probes[i]) != 0)
			die("a thread could not be started");
	}
	run_phases(&load, &result);
	for (unsigned i = 0; i < probe_count; i++)
		pthread_join(probes[i].thread, NULL);
	print_results(&load, &result, probes, probe_count);
	files_free(load.files, load.connections ? load.file_count : 0);
	return load.connections > 0 && result.calls == 0;
}
