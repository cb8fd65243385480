/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_terminal.c - there is one terminal, hence what is static here; a signal's handler needs it.
 */
#include "offload/cli/top_terminal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"

enum {
	COLUMNS_DEFAULT = 80,
	ROWS_DEFAULT = 24,
};

/* xterm's private modes: the other screen, no cursor, no line that runs on. */
static const char enter[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char leave[] = "\033[?7h\033[?25h\033[?1049l";

static struct termios before;
static volatile sig_atomic_t taken;

static void take(void)
{
	struct termios raw = before;

	raw.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	(void) tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
	(void) !write(STDOUT_FILENO, enter, sizeof enter - 1);
	taken = 1;
}

void top_terminal_end(void)
{
	if (!taken)
		return;
	taken = 0;
	(void) !write(STDOUT_FILENO, leave, sizeof leave - 1);
	(void) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

/* A bug of ours: whoever looks for it needs a terminal. Signal-safe (signal-safety(7)). */
static void crashed(int number)
{
	top_terminal_end();
	(void) raise(number); /* its default again: SA_RESETHAND */
}

static void catch_crashes(void)
{
	static const int numbers[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	struct sigaction action = { .sa_handler = crashed,
		                    .sa_flags = (int) SA_RESETHAND | SA_NODEFER };

	for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
		(void) sigaction(numbers[i], &action, NULL);
}

int top_terminal_begin(int *ret_signal_fd)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH };
	sigset_t signals;
	int fd;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return -errno;
	sigemptyset(&signals);
	for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
		sigaddset(&signals, numbers[i]);
	fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	(void) sigprocmask(SIG_BLOCK, &signals, NULL);
	catch_crashes();
	take();
	*ret_signal_fd = fd;
	return 0;
}

void top_terminal_stop(void)
{
	top_terminal_end();
	(void) raise(SIGSTOP);
	take();
}

void top_terminal_size(unsigned *ret_columns, unsigned *ret_rows)
{
	struct winsize size = { 0 };

	(void) ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*ret_columns = size.ws_col ? size.ws_col : COLUMNS_DEFAULT;
	*ret_rows = size.ws_row ? size.ws_row : ROWS_DEFAULT;
}
