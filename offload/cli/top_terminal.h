/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_terminal.h - the terminal, for as long as `lodestore top` has it: another screen, keys as
 * they come, signals as something to read. Whatever ends the process, the terminal is as it was.
 */
#pragma once

#include <stdbool.h>

/* Signals are blocked from here on, in threads that are started later as well. @ret_signal_fd:
 * signalfd(2). 0, or a negative errno: then nothing has changed. */
int top_terminal_begin(int *ret_signal_fd);

/* Takes a terminal that was never begun. */
void top_terminal_end(void);

/* Give it back, stop as Ctrl-Z wants it, and take it again when we go on. */
void top_terminal_stop(void);

void top_terminal_size(unsigned *ret_columns, unsigned *ret_rows);
