/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top.c - the command that shows what the server does, as it does it: on a terminal until a key
 * ends it, or as text or JSON for scripts.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "offload/cli/command.h"
#include "offload/cli/link.h"
#include "offload/cli/top_sample.h"
#include "offload/cli/top_terminal.h"
#include "offload/cli/top_view.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"

enum {
	INTERVAL_MS = 1000,
	BATCH_COLUMNS = 120,
	CLOCK_BYTES = 16,
	KEYS_BYTES = 64,
	HEAD_ROWS = 5, /* of what does not scroll */
};

struct top {
	const struct arguments *arguments;
	struct top_view view;
	struct top_sample *before, *now;
	char why[DOCUMENT_WHY_BYTES];
	struct top_asker *asker;
	int event_fd, signal_fd;
};

/* The two samples, and what is said of them. */
static struct top_moment moment_of(struct top *top, char clock[CLOCK_BYTES])
{
	const struct top_sample *now = top->now, *before = top->before;
	struct top_moment moment = { .why = "", .clock = clock };
	time_t seconds = time(NULL);
	struct tm local;

	strftime(clock, CLOCK_BYTES, "%H:%M:%S", localtime_r(&seconds, &local));
	if (!now)
		return moment;
	if (now->error) {
		document_why(top->arguments->status_socket, now->error, top->why);
		moment.why = top->why;
		return moment;
	}
	moment.pair = status_pair(before && !before->error ? before->document.value : NULL,
	                          now->document.value);
	moment.offload_answers = now->sidecar.answers;
	moment.jobs = now->sidecar.live;
	moment.job_count = now->sidecar.live_count;
	return moment;
}

static void take_sample(struct top *top, struct top_sample *sample)
{
	(void) top_sample_free(top->before);
	top->before = top->now;
	top->now = sample;
}

/* ---- on a terminal ---- */

/* A frame goes out in one piece. False: the terminal is gone. */
static bool draw(struct top *top)
{
	struct top_screen screen = { .ansi = true };
	AUTO(free_ptr) char *frame = NULL;
	char clock[CLOCK_BYTES];
	struct top_moment moment = moment_of(top, clock);
	size_t bytes, sent = 0;
	ssize_t part;

	top_terminal_size(&screen.columns, &screen.rows);
	if (screen.columns >= TOP_COLUMNS_MAX)
		screen.columns = TOP_COLUMNS_MAX - 1;
	screen.to = open_memstream(&frame, &bytes);
	if (!screen.to)
		return true;
	top_view_draw(&screen, &top->view, &moment);
	if (fclose(screen.to) != 0)
		return true;
	while (sent < bytes) {
		part = write(STDOUT_FILENO, frame + sent, bytes - sent);
		if (part < 0 && errno != EINTR)
			return false;
		sent += part > 0 ? (size_t) part : 0;
	}
	return true;
}

/* False: leave. */
static bool read_keys(struct top *top)
{
	char keys[KEYS_BYTES];
	ssize_t bytes = read(STDIN_FILENO, keys, sizeof keys);
	unsigned columns, rows;

	if (bytes <= 0)
		return bytes < 0 && errno == EINTR;
	top_terminal_size(&columns, &rows);
	for (const char *at = keys; at < keys + bytes;)
		if (top_view_key(&top->view, top_key_next(&at, keys + bytes),
		                 rows > HEAD_ROWS ? rows - HEAD_ROWS : 1))
			return false;
	return true;
}

/* 0: go on; else the signal that ends us. */
static int read_signal(struct top *top)
{
	struct signalfd_siginfo info;

	if (read(top->signal_fd, &info, sizeof info) != (ssize_t) sizeof info)
		return 0;
	if (info.ssi_signo == SIGTSTP)
		top_terminal_stop();
	return info.ssi_signo == SIGTSTP || info.ssi_signo == SIGWINCH ? 0 : (int) info.ssi_signo;
}

static void take_latest(struct top *top)
{
	struct top_sample *sample;
	uint64_t count;

	(void) !read(top->event_fd, &count, sizeof count);
	sample = top_asker_take(top->asker);
	if (sample && top->view.paused)
		(void) top_sample_free(sample);
	else if (sample)
		take_sample(top, sample);
}

