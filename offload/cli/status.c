/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.c - the commands that show what this machine's server does: status, clients, exports.
 *
 * Each asks lodestore-nfsd's status socket twice, a second apart; rates are of that second.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "offload/cli/client.h"
#include "offload/cli/command.h"
#include "offload/cli/link.h"
#include "offload/cli/show.h"
#include "offload/cli/status_show.h"
#include "vfs/base/cleanup.h"

enum {
	APART_MS = 1000,
	ANSWER_MS = 5000,
	DOCUMENT_BYTES_MAX = 64 << 20,
	FORMAT_KNOWN = 1, /* STATUS_FORMAT of nfsd/status_text.c */
};

struct document {
	char *text;
	size_t text_bytes;
	struct json_value *value;
};

static void document_free(struct document *document)
{
	free(document->text);
	document->value = json_value_free(document->value);
}

/* ---- asking ---- */

static int cannot_ask(const char *path, int error)
{
	if (error == -EINTR)
		return COMMAND_INTERRUPTED;
	if (error == -EACCES || error == -EPERM)
		command_error("only root may ask on %s: use sudo", path);
	else if (error == -ENOENT || error == -ECONNREFUSED)
		command_error("lodestore-nfsd does not answer on %s: systemctl status"
		              " lodestore-nfsd",
		              path);
	else if (error == -EBADMSG)
		command_error("what answers on %s is no lodestore-nfsd, or a newer one than this"
		              " command",
		              path);
	else
		command_error("cannot ask lodestore-nfsd on %s: %s", path, strerror(-error));
	return COMMAND_UNREACHABLE;
}

static int receive(const char *path, struct document *document)
{
	uint64_t until_ms = link_now_ms() + ANSWER_MS;
	AUTO(close_fd) int fd = -EBADF;
	int r;

	r = link_connect_unix(path, until_ms, &fd);
	if (r == 0)
		r = link_receive_all(fd, DOCUMENT_BYTES_MAX, until_ms, &document->text,
		                     &document->text_bytes);
	if (r == 0)
		r = json_read(document->text, document->text_bytes, &document->value);
	if (r == 0 && json_find_number(document->value, "format") != FORMAT_KNOWN)
		r = -EBADMSG;
	return r;
}

/* Two of them, and a second between. */
static int ask(const char *path, struct document documents[2])
{
	int r = receive(path, &documents[0]);

	if (r == 0)
		r = link_sleep(link_now_ms() + APART_MS);
	if (r == 0)
		r = receive(path, &documents[1]);
	return r == 0 ? COMMAND_DONE : cannot_ask(path, r);
}

/* ---- the sidecar ---- */

struct sidecar {
	struct client client;
	bool answers;
	offload_job *live; /* with views into pages; those that have not ended */
	unsigned live_count;
	offload_jobs_result *pages;
	unsigned page_count;
};

static int keep_live(struct sidecar *sidecar, const offload_jobs *page)
{
	offload_job *grown = reallocarray(sidecar->live, sidecar->live_count + page->jobs.jobs_len,
	                                  sizeof *grown);

	if (!grown && page->jobs.jobs_len)
		return -ENOMEM;
	sidecar->live = grown;
	for (u_int i = 0; i < page->jobs.jobs_len; i++)
		if (show_is_live(&page->jobs.jobs_val[i]))
			grown[sidecar->live_count++] = page->jobs.jobs_val[i];
	return 0;
}

static int ask_page(struct sidecar *sidecar, uint64_t after_id, offload_jobs_result *ret_page)
{
	const offload_jobs_args args = { after_id, OFFLOAD_JOBS_MAX };
	const struct client_call call = {
		.procedure = OFFLOAD_JOBS,
		.encode = (xdrproc_t) xdr_offload_jobs_args,
		.args = &args,
		.decode = (xdrproc_t) xdr_offload_jobs_result,
		.result_bytes = sizeof *ret_page,
	};

	return client_call(&sidecar->client, &call, ret_page);
}

/* Whatever goes wrong: it does not answer. */
static void ask_sidecar(struct sidecar *sidecar, const struct arguments *arguments)
{
	static const struct place here = { .kind = PLACE_SERVER };
	uint64_t after_id = 0;
	bool eof = client_open(&sidecar->client, &here, arguments) < 0;

	while (!eof) {
		offload_jobs_result *grown = reallocarray(sidecar->pages, sidecar->page_count + 1,
		                                          sizeof *grown);
		const offload_jobs *page;

		if (!grown)
			return;
		sidecar->pages = grown;
		if (ask_page(sidecar, after_id, &grown[sidecar->page_count]) < 0)
			return;
		page = &grown[sidecar->page_count].offload_jobs_result_u.list;
		if (grown[sidecar->page_count++].status != OFFLOAD_OK || keep_live(sidecar, page))
			return;
		eof = page->eof || page->jobs.jobs_len == 0;
		if (!eof)
			after_id = page->jobs.jobs_val[page->jobs.jobs_len - 1].id;
		sidecar->answers = eof;
	}
}

static void sidecar_done(struct sidecar *sidecar)
{
	for (unsigned i = 0; i < sidecar->page_count; i++)
		xdr_free((xdrproc_t) xdr_offload_jobs_result, (char *) &sidecar->pages[i]);
	free(sidecar->pages);
	free(sidecar->live);
	client_close(&sidecar->client);
}

/* ---- showing ---- */

static uint64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

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
		show_jobs_row(stdout, &sidecar->live[i], clock_ms());
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

static int parse(int argc, char **argv, unsigned takes, struct arguments *arguments)
{
	char why[ARGUMENTS_WHY_BYTES];

	if (arguments_parse(argc, argv, takes, 0, 0, arguments, why) < 0)
		return command_misused(argv[0], "%s", why);
	return COMMAND_DONE;
}

static int run_status(int argc, char **argv)
{
	struct document documents[2] = { 0 };
	struct sidecar sidecar = { .client.fd = -EBADF };
	struct status_pair pair;
	struct arguments arguments;
	int status = parse(argc, argv, ARGUMENT_JSON | ARGUMENT_SOCKET | ARGUMENT_STATUS_SOCKET,
	                   &arguments);

	if (status == COMMAND_DONE)
		status = ask(arguments.status_socket, documents);
	if (status == COMMAND_DONE) {
		arguments.timeout_s = 0; /* it is not waited for */
		ask_sidecar(&sidecar, &arguments);
		pair = status_pair(documents[0].value, documents[1].value);
		if (arguments.given & ARGUMENT_JSON)
			print_status_json(&documents[1], &sidecar);
		else
			print_status(&pair, &sidecar, arguments.socket);
	}
	sidecar_done(&sidecar);
	document_free(&documents[0]);
	document_free(&documents[1]);
	return status;
}

static int run_list(int argc, char **argv)
{
	struct document documents[2] = { 0 };
	struct status_pair pair;
	struct arguments arguments;
	int status = parse(argc, argv, ARGUMENT_JSON | ARGUMENT_STATUS_SOCKET, &arguments);

	if (status == COMMAND_DONE)
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
	"        --socket PATH         where the offload service is asked\n";

static const char clients_help[] =
	"  clients\n"
	"      Who uses this machine's server, and how much. Options: --json, --status-socket.\n";

static const char exports_help[] =
	"  exports\n"
	"      What it serves, and how much that is used. Options: --json, --status-socket.\n";

const struct command status_command = { "status", status_help, run_status, false };
const struct command clients_command = { "clients", clients_help, run_list, false };
const struct command exports_command = { "exports", exports_help, run_list, false };
