/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nfsbench - load for an NFSv3 server, and how it bore it. options.c has the usage.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "list.h"
#include "options.h"
#include "small.h"
#include "tool.h"
#include "tree.h"

static const char *pattern_name(enum pattern_kind pattern)
{
	switch (pattern) {
	case PATTERN_SEQUENTIAL:
		return "sequential";
	case PATTERN_BOOT:
		return "boot";
	default:
		return "random";
	}
}

static void print_result(const struct bench_options *options, const struct measurement *result)
{
	const struct load_options *load = &options->load;

	if (!options->json) {
		printf("%s %s %u bytes, depth %u, %u connections: ", options->mode_name,
		       pattern_name(load->pattern), load->block_bytes, load->depth,
		       load->connections);
		measurement_print_line(result);
		return;
	}
	printf("{\"op\": \"%s\", \"pattern\": \"%s\", \"block_bytes\": %u, \"depth\": %u,"
	       " \"connections\": %u, ",
	       options->mode_name, pattern_name(load->pattern), load->block_bytes, load->depth,
	       load->connections);
	measurement_print_json(result);
	puts("}");
}

static void print_phases(const struct bench_options *options, const struct measurement *phases)
{
	const char *comma = "";

	if (options->json)
		printf("{\"phases\": {");
	for (unsigned i = 0; i < SMALL_PHASES; i++) {
		if (phases[i].calls == 0)
			continue;
		if (!options->json) {
			printf("%s: ", small_phase_names[i]);
			measurement_print_line(&phases[i]);
			continue;
		}
		printf("%s\"%s\": {", comma, small_phase_names[i]);
		measurement_print_json(&phases[i]);
		printf("}");
		comma = ", ";
	}
	if (options->json)
		puts("}}");
}

/* The handle of a folder in the export, which must be there. */
static struct nfs_handle find_folder(const struct bench_options *options)
{
	const struct target *target = &options->load.target;
	struct nfs_handle root = client_mount(target), folder;
	struct client *client = client_new(target, target->nfs_port);
	uint64_t bytes;
	uint32_t status;
	struct wire_in in;

	in = client_transact(
		client, nfs_call_lookup(client->call, ++client->xid, &root, options->folder_name),
		NULL, 0);
	client_expect(nfs_reply_lookup(&in, &status, &folder, &bytes));
	if (status != NFS_OK)
		die("the export has no %s", options->folder_name);
	client_free(client);
	return folder;
}

static bool writes(enum load_kind kind)
{
	return kind == LOAD_WRITE || kind == LOAD_SYNC || kind == LOAD_MIX;
}

static void run_load(struct bench_options *options, struct measurement *ret_result)
{
	struct load_options *load = &options->load;

	if (load->kind == LOAD_LOOKUP) {
		load->folder = find_folder(options);
		load_run(load, ret_result);
		return;
	}
	load->files = files_prepare(&load->target, options->file_stem, load->file_count,
	                            load->file_bytes, load->block_bytes, load->verify);
	load_run(load, ret_result);
	if (writes(load->kind))
		files_commit(&load->target, load->files, load->file_count);
	if (load->verify)
		files_check(&load->target, load->files, load->file_count);
	files_free(load->files, load->file_count);
}

static void run_small(const struct bench_options *options, struct measurement *ret_phases)
{
	const struct load_options *load = &options->load;
	const struct small_options small = { .target = load->target,
		                             .connections = load->connections,
		                             .depth = load->depth,
		                             .files = load->file_count,
		                             .file_bytes = load->block_bytes,
		                             .stable = options->stable,
		                             .observed = load->observed };

	small_run(&small, ret_phases);
}

static void run_tree(const struct bench_options *options, struct measurement *ret_result)
{
	const struct load_options *load = &options->load;
	struct tree_options tree = { .source = load->target,
		                     .copy = load->target,
		                     .workers = load->connections,
		                     .observed = load->observed };
	struct tree_counts counts = { 0 };

	tree.copy.export = options->copy_export;
	tree_run(&tree, ret_result, &counts);
	fprintf(stderr, "copied %" PRIu64 " files in %" PRIu64 " folders\n", counts.files,
	        counts.folders);
}

static void run_list(const struct bench_options *options, struct measurement *ret_result)
{
	const struct load_options *load = &options->load;
	const struct list_options list = { .target = load->target,
		                           .folder = find_folder(options),
		                           .entries = load->entries,
		                           .plus = options->mode == BENCH_LISTPLUS,
		                           .seconds = load->seconds,
		                           .observed = load->observed };

	list_run(&list, ret_result);
}

int main(int argc, char **argv)
{
	static struct measurement results[SMALL_PHASES];
	struct bench_options options;

	options_parse(argc, argv, &options);
	switch (options.mode) {
	case BENCH_LOAD:
		run_load(&options, &results[0]);
		break;
	case BENCH_SMALL:
		run_small(&options, results);
		print_phases(&options, results);
		return 0;
	case BENCH_TREE:
		run_tree(&options, &results[0]);
		break;
	case BENCH_LIST:
	case BENCH_LISTPLUS:
		run_list(&options, &results[0]);
		break;
	}
	print_result(&options, &results[0]);
	return results[0].calls == 0;
}
