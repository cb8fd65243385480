/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_main - run a fuzz target over files and folders of files, without libFuzzer.
 *
 *     fuzz-record tests/fuzz/corpus/record
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "vfs/base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	INPUT_BYTES_MAX = 4 << 20,
};

static unsigned replayed_count;

static void close_file(FILE **file)
{
	if (*file)
		(void) fclose(*file);
}

static void close_folder(DIR **folder)
{
	if (*folder)
		(void) closedir(*folder);
}

static int replay_file(const char *path)
{
	AUTO(close_file) FILE *file = fopen(path, "rb");
	AUTO(free_ptr) uint8_t *input = NULL;
	AUTO(free_ptr) uint8_t *exact = NULL;
	size_t input_bytes;

	input = malloc(INPUT_BYTES_MAX);
	if (!file || !input) {
		perror(path);
		return -1;
	}
	input_bytes = fread(input, 1, INPUT_BYTES_MAX, file);
	exact = malloc(input_bytes + 1); /* so that a sanitizer sees a read behind the end */
	if (!exact || ferror(file)) {
		perror(path);
		return -1;
	}
	memcpy(exact + 1, input, input_bytes);
	(void) LLVMFuzzerTestOneInput(exact + 1, input_bytes);
	replayed_count++;
	return 0;
}

static int replay_folder(const char *path)
{
	AUTO(close_folder) DIR *folder = opendir(path);
	const struct dirent *entry;
	char name[4096];

	if (!folder) {
		perror(path);
		return -1;
	}
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		if ((size_t) snprintf(name, sizeof name, "%s/%s", path, entry->d_name) >=
		            sizeof name ||
		    replay_file(name) < 0)
			return -1;
	}
	return 0;
}

int main(int argument_count, char **arguments)
{
	for (int i = 1; i < argument_count; i++) {
		struct stat st;
		int r;

		if (stat(arguments[i], &st) < 0) {
			perror(arguments[i]);
			return EXIT_FAILURE;
		}
		r = S_ISDIR(st.st_mode) ? replay_folder(arguments[i]) : replay_file(arguments[i]);
		if (r < 0)
			return EXIT_FAILURE;
	}
	printf("%u inputs replayed\n", replayed_count);
	if (replayed_count == 0) {
		fprintf(stderr, "Nothing was replayed. Name a folder or files of inputs.\n");
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
