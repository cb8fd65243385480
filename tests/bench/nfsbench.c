/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfsbench - load for an NFSv3 server, and how it bore it. See usage() for the options.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

static const char *const kind_names[LOAD_KINDS] = {
	[LOAD_READ] = "read",       [LOAD_WRITE] = "write", [LOAD_SYNC] = "sync",
	[LOAD_GETATTR] = "getattr", [LOAD_NULL] = "null",   [LOAD_MIX] = "mix",
};

static void usage(void)
{
	fputs("usage: nfsbench --server ADDRESS --export PATH [options]\n"
	      "  --port N --mount-port N   default 2049, and the same for MOUNT\n"
	      "  --op read|write|sync|getattr|null|mix\n"
	      "        write is UNSTABLE, sync is FILE_SYNC, mix is 70 % read and 30 % sync\n"
	      "  --block BYTES --depth N --connections N --threads N\n"
	      "  --files N --file-mib N    connection i uses file i modulo N (default: one each)\n"
	      "  --sequential              default: random offsets\n"
	      "  --seconds S --warm-up S\n"
	      "  --verify                  check the data of every read, and all of it at the end\n"
	      "  --pid N                   the server's process: its CPU time and memory\n"
	      "  --json                    one JSON object instead of a line\n",
	      stderr);
	exit(2);
}

static unsigned long number(const char *text, const char *name, unsigned long min,
                            unsigned long max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value < min || value > max)
		die("--%s is a whole number from %lu to %lu, not '%s'", name, min, max, text);
	return value;
}

static enum load_kind kind_of(const char *name)
{
	for (unsigned i = 0; i < LOAD_KINDS; i++)
		if (strcmp(name, kind_names[i]) == 0)
			return i;
	die("--op is read, write, sync, getattr, null or mix, not '%s'", name);
}

struct arguments {
	struct load_options load;
	uint64_t file_bytes;
	bool json;
};

static const struct option long_options[] = {
	{ "server", required_argument, NULL, 's' },
	{ "export", required_argument, NULL, 'e' },
	{ "port", required_argument, NULL, 'p' },
	{ "mount-port", required_argument, NULL, 'm' },
	{ "op", required_argument, NULL, 'o' },
	{ "block", required_argument, NULL, 'b' },
	{ "depth", required_argument, NULL, 'd' },
	{ "connections", required_argument, NULL, 'c' },
	{ "threads", required_argument, NULL, 't' },
	{ "files", required_argument, NULL, 'f' },
	{ "file-mib", required_argument, NULL, 'F' },
	{ "seconds", required_argument, NULL, 'T' },
	{ "warm-up", required_argument, NULL, 'w' },
	{ "pid", required_argument, NULL, 'P' },
	{ "sequential", no_argument, NULL, 'S' },
	{ "verify", no_argument, NULL, 'v' },
	{ "json", no_argument, NULL, 'j' },
	{ NULL, 0, NULL, 0 },
};

static void set_target(struct target *target, int option, const char *value)
{
	switch (option) {
	case 's':
		target->address = value;
		break;
	case 'e':
		target->export = value;
		break;
	case 'p':
		target->nfs_port = (uint16_t) number(value, "port", 1, 65535);
		break;
	default:
		target->mount_port = (uint16_t) number(value, "mount-port", 1, 65535);
		break;
	}
}

static void set_load(struct arguments *arguments, int option, const char *value)
{
	struct load_options *load = &arguments->load;

	switch (option) {
	case 'o':
		load->kind = kind_of(value);
		break;
	case 'b':
		load->block_bytes = (uint32_t) number(value, "block", 16, NFS_BLOCK_BYTES_MAX);
		break;
	case 'd':
		load->depth = (unsigned) number(value, "depth", 1, LOAD_DEPTH_MAX);
		break;
	case 'c':
		load->connections = (unsigned) number(value, "connections", 1,
		                                      LOAD_CONNECTIONS_MAX);
		break;
	case 't':
		load->threads = (unsigned) number(value, "threads", 1, LOAD_THREADS_MAX);
		break;
	case 'f':
		load->file_count = (unsigned) number(value, "files", 1, 100000);
		break;
	case 'F':
		arguments->file_bytes = (uint64_t) number(value, "file-mib", 1, 1 << 24) << 20;
		break;
	case 'T':
		load->seconds = strtod(value, NULL);
		break;
	case 'w':
		load->warm_up_s = strtod(value, NULL);
		break;
	case 'P':
		load->server = (pid_t) number(value, "pid", 1, 1 << 30);
		break;
	}
}

