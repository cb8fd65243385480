/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemons.c - the programs on this machine, and the command check-config.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offload/cli/command.h"
#include "offload/cli/daemons.h"
#include "vfs/base/cleanup.h"

#define NFSD "lodestore-nfsd"

int daemons_run(char *const argv[])
{
	int status, r;
	pid_t child;

	r = posix_spawnp(&child, argv[0], NULL, NULL, argv, environ);
	if (r != 0)
		return -r;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : COMMAND_FAILED;
}

/* Beside this program as it was called, else where the package has it, else in PATH. */
static void find_nfsd(char *to, size_t to_bytes)
{
	const char *slash = strrchr(program_invocation_name, '/');

	if (slash) {
		snprintf(to, to_bytes, "%.*s/" NFSD, (int) (slash - program_invocation_name),
		         program_invocation_name);
		if (access(to, X_OK) == 0)
			return;
	}
	snprintf(to, to_bytes, "%s", SBINDIR "/" NFSD);
	if (access(to, X_OK) != 0)
		snprintf(to, to_bytes, "%s", NFSD);
}

int daemons_check_config(int count, char **options)
{
	AUTO(free_ptr) char **argv = calloc((size_t) count + 3, sizeof *argv);
	char program[4096], check_option[] = "--check-config";
	int r;

	if (!argv)
		return COMMAND_FAILED;
	find_nfsd(program, sizeof program);
	argv[0] = program;
	argv[1] = check_option;
	for (int i = 0; i < count; i++)
		argv[2 + i] = options[i];
	(void) fflush(stdout);
	r = daemons_run(argv);
	if (r >= 0)
		return r == 0 ? COMMAND_DONE : COMMAND_FAILED;
	command_error("cannot run %s: %s. Is the server installed on this machine?", program,
	              strerror(-r));
	return COMMAND_FAILED;
}

static int run_check_config(int argc, char **argv)
{
	return daemons_check_config(argc - 1, argv + 1);
}

static const char check_config_help[] =
	"  check-config [OPTION]...\n"
	"      Tell every mistake in this machine's configuration and exports. It takes the\n"
	"      options of lodestore-nfsd.\n";

const struct command check_config_command = {
	"check-config",
	check_config_help,
	run_check_config,
};
