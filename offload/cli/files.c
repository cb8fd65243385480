/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.c - the commands that begin a job: clone, reserve, checksum, punch.
 */
#include "offload/cli/session.h"

static int run_clone(int argc, char **argv)
{
	static const struct session_words words = {
		.takes = ARGUMENT_JOB | ARGUMENT_FAST | ARGUMENT_VERIFY | ARGUMENT_NEW,
		.min = 2,
		.max = 2,
		.places = { PLACE_FILE, PLACE_FILE },
	};
	struct session session;
	offload_clone_args args = { 0 };
	int status = session_begin(&session, argc, argv, &words);

	if (status == COMMAND_DONE) {
		unsigned given = session.arguments.given;

		args.source = place_file(&session.places[0]);
		args.destination = place_file(&session.places[1]);
		args.flags = (given & ARGUMENT_FAST ? OFFLOAD_CLONE_FAST : 0) |
		             (given & ARGUMENT_VERIFY ? OFFLOAD_CLONE_VERIFY : 0) |
		             (given & ARGUMENT_NEW ? OFFLOAD_CLONE_NEW : 0);
		status = session_run_job(&session, OFFLOAD_CLONE,
		                         (xdrproc_t) xdr_offload_clone_args, &args);
	}
	session_end(&session);
	return status;
}

static int run_reserve(int argc, char **argv)
{
	static const struct session_words words = {
		.takes = ARGUMENT_JOB,
		.min = 1,
		.max = 2,
		.places = { PLACE_FILE },
		.second_is_size = true,
	};
	struct session session;
	offload_reserve_args args = { 0 };
	int status = session_begin(&session, argc, argv, &words);

	if (status == COMMAND_DONE) {
		args.file = place_file(&session.places[0]);
		args.bytes = session.bytes;
		status = session_run_job(&session, OFFLOAD_RESERVE,
		                         (xdrproc_t) xdr_offload_reserve_args, &args);
	}
	session_end(&session);
	return status;
}

static int run_checksum(int argc, char **argv)
{
	static const struct session_words words = {
		.takes = ARGUMENT_JOB,
		.min = 1,
		.max = 1,
		.places = { PLACE_FILE },
	};
	struct session session;
	offload_checksum_args args = { 0 };
	int status = session_begin(&session, argc, argv, &words);

	if (status == COMMAND_DONE) {
		args.file = place_file(&session.places[0]);
		status = session_run_job(&session, OFFLOAD_CHECKSUM,
		                         (xdrproc_t) xdr_offload_checksum_args, &args);
	}
	session_end(&session);
	return status;
}

static int run_punch(int argc, char **argv)
{
	static const struct session_words words = {
		.takes = ARGUMENT_JOB | ARGUMENT_YES,
		.min = 1,
		.max = 1,
		.places = { PLACE_FILE },
	};
	struct session session;
	offload_punch_args args = { 0 };
	int status = session_begin(&session, argc, argv, &words);

	if (status == COMMAND_DONE) {
		args.file = place_file(&session.places[0]);
		args.flags = session.arguments.given & ARGUMENT_YES ? 0 : OFFLOAD_PUNCH_DRY_RUN;
		status = session_run_job(&session, OFFLOAD_PUNCH,
		                         (xdrproc_t) xdr_offload_punch_args, &args);
	}
	session_end(&session);
	return status;
}

/* ---- the table's rows ---- */

static const char clone_help[] =
	"  clone SOURCE DESTINATION\n"
	"      Make DESTINATION a copy of SOURCE, on their server.\n"
	"        --fast         share SOURCE's extents: done at once, or refused\n"
	"        --verify       read both in the end, and compare\n"
	"        --new          fail if DESTINATION exists, rather than overwrite it\n";

static const char reserve_help[] =
	"  reserve FILE [SIZE]\n"
	"      Allocate FILE's space, of SIZE bytes from its beginning or of all of it, and\n"
	"      share none of it with other files. The file's length stays as it is.\n";

static const char checksum_help[] =
	"  checksum FILE\n"
	"      Print the XXH3-128 of FILE's content, as sha256sum(1) prints its own.\n";

static const char punch_help[] =
	"  punch FILE\n"
	"      Tell how much of FILE is blocks of zeros, which need no space.\n"
	"        --yes          make them holes\n";

const struct command clone_command = { "clone", clone_help, run_clone, true };
const struct command reserve_command = { "reserve", reserve_help, run_reserve, true };
const struct command checksum_command = { "checksum", checksum_help, run_checksum, true };
const struct command punch_command = { "punch", punch_help, run_punch, true };
