/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsx_like FILE [-s SEED] [-n OPERATIONS] [-m BYTES_MAX] [-v]
 *
 * Random reads, writes, mapped reads and writes, truncations, reopenings and flushes of one file,
 * each checked against a model in memory. The same seed makes the same operations, so what failed
 * can be run again; -v prints every operation, and a failure prints the last ones.
 *
 * What always holds: model[0..model_bytes) is what the file must contain, and everything in the
 * model beyond model_bytes is zero, as a file's growth must show it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	TRANSFER_BYTES_MAX = 20 << 10,
	HISTORY_LINES = 40,
	LINE_BYTES = 96,
};

enum operation {
	READ,
	WRITE,
	MAP_READ,
	MAP_WRITE,
	TRUNCATE,
	REOPEN,
	FLUSH,
	OPERATION_COUNT
};

static const char *const operation_names[OPERATION_COUNT] = {
	"read", "write", "mapread", "mapwrite", "truncate", "reopen", "flush",
};

/* How often each is chosen, of 100. */
static const unsigned operation_shares[OPERATION_COUNT] = { 24, 24, 16, 16, 10, 6, 4 };

static const char *path;
static int fd = -1;
static uint64_t seed;
static uint64_t random_state;
static size_t file_bytes_max = 384 << 10;
static bool verbose;

static uint8_t *model;
static size_t model_bytes;
static uint8_t *transfer;

static char history[HISTORY_LINES][LINE_BYTES];
static unsigned long operations_done;

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
	unsigned long first = operations_done < HISTORY_LINES ? 0
	                                                      : operations_done - HISTORY_LINES + 1;
	va_list arguments;

	for (unsigned long i = first; i <= operations_done; i++)
		printf("%s\n", history[i % HISTORY_LINES]);
	printf("FAILED at operation %lu: ", operations_done);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\nrun again with: fsx_like %s -s %" PRIu64 " -n %lu -m %zu\n", path, seed,
	       operations_done + 1, file_bytes_max);
	exit(1);
}

static void note(enum operation operation, size_t offset, size_t length)
{
	char *line = history[operations_done % HISTORY_LINES];

	snprintf(line, LINE_BYTES, "%lu %s 0x%zx..0x%zx (0x%zx) of 0x%zx", operations_done,
	         operation_names[operation], offset, offset + length, length, model_bytes);
	if (verbose)
		puts(line);
}

/* splitmix64, by Sebastiano Vigna: public domain. */
static uint64_t random_next(void)
{
	uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static size_t random_below(size_t limit)
{
	return limit ? random_next() % limit : 0;
}

/* Every byte written carries its offset and the operation's number in a pattern. */
static void fill(uint8_t *to, size_t offset, size_t length)
{
	for (size_t i = 0; i < length; i++)
		to[i] = (uint8_t) ((offset + i) * 31 + ((offset + i) >> 8) + operations_done * 131 +
		                   1);
}

static void compare(const uint8_t *got, size_t offset, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (got[i] != model[offset + i])
			fail("offset 0x%zx: expected %02x, got %02x", offset + i, model[offset + i],
			     got[i]);
}

static void grow_model(size_t bytes)
{
	if (bytes > model_bytes)
		model_bytes = bytes;
}

static void check_size(void)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		fail("fstat: %s", strerror(errno));
	if ((size_t) status.st_size != model_bytes)
		fail("the size should be 0x%zx and is 0x%jx", model_bytes,
		     (uintmax_t) status.st_size);
}

static void do_read(void)
{
	size_t offset = random_below(model_bytes);
	size_t length = 1 + random_below(TRANSFER_BYTES_MAX);
	size_t expected = length < model_bytes - offset ? length : model_bytes - offset;
	ssize_t got;

	note(READ, offset, length);
	got = pread(fd, transfer, length, (off_t) offset);
	if (got < 0)
		fail("pread: %s", strerror(errno));
	if ((size_t) got != expected)
		fail("pread should give 0x%zx bytes and gave 0x%zx", expected, (size_t) got);
	compare(transfer, offset, expected);
}

static void do_write(void)
{
	size_t offset = random_below(file_bytes_max);
	size_t length = 1 + random_below(TRANSFER_BYTES_MAX);
	ssize_t written;

	if (length > file_bytes_max - offset)
		length = file_bytes_max - offset;
	note(WRITE, offset, length);
	fill(model + offset, offset, length);
	written = pwrite(fd, model + offset, length, (off_t) offset);
	if (written < 0)
		fail("pwrite: %s", strerror(errno));
	if ((size_t) written != length)
		fail("pwrite took 0x%zx bytes", (size_t) written);
	grow_model(offset + length);
}

