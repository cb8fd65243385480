/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/plugin/scenario.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/conf.h"

enum {
	WORDS_MAX = 16,
};

struct parser {
	struct scenario *scenario;
	const char *file;
	unsigned line;
	scenario_report_fn *report;
	void *context;
	bool bad, no_memory;
	char *words[WORDS_MAX];
	size_t word_count, next; /* next: of words, to be looked at */
};

__attribute__((format(printf, 2, 3))) static void complain(struct parser *parser,
                                                           const char *format, ...)
{
	char message[512];
	va_list values;

	va_start(values, format);
	vsnprintf(message, sizeof message, format, values);
	va_end(values);
	parser->bad = true;
	parser->report(parser->context, parser->file, parser->line, message);
}

/* ---- words ---- */

/* The word at *@at, ended with a NUL; *@at moves on. NULL: none, or (complained) a bad one. */
static char *word_cut(struct parser *parser, char **at)
{
	char *word = *at + strspn(*at, " \t\r"), *end;

	if (*word == '\0' || *word == '#')
		return NULL;
	if (*word != '"') {
		end = word + strcspn(word, " \t\r");
		*at = *end ? end + 1 : end;
		*end = '\0';
		return word;
	}
	end = strchr(++word, '"');
	if (!end || (end[1] && !strchr(" \t\r", end[1]))) {
		complain(parser,
		         "A quoted word ends with '\"' and a blank. Write \"my vm/a.vmdk\".");
		return NULL;
	}
	*at = end + 1;
	*end = '\0';
	return word;
}

static void words_cut(struct parser *parser, char *line)
{
	char *word;

	parser->word_count = parser->next = 0;
	while ((word = word_cut(parser, &line))) {
		if (parser->word_count == WORDS_MAX) {
			complain(parser, "There are more than %d words in this line.", WORDS_MAX);
			return;
		}
		parser->words[parser->word_count++] = word;
	}
}

static const char *word_next(struct parser *parser)
{
	return parser->next < parser->word_count ? parser->words[parser->next++] : NULL;
}

/* Is the next word this one? Then it is passed. */
static bool word_is(struct parser *parser, const char *word)
{
	if (parser->next == parser->word_count || strcmp(parser->words[parser->next], word) != 0)
		return false;
	parser->next++;
	return true;
}

static void words_end(struct parser *parser, const char *usage)
{
	const char *word = word_next(parser);

	if (word && !parser->bad)
		complain(parser, "'%s' does not belong here. Write '%s'.", word, usage);
}

static char *word_keep(struct parser *parser, const char *usage)
{
	const char *word = word_next(parser);
	char *kept;

	if (!word) {
		complain(parser, "Something is missing at the end. Write '%s'.", usage);
		return NULL;
	}
	kept = strdup(word);
	parser->no_memory |= !kept;
	return kept;
}

/* A setting that may stand once. */
static void text_set(struct parser *parser, char **slot, const char *usage)
{
	char *text = word_keep(parser, usage);

	if (*slot && text)
		complain(parser, "'%s' stands twice. Leave one line.", parser->words[0]);
	free(*slot);
	*slot = text;
}

static unsigned number_take(struct parser *parser, const char *name, unsigned max)
{
	const char *word = word_next(parser);
	unsigned long number = 0;
	char *end = NULL;

	if (word && isdigit((unsigned char) word[0])) {
		errno = 0;
		number = strtoul(word, &end, 10);
	}
	if (!end || *end || errno || number < 1 || number > max) {
		complain(parser, "'%s' is no number for '%s'. Write a whole number from 1 to %u.",
		         word ? word : "", name, max);
		return 1;
	}
	return (unsigned) number;
}

/* "2s", "250ms": milliseconds. */
static unsigned time_take(struct parser *parser, const char *name, unsigned max_s)
{
	const char *word = word_next(parser);
	unsigned long number = 0;
	char *end = NULL;

	if (word && isdigit((unsigned char) word[0])) {
		errno = 0;
		number = strtoul(word, &end, 10);
		if (errno == 0 && strcmp(end, "s") == 0 && number <= max_s)
			return (unsigned) number * 1000;
		if (errno == 0 && strcmp(end, "ms") == 0 && number <= max_s * 1000ul)
			return (unsigned) number;
	}
	complain(parser, "'%s' is no time for '%s'. Write 2s or 250ms; at most %us.",
	         word ? word : "", name, max_s);
	return 0;
}

/* ---- paths ---- */

static bool component_good(const char *name, size_t bytes)
{
	return bytes > 0 && !(bytes == 1 && name[0] == '.') &&
	       !(bytes == 2 && name[0] == '.' && name[1] == '.');
}

static bool path_good(const char *path)
{
	size_t bytes;

	do {
		bytes = strcspn(path, "/");
		if (!component_good(path, bytes))
			return false;
		path += bytes;
	} while (*path++ == '/');
	return true;
}

