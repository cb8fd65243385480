/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stat.c - what a file takes up, and what the server can do with it or in a directory.
 */
#include "offload/cli/session.h"

static int ask_support(struct session *session, const offload_file *file,
                       offload_support_result *ret_result)
{
	const struct client_call call = {
		.procedure = OFFLOAD_SUPPORT,
		.encode = (xdrproc_t) xdr_offload_file,
		.args = file,
		.decode = (xdrproc_t) xdr_offload_support_result,
		.result_bytes = sizeof *ret_result,
	};
	int status = session_call(session, &call, ret_result);

	if (status == COMMAND_DONE && ret_result->status != OFFLOAD_OK)
		status = session_refused(session, ret_result->status,
		                         &ret_result->offload_support_result_u.text);
	return status;
}

/* A directory is OFFLOAD_ERR_NOT_FILE, and no failure. */
static int ask_stat(struct session *session, const offload_file *file,
                    offload_stat_result *ret_result)
{
	const struct client_call call = {
		.procedure = OFFLOAD_STAT,
		.encode = (xdrproc_t) xdr_offload_file,
		.args = file,
		.decode = (xdrproc_t) xdr_offload_stat_result,
		.result_bytes = sizeof *ret_result,
	};
	int status = session_call(session, &call, ret_result);

	if (status == COMMAND_DONE && ret_result->status != OFFLOAD_OK &&
	    ret_result->status != OFFLOAD_ERR_NOT_FILE)
		status = session_refused(session, ret_result->status,
		                         &ret_result->offload_stat_result_u.text);
	return status;
}

static void print_json(const struct session *session, const offload_support *support,
                       const offload_stat *stat)
{
	struct json json = { stdout };

	json_begin(&json, NULL, '{');
	json_word(&json, "path", session->places[0].path);
	if (stat)
		show_stat_json(&json, "stat", stat);
	else
		json_null(&json, "stat");
	show_support_json(&json, "support", support);
	json_end(&json, '}');
	fputc('\n', stdout);
}

static void print(const struct session *session, const offload_support *support,
                  const offload_stat *stat)
{
	if (session->arguments.given & ARGUMENT_JSON) {
		print_json(session, support, stat);
		return;
	}
	if (stat)
		show_stat(stdout, stat);
	show_support(stdout, support);
}

static int run_stat(int argc, char **argv)
{
	static const struct session_words words = {
		.takes = ARGUMENT_COMMON,
		.min = 1,
		.max = 1,
		.places = { PLACE_FILE },
	};
	offload_support_result support = { 0 };
	offload_stat_result stat = { 0 };
	struct session session;
	offload_file file;
	int status = session_begin(&session, argc, argv, &words);

	if (status == COMMAND_DONE) {
		file = place_file(&session.places[0]);
		status = ask_support(&session, &file, &support);
	}
	if (status == COMMAND_DONE)
		status = ask_stat(&session, &file, &stat);
	if (status == COMMAND_DONE)
		print(&session, &support.offload_support_result_u.support,
		      stat.status == OFFLOAD_OK ? &stat.offload_stat_result_u.stat : NULL);
	xdr_free((xdrproc_t) xdr_offload_support_result, (char *) &support);
	xdr_free((xdrproc_t) xdr_offload_stat_result, (char *) &stat);
	session_end(&session);
	return status;
}

static const char stat_help[] =
	"  stat FILE|DIRECTORY\n"
	"      Tell a file's length, what it has allocated, and what of it no other file\n"
	"      shares; and what the server can do there.\n";

const struct command stat_command = { "stat", stat_help, run_stat, true };
