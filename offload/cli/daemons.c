/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemons.c - the commands for the programs on this machine: check-config, reload.
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

static const char *const units[] = { "lodestore-nfsd.service", "lodestore-offloadd.service" };

/* Its exit status; a negative errno if it could not be started. */
static int run_program(char *const argv[])
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

/* @count words of @options go to it as they are. */
static int check_config(int count, char **options)
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
	r = run_program(argv);
	if (r >= 0)
		return r == 0 ? COMMAND_DONE : COMMAND_FAILED;
	command_error("cannot run %s: %s. Is the server installed on this machine?", program,
	              strerror(-r));
	return COMMAND_FAILED;
}

static int run_check_config(int argc, char **argv)
{
	return check_config(argc - 1, argv + 1);
}

static int systemctl(const char *verb, const char *option, const char *unit)
{
	char program[] = "systemctl", verb_copy[32], option_copy[32], unit_copy[64];
	char *argv[] = { program, verb_copy, option_copy, unit_copy, NULL };

	snprintf(verb_copy, sizeof verb_copy, "%s", verb);
	snprintf(option_copy, sizeof option_copy, "%s", option);
	snprintf(unit_copy, sizeof unit_copy, "%s", unit);
	return run_program(argv);
}

/* Both programs read the exports, so both are told. */
static int reload_units(bool must_run)
{
	int running = 0, status = COMMAND_DONE, r;

	for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
		r = systemctl("is-active", "--quiet", units[i]);
		if (r == -ENOENT && !must_run)
			break;
		if (r < 0) {
			command_error("cannot run systemctl: %s", strerror(-r));
			return COMMAND_FAILED;
		}
		if (r != 0)
			continue;
		running++;
		if (systemctl("reload", "--no-pager", units[i]) != 0)
			status = COMMAND_FAILED;
		else
			printf("%s reads the exports again\n", units[i]);
	}
	if (running > 0)
		return status;
	if (!must_run) {
		puts("No lodestore service runs here: it counts from its start");
		return COMMAND_DONE;
	}
	command_error("no lodestore service runs here: systemctl status lodestore-nfsd. A server"
	              " that was started by hand reads them again on kill -HUP PID");
	return COMMAND_FAILED;
}

int daemons_reload(bool must_run)
{
	if (check_config(0, NULL) != COMMAND_DONE) {
		command_error("nothing was reloaded; mend the mistakes above first");
		return COMMAND_FAILED;
	}
	return reload_units(must_run);
}

static int run_reload(int argc, char **argv)
{
	if (argc > 1)
		return command_misused("reload", "it takes no arguments");
	return daemons_reload(true);
}

static const char check_config_help[] =
	"  check-config [OPTION]...\n"
	"      Tell every mistake in this machine's configuration and exports. It takes the\n"
	"      options of lodestore-nfsd.\n";

static const char reload_help[] =
	"  reload\n"
	"      Have this machine's services read their exports again, after checking them.\n";

const struct command check_config_command = {
	"check-config",
	check_config_help,
	run_check_config,
};

const struct command reload_command = {
	"reload",
	reload_help,
	run_reload,
};