static char *path_keep(struct parser *parser, const char *usage)
{
	char *path = word_keep(parser, usage), longest[SCENARIO_PATH_BYTES];

	if (!path)
		return NULL;
	if (!path_good(path))
		complain(parser,
		         "'%s' is no path below the datastore. Write one like vm1/a-flat.vmdk,"
		         " without '/' in front, '.' or '..'.",
		         path);
	else if (!scenario_path(path, SCENARIO_COUNT_MAX, longest))
		complain(parser,
		         "'%.40s...' is too long: a path may have %d bytes, numbers put in.", path,
		         SCENARIO_PATH_BYTES - 1);
	return path;
}

bool scenario_path(const char *pattern, unsigned number, char ret_path[SCENARIO_PATH_BYTES])
{
	size_t used = 0;

	for (const char *at = pattern; *at; at++) {
		size_t left = SCENARIO_PATH_BYTES - used;
		bool here = at[0] == '%' && at[1] == 'n';
		int added = here ? snprintf(ret_path + used, left, "%u", number)
		                 : snprintf(ret_path + used, left, "%c", *at);

		if (added < 0 || (size_t) added >= left)
			return false;
		used += (size_t) added;
		at += here;
	}
	ret_path[used] = '\0';
	return used > 0;
}

/* ---- lines ---- */

static void line_server(struct parser *parser)
{
	static const char usage[] = "server HOST [port N]";

	text_set(parser, &parser->scenario->server, usage);
	if (word_is(parser, "port"))
		parser->scenario->port = (uint16_t) number_take(parser, "port", 65535);
	words_end(parser, usage);
}

static void line_datastore(struct parser *parser)
{
	static const char usage[] = "datastore /PATH/OF/THE/EXPORT";
	struct scenario *scenario = parser->scenario;

	text_set(parser, &scenario->datastore, usage);
	if (scenario->datastore && scenario->datastore[0] != '/')
		complain(parser, "'%s' is no exported path. Write '%s'.", scenario->datastore,
		         usage);
	words_end(parser, usage);
}

static void line_from(struct parser *parser)
{
	text_set(parser, &parser->scenario->from, "from LOCAL-ADDRESS");
	words_end(parser, "from LOCAL-ADDRESS");
}

static void line_dialect(struct parser *parser)
{
	if (word_is(parser, "O"))
		parser->scenario->dialect = SCENARIO_DIALECT_O;
	else if (word_is(parser, "Q"))
		parser->scenario->dialect = SCENARIO_DIALECT_Q;
	else
		complain(parser, "There are two dialects. Write 'dialect O' or 'dialect Q'.");
	words_end(parser, "dialect O|Q");
}

static void line_hosts(struct parser *parser)
{
	parser->scenario->hosts = number_take(parser, "hosts", SCENARIO_HOSTS_MAX);
	if (word_is(parser, "at-once"))
		parser->scenario->at_once = number_take(parser, "at-once", SCENARIO_AT_ONCE_MAX);
	words_end(parser, "hosts N [at-once M]");
}

static void line_poll(struct parser *parser)
{
	parser->scenario->poll_ms = time_take(parser, "poll", SCENARIO_POLL_S_MAX);
	words_end(parser, "poll 1s");
}

static void line_patience(struct parser *parser)
{
	struct scenario *scenario = parser->scenario;

	scenario->patience_ms = time_take(parser, "patience", SCENARIO_PATIENCE_S_MAX);
	words_end(parser, "patience 300s");
}

static void line_tries(struct parser *parser)
{
	parser->scenario->tries = number_take(parser, "tries", SCENARIO_TRIES_MAX);
	words_end(parser, "tries N");
}

static struct scenario_step *step_new(struct parser *parser, enum scenario_kind kind)
{
	struct scenario *scenario = parser->scenario;
	struct scenario_step *step;

	if (scenario->step_count == SCENARIO_STEPS_MAX) {
		complain(parser, "A scenario has at most %d steps. Use 'count', or two files.",
		         SCENARIO_STEPS_MAX);
		return NULL;
	}
	step = &scenario->steps[scenario->step_count++];
	*step = (struct scenario_step){ .line = parser->line, .kind = kind, .count = 1 };
	return step;
}

static void count_check(struct parser *parser, const struct scenario_step *step)
{
	if (step->count > 1 && step->file && !strstr(step->file, "%n"))
		complain(parser,
		         "%u times the same '%s'. Put %%n where the number goes, as in"
		         " vm%%n/vm%%n-flat.vmdk.",
		         step->count, step->file);
}

static void clone_abort(struct parser *parser, struct scenario_step *step, const char *usage)
{
	if (!word_is(parser, "after")) {
		complain(parser, "When? Write '%s'.", usage);
		return;
	}
	step->aborts = true;
	step->abort_after_ms = time_take(parser, "abort after", SCENARIO_ABORT_S_MAX);
}

