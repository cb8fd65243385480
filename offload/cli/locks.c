/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks.c - the command that shows who has locked what, and releases what a dead client left.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/cli/arguments.h"
#include "offload/cli/command.h"
#include "offload/cli/document.h"
#include "offload/cli/locks_show.h"
#include "vfs/base/cleanup.h"
#include "vfs/export_address.h"

static int told_unknown(const char *client)
{
	command_error("%s has no locks here. 'lodestore locks' lists those who have", client);
	return COMMAND_FAILED;
}

/* What the server says to @request, shown. */
static int ask(const struct arguments *arguments, const char *path, const char *request)
{
	AUTO(document_free) struct document document = { 0 };
	char why[DOCUMENT_WHY_BYTES];
	bool unknown;
	int r = document_request(path, request, &document);

	if (r == -ENOENT || r == -ECONNREFUSED) {
		command_error("nobody answers on %s: lodestore-nfsd does not run, or serves no"
		              " locks ('nlm = no' in lodestore.conf)",
		              path);
		return COMMAND_UNREACHABLE;
	}
	if (r < 0) {
		document_why(path, r, why);
		command_error("%s", why);
		return COMMAND_UNREACHABLE;
	}
	unknown = json_find(document.value, "unknown");
	if (unknown && !(arguments->given & ARGUMENT_JSON))
		return told_unknown(arguments->release);
	if (arguments->given & ARGUMENT_JSON)
		(void) fwrite(document.text, 1, document.text_bytes, stdout);
	else if (arguments->release)
		printf("%s: %" PRIu64 " locks released\n", arguments->release,
		       json_find_number(document.value, "released"));
	else
		locks_show(stdout, document.value);
	return unknown ? COMMAND_FAILED : COMMAND_DONE;
}

static int run_locks(int argc, char **argv)
{
	char why[ARGUMENTS_WHY_BYTES], text[EXPORT_ADDRESS_TEXT_BYTES];
	AUTO(free_ptr) char *path = NULL, *request = NULL;
	struct export_address client;
	struct arguments arguments;

	if (arguments_parse(argc, argv, ARGUMENT_JSON | ARGUMENT_STATUS_SOCKET | ARGUMENT_RELEASE,
	                    0, 0, &arguments, why) < 0)
		return command_misused("locks", "%s", why);
	if (arguments.release && export_address_parse(arguments.release, &client) < 0)
		return command_misused("locks",
		                       "'%s' is no address. 'lodestore locks' lists those of the"
		                       " clients",
		                       arguments.release);
	if (asprintf(&path, "%s.locks", arguments.status_socket) < 0 ||
	    asprintf(&request, "%s%s\n", arguments.release ? "release " : "list",
	             arguments.release ? export_address_print(&client, text) : "") < 0)
		return COMMAND_FAILED;
	return ask(&arguments, path, request);
}

static const char locks_help[] =
	"  locks\n"
	"      Show what clients have locked, and who waits (NLM; ESXi's own lock files are\n"
	"      no locks of this kind).\n"
	"        --release ADDRESS     take all locks from a client that is gone for good\n"
	"        --json                one JSON object\n"
	"        --status-socket PATH  of the server; it is asked at PATH.locks\n";

const struct command locks_command = { "locks", locks_help, run_locks, false };
