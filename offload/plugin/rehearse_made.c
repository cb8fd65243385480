/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearse_made.c - what a rehearsal made on the server, and its removal.
 *
 * The longest path stands first, so that what lies in a directory goes before it, whichever of
 * two hosts told of its making first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/plugin/rehearse.h"

struct rehearse_made {
	struct rehearse_made *next;
	bool is_dir;
	char path[SCENARIO_PATH_BYTES];
};

/* Out of memory: the file is not removed, and counted nowhere. The rehearsal goes on. */
void rehearse_made_note(struct rehearsal *rehearsal, const char *path, bool is_dir)
{
	struct rehearse_made *made = calloc(1, sizeof *made), **at;

	if (!made)
		return;
	made->is_dir = is_dir;
	snprintf(made->path, sizeof made->path, "%s", path);
	pthread_mutex_lock(&rehearsal->lock);
	at = &rehearsal->made;
	while (*at && strlen((*at)->path) > strlen(path))
		at = &(*at)->next;
	made->next = *at;
	*at = made;
	pthread_mutex_unlock(&rehearsal->lock);
}

struct removal {
	struct rehearse_task task; /* first: rehearse_task_try() hands it back */
	const struct rehearse_made *made;
};

static int remove_attempt(struct rehearse_task *task)
{
	const struct rehearse_made *made = ((struct removal *) task)->made;
	struct plugin_session *session = &task->session;
	struct plugin_handle dir;
	const char *name;
	int r;

	r = plugin_lookup_parent(session, made->path, &dir, &name);
	if (r == 0)
		r = plugin_remove(session, &dir, name, made->is_dir);
	return r == -EREMOTEIO && session->status == NFS3ERR_NOENT ? 0 : r;
}

unsigned rehearse_made_clean(struct rehearsal *rehearsal)
{
	const struct scenario *scenario = rehearsal->scenario;
	struct removal removal = {
		.task = { .rehearsal = rehearsal,
		          .server = { scenario->server, scenario->port, scenario->from,
		                      scenario->datastore, "rehearsal-clean" } },
	};
	unsigned left = 0;

	for (removal.made = rehearsal->made; removal.made; removal.made = removal.made->next)
		if (rehearse_task_try(&removal.task, remove_attempt) < 0)
			left++;
	rehearse_task_close(&removal.task);
	return left;
}

void rehearse_made_done(struct rehearsal *rehearsal)
{
	struct rehearse_made *made;

	while ((made = rehearsal->made)) {
		rehearsal->made = made->next;
		free(made);
	}
}
