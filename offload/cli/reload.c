/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.c - the command that has the server read its exports again, and tells what changed: the
 * server's status document says so, once it has done it.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/cli/arguments.h"
#include "offload/cli/command.h"
#include "offload/cli/daemons.h"
#include "offload/cli/document.h"
#include "offload/cli/link.h"
#include "offload/cli/reload_show.h"
#include "vfs/base/cleanup.h"

enum {
	DONE_MS = 15000, /* the server looks at the disks of its exports meanwhile */
	AGAIN_MS = 100,
};

/* ---- what came of it ---- */

/* How often the server has reloaded; UINT64_MAX: it cannot be asked. */
static uint64_t reloads(const char *socket, struct document *document)
{
	if (document_ask(socket, document) < 0)
		return UINT64_MAX;
	return json_find_number(json_find(document->value, "reload"), "count");
}

/* When it has done so once more than @before. */
static int tell_outcome(const char *socket, uint64_t before)
{
	uint64_t until_ms = link_now_ms() + DONE_MS;
	struct document document = { 0 };
	int status = COMMAND_FAILED;

	while (reloads(socket, &document) == before && link_now_ms() < until_ms) {
		document_free(&document);
		(void) link_sleep(link_now_ms() + AGAIN_MS);
	}
	if (document.value)
		status = reload_show(stdout, json_find(document.value, "reload"), before)
		                 ? COMMAND_DONE
		                 : COMMAND_FAILED;
	document_free(&document);
	if (status != COMMAND_DONE)
		command_error("the server has not taken it over: journalctl -u lodestore-nfsd says"
		              " why. It goes on as it was");
	return status;
}

/* ---- services ---- */

static const char *const units[] = { "lodestore-nfsd.service", "lodestore-offloadd.service" };

static int systemctl(const char *verb, const char *option, const char *unit)
{
	char program[] = "systemctl", verb_copy[32], option_copy[32], unit_copy[64];
	char *argv[] = { program, verb_copy, option_copy, unit_copy, NULL };

	snprintf(verb_copy, sizeof verb_copy, "%s", verb);
	snprintf(option_copy, sizeof option_copy, "%s", option);
	snprintf(unit_copy, sizeof unit_copy, "%s", unit);
	return daemons_run(argv);
}

/* Both programs read the exports, so both are told. */
static int reload_units(bool must_run)
{
	int running = 0, status = COMMAND_DONE, r;

	for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
		r = systemctl("is-active", "--quiet", units[i]);
		if (r == -ENOENT && !must_run)
			break;
		if (r < 0) {
			command_error("cannot run systemctl: %s", strerror(-r));
			return COMMAND_FAILED;
		}
		if (r != 0)
			continue;
		running++;
		if (systemctl("reload", "--no-pager", units[i]) != 0)
			status = COMMAND_FAILED;
		else
			printf("%s reads the exports again\n", units[i]);
	}
	if (running > 0)
		return status;
	if (!must_run) {
		puts("No lodestore service runs here: it counts from its start");
		return COMMAND_DONE;
	}
	command_error("no lodestore service runs here: systemctl status lodestore-nfsd. A server"
	              " that was started by hand reads them again on kill -HUP PID");
	return COMMAND_FAILED;
}

int daemons_reload(bool must_run)
{
	const char *socket = ARGUMENTS_STATUS_SOCKET_DEFAULT;
	struct document document = { 0 };
	uint64_t before;
	int status;

	if (daemons_check_config(0, NULL) != COMMAND_DONE) {
		command_error("nothing was reloaded; mend the mistakes above first");
		return COMMAND_FAILED;
	}
	before = reloads(socket, &document);
	document_free(&document);
	status = reload_units(must_run);
	return status == COMMAND_DONE && before != UINT64_MAX ? tell_outcome(socket, before)
	                                                      : status;
}

/* ---- a server that was started by hand ---- */

static int reload_process(const char *socket)
{
	struct document document = { 0 };
	char why[DOCUMENT_WHY_BYTES];
	uint64_t before;
	pid_t pid;
	int r = document_ask(socket, &document);

	pid = (pid_t) json_find_number(document.value, "pid");
	before = json_find_number(json_find(document.value, "reload"), "count");
	document_free(&document);
	if (r < 0) {
		document_why(socket, r, why);
		command_error("%s", why);
		return COMMAND_UNREACHABLE;
	}
	if (pid < 1 || kill(pid, SIGHUP) < 0) {
		command_error("cannot tell process %d: %s", (int) pid, strerror(errno));
		return COMMAND_FAILED;
	}
	return tell_outcome(socket, before);
}

static int run_reload(int argc, char **argv)
{
	struct arguments arguments;
	char why[ARGUMENTS_WHY_BYTES];

	if (arguments_parse(argc, argv, ARGUMENT_STATUS_SOCKET, 0, 0, &arguments, why) < 0)
		return command_misused("reload", "%s", why);
	if (arguments.given & ARGUMENT_STATUS_SOCKET)
		return reload_process(arguments.status_socket);
	return daemons_reload(true);
}

static const char reload_help[] =
	"  reload\n"
	"      Have this machine's services read their exports again, after checking them, and\n"
	"      tell what changed and what needs a restart.\n"
	"        --status-socket PATH  instead the lodestore-nfsd that answers there\n";

const struct command reload_command = { "reload", reload_help, run_reload, false };
