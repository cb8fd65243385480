/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.c - the commands that show what this machine's server does: status, clients, exports.
 *
 * Each asks lodestore-nfsd's status socket twice, a second apart; rates are of that second.
 */
#include <errno.h>
#include <string.h>

#include "offload/cli/command.h"
#include "offload/cli/document.h"
#include "offload/cli/show.h"
#include "offload/cli/sidecar.h"
#include "offload/cli/status_check.h"
#include "offload/cli/status_show.h"
#include "vfs/base/clock.h"

/* ---- showing ---- */

static void print_status(const struct status_pair *pair, const struct sidecar *sidecar,
                         const char *socket)
{
	status_show_server(stdout, pair);
	if (sidecar->answers)
		printf("offload      answers on %s; jobs that have not ended: %u\n\n", socket,
		       sidecar->live_count);
	else
		printf("offload      does not answer on %s, hosts copy for themselves: systemctl"
		       " status lodestore-offloadd\n\n",
		       socket);
	status_show_rows(stdout, pair, "exports");
	putchar('\n');
	status_show_rows(stdout, pair, "clients");
	if (sidecar->live_count == 0)
		return;
	putchar('\n');
	show_jobs_head(stdout);
	for (unsigned i = 0; i < sidecar->live_count; i++)
		show_jobs_row(stdout, &sidecar->live[i], clock_ms(CLOCK_REALTIME));
}

static void print_status_json(const struct document *document, const struct sidecar *sidecar)
{
	struct json json = { stdout };
	const char *trouble = status_trouble(document->value);
	int bytes = (int) document->text_bytes;

	while (bytes > 0 && document->text[bytes - 1] == '\n')
		bytes--;
	printf("{\"status\": %.*s, ", bytes, document->text);
	json_word(&json, "trouble", trouble);
	json_begin(&json, "offload", '{');
	json_bool(&json, "answers", sidecar->answers);
	json_begin(&json, "jobs", '[');
	for (unsigned i = 0; i < sidecar->live_count; i++)
		show_job_json(&json, NULL, &sidecar->live[i]);
	json_end(&json, ']');
	json_end(&json, '}');
	puts("}");
}

/* ---- the commands ---- */

static int ask(const char *path, struct document documents[2])
{
	char why[DOCUMENT_WHY_BYTES];
	int r = document_ask_twice(path, documents);

	if (r == 0)
		return COMMAND_DONE;
	if (r == -EINTR)
		return COMMAND_INTERRUPTED;
	document_why(path, r, why);
	command_error("%s", why);
	return COMMAND_UNREACHABLE;
}

static int show(struct arguments *arguments)
{
	struct document documents[2] = { 0 };
	struct sidecar sidecar = SIDECAR_NONE;
	int status = ask(arguments->status_socket, documents);

	if (status == COMMAND_DONE) {
		struct status_pair pair = status_pair(documents[0].value, documents[1].value);

		arguments->timeout_s = 0; /* it is not waited for */
		sidecar_ask(&sidecar, arguments);
		if (arguments->given & ARGUMENT_JSON)
			print_status_json(&documents[1], &sidecar);
		else
			print_status(&pair, &sidecar, arguments->socket);
	}
	sidecar_done(&sidecar);
	document_free(&documents[0]);
	document_free(&documents[1]);
	return status;
}

static int run_status(int argc, char **argv)
{
	const unsigned takes = ARGUMENT_JSON | ARGUMENT_SOCKET | ARGUMENT_STATUS_SOCKET |
	                       ARGUMENT_CHECK | ARGUMENT_SPACE;
	struct arguments arguments;
	char why[ARGUMENTS_WHY_BYTES];

	if (arguments_parse(argc, argv, takes, 0, 0, &arguments, why) < 0)
		return status_check_wanted(argc, argv) ? status_check_misused(why)
		                                       : command_misused("status", "%s", why);
	if (arguments.given & ARGUMENT_CHECK)
		return status_check(&arguments);
	if (arguments.given & ARGUMENT_SPACE)
		return command_misused("status", "--warn-space and --crit-space go with --check");
	return show(&arguments);
}

static int run_list(int argc, char **argv)
{
	struct document documents[2] = { 0 };
	struct status_pair pair;
	struct arguments arguments;
	char why[ARGUMENTS_WHY_BYTES];
	int status;

	if (arguments_parse(argc, argv, ARGUMENT_JSON | ARGUMENT_STATUS_SOCKET, 0, 0, &arguments,
	                    why) < 0)
		return command_misused(argv[0], "%s", why);
	status = ask(arguments.status_socket, documents);
	if (status == COMMAND_DONE) {
		pair = status_pair(documents[0].value, documents[1].value);
		if (arguments.given & ARGUMENT_JSON)
			status_rows_json(stdout, &pair, argv[0]);
		else
			status_show_rows(stdout, &pair, argv[0]);
	}
	document_free(&documents[0]);
	document_free(&documents[1]);
	return status;
}

static const char status_help[] =
	"  status\n"
	"      Show what this machine's server does: its health, rates over a second, exports,\n"
	"      clients and jobs.\n"
	"        --json                one JSON object instead\n"
	"        --status-socket PATH  where it is asked (default " ARGUMENTS_STATUS_SOCKET_DEFAULT
	")\n"
	"        --socket PATH         where the offload service is asked\n"
	"        --check               one line for a monitoring system, which the exit status\n"
	"                              goes with: 0 good, 1 warning, 2 critical, 3 unknown\n"
	"        --warn-space N%       warn when less of an export is free (default 10%)\n"
	"        --crit-space N%       critical when less is (default 3%)\n";

static const char clients_help[] =
	"  clients\n"
	"      Who uses this machine's server, and how much. Options: --json, --status-socket.\n";

static const char exports_help[] =
	"  exports\n"
	"      What it serves, and how much that is used. Options: --json, --status-socket.\n";

const struct command status_command = { "status", status_help, run_status, false };
const struct command clients_command = { "clients", clients_help, run_list, false };
const struct command exports_command = { "exports", exports_help, run_list, false };
