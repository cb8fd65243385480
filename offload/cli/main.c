/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - lodestore: finds the subcommand and runs it. To add one, write its file and a row below.
 */
#include <stdio.h>
#include <string.h>

#include "offload/cli/arguments.h"
#include "offload/cli/command.h"
#include "vfs/base/cleanup.h"

/* In the order in which the help shows them. */
/* clang-format off */
static const struct command *const commands[] = {
	&clone_command,
	&reserve_command,
	&stat_command,
	&checksum_command,
	&punch_command,
	&jobs_command,
	&wait_command,
	&cancel_command,
	&status_command,
	&top_command,
	&clients_command,
	&exports_command,
	&trace_command,
	&locks_command,
	&setup_command,
	&export_command,
	&check_config_command,
	&reload_command,
	&rehearse_command,
};
/* clang-format on */

static const char help_head[] =
	"Usage: lodestore COMMAND [OPTION]... [ARGUMENT]...\n"
	"Have a lodestore server clone, measure and thin files where they lie; see what it does.\n"
	"\n";

static const char help_tail[] =
	"  help [COMMAND]\n"
	"      Show this text, or a command's part of it; --help does the same.\n"
	"  --version\n"
	"      Show the version.\n";

static const char help_common[] =
	"\n"
	"A FILE is HOST:/path as hosts mount it ([ADDRESS]:/path for IPv6), or a path of this\n"
	"machine, whose server is asked on its Unix socket. A JOB is a number, or HOST:NUMBER.\n"
	"Commands that ask a server also take:\n"
	"  --json         print one JSON object; lodestore(1) describes it\n"
	"  --port N       the port of HOST (default 2049)\n"
	"  --socket PATH  the socket on this machine (default " ARGUMENTS_SOCKET_DEFAULT ")\n"
	"  --timeout N    seconds to go on asking a server that is lost meanwhile (default 300)\n"
	"and those that begin a job:\n"
	"  --wait         wait for its end, with its progress on a terminal: the default\n"
	"  --no-wait      print the job's number and leave\n";

static const char help_end[] =
	"\n"
	"Exit status: 0 done; 1 refused or failed; 2 wrong usage; 3 the server cannot be reached;\n"
	"130 Ctrl-C: the job goes on.\n";

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int no_such_command(const char *name)
{
	command_error("there is no command '%s'. 'lodestore help' lists them", name);
	return COMMAND_USAGE;
}

static int help(const char *name)
{
	const struct command *command = name ? command_find(name) : NULL;

	if (name && !command)
		return no_such_command(name);
	if (command) {
		printf("Usage: lodestore %s%s", command->help + strspn(command->help, " "),
		       command->asks ? help_common : "");
		return COMMAND_DONE;
	}
	fputs(help_head, stdout);
	for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
		fputs(commands[i]->help, stdout);
	printf("%s%s%s", help_tail, help_common, help_end);
	return COMMAND_DONE;
}

static int command_run(const struct command *command, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0)
			return help(command->name);
	return command->run(argc, argv);
}

int main(int argc, char **argv)
{
	const struct command *command;
	int status;

	if (argc < 2) {
		command_error("say what to do. 'lodestore help' lists the commands");
		return COMMAND_USAGE;
	}
	command = command_find(argv[1]);
	if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0) {
		status = help(argc > 2 ? argv[2] : NULL);
	} else if (strcmp(argv[1], "--version") == 0) {
		puts("lodestore " LODESTORE_VERSION);
		status = COMMAND_DONE;
	} else if (!command) {
		status = no_such_command(argv[1]);
	} else {
		status = command_run(command, argc - 1, argv + 1);
	}
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == COMMAND_DONE) {
		command_error("cannot write the output");
		status = COMMAND_FAILED;
	}
	return status;
}
