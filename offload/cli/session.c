/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/session.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "offload/cli/link.h"
#include "rpcgen/offload_text.h"
#include "vfs/base/conf.h"

/* ---- beginning ---- */

static int parse_place(struct session *session, int word, unsigned kinds)
{
	const char *text = session->arguments.words[word], *why = NULL;
	struct place *place = &session->places[word];
	char here[PLACE_PATH_BYTES];
	int r;

	r = place_parse(text, getcwd(here, sizeof here), place, &why);
	if (r == 0 && !(place->kind & kinds))
		why = place->kind == PLACE_JOB    ? "it takes a file, not the number of a job"
		      : place->kind == PLACE_FILE ? "it takes no file"
		                                  : "a path is missing behind the host";
	return why ? command_misused(session->arguments.command, "'%s': %s", text, why)
	           : COMMAND_DONE;
}

static int parse_size(struct session *session, const char *text)
{
	uint64_t *bytes = &session->bytes;

	if (conf_size_parse(text, bytes) < 0 || *bytes == 0 || *bytes > INT64_MAX)
		return command_misused(session->arguments.command,
		                       "'%s' is no size. Write bytes, or a number with K, M, G or"
		                       " T, as in 40G",
		                       text);
	return COMMAND_DONE;
}

static int check_places(struct session *session)
{
	const struct place *first = &session->places[0], *second = &session->places[1];
	const struct arguments *arguments = &session->arguments;

	if (second->kind && strcmp(first->host, second->host) != 0)
		return command_misused(arguments->command,
		                       "'%s' and '%s' lie on different servers, and a server"
		                       " copies its own files only. Name both on one",
		                       arguments->words[0], arguments->words[1]);
	if ((arguments->given & ARGUMENT_SOCKET) && first->host[0])
		return command_misused(arguments->command,
		                       "--socket is for this machine's server; '%s:' is asked"
		                       " through the network",
		                       first->host);
	if ((arguments->given & ARGUMENT_PORT) && !first->host[0])
		return command_misused(arguments->command,
		                       "--port is for servers in the network: write HOST:/path");
	return COMMAND_DONE;
}

static int parse_words(struct session *session, const struct session_words *words)
{
	int status = COMMAND_DONE;

	for (int i = 0; i < session->arguments.word_count && status == COMMAND_DONE; i++) {
		if (i == 1 && words->second_is_size)
			status = parse_size(session, session->arguments.words[i]);
		else
			status = parse_place(session, i, words->places[i]);
	}
	return status == COMMAND_DONE ? check_places(session) : status;
}

static void show_lost(void *context, const char *why)
{
	struct session *session = context;

	fprintf(stderr, "%slodestore: %s. Trying again for %u s\n",
	        session->shows_bar ? "\r\033[K" : "", why, session->arguments.timeout_s);
}

int session_begin(struct session *session, int argc, char **argv, const struct session_words *words)
{
	char why[ARGUMENTS_WHY_BYTES];
	int r;

	*session = (struct session){ .client = { .fd = -EBADF } };
	if (arguments_parse(argc, argv, words->takes, words->min, words->max, &session->arguments,
	                    why) < 0)
		return command_misused(argv[0], "%s", why);
	session->shows_bar = isatty(STDERR_FILENO) && !(session->arguments.given & ARGUMENT_JSON);
	r = parse_words(session, words);
	if (r != COMMAND_DONE)
		return r;
	if (client_open(&session->client, &session->places[0], &session->arguments) < 0)
		return session_fail(session, COMMAND_UNREACHABLE, "unreachable",
		                    session->client.why, strlen(session->client.why), "");
	session->client.lost = show_lost;
	session->client.context = session;
	snprintf(session->prefix, sizeof session->prefix, "%s%s", session->client.name,
	         session->client.name[0] ? ":" : "");
	link_catch_interrupt();
	return COMMAND_DONE;
}

void session_end(struct session *session)
{
	client_close(&session->client);
}

/* ---- telling ---- */

static void print_error(const struct session *session, const char *status_name, const char *text,
                        size_t text_bytes)
{
	struct json json = { stdout };

	json_begin(&json, NULL, '{');
	json_begin(&json, "error", '{');
	json_word(&json, "status", status_name);
	json_text(&json, "text", text, text_bytes);
	if (session->job_id)
		json_u64(&json, "job", session->job_id);
	else
		json_null(&json, "job");
	json_end(&json, '}');
	json_end(&json, '}');
	fputc('\n', stdout);
}

int session_fail(struct session *session, enum command_exit exit, const char *status_name,
                 const char *text, size_t text_bytes, const char *advice)
{
	fprintf(stderr, "%slodestore: %s", session->shows_bar ? "\r\033[K" : "",
	        session->arguments.command);
	for (int i = 0; i < session->arguments.word_count; i++)
		fprintf(stderr, " %s", session->arguments.words[i]);
	fputs(": ", stderr);
	text_put(stderr, text, text_bytes);
	fprintf(stderr, "%s%s\n", advice[0] ? ". " : "", advice);
	if (session->arguments.given & ARGUMENT_JSON)
		print_error(session, status_name, text, text_bytes);
	return exit;
}

int session_refused(struct session *session, offload_status status, const offload_text *text)
{
	const char *why = text->offload_text_val;
	size_t why_bytes = text->offload_text_len;

	if (why_bytes == 0) {
		why = offload_status_text(status);
		why_bytes = strlen(why);
	}
	return session_fail(
		session, status == OFFLOAD_ERR_UNAVAILABLE ? COMMAND_UNREACHABLE : COMMAND_FAILED,
		offload_status_name(status), why, why_bytes,
		show_advice(status, session->arguments.given & ARGUMENT_FAST));
}

/* How to come back to a job that is left alone. */
static void come_back(const struct session *session, char *to, size_t to_bytes)
{
	const struct arguments *arguments = &session->arguments;
	char option[160] = "", which[CLIENT_NAME_BYTES + 32];

	if (arguments->given & ARGUMENT_PORT)
		snprintf(option, sizeof option, " --port %u", arguments->port);
	if (arguments->given & ARGUMENT_SOCKET)
		snprintf(option, sizeof option, " --socket %s", arguments->socket);
	snprintf(which, sizeof which, "%s%llu", session->prefix,
	         (unsigned long long) session->job_id);
	snprintf(to, to_bytes,
	         "The job goes on. Look at it: lodestore jobs %s%s; wait: lodestore wait %s%s;"
	         " stop it: lodestore cancel %s%s",
	         which, option, which, option, which, option);
}

int session_call(struct session *session, const struct client_call *call, void *ret_result)
{
	char advice[2048] = "";
	const char *why = session->client.why;
	int r = client_call(&session->client, call, ret_result);

	if (r == 0)
		return COMMAND_DONE;
	if (session->job_id)
		come_back(session, advice, sizeof advice);
	else if (r == -EINTR)
		snprintf(advice, sizeof advice,
		         "If the server has begun it already, 'lodestore jobs %s' shows it",
		         session->prefix);
	if (r == -EINTR)
		return session_fail(session, COMMAND_INTERRUPTED, "interrupted", "interrupted",
		                    strlen("interrupted"), advice);
	return session_fail(session, COMMAND_UNREACHABLE, "unreachable", why, strlen(why), advice);
}
