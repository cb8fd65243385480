/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.c - the command that makes a datastore by asking: which disk, which directory, which hosts.
 *
 * Everything is asked before anything is done, so that who leaves in between leaves nothing:
 *
 *     setup_look       file systems and networks of this machine
 *     setup_ask        directory, hosts, name; each answered by an option, a person, or its default
 *     setup_do         the directory, the line in the exports file, the service
 *     setup_tell_hosts what to type on the hosts
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "offload/cli/arguments.h"
#include "offload/cli/command.h"
#include "offload/cli/daemons.h"
#include "offload/cli/export.h"
#include "offload/cli/link.h"
#include "offload/cli/mountinfo.h"
#include "offload/cli/setup_net.h"
#include "offload/cli/space.h"
#include "offload/cli/text.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/file_text.h"
#include "vfs/base/reflink.h"
#include "vfs/base/settings.h"

enum {
	MOUNTS_MAX = 64,
	SPACE_MS = 3000,
	ANSWER_BYTES = 1024,
};

struct setup {
	const struct arguments *arguments;
	struct mountinfo mounts[MOUNTS_MAX];
	struct space spaces[MOUNTS_MAX];
	int reflinks[MOUNTS_MAX]; /* reflink_probe() */
	size_t mount_count;
	struct setup_net nets[SETUP_NETS_MAX];
	size_t net_count;

	char directory[ANSWER_BYTES], hosts[ANSWER_BYTES], name[ANSWER_BYTES];
	bool is_new; /* the directory is still to be made */
};

/* ---- looking ---- */

static int setup_look(struct setup *setup)
{
	AUTO(free_ptr) char *text = NULL;
	size_t bytes;
	int r = file_text_read("/proc/self/mountinfo", &text, &bytes);

	if (r < 0) {
		command_error("cannot read /proc/self/mountinfo: %s", strerror(-r));
		return COMMAND_FAILED;
	}
	setup->mount_count = mountinfo_read(text, setup->mounts, MOUNTS_MAX);
	for (size_t i = 0; i < setup->mount_count; i++)
		setup->spaces[i].path = setup->mounts[i].point;
	if (space_ask(setup->spaces, setup->mount_count, link_now_ms() + SPACE_MS) < 0)
		return COMMAND_FAILED;
	for (size_t i = 0; i < setup->mount_count; i++)
		setup->reflinks[i] = setup->spaces[i].state == SPACE_KNOWN
		                             ? reflink_probe(setup->mounts[i].point)
		                             : -EIO;
	setup->net_count = setup_nets(setup->nets);
	return COMMAND_DONE;
}

static void tell_mounts(const struct setup *setup)
{
	char left[TEXT_SHORT_BYTES], all[TEXT_SHORT_BYTES];

	puts("File systems of this machine:\n");
	printf("  %-8s %8s %8s  %-17s %s\n", "TYPE", "FREE", "SIZE", "CLONES", "MOUNTED ON");
	for (size_t i = 0; i < setup->mount_count; i++) {
		const struct space *space = &setup->spaces[i];

		printf("  %-8s %8s %8s  %-17s ", setup->mounts[i].type,
		       space->state == SPACE_KNOWN ? text_size(space->free_bytes, left) : "?",
		       space->state == SPACE_KNOWN ? text_size(space->total_bytes, all) : "?",
		       setup->reflinks[i] == 1   ? "at once (reflink)"
		       : setup->reflinks[i] == 0 ? "are copies"
		                                 : "not known");
		text_put(stdout, setup->mounts[i].point, strlen(setup->mounts[i].point));
		putchar('\n');
	}
	putchar('\n');
}

/* The one with the most space, of those whose files can share blocks if there are any. NULL. */
static const struct mountinfo *best_mount(const struct setup *setup)
{
	size_t best = setup->mount_count;

	for (size_t i = 0; i < setup->mount_count; i++) {
		bool shares = setup->reflinks[i] == 1;
		bool best_shares = best < setup->mount_count && setup->reflinks[best] == 1;

		if (best == setup->mount_count || (shares && !best_shares) ||
		    (shares == best_shares &&
		     setup->spaces[i].free_bytes > setup->spaces[best].free_bytes))
			best = i;
	}
	return best < setup->mount_count ? &setup->mounts[best] : NULL;
}

/* ---- asking ---- */

