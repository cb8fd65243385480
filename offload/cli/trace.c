/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - the command that shows a client's calls as they end, until Ctrl-C.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/cli/arguments.h"
#include "offload/cli/command.h"
#include "offload/cli/document.h"
#include "offload/cli/link.h"
#include "offload/cli/trace_show.h"
#include "vfs/base/cleanup.h"
#include "vfs/export_address.h"

enum {
	CONNECT_MS = 5000
};

/* A line as it came. False: nobody reads what we write. */
static bool show_line(const char *line, size_t bytes, bool as_json)
{
	struct json_value *event;

	if (as_json)
		(void) fwrite(line, 1, bytes, stdout);
	else if (json_read(line, bytes, &event) == 0) {
		trace_show(stdout, event);
		(void) json_value_free(event);
	}
	return fflush(stdout) == 0;
}

static int follow(int fd, bool as_json)
{
	AUTO(free_ptr) char *line = NULL;
	size_t room = 0;
	FILE *from = fcntl(fd, F_SETFL, 0) < 0 ? NULL : fdopen(fd, "r"); /* it shall wait */
	ssize_t bytes = 0;

	if (!from)
		return COMMAND_FAILED;
	if (!as_json)
		trace_show_head(stdout);
	(void) fflush(stdout);
	while (bytes >= 0) {
		bytes = getline(&line, &room, from);
		if (bytes > 0 && !show_line(line, (size_t) bytes, as_json))
			break;
	}
	(void) fclose(from);
	if (bytes >= 0)
		return COMMAND_FAILED;
	command_error("lodestore-nfsd has ended the trace: is it being stopped?");
	return COMMAND_UNREACHABLE;
}

static int ask(const char *path, const char *address, int *ret_fd)
{
	uint64_t until_ms = link_now_ms() + CONNECT_MS;
	char request[EXPORT_ADDRESS_TEXT_BYTES + 16], why[DOCUMENT_WHY_BYTES];
	AUTO(close_fd) int fd = -EBADF;
	int r = link_connect_unix(path, until_ms, &fd);

	snprintf(request, sizeof request, "trace %s\n", address);
	if (r == 0)
		r = link_send(fd, (const uint8_t *) request, strlen(request), until_ms);
	if (r < 0) {
		document_why(path, r, why);
		command_error("%s", why);
		return COMMAND_UNREACHABLE;
	}
	*ret_fd = take_fd(&fd);
	return COMMAND_DONE;
}

static int run_trace(int argc, char **argv)
{
	char why[ARGUMENTS_WHY_BYTES], address[EXPORT_ADDRESS_TEXT_BYTES];
	struct export_address client;
	struct arguments arguments;
	AUTO(free_ptr) char *path = NULL;
	int fd, status;

	if (arguments_parse(argc, argv, ARGUMENT_JSON | ARGUMENT_STATUS_SOCKET, 1, 1, &arguments,
	                    why) < 0)
		return command_misused("trace", "%s", why);
	if (export_address_parse(arguments.words[0], &client) < 0)
		return command_misused("trace",
		                       "'%s' is no address. 'lodestore clients' lists those of the"
		                       " clients",
		                       arguments.words[0]);
	if (asprintf(&path, "%s.trace", arguments.status_socket) < 0)
		return COMMAND_FAILED;
	status = ask(path, export_address_print(&client, address), &fd);
	return status == COMMAND_DONE ? follow(fd, arguments.given & ARGUMENT_JSON) : status;
}

static const char trace_help[] =
	"  trace ADDRESS\n"
	"      Show a client's calls as this machine's server answers them, until Ctrl-C.\n"
	"        --json                one JSON object in a line for each\n"
	"        --status-socket PATH  of the server; it is asked at PATH.trace\n";

const struct command trace_command = { "trace", trace_help, run_trace, false };
