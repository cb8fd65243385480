/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - one command that asks a server: its arguments, its calls, and how it tells what came.
 *
 * Functions that return an int return an exit status (command.h): COMMAND_DONE to go on, any other
 * when the command is over and the user has been told why.
 */
#pragma once

#include "offload/cli/client.h"
#include "offload/cli/command.h"
#include "offload/cli/show.h"

struct session_words {
	unsigned takes; /* enum argument */
	int min, max;
	/* enum place_kind: which kinds of place each word may be. */
	unsigned places[ARGUMENTS_PLACES_MAX];
	bool second_is_size;
};

struct session {
	struct arguments arguments;
	struct place places[ARGUMENTS_PLACES_MAX]; /* kind 0: that word is not there, or a size */
	char prefix[CLIENT_NAME_BYTES + 1];        /* what stands before paths: "nas:", or "" */
	struct client client;
	uint64_t bytes;  /* the size that was given; 0: none was */
	uint64_t job_id; /* 0: none yet */
	bool shows_bar;
};

int session_begin(struct session *session, int argc, char **argv,
                  const struct session_words *words);
void session_end(struct session *session);

/* The answer, which says in its status whether it is a refusal; free it with xdr_free(). */
int session_call(struct session *session, const struct client_call *call, void *ret_result);

/* The command is over: one line on stderr, and an object with --json. @text: as it came from the
 * server. Returns @exit. */
int session_fail(struct session *session, enum command_exit exit, const char *status_name,
                 const char *text, size_t text_bytes, const char *advice);

/* The same for an answer that is a refusal. */
int session_refused(struct session *session, offload_status status, const offload_text *text);

/* ---- follow.c: jobs ---- */

/* Begin a job and follow it to its end; tell what came of it, or only its number if the user does
 * not want to wait. @call's args must ask for a wait of 0. */
int session_run_job(struct session *session, uint32_t procedure, xdrproc_t encode,
                    const void *args);

/* The next two are parts of it. On entry @result is an answer with a job, and it stays one. */
int session_follow(struct session *session, offload_job_result *result);
int session_tell_end(struct session *session, const offload_job *job);

/* One call that is answered with a job; COMMAND_DONE only if it was not refused. */
int session_ask_job(struct session *session, uint32_t procedure, xdrproc_t encode, const void *args,
                    offload_job_result *ret_result);
void session_free_job(offload_job_result *result);

/* {"job": {...}} */
void session_print_job(const offload_job *job);
