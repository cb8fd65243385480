/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.c - a job from the call that begins it to its end:
 *
 *     session_run_job      begin it; with --no-wait tell its number, and that is all
 *     session_follow       WAIT until it has ended, with a bar on a terminal
 *     session_tell_end     what came of it
 *
 * The server answers WAIT as soon as the job ends. A sidecar that is down meanwhile is waited for,
 * as client.h has it for nfsd: the job goes on when it is back.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "offload/cli/link.h"
#include "offload/cli/session.h"
#include "rpcgen/offload_text.h"
#include "vfs/base/cleanup.h"

enum {
	BAR_WAIT_S = 1, /* how often it moves */
	COLUMNS_DEFAULT = 80,
	RETRY_MS = 500,
	MS_PER_S = 1000,
};

/* ---- calls ---- */

static int ask(struct session *session, const struct client_call *call,
               offload_job_result *ret_result)
{
	int status = session_call(session, call, ret_result);

	if (status == COMMAND_DONE && ret_result->status == OFFLOAD_OK)
		session->job_id = ret_result->offload_job_result_u.job.id;
	return status;
}

void session_free_job(offload_job_result *result)
{
	xdr_free((xdrproc_t) xdr_offload_job_result, (char *) result);
	*result = (offload_job_result){ .status = OFFLOAD_ERR_NO_JOB };
}

int session_ask_job(struct session *session, uint32_t procedure, xdrproc_t encode, const void *args,
                    offload_job_result *ret_result)
{
	struct client_call call = {
		.procedure = procedure,
		.encode = encode,
		.args = args,
		.decode = (xdrproc_t) xdr_offload_job_result,
		.result_bytes = sizeof *ret_result,
	};
	int status = ask(session, &call, ret_result);

	if (status != COMMAND_DONE || ret_result->status == OFFLOAD_OK)
		return status;
	status = session_refused(session, ret_result->status,
	                         &ret_result->offload_job_result_u.text);
	session_free_job(ret_result);
	return status;
}

/* ---- waiting ---- */

static void draw_bar(const offload_job *job)
{
	struct winsize size = { .ws_col = COLUMNS_DEFAULT };
	char bar[SHOW_BAR_BYTES];

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		size.ws_col = COLUMNS_DEFAULT;
	show_bar(bar, job, size.ws_col);
	fprintf(stderr, "\r%s\033[K", bar);
}

/* The sidecar is down: patience until @until_ms. */
static int be_patient(struct session *session, const offload_text *text, uint64_t until_ms,
                      bool *told)
{
	uint64_t now_ms = link_now_ms();

	if (now_ms >= until_ms)
		return session_refused(session, OFFLOAD_ERR_UNAVAILABLE, text);
	if (!*told)
		session->client.lost(session->client.context,
		                     offload_status_text(OFFLOAD_ERR_UNAVAILABLE));
	*told = true;
	(void) link_sleep(now_ms + RETRY_MS); /* Ctrl-C: the next call ends with it */
	return COMMAND_DONE;
}

/* One WAIT that is answered with the job, however often it has to be asked for. */
static int wait_once(struct session *session, offload_job_result *result)
{
	uint64_t until_ms = link_now_ms() + (uint64_t) session->arguments.timeout_s * MS_PER_S;
	offload_wait_args args = {
		.which = { OFFLOAD_WHICH_ID, { .id = session->job_id } },
		.wait_s = session->shows_bar ? BAR_WAIT_S : OFFLOAD_WAIT_S_MAX,
	};
	struct client_call call = {
		.procedure = OFFLOAD_WAIT,
		.encode = (xdrproc_t) xdr_offload_wait_args,
		.args = &args,
		.wait_s = args.wait_s,
		.decode = (xdrproc_t) xdr_offload_job_result,
		.result_bytes = sizeof *result,
	};
	bool told = false;
	int status;

	for (;;) {
		const offload_text *text = &result->offload_job_result_u.text;

		session_free_job(result);
		status = ask(session, &call, result);
		if (status != COMMAND_DONE || result->status == OFFLOAD_OK)
			return status;
		if (result->status != OFFLOAD_ERR_UNAVAILABLE)
			return session_refused(session, result->status, text);
		status = be_patient(session, text, until_ms, &told);
		if (status != COMMAND_DONE)
			return status;
	}
}

int session_follow(struct session *session, offload_job_result *result)
{
	int status = COMMAND_DONE;
	bool drawn = false;

	while (status == COMMAND_DONE && show_is_live(&result->offload_job_result_u.job)) {
		status = wait_once(session, result);
		if (status == COMMAND_DONE && session->shows_bar &&
		    show_is_live(&result->offload_job_result_u.job)) {
			draw_bar(&result->offload_job_result_u.job);
			drawn = true;
		}
	}
	if (drawn && status == COMMAND_DONE)
		fputs("\r\033[K", stderr);
	return status;
}

/* ---- the end ---- */

void session_print_job(const offload_job *job)
{
	struct json json = { stdout };

	json_begin(&json, NULL, '{');
	show_job_json(&json, "job", job);
	json_end(&json, '}');
	fputc('\n', stdout);
}

int session_tell_end(struct session *session, const offload_job *job)
{
	bool json = session->arguments.given & ARGUMENT_JSON;
	const char *advice = show_advice(job->status, job->flags & OFFLOAD_CLONE_FAST);

	if (json)
		session_print_job(job);
	if (job->state == OFFLOAD_STATE_COMPLETE) {
		if (!json)
			show_done(stdout, job, session->prefix);
		return COMMAND_DONE;
	}
	fprintf(stderr, "lodestore: the ");
	show_task(stderr, job, session->prefix);
	fprintf(stderr, " %s: ", job->state == OFFLOAD_STATE_CANCELLED ? "was stopped" : "failed");
	if (job->text.offload_text_len)
		text_put(stderr, job->text.offload_text_val, job->text.offload_text_len);
	else
		fputs(offload_status_text(job->status), stderr);
	fprintf(stderr, "%s%s\n", advice[0] ? ". " : "", advice);
	return COMMAND_FAILED;
}

static int tell_begin(const struct session *session, const offload_job *job)
{
	if (session->arguments.given & ARGUMENT_JSON)
		session_print_job(job);
	else
		printf("%llu\n", (unsigned long long) job->id);
	return COMMAND_DONE;
}

int session_run_job(struct session *session, uint32_t procedure, xdrproc_t encode, const void *args)
{
	offload_job_result result = { 0 };
	int status = session_ask_job(session, procedure, encode, args, &result);

	if (status != COMMAND_DONE)
		return status;
	if (session->arguments.given & ARGUMENT_NO_WAIT) {
		status = tell_begin(session, &result.offload_job_result_u.job);
	} else {
		status = session_follow(session, &result);
		if (status == COMMAND_DONE)
			status = session_tell_end(session, &result.offload_job_result_u.job);
	}
	session_free_job(&result);
	return status;
}