/* The answer, or @preset for an empty line; with --yes always that. */
static int ask(const struct setup *setup, const char *question, const char *preset,
               char answer[ANSWER_BYTES])
{
	printf("%s%s%s%s ", question, preset[0] ? " [" : "", preset, preset[0] ? "]:" : ":");
	(void) fflush(stdout);
	if (setup->arguments->given & ARGUMENT_YES) {
		snprintf(answer, ANSWER_BYTES, "%s", preset);
		puts(preset);
	} else if (!fgets(answer, ANSWER_BYTES, stdin)) {
		putchar('\n');
		command_error("no answer: nothing was changed");
		return COMMAND_FAILED;
	} else if (!isatty(STDIN_FILENO)) {
		fputs(answer, stdout);
	}
	answer[strcspn(answer, "\n")] = '\0';
	if (!answer[0])
		snprintf(answer, ANSWER_BYTES, "%s", preset);
	if (answer[0])
		return COMMAND_DONE;
	command_error("that has no default here: give it by an option (lodestore help setup)");
	return COMMAND_FAILED;
}

static int ask_yes(const struct setup *setup, const char *question)
{
	char answer[ANSWER_BYTES];
	int status = ask(setup, question, "yes", answer);

	if (status != COMMAND_DONE)
		return status;
	if (answer[0] == 'y' || answer[0] == 'Y')
		return COMMAND_DONE;
	command_error("nothing was changed");
	return COMMAND_FAILED;
}

static int ask_or_take(const struct setup *setup, unsigned option, const char *given,
                       const char *question, const char *preset, char answer[ANSWER_BYTES])
{
	if (!(setup->arguments->given & option))
		return ask(setup, question, preset, answer);
	snprintf(answer, ANSWER_BYTES, "%s", given);
	return COMMAND_DONE;
}

static void warn_of_copies(const char *directory)
{
	char above[ANSWER_BYTES];

	snprintf(above, sizeof above, "%s", directory);
	while (access(above, F_OK) < 0 && strrchr(above, '/') > above)
		*strrchr(above, '/') = '\0';
	if (reflink_probe(access(above, F_OK) < 0 ? "/" : above) == 0)
		puts("  Files cannot share blocks there, so a clone is a copy on the server: "
		     "slower, and"
		     "\n  it takes its own space. To have clones at once make a file system on a "
		     "disk"
		     "\n  with 'mkfs.xfs -m reflink=1 /dev/DISK' or 'mkfs.btrfs /dev/DISK', mount "
		     "it"
		     "\n  below /srv, and run this again.");
}

static int ask_directory(struct setup *setup)
{
	const struct mountinfo *best = best_mount(setup);
	char preset[ANSWER_BYTES] = "/srv/datastore1", question[ANSWER_BYTES + 32];
	struct stat stat_of;
	int status;

	if (best && strncmp(best->point, "/srv/", strlen("/srv/")) == 0)
		snprintf(preset, sizeof preset, "%s", best->point);
	status = ask_or_take(setup, ARGUMENT_DIRECTORY, setup->arguments->directory,
	                     "Directory for the datastore", preset, setup->directory);
	if (status != COMMAND_DONE)
		return status;
	if (setup->directory[0] != '/') {
		command_error("'%s' does not begin with '/': nothing was changed",
		              setup->directory);
		return COMMAND_FAILED;
	}
	warn_of_copies(setup->directory);
	setup->is_new = stat(setup->directory, &stat_of) < 0;
	if (!setup->is_new)
		return COMMAND_DONE;
	snprintf(question, sizeof question, "%s is not there. Make it?", setup->directory);
	return ask_yes(setup, question);
}

static int setup_ask(struct setup *setup)
{
	const char *network = setup->net_count ? setup->nets[0].network : "";
	const char *slash;
	int status = ask_directory(setup);

	if (status == COMMAND_DONE)
		status = ask_or_take(setup, ARGUMENT_HOSTS, setup->arguments->hosts,
		                     "ESXi hosts: an address, a name, or a network such as"
		                     " 192.0.2.0/24",
		                     network, setup->hosts);
	slash = strrchr(setup->directory, '/');
	if (status == COMMAND_DONE)
		status = ask_or_take(setup, ARGUMENT_NAME, setup->arguments->name,
		                     "Name of the datastore on the hosts",
		                     slash && slash[1] ? slash + 1 : "datastore1", setup->name);
	return status;
}

/* ---- doing ---- */

