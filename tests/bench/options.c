/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

enum {
	FILES_MAX = 1000000,
	ENTRIES_MAX = 10000000,
};

static const struct {
	const char *name;
	enum bench_mode mode;
	enum load_kind kind;
} modes[] = {
	{ "read", BENCH_LOAD, LOAD_READ },         { "write", BENCH_LOAD, LOAD_WRITE },
	{ "sync", BENCH_LOAD, LOAD_SYNC },         { "getattr", BENCH_LOAD, LOAD_GETATTR },
	{ "lookup", BENCH_LOAD, LOAD_LOOKUP },     { "null", BENCH_LOAD, LOAD_NULL },
	{ "mix", BENCH_LOAD, LOAD_MIX },           { "small", BENCH_SMALL, LOAD_NULL },
	{ "tree", BENCH_TREE, LOAD_NULL },         { "list", BENCH_LIST, LOAD_NULL },
	{ "listplus", BENCH_LISTPLUS, LOAD_NULL },
};

static void usage(void)
{
	fputs("usage: nfsbench --server ADDRESS --export PATH [options]\n"
	      "  --port N --mount-port N   default 2049, and the same for MOUNT\n"
	      "  --op read|write|sync|getattr|null|mix\n"
	      "        write is UNSTABLE, sync is FILE_SYNC, mix is 70 % read and 30 % sync\n"
	      "  --op lookup --folder NAME --entries N   entry.0000000 and so on in that folder\n"
	      "  --op list|listplus --folder NAME --entries N   READDIR, READDIRPLUS to its end\n"
	      "  --op small --files N [--stable]   create, write, commit, list, read, remove\n"
	      "  --op tree --copy-export PATH      copy all of the export, --connections workers\n"
	      "  --block BYTES --depth N --connections N --threads N\n"
	      "  --files N --file-mib N --file-kib N --name STEM\n"
	      "        connection i uses file STEM.i, modulo N (default: one each, nfsbench.i)\n"
	      "  --any-file                each call goes to any of the files\n"
	      "  --sequential, --boot      default: random offsets. boot: 4 to 64 KiB at once,\n"
	      "                            short runs and jumps, as a guest that boots\n"
	      "  --seconds S --warm-up S   how long; or\n"
	      "  --calls N                 until each connection made N calls, from the start\n"
	      "  --verify                  check the data of every read, and all of it at the end\n"
	      "  --pid N                   the server's process: its CPU time and memory\n"
	      "  --disk-stat FILE          /sys/block/DISK/stat: how often it was flushed\n"
	      "  --json                    one JSON object instead of a line\n",
	      stderr);
	exit(2);
}

static const struct option long_options[] = {
	{ "server", required_argument, NULL, 's' },
	{ "export", required_argument, NULL, 'e' },
	{ "port", required_argument, NULL, 'p' },
	{ "mount-port", required_argument, NULL, 'm' },
	{ "op", required_argument, NULL, 'o' },
	{ "folder", required_argument, NULL, 'D' },
	{ "entries", required_argument, NULL, 'E' },
	{ "copy-export", required_argument, NULL, 'C' },
	{ "block", required_argument, NULL, 'b' },
	{ "depth", required_argument, NULL, 'd' },
	{ "connections", required_argument, NULL, 'c' },
	{ "threads", required_argument, NULL, 't' },
	{ "files", required_argument, NULL, 'f' },
	{ "file-mib", required_argument, NULL, 'F' },
	{ "file-kib", required_argument, NULL, 'K' },
	{ "name", required_argument, NULL, 'n' },
	{ "calls", required_argument, NULL, 'k' },
	{ "seconds", required_argument, NULL, 'T' },
	{ "warm-up", required_argument, NULL, 'w' },
	{ "pid", required_argument, NULL, 'P' },
	{ "disk-stat", required_argument, NULL, 'A' },
	{ "any-file", no_argument, NULL, 'a' },
	{ "sequential", no_argument, NULL, 'S' },
	{ "boot", no_argument, NULL, 'B' },
	{ "stable", no_argument, NULL, 'y' },
	{ "verify", no_argument, NULL, 'v' },
	{ "json", no_argument, NULL, 'j' },
	{ NULL, 0, NULL, 0 },
};

static void set_mode(struct bench_options *options, const char *name)
{
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		if (strcmp(name, modes[i].name) == 0) {
			options->mode = modes[i].mode;
			options->mode_name = modes[i].name;
			options->load.kind = modes[i].kind;
			return;
		}
	}
	die("--op is one of those that nfsbench --help lists, not '%s'", name);
}

/* Options without a value. */
static bool set_flag(struct bench_options *options, int option)
{
	switch (option) {
	case 'a':
		options->load.any_file = true;
		return true;
	case 'S':
		options->load.pattern = PATTERN_SEQUENTIAL;
		return true;
	case 'B':
		options->load.pattern = PATTERN_BOOT;
		return true;
	case 'y':
		options->stable = true;
		return true;
	case 'v':
		options->load.verify = true;
		return true;
	case 'j':
		options->json = true;
		return true;
	default:
		return false;
	}
}

