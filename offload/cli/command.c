/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/command.h"

#include <stdarg.h>
#include <stdio.h>

void command_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("lodestore: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

int command_misused(const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "lodestore %s: ", name);
	vfprintf(stderr, format, args);
	fprintf(stderr, ". Try 'lodestore help %s'.\n", name);
	va_end(args);
	return COMMAND_USAGE;
}