static int setup_export(const struct setup *setup, int *ret_changed)
{
	char host[ANSWER_BYTES + 32];
	const char *hosts[] = { host };
	bool is_mount = false;

	for (size_t i = 0; i < setup->mount_count; i++)
		is_mount |= strcmp(setup->mounts[i].point, setup->directory) == 0 &&
		            strcmp(setup->directory, "/") != 0;
	snprintf(host, sizeof host, "%s(rw,no_root_squash%s)", setup->hosts,
	         is_mount ? ",mountpoint" : "");
	return export_add(&(struct export_change){ .file = setup->arguments->exports,
	                                           .path = setup->directory,
	                                           .hosts = hosts,
	                                           .host_count = 1 },
	                  ret_changed);
}

/* The service reads the usual file only. */
static int setup_serve(const struct setup *setup)
{
	char program[] = "systemctl", verb[] = "enable", option[] = "--now";
	char unit[] = "lodestore-nfsd.service", quiet[] = "--quiet", active[] = "is-active";
	char *const is_active[] = { program, active, quiet, unit, NULL };
	char *const start[] = { program, verb, option, unit, NULL };

	if ((setup->arguments->given & ARGUMENT_NO_RELOAD) ||
	    strcmp(setup->arguments->exports, SETTINGS_EXPORTS_FILE) != 0) {
		puts("The service was not told of it");
		return COMMAND_DONE;
	}
	if (daemons_run(is_active) == 0)
		return daemons_reload(false);
	if (daemons_run(start) == 0)
		return COMMAND_DONE;
	command_error("cannot start lodestore-nfsd: systemctl status lodestore-nfsd says why");
	return COMMAND_FAILED;
}

/* From here on Ctrl-C comes too late: each step is whole. */
static int setup_do(const struct setup *setup)
{
	int changed = 0, status;

	(void) signal(SIGINT, SIG_IGN);
	if (setup->is_new && mkdir(setup->directory, 0755) < 0) {
		command_error("cannot make %s: %s. Nothing was changed", setup->directory,
		              strerror(errno));
		return COMMAND_FAILED;
	}
	status = setup_export(setup, &changed);
	if (status != COMMAND_DONE && setup->is_new)
		(void) rmdir(setup->directory);
	return status == COMMAND_DONE ? setup_serve(setup) : status;
}

static void setup_tell_hosts(const struct setup *setup)
{
	const char *address = "ADDRESS-OF-THIS-MACHINE";

	for (size_t i = 0; i < setup->net_count; i++)
		if (i == 0 || strcmp(setup->nets[i].network, setup->hosts) == 0)
			address = setup->nets[i].address;
	printf("\nOn each ESXi host:\n\n  esxcli storage nfs add -H %s -s '%s' -v '%s'\n\n"
	       "On Linux:\n\n  mount -t nfs -o vers=3 %s:'%s' /mnt\n",
	       address, setup->directory, setup->name, address, setup->directory);
}

/* ---- the command ---- */

static int run_setup(int argc, char **argv)
{
	const unsigned takes = ARGUMENT_YES | ARGUMENT_DIRECTORY | ARGUMENT_HOSTS | ARGUMENT_NAME |
	                       ARGUMENT_EXPORTS | ARGUMENT_NO_RELOAD;
	AUTO(free_ptr) struct setup *setup = calloc(1, sizeof *setup);
	char question[ANSWER_BYTES + 32], why[ARGUMENTS_WHY_BYTES];
	struct arguments arguments;
	int status;

	if (!setup)
		return COMMAND_FAILED;
	if (arguments_parse(argc, argv, takes, 0, 0, &arguments, why) < 0)
		return command_misused("setup", "%s", why);
	setup->arguments = &arguments;
	status = setup_look(setup);
	if (status == COMMAND_DONE) {
		tell_mounts(setup);
		status = setup_ask(setup);
	}
	snprintf(question, sizeof question, "Write it to %s, and serve it?", arguments.exports);
	if (status == COMMAND_DONE)
		status = ask_yes(setup, question);
	if (status == COMMAND_DONE)
		status = setup_do(setup);
	if (status == COMMAND_DONE)
		setup_tell_hosts(setup);
	return status;
}

static const char setup_help[] =
	"  setup\n"
	"      Make a datastore by answering questions: the disk and directory, and the hosts.\n"
	"      Nothing is changed before all of them are answered.\n"
	"        --directory DIR       the answers, for scripts\n"
	"        --hosts HOST\n"
	"        --name NAME           of the datastore\n"
	"        --yes                 the default for every other question\n"
	"        --exports FILE, --no-reload  as of export\n";

const struct command setup_command = { "setup", setup_help, run_setup, false };