/* Whom to call, for what, and whose disk to watch. */
static bool set_target(struct bench_options *options, int option, const char *value)
{
	struct target *target = &options->load.target;

	switch (option) {
	case 's':
		target->address = value;
		return true;
	case 'e':
		target->export = value;
		return true;
	case 'p':
		target->nfs_port = (uint16_t) option_number(value, "port", 1, 65535);
		return true;
	case 'm':
		target->mount_port = (uint16_t) option_number(value, "mount-port", 1, 65535);
		return true;
	case 'o':
		set_mode(options, value);
		return true;
	case 'n':
		options->file_stem = value;
		return true;
	case 'D':
		options->folder_name = value;
		return true;
	case 'C':
		options->copy_export = value;
		return true;
	case 'A':
		options->load.observed.disk_stat = value;
		return true;
	default:
		return false;
	}
}

/* How many, how large, how long. */
static void set_number(struct load_options *load, int option, const char *value)
{
	switch (option) {
	case 'E':
		load->entries = (unsigned) option_number(value, "entries", 1, ENTRIES_MAX);
		break;
	case 'b':
		load->block_bytes = (uint32_t) option_number(value, "block", 16,
		                                             NFS_BLOCK_BYTES_MAX);
		break;
	case 'd':
		load->depth = (unsigned) option_number(value, "depth", 1, LOAD_DEPTH_MAX);
		break;
	case 'c':
		load->connections = (unsigned) option_number(value, "connections", 1,
		                                             LOAD_CONNECTIONS_MAX);
		break;
	case 't':
		load->threads = (unsigned) option_number(value, "threads", 1, LOAD_THREADS_MAX);
		break;
	case 'f':
		load->file_count = (unsigned) option_number(value, "files", 1, FILES_MAX);
		break;
	case 'F':
		load->file_bytes = (uint64_t) option_number(value, "file-mib", 1, 1 << 24) << 20;
		break;
	case 'K':
		load->file_bytes = (uint64_t) option_number(value, "file-kib", 1, 1 << 30) << 10;
		break;
	case 'k':
		load->calls_each = (unsigned) option_number(value, "calls", 1, 1 << 30);
		break;
	case 'T':
		load->seconds = option_seconds(value, "seconds");
		break;
	case 'w':
		load->warm_up_s = option_seconds(value, "warm-up");
		break;
	case 'P':
		load->observed.server = (pid_t) option_number(value, "pid", 1, 1 << 30);
		break;
	}
}

static void check_load(const struct bench_options *options)
{
	const struct load_options *load = &options->load;

	if (load->kind == LOAD_LOOKUP && (!options->folder_name || load->entries == 0))
		die("--op lookup wants --folder and --entries");
	if (load->verify && (load->pattern == PATTERN_BOOT || load->any_file))
		die("--verify checks whole blocks of a file that one connection has: no --boot, no"
		    " --any-file");
	if (load->verify && load->file_count < load->connections)
		die("--verify wants a file for each connection: --files %u or more",
		    load->connections);
	if (load->file_bytes < load->block_bytes ||
	    (load->verify && load->file_bytes / load->block_bytes < 2 * (uint64_t) load->depth))
		die("the files are too small for this depth; make --file-mib larger");
	if (load->pattern == PATTERN_BOOT && load->file_bytes < PATTERN_BOOT_BYTES_MAX)
		die("--boot wants files of %d KiB or more", PATTERN_BOOT_BYTES_MAX >> 10);
}

static void check(struct bench_options *options)
{
	struct load_options *load = &options->load;

	if (!load->target.address || !load->target.export)
		usage();
	if (load->target.mount_port == 0)
		load->target.mount_port = load->target.nfs_port;
	if (options->mode == BENCH_SMALL && load->file_count < load->connections)
		die("--op small wants --files, at least as many as --connections");
	if (options->mode == BENCH_TREE && !options->copy_export)
		die("--op tree wants --copy-export");
	if ((options->mode == BENCH_LIST || options->mode == BENCH_LISTPLUS) &&
	    (!options->folder_name || load->entries == 0))
		die("--op %s wants --folder and --entries", options->mode_name);
	if (load->file_count == 0)
		load->file_count = load->connections;
	if (load->threads > load->connections)
		load->threads = load->connections;
	if (load->block_bytes % 16 != 0)
		die("--block is a multiple of 16");
	load->file_bytes -= load->file_bytes % load->block_bytes;
	if (options->mode == BENCH_LOAD)
		check_load(options);
}

void options_parse(int argc, char **argv, struct bench_options *ret_options)
{
	int option;

	*ret_options = (struct bench_options){
		.mode_name = "read",
		.file_stem = "nfsbench",
		.load = { .target = { .nfs_port = 2049 },
		          .depth = 32,
		          .connections = 1,
		          .threads = 1,
		          .warm_up_s = 0.5,
		          .seconds = 4,
		          .block_bytes = 4096,
		          .file_bytes = 256 << 20 },
	};
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == '?')
			usage();
		if (!set_flag(ret_options, option) && !set_target(ret_options, option, optarg))
			set_number(&ret_options->load, option, optarg);
	}
	if (optind != argc)
		usage();
	check(ret_options);
}
