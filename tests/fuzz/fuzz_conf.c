/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_conf - any bytes as a configuration file.
 *
 * What must hold: every report has a line that the text has; what is refused was reported; whatever
 * was read, each value is within its key's bounds; and sizes read back as they were printed.
 */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/base/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct values {
	uint64_t port, memory_bytes;
	bool rpcbind;
	char *listen, *socket;
	unsigned level;
};

static const char *const levels[] = { "error", "warning", "info", "debug", NULL };

static const struct conf_key keys[] = {
	{ .section = "nfsd",
	  .name = "port",
	  .kind = CONF_NUMBER,
	  .offset = offsetof(struct values, port),
	  .min = 1,
	  .max = 65535,
	  .preset = 2049 },
	{ .section = "nfsd",
	  .name = "rpcbind",
	  .kind = CONF_BOOLEAN,
	  .offset = offsetof(struct values, rpcbind),
	  .preset = 1 },
	{ .section = "nfsd",
	  .name = "listen",
	  .kind = CONF_TEXT,
	  .offset = offsetof(struct values, listen) },
	{ .section = "limits",
	  .name = "memory",
	  .kind = CONF_SIZE,
	  .offset = offsetof(struct values, memory_bytes),
	  .min = 1 << 20,
	  .max = UINT64_C(1) << 40,
	  .preset = 64 << 20,
	  .unit = "bytes" },
	{ .section = "offload",
	  .name = "socket",
	  .kind = CONF_TEXT,
	  .offset = offsetof(struct values, socket),
	  .preset_text = "/run/offload.sock" },
	{ .section = "offload",
	  .name = "level",
	  .kind = CONF_CHOICE,
	  .offset = offsetof(struct values, level),
	  .preset = 2,
	  .choices = levels },
};

enum {
	KEY_COUNT = sizeof keys / sizeof keys[0]
};

struct reports {
	unsigned count, line_count, line;
};

static void record(void *context, const char *file, unsigned line, const char *message)
{
	struct reports *reports = context;

	assert(strcmp(file, "fuzz") == 0);
	assert(line >= 1 && line <= reports->line_count);
	assert(line >= reports->line); /* in order */
	assert(message[0] != '\0' && strlen(message) < 1024);
	reports->line = line;
	reports->count++;
}

static void check_size(const char *text)
{
	uint64_t bytes, again;
	char printed[32];

	if (conf_size_parse(text, &bytes) < 0)
		return;
	(void) snprintf(printed, sizeof printed, "%" PRIu64, bytes);
	assert(conf_size_parse(printed, &again) == 0 && again == bytes);
}

static void check_nearest(const char *word)
{
	const char *nearest = conf_nearest(word, levels, 4);

	assert(!nearest || strlen(word) <= 2 * strlen(nearest) + 2);
	for (size_t i = 0; i < 4; i++) {
		if (strcmp(word, levels[i]) == 0)
			assert(nearest == levels[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reports reports = { .line_count = 1 };
	struct values values;
	char *text;
	int r;

	for (size_t i = 0; i < size; i++)
		reports.line_count += data[i] == '\n';
	assert(conf_preset(keys, KEY_COUNT, &values) == 0);
	r = conf_parse(keys, KEY_COUNT, &values, "fuzz", (const char *) data, size, record,
	               &reports);
	assert(r == (reports.count ? -EINVAL : 0));
	assert(values.port >= 1 && values.port <= 65535);
	assert(values.memory_bytes >= 1 << 20 && values.memory_bytes <= UINT64_C(1) << 40);
	assert(values.level < 4);
	assert(values.socket && values.socket[0]);
	assert(!values.listen || values.listen[0]);
	conf_done(keys, KEY_COUNT, &values);

	text = strndup((const char *) data, size);
	assert(text);
	check_size(text);
	check_nearest(text);
	free(text);
	return 0;
}
