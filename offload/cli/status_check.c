/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/status_check.h"

#include <errno.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offload/cli/document.h"
#include "offload/cli/health.h"
#include "offload/cli/link.h"
#include "offload/cli/sidecar.h"
#include "vfs/base/cleanup.h"

enum {
	SPACE_MS = 3000,
	WHOLE_S = 9, /* monitoring systems give a plug-in 10 s */
};

/* Something that answers nobody: which of the programs it is, another call will tell. */
static void out_of_time(int number)
{
	static const char line[] = "LODESTORE CRITICAL - lodestore-nfsd or lodestore-offloadd"
				   " takes more than 9 s to answer: systemctl status\n";

	(void) !write(STDOUT_FILENO, line, sizeof line - 1);
	_exit(HEALTH_CRITICAL);
}

static int cannot_ask(const char *path, int error)
{
	char why[DOCUMENT_WHY_BYTES];
	bool down = error == -ENOENT || error == -ECONNREFUSED || error == -ETIMEDOUT;

	document_why(path, error, why);
	return (int) health_tell(stdout, down ? HEALTH_CRITICAL : HEALTH_UNKNOWN, why);
}

/* A row an export that is served. NULL: no memory. */
static struct space *spaces_new(const struct json_value *now, size_t *ret_count)
{
	const struct json_value *exports = json_find(now, "exports");
	struct space *spaces;
	size_t count = 0;

	for (const struct json_value *row = exports ? exports->first : NULL; row; row = row->next)
		count++;
	spaces = calloc(count + 1, sizeof *spaces);
	*ret_count = 0;
	for (const struct json_value *row = exports ? exports->first : NULL; row && spaces;
	     row = row->next)
		spaces[(*ret_count)++].path = json_find_text(row, "path");
	return spaces;
}

static int judge(struct arguments *arguments, const struct document documents[2])
{
	struct health_seen seen = {
		.pair = status_pair(documents[0].value, documents[1].value),
		.warn_space_percent = arguments->warn_space_percent,
		.crit_space_percent = arguments->crit_space_percent,
	};
	AUTO(free_ptr) struct space *spaces = spaces_new(documents[1].value, &seen.space_count);
	struct sidecar sidecar = SIDECAR_NONE;
	int status;

	if (!spaces || space_ask(spaces, seen.space_count, link_now_ms() + SPACE_MS) < 0)
		return (int) health_tell(stdout, HEALTH_UNKNOWN, "this machine is out of memory");
	arguments->timeout_s = 0;
	sidecar_ask(&sidecar, arguments);
	seen.spaces = spaces;
	seen.offload_answers = sidecar.answers;
	seen.live_jobs = sidecar.live_count;
	status = (int) health_judge(stdout, &seen);
	sidecar_done(&sidecar);
	return status;
}

int status_check(struct arguments *arguments)
{
	struct document documents[2] = { 0 };
	int status, r;

	(void) signal(SIGALRM, out_of_time);
	(void) alarm(WHOLE_S);
	r = document_ask_twice(arguments->status_socket, documents);
	status = r < 0 ? cannot_ask(arguments->status_socket, r) : judge(arguments, documents);
	(void) alarm(0);
	document_free(&documents[0]);
	document_free(&documents[1]);
	return status;
}

bool status_check_wanted(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--check") == 0)
			return true;
	return false;
}

int status_check_misused(const char *why)
{
	return (int) health_tell(stdout, HEALTH_UNKNOWN, why);
}
