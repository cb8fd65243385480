/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/reload_show.h"

#include <inttypes.h>
#include <string.h>

#include "offload/cli/text.h"

static unsigned show_paths(FILE *to, const struct json_value *reload, const char *list)
{
	const struct json_value *paths = json_find(reload, list);
	unsigned count = 0;

	for (const struct json_value *path = paths ? paths->first : NULL; path; path = path->next) {
		fprintf(to, "%-12s ", list);
		text_put(to, path->text ? path->text : "", path->text_bytes);
		fputc('\n', to);
		count++;
	}
	return count;
}

/* The sidecar has a section of its own. */
static void show_restarts(FILE *to, const struct json_value *reload)
{
	const struct json_value *names = json_find(reload, "restart");

	for (const struct json_value *name = names ? names->first : NULL; name; name = name->next) {
		const char *text = name->text ? name->text : "";
		const char *unit = strncmp(text, "offload.", strlen("offload.")) == 0
		                           ? "lodestore-nfsd lodestore-offloadd"
		                           : "lodestore-nfsd";

		fprintf(to, "not yet      %s: it counts after 'systemctl restart %s'\n", text,
		        unit);
	}
}

bool reload_show(FILE *to, const struct json_value *reload, uint64_t before)
{
	const struct json_value *good = json_find(reload, "good");
	uint64_t more = json_find_number(reload, "more");
	unsigned count = 0;

	if (json_find_number(reload, "count") == before || !good || !good->number)
		return false;
	count += show_paths(to, reload, "removed");
	count += show_paths(to, reload, "changed");
	count += show_paths(to, reload, "added");
	if (more > 0)
		fprintf(to, "and          %" PRIu64 " more exports\n", more);
	else if (count == 0)
		fputs("exports      as they were\n", to);
	show_restarts(to, reload);
	return true;
}
