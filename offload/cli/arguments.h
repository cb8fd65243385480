/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.h - the options and words of the commands that ask a server. Pure.
 */
#pragma once

#include <stdint.h>

#define ARGUMENTS_SOCKET_DEFAULT        "/run/lodestore/offload.sock"
#define ARGUMENTS_STATUS_SOCKET_DEFAULT "/run/lodestore/nfsd.sock"

enum {
	ARGUMENTS_WORDS_MAX = 64,
	ARGUMENTS_PLACES_MAX = 2, /* of a command that asks a server for work */
	ARGUMENTS_WHY_BYTES = 512,
	ARGUMENTS_PORT_DEFAULT = 2049,
	ARGUMENTS_TIMEOUT_DEFAULT_S = 300,
	ARGUMENTS_TIMEOUT_MAX_S = 7 * 86400,
	ARGUMENTS_BATCH_MAX = 10000,
	ARGUMENTS_WARN_SPACE_DEFAULT_PERCENT = 10,
	ARGUMENTS_CRIT_SPACE_DEFAULT_PERCENT = 3,
};

enum argument {
	ARGUMENT_PORT = 1 << 0,
	ARGUMENT_SOCKET = 1 << 1,
	ARGUMENT_JSON = 1 << 2,
	ARGUMENT_TIMEOUT = 1 << 3,
	ARGUMENT_FAST = 1 << 4,
	ARGUMENT_VERIFY = 1 << 5,
	ARGUMENT_NEW = 1 << 6,
	ARGUMENT_WAIT = 1 << 7,
	ARGUMENT_NO_WAIT = 1 << 8,
	ARGUMENT_YES = 1 << 9,
	ARGUMENT_LIVE = 1 << 10,
	ARGUMENT_STATUS_SOCKET = 1 << 11,
	ARGUMENT_CHECK = 1 << 12,
	ARGUMENT_WARN_SPACE = 1 << 13,
	ARGUMENT_CRIT_SPACE = 1 << 14,
	ARGUMENT_ONCE = 1 << 15,
	ARGUMENT_BATCH = 1 << 16,
	ARGUMENT_EXPORTS = 1 << 17,
	ARGUMENT_NO_RELOAD = 1 << 18,
	ARGUMENT_DIRECTORY = 1 << 19,
	ARGUMENT_HOSTS = 1 << 20,
	ARGUMENT_NAME = 1 << 21,
	ARGUMENT_RELEASE = 1 << 22,

	ARGUMENT_COMMON = ARGUMENT_PORT | ARGUMENT_SOCKET | ARGUMENT_JSON | ARGUMENT_TIMEOUT,
	ARGUMENT_SPACE = ARGUMENT_WARN_SPACE | ARGUMENT_CRIT_SPACE,
	ARGUMENT_JOB = ARGUMENT_COMMON | ARGUMENT_WAIT | ARGUMENT_NO_WAIT,
};

struct arguments {
	const char *command;
	unsigned given; /* enum argument */
	uint16_t port;
	const char *socket, *status_socket, *exports;
	const char *directory, *hosts, *name, *release;
	unsigned timeout_s;
	unsigned batch; /* how many */
	unsigned warn_space_percent, crit_space_percent;
	const char *words[ARGUMENTS_WORDS_MAX];
	int word_count;
};

/**
 * arguments_parse() - what a command was given
 * @argc, @argv:          [0]: its name. Options may stand anywhere; getopt_long(3) sorts @argv
 * @takes:                the options that it has
 * @words_min, @words_max: how many words it needs; at most ARGUMENTS_WORDS_MAX
 * @ret_arguments:        with views into @argv
 * @reterr_why:           what is wrong, without a full stop
 *
 * Return: 0, or -EINVAL.
 */
int arguments_parse(int argc, char **argv, unsigned takes, int words_min, int words_max,
                    struct arguments *ret_arguments, char reterr_why[ARGUMENTS_WHY_BYTES]);
