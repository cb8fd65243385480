/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/cli/arguments.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/conf.h"
#include "vfs/base/settings.h"

static const struct option options[] = {
	{ "port", required_argument, NULL, ARGUMENT_PORT },
	{ "socket", required_argument, NULL, ARGUMENT_SOCKET },
	{ "json", no_argument, NULL, ARGUMENT_JSON },
	{ "timeout", required_argument, NULL, ARGUMENT_TIMEOUT },
	{ "fast", no_argument, NULL, ARGUMENT_FAST },
	{ "verify", no_argument, NULL, ARGUMENT_VERIFY },
	{ "new", no_argument, NULL, ARGUMENT_NEW },
	{ "wait", no_argument, NULL, ARGUMENT_WAIT },
	{ "no-wait", no_argument, NULL, ARGUMENT_NO_WAIT },
	{ "yes", no_argument, NULL, ARGUMENT_YES },
	{ "live", no_argument, NULL, ARGUMENT_LIVE },
	{ "status-socket", required_argument, NULL, ARGUMENT_STATUS_SOCKET },
	{ "check", no_argument, NULL, ARGUMENT_CHECK },
	{ "warn-space", required_argument, NULL, ARGUMENT_WARN_SPACE },
	{ "crit-space", required_argument, NULL, ARGUMENT_CRIT_SPACE },
	{ "once", no_argument, NULL, ARGUMENT_ONCE },
	{ "batch", required_argument, NULL, ARGUMENT_BATCH },
	{ "exports", required_argument, NULL, ARGUMENT_EXPORTS },
	{ "no-reload", no_argument, NULL, ARGUMENT_NO_RELOAD },
	{ "directory", required_argument, NULL, ARGUMENT_DIRECTORY },
	{ "hosts", required_argument, NULL, ARGUMENT_HOSTS },
	{ "name", required_argument, NULL, ARGUMENT_NAME },
	{ "release", required_argument, NULL, ARGUMENT_RELEASE },
	{ NULL, 0, NULL, 0 },
};

#define refuse(why, ...) (snprintf(why, ARGUMENTS_WHY_BYTES, __VA_ARGS__), -EINVAL)

/* getopt_long(3) has said no to @word: no option, or one without its value. */
static int refuse_option(const char *word, int verdict, char *reterr_why)
{
	const char *names[ARRAY_COUNT(options) - 1], *near;

	if (verdict == ':')
		return refuse(reterr_why, "%s needs a value", word);
	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		names[i] = options[i].name;
	near = strncmp(word, "--", 2) == 0 ? conf_nearest(word + 2, names, ARRAY_COUNT(names))
	                                   : NULL;
	if (near && strcmp(near, word + 2) != 0)
		return refuse(reterr_why, "there is no option %s. Did you mean --%s?", word, near);
	return refuse(reterr_why, "there is no option %s as it stands", word);
}

static int parse_number(const char *name, unsigned max, unsigned *ret_number, char *reterr_why)
{
	uint64_t number;

	if (optarg[strspn(optarg, "0123456789")] || conf_size_parse(optarg, &number) < 0 ||
	    number < 1 || number > max)
		return refuse(reterr_why, "'%s' is no value for --%s. Write a number from 1 to %u",
		              optarg, name, max);
	*ret_number = (unsigned) number;
	return 0;
}

/* "10%" or "10". */
static int parse_percent(const char *name, unsigned *ret_percent, char *reterr_why)
{
	size_t digits = strspn(optarg, "0123456789");
	unsigned long percent = digits > 0 && digits < 4 ? strtoul(optarg, NULL, 10) : 101;

	if (percent > 100 || (optarg[digits] && strcmp(optarg + digits, "%") != 0))
		return refuse(reterr_why,
		              "'%s' is no value for --%s. Write 0%% to 100%%, such as 10%%", optarg,
		              name);
	*ret_percent = (unsigned) percent;
	return 0;
}

