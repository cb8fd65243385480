/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catch.h - what code under test writes to standard output and error, caught in a file.
 */
#pragma once

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	SAID_BYTES = 64 << 10
};

static char said[SAID_BYTES]; /* after catch_end() */
static int out_was, err_was, catch_fd;

/* The file has no name; it is in @dir. */
static inline void catch_begin(const char *dir)
{
	catch_fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_ge(catch_fd, 0);
	fflush(stdout);
	fflush(stderr);
	out_was = dup(STDOUT_FILENO);
	err_was = dup(STDERR_FILENO);
	dup2(catch_fd, STDOUT_FILENO);
	dup2(catch_fd, STDERR_FILENO);
}

static inline void catch_end(void)
{
	ssize_t count;

	fflush(stdout);
	fflush(stderr);
	dup2(out_was, STDOUT_FILENO);
	dup2(err_was, STDERR_FILENO);
	close(out_was);
	close(err_was);
	count = pread(catch_fd, said, sizeof said - 1, 0);
	ck_assert_int_ge(count, 0);
	said[count] = '\0';
	close(catch_fd);
}

static inline void check_said(const char *words)
{
	ck_assert_msg(strstr(said, words), "'%s' is not in:\n%s", words, said);
}
