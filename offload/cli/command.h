/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the subcommands of lodestore: a file and a row in main.c's table each.
 */
#pragma once

#include <stdbool.h>

/* In the man page, all of them. */
enum command_exit {
	COMMAND_DONE = 0,
	COMMAND_FAILED = 1,      /* the server refused it, or the job failed */
	COMMAND_USAGE = 2,       /* options or arguments are wrong: nothing was asked */
	COMMAND_UNREACHABLE = 3, /* no answer, or not from a lodestore server with offload */
	COMMAND_INTERRUPTED = 130,
};

struct command {
	const char *name;
	/* Its arguments, options and what it does: lines that --help shows as they are. */
	const char *help;
	/* @argv[0]: the name. Returns the exit status. */
	int (*run)(int argc, char **argv);
	bool asks; /* a server: it has the options that all of these have (session.h) */
};

extern const struct command clone_command, reserve_command, stat_command, checksum_command;
extern const struct command punch_command, jobs_command, wait_command, cancel_command;
extern const struct command status_command, clients_command, exports_command;
extern const struct command top_command, export_command, setup_command, trace_command;
extern const struct command locks_command;
extern const struct command check_config_command, reload_command, rehearse_command;

/* One line on stderr: "lodestore: ...". */
void command_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and where the help is. Returns COMMAND_USAGE. */
int command_misused(const char *name, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
