/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearse.c - lodestore rehearse: play hosts with a VAAI-NAS plug-in, as a scenario says.
 */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "offload/cli/command.h"
#include "offload/plugin/rehearse.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/file_text.h"

static struct rehearsal rehearsal;

static void scenario_report(void *context, const char *file, unsigned line, const char *message)
{
	command_error("%s:%u: %s", file, line, message);
}

static void on_signal(int number)
{
	atomic_store(&rehearsal.stop, true);
}

/* The first Ctrl-C ends politely: running clones are aborted. The second ends. */
static void signals_set(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int) SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int scenario_read(const char *file, struct scenario *ret_scenario)
{
	AUTO(free_ptr) char *text = NULL;
	size_t text_bytes;
	int r;

	r = file_text_read(file, &text, &text_bytes);
	if (r < 0) {
		command_error("cannot read the scenario %s: %s", file, strerror(-r));
		return r;
	}
	return scenario_parse(ret_scenario, file, text, scenario_report, NULL);
}

static int rehearse(const char *file)
{
	AUTO(free_ptr) struct scenario *scenario = calloc(1, sizeof *scenario);
	bool good;

	if (!scenario) {
		command_error("out of memory");
		return COMMAND_FAILED;
	}
	if (scenario_read(file, scenario) < 0)
		return COMMAND_USAGE;
	rehearsal.scenario = scenario;
	rehearsal.to = stdout;
	signals_set();
	good = rehearse_run(&rehearsal);
	scenario_done(scenario);
	if (atomic_load(&rehearsal.stop))
		return COMMAND_INTERRUPTED;
	return good ? COMMAND_DONE : COMMAND_FAILED;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "verify", no_argument, NULL, 'v' },
		{ "clean", no_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (option) {
		case 'v':
			rehearsal.verify = true;
			break;
		case 'c':
			rehearsal.clean = true;
			break;
		case 'j':
			rehearsal.json = true;
			break;
		default:
			return command_misused(argv[0], "it has no option '%s'", argv[optind - 1]);
		}
	}
	if (argc - optind != 1)
		return command_misused(argv[0], "name one file with a scenario");
	return rehearse(argv[optind]);
}

static const char rehearse_help[] =
	"  rehearse [--verify] [--clean] [--json] SCENARIO\n"
	"      Play ESXi hosts with a VAAI-NAS plug-in: clone, reserve and measure what the\n"
	"      file SCENARIO names. --verify reads each clone and compares; --clean removes\n"
	"      in the end what was made. Nothing that is there already is overwritten.\n";

const struct command rehearse_command = {
	"rehearse",
	rehearse_help,
	run,
};
