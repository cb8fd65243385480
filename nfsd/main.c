/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - lodestore-nfsd's process: options, signals, the sweep, readiness.
 *
 * The main thread waits for signals; a thread of its own sweeps the file cache, since a flush there
 * may wait for a disk that hangs.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

#include "nfsd/config.h"
#include "nfsd/server_run.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"
#include "vfs/vfs.h"

enum {
	SWEEP_INTERVAL_S = 2,
	STOP_DEADLINE_S = 5, /* then the process ends, whatever still waits for a disk */
};

struct sweeper {
	struct server *server;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop; /* under lock */
};

static bool sweeper_wait(struct sweeper *sweeper)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += SWEEP_INTERVAL_S;
	pthread_mutex_lock(&sweeper->lock);
	if (!sweeper->stop)
		(void) pthread_cond_timedwait(&sweeper->wake, &sweeper->lock, &until);
	stop = sweeper->stop;
	pthread_mutex_unlock(&sweeper->lock);
	return !stop;
}

static void *sweeper_run(void *arg)
{
	struct sweeper *sweeper = arg;

	pthread_setname_np(pthread_self(), "sweeper");
	while (sweeper_wait(sweeper)) {
		vfs_sweep(sweeper->server->vfs);
		log_flush(false);
		(void) sd_notify(0, "WATCHDOG=1");
	}
	return NULL;
}

static int sweeper_start(struct sweeper *sweeper, struct server *server)
{
	sweeper->server = server;
	pthread_mutex_init(&sweeper->lock, NULL);
	pthread_cond_init(&sweeper->wake, NULL);
	return -pthread_create(&sweeper->thread, NULL, sweeper_run, sweeper);
}

static void sweeper_stop(struct sweeper *sweeper)
{
	pthread_mutex_lock(&sweeper->lock);
	sweeper->stop = true;
	pthread_cond_signal(&sweeper->wake);
	pthread_mutex_unlock(&sweeper->lock);
	pthread_join(sweeper->thread, NULL);
}

static void process_prepare(sigset_t *ret_signals)
{
	umask(0); /* modes are what clients say */
	(void) signal(SIGPIPE, SIG_IGN);
	(void) signal(SIGXFSZ, SIG_IGN); /* a file too large is EFBIG, not our end */
	sigemptyset(ret_signals);
	sigaddset(ret_signals, SIGTERM);
	sigaddset(ret_signals, SIGINT);
	sigaddset(ret_signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, ret_signals, NULL);
	/* Few arenas: memory that one thread gave back shall serve the others. */
	(void) mallopt(M_ARENA_MAX, 2);
}

static void reload(struct server *server)
{
	(void) sd_notify(0, "RELOADING=1");
	log_always(LOG_LEVEL_INFO, "reading the exports again");
	if (server_exports_load(server) < 0)
		log_error(
			"the exports stay as they were; mend the mistakes above and reload again");
	(void) sd_notify(0, "READY=1");
}

static void wait_for_end(struct server *server, const sigset_t *signals)
{
	int signal_number;

	for (;;) {
		if (sigwait(signals, &signal_number) != 0)
			continue;
		if (signal_number != SIGHUP)
			return;
		reload(server);
	}
}

/* The process must end in time even if a disk does not answer: what was acknowledged is on it, and
 * what was not the client sends again. */
static void *deadline_run(void *arg)
{
	sleep(STOP_DEADLINE_S);
	log_warn("ending with calls that still wait for a disk");
	_exit(0);
}

static int serve(const struct config *config, int ready_fd)
{
	struct server *server = calloc(1, sizeof *server);
	struct sweeper sweeper = { 0 };
	pthread_t deadline;
	sigset_t signals;
	int r;

	if (!server)
		return EXIT_FAILURE;
	process_prepare(&signals);
	r = server_start(server, config);
	if (r == 0)
		r = sweeper_start(&sweeper, server);
	if (r == 0) {
		log_info("ready on port %u", server->port);
		(void) sd_notify(0, "READY=1");
		if (ready_fd >= 0)
			(void) !write(ready_fd, "", 1);
		wait_for_end(server, &signals);
		(void) sd_notify(0, "STOPPING=1");
		log_info("ending");
		sweeper_stop(&sweeper);
	}
	if (pthread_create(&deadline, NULL, deadline_run, NULL) == 0)
		pthread_detach(deadline);
	server_stop(server);
	free(server);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Without --foreground: the log goes to the journal, if there is one. */
static void log_to_journal(void)
{
	char stream[64];
	struct stat stat;
	int fd = sd_journal_stream_fd("lodestore-nfsd", 6 /* LOG_INFO */, 1);

	if (fd < 0 || fstat(fd, &stat) < 0)
		return;
	snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long) stat.st_dev,
	         (unsigned long long) stat.st_ino);
	setenv("JOURNAL_STREAM", stream, 1); /* log.c: lines carry their priority */
	(void) dup2(fd, STDERR_FILENO);
	close_fd(&fd);
}

/* The parent leaves when the child serves, so that who started it knows. */
static int serve_detached(const struct config *config)
{
	int ready[2];
	pid_t child;
	char byte;

	if (pipe(ready) < 0)
		return EXIT_FAILURE;
	child = fork();
	if (child < 0) {
		log_error("cannot fork: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	if (child > 0) {
		close_fd(&ready[1]);
		return read(ready[0], &byte, 1) == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	close_fd(&ready[0]);
	(void) setsid();
	(void) !chdir("/");
	if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stdout))
		return EXIT_FAILURE;
	log_to_journal();
	return serve(config, ready[1]);
}

int main(int argc, char **argv)
{
	struct config config;
	struct exports exports = { 0 };
	int status = EXIT_SUCCESS;

	switch (config_load(argc, argv, &config)) {
	case CONFIG_EXIT_OK:
		break;
	case CONFIG_EXIT_ERROR:
		status = EXIT_FAILURE;
		break;
	case CONFIG_RUN:
		if (config.check_only) {
			status = config_exports(&config, &exports) < 0 ? EXIT_FAILURE
			                                               : EXIT_SUCCESS;
			if (status == EXIT_SUCCESS)
				printf("The configuration is good: %zu exports.\n", exports.count);
			exports_done(&exports);
		} else if (config.foreground || getenv("NOTIFY_SOCKET")) {
			status = serve(&config, -1);
		} else {
			status = serve_detached(&config);
		}
		break;
	}
	config_done(&config);
	return status;
}
