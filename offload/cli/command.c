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

	fprintf(stderr, "lodestore %s: ", name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, " (see 'lodestore help %s')\n", name);
	return COMMAND_USAGE;
}