static void check(struct arguments *arguments)
{
	struct load_options *load = &arguments->load;

	if (!load->target.address || !load->target.export)
		usage();
	if (load->target.mount_port == 0)
		load->target.mount_port = load->target.nfs_port;
	if (load->file_count == 0)
		load->file_count = load->connections;
	if (load->threads > load->connections)
		load->threads = load->connections;
	if (load->block_bytes % 16 != 0)
		die("--block is a multiple of 16");
	if (load->verify && load->file_count < load->connections)
		die("--verify wants a file for each connection: --files %u or more",
		    load->connections);
	if (arguments->file_bytes / load->block_bytes < 2 * (uint64_t) load->depth)
		die("the files are too small for this depth; make --file-mib larger");
}

static void parse(int argc, char **argv, struct arguments *arguments)
{
	struct load_options *load = &arguments->load;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == '?')
			usage();
		else if (option == 'S')
			load->sequential = true;
		else if (option == 'v')
			load->verify = true;
		else if (option == 'j')
			arguments->json = true;
		else if (strchr("sepm", option))
			set_target(&load->target, option, optarg);
		else
			set_load(arguments, option, optarg);
	}
	if (optind != argc)
		usage();
	check(arguments);
}

static double us(const struct load_result *result, double share)
{
	return (double) histogram_quantile(&result->latencies, share) / 1e3;
}

static void print_json(const struct load_options *load, const struct load_result *result)
{
	double calls = result->calls ? (double) result->calls : 1;

	printf("{\"op\": \"%s\", \"block_bytes\": %u, \"depth\": %u, \"connections\": %u,"
	       " \"sequential\": %s, \"calls\": %" PRIu64 ", \"seconds\": %.3f,"
	       " \"ops_per_s\": %.1f, \"bytes_per_s\": %.0f, \"p50_us\": %.1f, \"p99_us\": %.1f,"
	       " \"p999_us\": %.1f, \"client_cpu_us_per_op\": %.3f",
	       kind_names[load->kind], load->block_bytes, load->depth, load->connections,
	       load->sequential ? "true" : "false", result->calls, result->seconds,
	       (double) result->calls / result->seconds, (double) result->bytes / result->seconds,
	       us(result, 0.5), us(result, 0.99), us(result, 0.999),
	       (double) result->client_cpu_us / calls);
	if (load->server)
		printf(", \"server_cpu_us_per_op\": %.3f, \"server_rss_kib\": %" PRIu64
		       ", \"server_peak_kib\": %" PRIu64,
		       (double) result->server.cpu_us / calls, result->server.resident_kib,
		       result->server.peak_kib);
	puts("}");
}

static void print_line(const struct load_options *load, const struct load_result *result)
{
	double calls = result->calls ? (double) result->calls : 1;

	printf("%s %s %u bytes, depth %u, %u connections: %.0f calls/s, %.1f MB/s, p50 %.0f p99 "
	       "%.0f"
	       " p99.9 %.0f us, client %.2f us CPU a call",
	       kind_names[load->kind], load->sequential ? "sequential" : "random",
	       load->block_bytes, load->depth, load->connections,
	       (double) result->calls / result->seconds,
	       (double) result->bytes / result->seconds / 1e6, us(result, 0.5), us(result, 0.99),
	       us(result, 0.999), (double) result->client_cpu_us / calls);
	if (load->server)
		printf(", server %.2f us CPU a call, %.1f MiB peak",
		       (double) result->server.cpu_us / calls,
		       (double) result->server.peak_kib / 1024);
	puts("");
}

int main(int argc, char **argv)
{
	struct arguments arguments = {
		.load = { .target = { .nfs_port = 2049 },
		          .kind = LOAD_READ,
		          .depth = 32,
		          .connections = 1,
		          .threads = 1,
		          .warm_up_s = 0.5,
		          .seconds = 4,
		          .block_bytes = 4096 },
		.file_bytes = 256 << 20,
	};
	struct load_options *load = &arguments.load;
	static struct load_result result;

	parse(argc, argv, &arguments);
	load->files = files_prepare(&load->target, load->file_count, arguments.file_bytes,
	                            load->block_bytes, load->verify);
	load_run(load, &result);
	files_commit(&load->target, load->files, load->file_count);
	if (load->verify)
		files_check(&load->target, load->files, load->file_count);
	if (arguments.json)
		print_json(load, &result);
	else
		print_line(load, &result);
	files_free(load->files, load->file_count);
	return result.calls == 0;
}
