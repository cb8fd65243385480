/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/locks_show.h"

#include <inttypes.h>

#include "offload/cli/text.h"

enum {
	BYTES_WIDTH = 48
};

static void show_lock(FILE *to, const struct json_value *lock)
{
	const struct json_value *file = json_find(lock, "file"), *last = json_find(lock, "last");
	const struct json_value *exclusive = json_find(lock, "exclusive");
	const struct json_value *waiting = json_find(lock, "waiting");
	uint64_t first = json_find_number(lock, "first");
	char bytes[BYTES_WIDTH];

	if (last && last->kind == JSON_NUMBER)
		snprintf(bytes, sizeof bytes, "%" PRIu64 "-%" PRIu64, first, last->number);
	else if (first == 0)
		snprintf(bytes, sizeof bytes, "all");
	else
		snprintf(bytes, sizeof bytes, "%" PRIu64 "-", first);
	fprintf(to, "%-20s %-9s %-7s %-20s ", json_find_text(lock, "client"),
	        exclusive && exclusive->number ? "exclusive" : "shared",
	        waiting && waiting->number ? "waits" : "held", bytes);
	if (file && file->kind == JSON_TEXT)
		text_put(to, file->text, file->text_bytes);
	else
		fputs("(a file that is gone, or not open)", to);
	fputc('\n', to);
}

void locks_show(FILE *to, const struct json_value *document)
{
	const struct json_value *list = json_find(document, "locks");
	uint64_t omitted = json_find_number(document, "omitted");

	if (!list || !list->first) {
		fputs("No locks are held.\n", to);
		return;
	}
	fprintf(to, "%-20s %-9s %-7s %-20s %s\n", "CLIENT", "KIND", "STATE", "BYTES", "FILE");
	for (const struct json_value *lock = list->first; lock; lock = lock->next)
		show_lock(to, lock);
	if (omitted > 0)
		fprintf(to, "and %" PRIu64 " more\n", omitted);
}
