/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rawbench - what the file system and the disk alone can do, without a server. See usage().
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw_disk.h"
#include "raw_files.h"
#include "tool.h"

enum {
	FILES_MAX = 1000000,
	THREADS_MAX = 64,
	DEPTH_MAX = 1024,
	BLOCK_BYTES_MAX = 1 << 20,
};

static const char *const policy_names[RAW_POLICIES] = {
	[RAW_BUFFERED_FLUSH] = "buffered-flush",
	[RAW_BUFFERED_DSYNC] = "buffered-dsync",
	[RAW_DIRECT_FLUSH] = "direct-flush",
	[RAW_DIRECT_DSYNC] = "direct-dsync",
};

static const struct option long_options[] = {
	{ "file", required_argument, NULL, 'f' },
	{ "policy", required_argument, NULL, 'p' },
	{ "block", required_argument, NULL, 'b' },
	{ "depth", required_argument, NULL, 'd' },
	{ "file-mib", required_argument, NULL, 'm' },
	{ "sequential", no_argument, NULL, 's' },
	{ "seconds", required_argument, NULL, 'T' },
	{ "warm-up", required_argument, NULL, 'w' },
	{ "folder", required_argument, NULL, 'F' },
	{ "files", required_argument, NULL, 'n' },
	{ "disk-stat", required_argument, NULL, 'A' },
	{ "threads", required_argument, NULL, 't' },
	{ NULL, 0, NULL, 0 },
};

static void usage(void)
{
	fputs("usage: rawbench --file FILE --policy POLICY [--block BYTES] [--depth N]\n"
	      "                [--file-mib N] [--sequential] [--seconds S] [--warm-up S]\n"
	      "       rawbench --folder FOLDER --files N [--threads N] [--block BYTES]\n"
	      "  The first writes durably at a depth. Policies: buffered-flush, direct-flush (one\n"
	      "  fdatasync for a depth of writes), buffered-dsync, direct-dsync (each by itself).\n"
	      "  The second makes, writes, lists, reads, removes N files with an fsync for each.\n"
	      "  Both take --disk-stat FILE, as in /sys/block/DISK/stat: how often it was "
	      "flushed.\n"
	      "  Prints one JSON object.\n",
	      stderr);
	exit(2);
}

static enum raw_policy policy_of(const char *name)
{
	for (unsigned i = 0; i < RAW_POLICIES; i++)
		if (strcmp(name, policy_names[i]) == 0)
			return i;
	die("--policy is buffered-flush, buffered-dsync, direct-flush or direct-dsync, not '%s'",
	    name);
}

static void set_disk(struct raw_disk_options *disk, int option, const char *value)
{
	switch (option) {
	case 'f':
		disk->path = value;
		break;
	case 'p':
		disk->policy = policy_of(value);
		break;
	case 'b':
		disk->block_bytes = (uint32_t) option_number(value, "block", 16, BLOCK_BYTES_MAX);
		break;
	case 'd':
		disk->depth = (unsigned) option_number(value, "depth", 1, DEPTH_MAX);
		break;
	case 'm':
		disk->file_bytes = (uint64_t) option_number(value, "file-mib", 1, 1 << 20) << 20;
		break;
	case 's':
		disk->sequential = true;
		break;
	case 'T':
		disk->seconds = option_seconds(value, "seconds");
		break;
	case 'w':
		disk->warm_up_s = option_seconds(value, "warm-up");
		break;
	}
}

static void parse(int argc, char **argv, struct raw_disk_options *disk,
                  struct raw_files_options *files)
{
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == '?')
			usage();
		else if (option == 'F')
			files->folder = optarg;
		else if (option == 'A')
			disk->observed.disk_stat = files->observed.disk_stat = optarg;
		else if (option == 'n')
			files->files = (unsigned) option_number(optarg, "files", 1, FILES_MAX);
		else if (option == 't')
			files->threads = (unsigned) option_number(optarg, "threads", 1,
			                                          THREADS_MAX);
		else
			set_disk(disk, option, optarg);
	}
	if (optind != argc || !disk->path == !files->folder)
		usage();
	if (files->folder && files->files < files->threads)
		die("--files is at least --threads");
	if (disk->path && disk->block_bytes % 4096 != 0)
		die("--block is a multiple of 4096: O_DIRECT wants it");
	if (disk->path && disk->file_bytes < disk->block_bytes)
		die("--file-mib is too small for a block");
	files->file_bytes = disk->block_bytes - disk->block_bytes % 16;
}

static void print_files(const struct measurement *phases)
{
	printf("{\"phases\": {");
	for (unsigned i = 0; i < RAW_PHASES; i++) {
		printf("%s\"%s\": {", i > 0 ? ", " : "", raw_phase_names[i]);
		measurement_print_json(&phases[i]);
		printf("}");
	}
	puts("}}");
}

int main(int argc, char **argv)
{
	struct raw_disk_options disk = { .file_bytes = 256 << 20,
		                         .block_bytes = 4096,
		                         .depth = 32,
		                         .warm_up_s = 0.3,
		                         .seconds = 4 };
	struct raw_files_options files = { .threads = 1 };
	static struct measurement results[RAW_PHASES];

	parse(argc, argv, &disk, &files);
	if (files.folder) {
		raw_files_run(&files, results);
		print_files(results);
		return 0;
	}
	raw_disk_run(&disk, &results[0]);
	printf("{\"policy\": \"%s\", \"block_bytes\": %u, \"depth\": %u, ",
	       policy_names[disk.policy], disk.block_bytes, disk.depth);
	measurement_print_json(&results[0]);
	puts("}");
	return 0;
}