/* 0, or the signal that ends us. */
static int live_loop(struct top *top)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = top->signal_fd, .events = POLLIN },
		{ .fd = top->event_fd, .events = POLLIN },
	};
	int number;

	while (draw(top)) {
		if (poll(fds, ARRAY_COUNT(fds), -1) < 0)
			continue;
		if (fds[0].revents && !read_keys(top))
			return 0;
		number = fds[1].revents ? read_signal(top) : 0;
		if (number)
			return number;
		if (fds[2].revents)
			take_latest(top);
	}
	return 0;
}

/* As the signal would have ended us, had the terminal not been in the way. */
static int end_by(int number)
{
	sigset_t signals;

	if (number == 0)
		return COMMAND_DONE;
	if (number == SIGINT)
		return COMMAND_INTERRUPTED;
	sigemptyset(&signals);
	sigaddset(&signals, number);
	(void) sigprocmask(SIG_UNBLOCK, &signals, NULL);
	(void) raise(number);
	return COMMAND_FAILED;
}

static int live(struct top *top)
{
	int number, r;

	top->event_fd = eventfd(0, EFD_CLOEXEC);
	r = top->event_fd < 0 ? -errno : top_terminal_begin(&top->signal_fd);
	if (r == 0) {
		r = top_asker_start(top->arguments, top->event_fd, &top->asker);
		number = r == 0 ? live_loop(top) : 0;
		top_terminal_end();
		if (r == 0)
			return end_by(number);
	}
	command_error("cannot take the terminal: %s. --once and --batch N do without",
	              strerror(-r));
	return COMMAND_FAILED;
}

/* ---- for scripts ---- */

static bool print(struct top *top)
{
	struct top_screen screen = { .to = stdout, .columns = BATCH_COLUMNS };
	char clock[CLOCK_BYTES];
	struct top_moment moment = moment_of(top, clock);

	if (top->arguments->given & ARGUMENT_JSON)
		top_view_json(stdout, &moment, clock_ms(CLOCK_REALTIME));
	else
		top_view_draw(&screen, &top->view, &moment);
	return fflush(stdout) == 0;
}

static int server_lost(const struct top *top)
{
	char why[DOCUMENT_WHY_BYTES];

	document_why(top->arguments->status_socket, top->now->error, why);
	command_error("%s", why);
	return COMMAND_UNREACHABLE;
}

/* @count 0: until somebody ends it. */
static int batch(struct top *top, unsigned count)
{
	uint64_t due_ms = link_now_ms();

	for (unsigned i = 0; count == 0 || i <= count; i += i < UINT16_MAX) {
		struct top_sample *sample = top_sample_new(top->arguments);

		if (!sample)
			return COMMAND_FAILED;
		take_sample(top, sample);
		if (sample->error)
			return server_lost(top);
		if (i > 0 && !print(top))
			return COMMAND_FAILED;
		due_ms += INTERVAL_MS;
		if (count == 0 || i < count)
			(void) link_sleep(due_ms);
	}
	return COMMAND_DONE;
}

/* ---- the command ---- */

static int show(struct top *top)
{
	const struct arguments *arguments = top->arguments;

	if (arguments->given & ARGUMENT_ONCE)
		return batch(top, 1);
	if (arguments->given & ARGUMENT_BATCH)
		return batch(top, arguments->batch);
	if (arguments->given & ARGUMENT_JSON)
		return batch(top, 0);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return command_misused("top",
		                       "this is no terminal: say --once, --batch N or --json");
	top->now = top_sample_new(arguments);
	if (!top->now)
		return COMMAND_FAILED;
	return top->now->error ? server_lost(top) : live(top);
}

static int run_top(int argc, char **argv)
{
	const unsigned takes = ARGUMENT_JSON | ARGUMENT_SOCKET | ARGUMENT_STATUS_SOCKET |
	                       ARGUMENT_ONCE | ARGUMENT_BATCH;
	struct arguments arguments;
	struct top top = { .arguments = &arguments };
	char why[ARGUMENTS_WHY_BYTES];
	int status;

	if (arguments_parse(argc, argv, takes, 0, 0, &arguments, why) < 0)
		return command_misused("top", "%s", why);
	status = show(&top);
	(void) top_sample_free(top.before);
	(void) top_sample_free(top.now);
	return status;
}

static const char top_help[] =
	"  top\n"
	"      Show each second what this machine's server does for each export and client, and\n"
	"      the jobs that run. Keys: h shows them, q leaves.\n"
	"        --once                one screen as text, of one second\n"
	"        --batch N             N of them\n"
	"        --json                one JSON object in a line for each second instead\n"
	"        --status-socket PATH, --socket PATH  as of status\n";

const struct command top_command = { "top", top_help, run_top, false };
