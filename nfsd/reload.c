/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/reload.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/server.h"
#include "vfs/base/clock.h"
#include "vfs/base/json.h"
#include "vfs/base/log.h"
#include "vfs/counts.h"
#include "vfs/exports_diff.h"

enum {
	CHANGES_MAX = 1000, /* that are kept */
	LOGGED_MAX = 20,
	NAME_BYTES = 64,
};

struct change {
	enum exports_change change;
	char *path;
};

/* Of one reload. */
struct reload_outcome {
	bool good;
	uint64_t at_ms;
	struct change changes[CHANGES_MAX];
	unsigned change_count, more; /* more: that are not kept */
	char restart[CONFIG_KEYS_MAX][NAME_BYTES];
	unsigned restart_count;
};

struct reload {
	pthread_mutex_t lock;
	uint64_t count;
	struct reload_outcome *last; /* under lock; NULL: none yet */
};

static void outcome_free(struct reload_outcome *outcome)
{
	for (unsigned i = 0; outcome && i < outcome->change_count; i++)
		free(outcome->changes[i].path);
	free(outcome);
}

struct reload *reload_new(void)
{
	struct reload *reload = calloc(1, sizeof *reload);

	if (reload)
		pthread_mutex_init(&reload->lock, NULL);
	return reload;
}

struct reload *reload_free(struct reload *reload)
{
	if (!reload)
		return NULL;
	outcome_free(reload->last);
	pthread_mutex_destroy(&reload->lock);
	free(reload);
	return NULL;
}

/* ---- comparing ---- */

static void note_export(void *context, enum exports_change change, const char *path)
{
	struct reload_outcome *outcome = context;
	char *copy = outcome->change_count < CHANGES_MAX ? strdup(path) : NULL;

	if (copy)
		outcome->changes[outcome->change_count++] = (struct change){ change, copy };
	else
		outcome->more++;
}

static void note_setting(void *context, const char *section, const char *key)
{
	struct reload_outcome *outcome = context;

	log_always(LOG_LEVEL_WARNING, "setting %s.%s is another one now: it counts after a restart",
	           section, key);
	snprintf(outcome->restart[outcome->restart_count++], NAME_BYTES, "%s.%s", section, key);
}

struct reload_outcome *reload_compare(struct server *server, const struct exports *exports)
{
	struct reload_outcome *outcome = calloc(1, sizeof *outcome);

	if (!outcome)
		return NULL;
	outcome->good = config_differences(server->config, note_setting, outcome) == 0;
	if (exports)
		vfs_counts_compare(server->vfs, exports, note_export, outcome);
	return outcome;
}

static void log_changes(const struct reload_outcome *outcome)
{
	unsigned logged = 0;

	for (; logged < outcome->change_count && logged < LOGGED_MAX; logged++)
		log_always(LOG_LEVEL_INFO, "export %s: %s",
		           exports_change_names[outcome->changes[logged].change],
		           LOG_ESCAPED(outcome->changes[logged].path));
	if (outcome->change_count + outcome->more > logged)
		log_always(LOG_LEVEL_INFO, "and %u more exports",
		           outcome->change_count + outcome->more - logged);
}

void reload_end(struct reload *reload, struct reload_outcome *outcome, bool served)
{
	struct reload_outcome *before;

	if (!outcome)
		return;
	outcome->at_ms = clock_ms(CLOCK_REALTIME);
	outcome->good &= served;
	if (served)
		log_changes(outcome);
	pthread_mutex_lock(&reload->lock);
	before = reload->last;
	reload->last = outcome;
	reload->count++;
	pthread_mutex_unlock(&reload->lock);
	outcome_free(before);
}

/* ---- the document ---- */

static void put_changes(struct json *json, const struct reload_outcome *outcome)
{
	for (unsigned i = 0; i < EXPORTS_CHANGES; i++) {
		json_begin(json, exports_change_names[i], '[');
		for (unsigned j = 0; j < outcome->change_count; j++)
			if (outcome->changes[j].change == i)
				json_word(json, NULL, outcome->changes[j].path);
		json_end(json, ']');
	}
	json_u64(json, "more", outcome->more);
	json_begin(json, "restart", '[');
	for (unsigned i = 0; i < outcome->restart_count; i++)
		json_word(json, NULL, outcome->restart[i]);
	json_end(json, ']');
}

void reload_put(struct reload *reload, struct json *json)
{
	json_begin(json, "reload", '{');
	pthread_mutex_lock(&reload->lock);
	json_u64(json, "count", reload->count);
	if (reload->last) {
		json_u64(json, "at_ms", reload->last->at_ms);
		json_bool(json, "good", reload->last->good);
		put_changes(json, reload->last);
	}
	pthread_mutex_unlock(&reload->lock);
	json_end(json, '}');
}
