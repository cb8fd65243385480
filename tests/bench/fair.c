/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fairbench - how long a heartbeat and a lock file's refresh wait, quiet and beside bulk writes.
 *
 * Three probes, each a connection and a thread of its own that makes one call every PERIOD_MS:
 *
 *     heartbeat   GETATTR of the export's root
 *     lock        84 bytes FILE_SYNC to a small file, as ESXi refreshes its locks
 *     same file   the same into a file that bulk writes go to
 *
 * They run alone for a while and then beside load_run()'s connections; the output is one JSON
 * object.
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

struct probe {
	const char *name;
	uint32_t write_bytes; /* 0: GETATTR */
	struct nfs_handle file;
	pthread_t thread;
	struct client *client;
	struct histogram latencies[OVER];
	uint64_t longest_ns[OVER];
};

static atomic_int phase;

static const char *probe_once(struct probe *probe)
{
	static const uint8_t lock[LOCK_BYTES] = "locked";
	struct client *client = probe->client;
	uint32_t count, committed;
	struct wire_in in;
	const char *fault;
	size_t used;

	client->xid++;
	if (!probe->write_bytes) {
		used = nfs_call_getattr(client->call, client->xid, &probe->file);
		in = client_transact(client, used, NULL, 0);
		return nfs_reply_getattr(&in);
	}
	used = nfs_call_write(client->call, client->xid, &probe->file, 0, probe->write_bytes,
	                      NFS_FILE_SYNC);
	in = client_transact(client, used, lock, probe->write_bytes);
	fault = nfs_reply_write(&in, &count, &committed);
	if (!fault && (count != probe->write_bytes || committed != NFS_FILE_SYNC))
		fault = "a lock file's WRITE was not carried out as asked";
	return fault;
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
	      "                 [--op sync|write] [--seconds S]\n",
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
		if (option == 's')
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
	printf("{\"op\": \"%s\", \"bytes_per_s\": %.0f", load->kind == LOAD_SYNC ? "sync" : "write",
	       (double) result->bytes / result->seconds);
	for (unsigned i = 0; i < count; i++) {
		printf(", \"%s\": {\"quiet\": ", probes[i].name);
		print_phase(&probes[i], QUIET);
		printf(", \"loaded\": ");
		print_phase(&probes[i], LOADED);
		printf("}");
	}
	puts("}");
}

int main(int argc, char **argv)
{
	static struct probe probes[] = {
		{ .name = "heartbeat" },
		{ .name = "lock", .write_bytes = LOCK_BYTES },
		{ .name = "same file", .write_bytes = LOCK_BYTES },
	};
	enum {
		PROBES = sizeof probes / sizeof probes[0]
	};
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
	struct file *lock;

	parse(argc, argv, &load);
	load.files = files_prepare(&load.target, "fair", load.file_count, FILE_BYTES, BLOCK_BYTES,
	                           false);
	lock = files_prepare(&load.target, ".lck-fair", 1, BLOCK_BYTES, BLOCK_BYTES, false);
	probes[0].file = client_mount(&load.target);
	probes[1].file = lock->handle;
	probes[2].file = load.files[0].handle;
	for (unsigned i = 0; i < PROBES; i++) {
		probes[i].client = client_new(&load.target, load.target.nfs_port);
		if (pthread_create(&probes[i].thread, NULL, probe_run, &probes[i]) != 0)
			die("a thread could not be started");
	}
	sleep_s(load.seconds);
	atomic_store(&phase, LOADED);
	load_run(&load, &result);
	atomic_store(&phase, OVER);
	for (unsigned i = 0; i < PROBES; i++)
		pthread_join(probes[i].thread, NULL);
	print_results(&load, &result, probes, PROBES);
	files_free(load.files, load.file_count);
	files_free(lock, 1);
	return result.calls == 0;
}
