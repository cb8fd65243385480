/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - lodestore-nfsd's process: options, signals, the sweep, readiness.
 *
 * The main thread waits for signals; a thread of its own sweeps the file cache, since a flush there
 * may wait for a disk that hangs.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nfsd/check.h"
#include "nfsd/config.h"
#include "nfsd/server_run.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"
#include "vfs/base/process.h"
#include "vfs/vfs.h"

enum {
	SWEEP_INTERVAL_S = 2,
	WATCHDOG_INTERVAL_S = 5, /* the unit's WatchdogSec= is some times that */
	STOP_DEADLINE_S = 5,     /* then the process ends, whatever still waits for a disk */
};

struct caretaker {
	struct server *server;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop, reload; /* under lock */
};

/* What there is to do now, after SWEEP_INTERVAL_S at the latest. */
static void caretaker_wait(struct caretaker *caretaker, bool *ret_stop, bool *ret_reload)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SWEEP_INTERVAL_S;
	pthread_mutex_lock(&caretaker->lock);
	if (!caretaker->stop && !caretaker->reload)
		(void) pthread_cond_timedwait(&caretaker->wake, &caretaker->lock, &until);
	*ret_stop = caretaker->stop;
	*ret_reload = caretaker->reload;
	caretaker->reload = false;
	pthread_mutex_unlock(&caretaker->lock);
}

static void reload(struct server *server)
{
	process_reloading();
	log_always(LOG_LEVEL_INFO, "reading the exports again");
	if (server_exports_load(server) < 0)
		log_always(
			LOG_LEVEL_ERROR,
			"the exports stay as they were; mend the mistakes above and reload again");
	process_ready(-1);
}

static void *caretaker_run(void *arg)
{
	struct caretaker *caretaker = arg;
	bool stop, must_reload;

	pthread_setname_np(pthread_self(), "caretaker");
	for (;;) {
		caretaker_wait(caretaker, &stop, &must_reload);
		if (stop)
			return NULL;
		if (must_reload)
			reload(caretaker->server);
		vfs_sweep(caretaker->server->vfs);
		log_flush(false);
	}
}

static int caretaker_start(struct caretaker *caretaker, struct server *server)
{
	pthread_condattr_t by_monotonic; /* a clock that is set back must not stop the sweep */

	caretaker->server = server;
	pthread_mutex_init(&caretaker->lock, NULL);
	pthread_condattr_init(&by_monotonic);
	pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&caretaker->wake, &by_monotonic);
	pthread_condattr_destroy(&by_monotonic);
	return -pthread_create(&caretaker->thread, NULL, caretaker_run, caretaker);
}

static void caretaker_reload(struct caretaker *caretaker)
{
	pthread_mutex_lock(&caretaker->lock);
	caretaker->reload = true;
	pthread_cond_signal(&caretaker->wake);
	pthread_mutex_unlock(&caretaker->lock);
}

static void caretaker_stop(struct caretaker *caretaker)
{
	pthread_mutex_lock(&caretaker->lock);
	caretaker->stop = true;
	pthread_cond_signal(&caretaker->wake);
	pthread_mutex_unlock(&caretaker->lock);
	pthread_join(caretaker->thread, NULL);
}

static time_t monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void wait_for_end(struct caretaker *caretaker, const sigset_t *signals)
{
	static const struct timespec interval = { .tv_sec = 1 };
	time_t now, due = 0;

	for (;;) {
		now = monotonic_s();
		if (now >= due) { /* whatever signals come */
			due = now + WATCHDOG_INTERVAL_S;
			if (server_is_alive(caretaker->server))
				process_alive();
		}
		switch (sigtimedwait(signals, NULL, &interval)) {
		case SIGHUP:
			caretaker_reload(caretaker);
			break;
		case SIGTERM:
		case SIGINT:
			return;
		default: /* the interval is over */
			break;
		}
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

static void deadline_start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, deadline_run, NULL) == 0)
		pthread_detach(thread);
}

static int serve(void *context, int ready_fd)
{
	const struct config *config = context;
	struct server *server = calloc(1, sizeof *server);
	struct caretaker caretaker = { 0 };
	sigset_t signals;
	int r;

	if (!server)
		return EXIT_FAILURE;
	process_prepare(&signals);
	r = server_start(server, config);
	if (r == 0)
		r = caretaker_start(&caretaker, server);
	if (r == 0) {
		log_info("ready on port %u", server->port);
		process_ready(ready_fd);
		wait_for_end(&caretaker, &signals);
		process_ending();
		log_info("ending");
		deadline_start();
		caretaker_stop(&caretaker);
	} else {
		deadline_start();
	}
	server_stop(server);
	free(server);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run(struct config *config)
{
	int status = process_run("lodestore-nfsd", config->settings.foreground, serve, config);

	if (status >= 0)
		return status;
	log_error("cannot leave the terminal: %s", strerror(-status));
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct config config;
	int status = EXIT_FAILURE;

	switch (config_load(argc, argv, &config)) {
	case SETTINGS_EXIT_OK:
		status = EXIT_SUCCESS;
		break;
	case SETTINGS_EXIT_ERROR:
		break;
	case SETTINGS_RUN:
		config_apply_log(&config);
		status = config.check_only ? check_config(&config) : run(&config);
		break;
	}
	config_done(&config);
	return status;
}
