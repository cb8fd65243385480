/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.c - the commands about jobs: jobs, wait, cancel.
 */
#include <stdlib.h>
#include <string.h>

#include "offload/cli/session.h"
#include "rpcgen/offload_text.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"

/* Pages of JOBS, the oldest jobs first. */
struct listing {
	offload_jobs_result *pages;
	size_t count;
};

/* ---- jobs ---- */

static void listing_done(struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		xdr_free((xdrproc_t) xdr_offload_jobs_result, (char *) &listing->pages[i]);
	free(listing->pages);
}

static int ask_page(struct session *session, uint64_t after_id, offload_jobs_result *ret_page)
{
	const offload_jobs_args args = { after_id, OFFLOAD_JOBS_MAX };
	const struct client_call call = client_jobs_call(&args);
	int status = session_call(session, &call, ret_page);

	if (status != COMMAND_DONE || ret_page->status == OFFLOAD_OK)
		return status;
	status = session_refused(session, ret_page->status, &ret_page->offload_jobs_result_u.text);
	xdr_free((xdrproc_t) xdr_offload_jobs_result, (char *) ret_page);
	return status;
}

/* All pages before anything is printed: what is printed is whole. */
static int ask_listing(struct session *session, struct listing *listing)
{
	uint64_t after_id = 0;
	bool eof = false;

	while (!eof) {
		offload_jobs_result *grown = reallocarray(listing->pages, listing->count + 1,
		                                          sizeof *grown);
		const offload_jobs *page;
		int status;

		if (!grown)
			return session_fail(session, COMMAND_FAILED, "internal",
			                    "no memory is left", strlen("no memory is left"), "");
		listing->pages = grown;
		status = ask_page(session, after_id, &grown[listing->count]);
		if (status != COMMAND_DONE)
			return status;
		page = &grown[listing->count++].offload_jobs_result_u.list;
		eof = page->eof || page->jobs.jobs_len == 0;
		if (!eof)
			after_id = page->jobs.jobs_val[page->jobs.jobs_len - 1].id;
	}
	return COMMAND_DONE;
}

static void print_listing(const struct session *session, const struct listing *listing)
{
	bool live_only = session->arguments.given & ARGUMENT_LIVE;
	bool as_json = session->arguments.given & ARGUMENT_JSON;
	struct json json = { stdout };
	uint64_t now_ms = clock_ms(CLOCK_REALTIME);

	if (as_json) {
		json_begin(&json, NULL, '{');
		json_begin(&json, "jobs", '[');
	} else {
		show_jobs_head(stdout);
	}
	for (size_t i = 0; i < listing->count; i++) {
		const offload_jobs *page = &listing->pages[i].offload_jobs_result_u.list;

		for (u_int j = 0; j < page->jobs.jobs_len; j++) {
			const offload_job *job = &page->jobs.jobs_val[j];

			if (live_only && !show_is_live(job))
				continue;
			if (as_json)
				show_job_json(&json, NULL, job);
			else
				show_jobs_row(stdout, job, now_ms);
		}
	}
	if (as_json) {
		json_end(&json, ']');
		json_end(&json, '}');
		fputc('\n', stdout);
	}
}

static int list(struct session *session)
{
	struct listing listing = { 0 };
	int status = ask_listing(session, &listing);

	if (status == COMMAND_DONE)
		print_listing(session, &listing);
	listing_done(&listing);
	return status;
}

static int look(struct session *session)
{
	offload_which which = place_which(&session->places[0]);
	offload_job_result result = { 0 };
	const offload_job *job = &result.offload_job_result_u.job;
	int status = session_ask_job(session, OFFLOAD_JOB, (xdrproc_t) xdr_offload_which, &which,
	                             &result);

	if (status == COMMAND_DONE && (session->arguments.given & ARGUMENT_JSON))
		session_print_job(job);
	else if (status == COMMAND_DONE)
		show_job(stdout, job, session->prefix, clock_ms(CLOCK_REALTIME));
	session_free_job(&result);
	return status;
}

static int run_jobs(int argc, char **argv)
{
	static const struct session_words words = {
		.takes = ARGUMENT_COMMON | ARGUMENT_LIVE,
		.max = 1,
		.places = { PLACE_SERVER | PLACE_JOB | PLACE_FILE },
	};
	struct session session;
	int status = session_begin(&session, argc, argv, &words);

	if (status == COMMAND_DONE)
		status = session.places[0].kind & (PLACE_JOB | PLACE_FILE) ? look(&session)
		                                                           : list(&session);
	session_end(&session);
	return status;
}

/* ---- wait, cancel ---- */

static const struct session_words which_words = {
	.takes = ARGUMENT_COMMON,
	.min = 1,
	.max = 1,
	.places = { PLACE_JOB | PLACE_FILE },
};

static int tell_cancelled(struct session *session, const offload_job *job)
{
	bool cancelled = job->state == OFFLOAD_STATE_CANCELLED;
	FILE *to = cancelled ? stdout : stderr;

	if (session->arguments.given & ARGUMENT_JSON)
		session_print_job(job);
	if (cancelled && (session->arguments.given & ARGUMENT_JSON))
		return COMMAND_DONE;
	fputs(cancelled ? "cancelled the " : "lodestore: nothing to cancel: the ", to);
	show_task(to, job, session->prefix);
	fprintf(to, cancelled ? "\n" : " had ended before: it is %s\n",
	        offload_state_name(job->state));
	return cancelled ? COMMAND_DONE : COMMAND_FAILED;
}

/* JOB or CANCEL, followed to the job's end, of which @tell makes the exit status. */
static int ask_and_follow(int argc, char **argv, uint32_t procedure,
                          int (*tell)(struct session *session, const offload_job *job))
{
	offload_job_result result = { 0 };
	struct session session;
	offload_which which;
	int status = session_begin(&session, argc, argv, &which_words);

	if (status == COMMAND_DONE) {
		which = place_which(&session.places[0]);
		status = session_ask_job(&session, procedure, (xdrproc_t) xdr_offload_which, &which,
		                         &result);
	}
	if (status == COMMAND_DONE)
		status = session_follow(&session, &result);
	if (status == COMMAND_DONE)
		status = tell(&session, &result.offload_job_result_u.job);
	session_free_job(&result);
	session_end(&session);
	return status;
}

static int run_wait(int argc, char **argv)
{
	return ask_and_follow(argc, argv, OFFLOAD_JOB, session_tell_end);
}

static int run_cancel(int argc, char **argv)
{
	return ask_and_follow(argc, argv, OFFLOAD_CANCEL, tell_cancelled);
}

/* ---- the table's rows ---- */

static const char jobs_help[] =
	"  jobs [HOST:|JOB|FILE]\n"
	"      List the jobs of the last 24 hours, of HOST or of this machine; or all that is\n"
	"      known of one: by its number, or the latest one of the file.\n"
	"        --live         only those that have not ended\n";

static const char wait_help[] = "  wait JOB|FILE\n"
				"      Wait for the end of a job, and tell what came of it.\n";

static const char cancel_help[] =
	"  cancel JOB|FILE\n"
	"      Stop a job. A destination that it made is removed, one that existed is emptied.\n";

const struct command jobs_command = { "jobs", jobs_help, run_jobs, true };
const struct command wait_command = { "wait", wait_help, run_wait, true };
const struct command cancel_command = { "cancel", cancel_help, run_cancel, true };