static void line_clone(struct parser *parser)
{
	static const char usage[] =
		"clone SOURCE to DESTINATION [count N] [thin|thick|fast] [abort after 2s]";
	struct scenario_step *step = step_new(parser, SCENARIO_CLONE);

	if (!step)
		return;
	step->source = path_keep(parser, usage);
	if (!word_is(parser, "to")) {
		complain(parser, "Where to? Write '%s'.", usage);
		return;
	}
	step->file = path_keep(parser, usage);
	for (;;) {
		if (word_is(parser, "count"))
			step->count = number_take(parser, "count", SCENARIO_COUNT_MAX);
		else if (word_is(parser, "thin"))
			step->disk = SCENARIO_THIN;
		else if (word_is(parser, "thick"))
			step->disk = SCENARIO_THICK;
		else if (word_is(parser, "fast"))
			step->disk = SCENARIO_FAST;
		else if (word_is(parser, "abort"))
			clone_abort(parser, step, usage);
		else
			break;
	}
	words_end(parser, usage);
	count_check(parser, step);
	if (step->disk == SCENARIO_FAST && step->aborts)
		complain(parser, "A fast clone is done when it is answered: nothing to abort. Leave"
		                 " 'fast' or 'abort' out.");
}

static void file_step(struct parser *parser, enum scenario_kind kind, const char *usage)
{
	struct scenario_step *step = step_new(parser, kind);

	if (!step)
		return;
	step->file = path_keep(parser, usage);
	if (word_is(parser, "count"))
		step->count = number_take(parser, "count", SCENARIO_COUNT_MAX);
	words_end(parser, usage);
	count_check(parser, step);
}

static void line_reserve(struct parser *parser)
{
	file_step(parser, SCENARIO_RESERVE, "reserve FILE [count N]");
}

static void line_stat(struct parser *parser)
{
	file_step(parser, SCENARIO_STAT, "stat FILE [count N]");
}

static void line_support(struct parser *parser)
{
	(void) step_new(parser, SCENARIO_SUPPORT);
	words_end(parser, "support");
}

static const struct {
	const char *word;
	void (*read)(struct parser *parser);
} lines[] = {
	{ "server", line_server },   { "datastore", line_datastore }, { "from", line_from },
	{ "dialect", line_dialect }, { "hosts", line_hosts },         { "poll", line_poll },
	{ "support", line_support }, { "clone", line_clone },         { "reserve", line_reserve },
	{ "stat", line_stat },       { "tries", line_tries },         { "patience", line_patience },
};

static void line_read(struct parser *parser)
{
	const char *names[ARRAY_COUNT(lines)], *word = word_next(parser), *near;

	if (!word)
		return;
	for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
		if (strcmp(word, lines[i].word) == 0) {
			lines[i].read(parser);
			return;
		}
		names[i] = lines[i].word;
	}
	near = conf_nearest(word, names, ARRAY_COUNT(names));
	if (near)
		complain(parser, "There is no '%s'. Did you mean '%s'?", word, near);
	else
		complain(parser,
		         "There is no '%s'. A line begins with server, datastore, dialect,"
		         " hosts, from, poll, patience, tries, support, clone, reserve or stat.",
		         word);
}

static void missing_check(struct parser *parser)
{
	const struct scenario *scenario = parser->scenario;

	if (!scenario->server)
		complain(parser, "No line says which server. Add 'server HOST'.");
	if (!scenario->datastore)
		complain(parser, "No line says which export. Add 'datastore /PATH'.");
	if (scenario->dialect == SCENARIO_DIALECT_NONE)
		complain(parser, "No line says which dialect. Add 'dialect O' or 'dialect Q'.");
	if (scenario->step_count == 0)
		complain(parser, "There is nothing to do. Add a line such as"
		                 " 'clone tmpl/a-flat.vmdk to vm1/a-flat.vmdk'.");
}

int scenario_parse(struct scenario *ret_scenario, const char *file, const char *text,
                   scenario_report_fn *report, void *context)
{
	AUTO(free_ptr) char *copy = strdup(text);
	struct parser parser = {
		.scenario = ret_scenario,
		.file = file,
		.report = report,
		.context = context,
	};
	bool bad = false;
	char *rest = copy, *line;

	memset(ret_scenario, 0, sizeof *ret_scenario);
	ret_scenario->hosts = ret_scenario->at_once = ret_scenario->tries = 1;
	ret_scenario->poll_ms = SCENARIO_POLL_MS_PRESET;
	ret_scenario->patience_ms = SCENARIO_PATIENCE_MS_PRESET;
	while ((line = strsep(&rest, "\n"))) {
		parser.line++;
		parser.bad = false;
		words_cut(&parser, line);
		if (!parser.bad)
			line_read(&parser);
		bad |= parser.bad;
	}
	parser.bad = false;
	if (!bad)
		missing_check(&parser);
	if (copy && !bad && !parser.bad && !parser.no_memory)
		return 0;
	scenario_done(ret_scenario);
	return !copy || parser.no_memory ? -ENOMEM : -EINVAL;
}

void scenario_done(struct scenario *scenario)
{
	free(scenario->server);
	free(scenario->datastore);
	free(scenario->from);
	for (size_t i = 0; i < scenario->step_count; i++) {
		free(scenario->steps[i].source);
		free(scenario->steps[i].file);
	}
	memset(scenario, 0, sizeof *scenario);
}