static int take_value(const struct option *option, struct arguments *arguments, char *reterr_why)
{
	unsigned number;
	int r = 0;

	switch (option->val) {
	case ARGUMENT_PORT:
		r = parse_number(option->name, UINT16_MAX, &number, reterr_why);
		if (r == 0)
			arguments->port = (uint16_t) number;
		break;
	case ARGUMENT_TIMEOUT:
		r = parse_number(option->name, ARGUMENTS_TIMEOUT_MAX_S, &arguments->timeout_s,
		                 reterr_why);
		break;
	case ARGUMENT_BATCH:
		r = parse_number(option->name, ARGUMENTS_BATCH_MAX, &arguments->batch, reterr_why);
		break;
	case ARGUMENT_SOCKET:
		arguments->socket = optarg;
		break;
	case ARGUMENT_EXPORTS:
		arguments->exports = optarg;
		break;
	case ARGUMENT_DIRECTORY:
		arguments->directory = optarg;
		break;
	case ARGUMENT_HOSTS:
		arguments->hosts = optarg;
		break;
	case ARGUMENT_NAME:
		arguments->name = optarg;
		break;
	case ARGUMENT_RELEASE:
		arguments->release = optarg;
		break;
	case ARGUMENT_STATUS_SOCKET:
		arguments->status_socket = optarg;
		break;
	case ARGUMENT_WARN_SPACE:
		r = parse_percent(option->name, &arguments->warn_space_percent, reterr_why);
		break;
	case ARGUMENT_CRIT_SPACE:
		r = parse_percent(option->name, &arguments->crit_space_percent, reterr_why);
		break;
	}
	return r;
}

static int take_options(int argc, char **argv, unsigned takes, struct arguments *arguments,
                        char *reterr_why)
{
	int value, index, r;

	optind = 0; /* glibc: begin afresh */
	opterr = 0;
	while ((value = getopt_long(argc, argv, ":", options, &index)) >= 0) {
		if (value == '?' || value == ':')
			return refuse_option(argv[optind - 1], value, reterr_why);
		if (!(takes & (unsigned) value))
			return refuse(reterr_why, "it has no option --%s", options[index].name);
		r = take_value(&options[index], arguments, reterr_why);
		if (r < 0)
			return r;
		arguments->given |= (unsigned) value;
	}
	if ((arguments->given & ARGUMENT_WAIT) && (arguments->given & ARGUMENT_NO_WAIT))
		return refuse(reterr_why, "--wait and --no-wait exclude each other");
	if (arguments->crit_space_percent > arguments->warn_space_percent)
		return refuse(reterr_why,
		              "--crit-space %u%% is above --warn-space %u%%: it would never warn."
		              " Give both",
		              arguments->crit_space_percent, arguments->warn_space_percent);
	return 0;
}

int arguments_parse(int argc, char **argv, unsigned takes, int words_min, int words_max,
                    struct arguments *ret_arguments, char reterr_why[ARGUMENTS_WHY_BYTES])
{
	struct arguments arguments = {
		.command = argv[0],
		.port = ARGUMENTS_PORT_DEFAULT,
		.socket = ARGUMENTS_SOCKET_DEFAULT,
		.exports = SETTINGS_EXPORTS_FILE,
		.status_socket = ARGUMENTS_STATUS_SOCKET_DEFAULT,
		.timeout_s = ARGUMENTS_TIMEOUT_DEFAULT_S,
		.warn_space_percent = ARGUMENTS_WARN_SPACE_DEFAULT_PERCENT,
		.crit_space_percent = ARGUMENTS_CRIT_SPACE_DEFAULT_PERCENT,
	};
	int r;

	assert(words_min <= words_max && words_max <= ARGUMENTS_WORDS_MAX);
	r = take_options(argc, argv, takes, &arguments, reterr_why);
	if (r < 0)
		return r;
	if (argc - optind < words_min)
		return refuse(reterr_why, "an argument is missing");
	if (argc - optind > words_max)
		return refuse(reterr_why, "'%s' is one argument too many",
		              argv[optind + words_max]);
	while (optind < argc)
		arguments.words[arguments.word_count++] = argv[optind++];
	*ret_arguments = arguments;
	return 0;
}
