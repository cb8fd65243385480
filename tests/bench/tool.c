/* SPDX-License-Identifier: Apache-2.0 */
#include "tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	OPTION_SECONDS_MAX = 3600,
};

void die(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

void sleep_s(double seconds)
{
	struct timespec rest = { .tv_sec = (time_t) seconds };

	rest.tv_nsec = (long) ((seconds - (double) rest.tv_sec) * 1e9);
	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		;
}

uint64_t random_seed(unsigned number)
{
	return UINT64_C(88172645463325252) + number * UINT64_C(0x9e3779b97f4a7c15);
}

/* xorshift64, by George Marsaglia: public domain. */
uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

unsigned long option_number(const char *text, const char *name, unsigned long min,
                            unsigned long max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value < min || value > max)
		die("--%s is a whole number from %lu to %lu, not '%s'", name, min, max, text);
	return value;
}

double option_seconds(const char *text, const char *name)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0 && value <= OPTION_SECONDS_MAX))
		die("--%s is a number of seconds from 0 to %d, not '%s'", name, OPTION_SECONDS_MAX,
		    text);
	return value;
}

void *allocate(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		die("no memory");
	return memory;
}

void *allocate_zeroed(size_t count, size_t bytes)
{
	void *memory = calloc(count, bytes);

	if (!memory)
		die("no memory");
	return memory;
}