/* A map of the pages that [offset, offset + length) touches; the byte at offset is *ret_at. */
static uint8_t *map(size_t offset, size_t length, int protection, size_t *ret_map_bytes,
                    uint8_t **ret_at)
{
	size_t skip = offset % (size_t) sysconf(_SC_PAGESIZE);
	uint8_t *mapped;

	mapped = mmap(NULL, skip + length, protection, MAP_SHARED, fd, (off_t) (offset - skip));
	if (mapped == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	*ret_map_bytes = skip + length;
	*ret_at = mapped + skip;
	return mapped;
}

static void do_map_read(void)
{
	size_t offset = random_below(model_bytes);
	size_t length = 1 + random_below(TRANSFER_BYTES_MAX);
	size_t map_bytes;
	uint8_t *mapped, *at;

	if (length > model_bytes - offset)
		length = model_bytes - offset;
	note(MAP_READ, offset, length);
	if (length == 0)
		return;
	mapped = map(offset, length, PROT_READ, &map_bytes, &at);
	memcpy(transfer, at, length);
	compare(transfer, offset, length);
	munmap(mapped, map_bytes);
}

static void do_map_write(void)
{
	size_t offset = random_below(file_bytes_max);
	size_t length = 1 + random_below(TRANSFER_BYTES_MAX);
	size_t map_bytes;
	uint8_t *mapped, *at;

	if (length > file_bytes_max - offset)
		length = file_bytes_max - offset;
	note(MAP_WRITE, offset, length);
	if (offset + length > model_bytes) {
		if (ftruncate(fd, (off_t) (offset + length)) < 0)
			fail("ftruncate: %s", strerror(errno));
		model_bytes = offset + length;
	}
	mapped = map(offset, length, PROT_READ | PROT_WRITE, &map_bytes, &at);
	fill(model + offset, offset, length);
	memcpy(at, model + offset, length);
	if (random_below(4) == 0 && msync(mapped, map_bytes, MS_SYNC) < 0)
		fail("msync: %s", strerror(errno));
	if (munmap(mapped, map_bytes) < 0)
		fail("munmap: %s", strerror(errno));
}

static void do_truncate(void)
{
	size_t bytes = random_below(file_bytes_max + 1);

	note(TRUNCATE, bytes, 0);
	if (ftruncate(fd, (off_t) bytes) < 0)
		fail("ftruncate: %s", strerror(errno));
	if (bytes < model_bytes)
		memset(model + bytes, 0, model_bytes - bytes);
	model_bytes = bytes;
	check_size();
}

static void do_reopen(void)
{
	note(REOPEN, 0, 0);
	if (close(fd) < 0)
		fail("close: %s", strerror(errno));
	fd = open(path, O_RDWR);
	if (fd < 0)
		fail("open: %s", strerror(errno));
	/* Half of the time the pages are dropped too, so that reads come from the server. */
	if (random_below(2) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		fail("posix_fadvise");
	check_size();
}

static void do_flush(void)
{
	note(FLUSH, 0, 0);
	if (fsync(fd) < 0)
		fail("fsync: %s", strerror(errno));
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		fail("posix_fadvise");
}

static void (*const operation_functions[OPERATION_COUNT])(void) = {
	do_read, do_write, do_map_read, do_map_write, do_truncate, do_reopen, do_flush,
};

static enum operation choose(void)
{
	size_t ticket = random_below(100);
	unsigned operation = 0;

	while (ticket >= operation_shares[operation])
		ticket -= operation_shares[operation++];
	return operation;
}

/* At the end the whole file is read back through a new descriptor. */
static void check_all(void)
{
	do_reopen();
	do_flush();
	for (size_t offset = 0; offset < model_bytes; offset += TRANSFER_BYTES_MAX) {
		ssize_t got = pread(fd, transfer, TRANSFER_BYTES_MAX, (off_t) offset);
		size_t rest = model_bytes - offset;

		if (got < 0 ||
		    (size_t) got != (rest < TRANSFER_BYTES_MAX ? rest : TRANSFER_BYTES_MAX))
			fail("the last pread at 0x%zx gave %zd", offset, got);
		compare(transfer, offset, (size_t) got);
	}
}

int main(int argc, char **argv)
{
	unsigned long operations = 20000;
	int option;

	seed = (uint64_t) time(NULL) * 1000 + (uint64_t) getpid();
	while ((option = getopt(argc, argv, "s:n:m:v")) != -1) {
		switch (option) {
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			operations = strtoul(optarg, NULL, 0);
			break;
		case 'm':
			file_bytes_max = strtoul(optarg, NULL, 0);
			break;
		case 'v':
			verbose = true;
			break;
		default:
			return 2;
		}
	}
	if (optind != argc - 1 || file_bytes_max == 0) {
		fprintf(stderr, "usage: fsx_like FILE [-s SEED] [-n OPERATIONS] [-m BYTES] [-v]\n");
		return 2;
	}
	path = argv[optind];
	random_state = seed;
	model = calloc(1, file_bytes_max);
	transfer = malloc(TRANSFER_BYTES_MAX);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (!model || !transfer || fd < 0) {
		perror(path);
		return 2;
	}
	printf("seed %" PRIu64 "\n", seed);
	for (; operations_done < operations; operations_done++)
		operation_functions[choose()]();
	check_all();
	printf("%lu operations, %zu bytes at the end, all as expected\n", operations, model_bytes);
	free(model);
	free(transfer);
	return close(fd) < 0;
}
