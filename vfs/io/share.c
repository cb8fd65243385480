/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/io/share.h"

#include <assert.h>

#include "vfs/base/cleanup.h"

void share_init(struct share *share, unsigned most)
{
	assert(most > 0);
	share->most = most;
	share->running = 0;
	list_init(&share->turns);
	for (unsigned i = 0; i < SHARE_GROUPS; i++) {
		list_node_init(&share->groups[i].turn);
		list_init(&share->groups[i].members);
		share->groups[i].running = 0;
	}
}

void share_add(struct share *share, struct share_node *node, uint64_t group)
{
	struct share_group *to = &share->groups[group % SHARE_GROUPS];

	node->group = group;
	list_node_init(&node->node);
	list_add_tail(&to->members, &node->node);
	if (!list_linked(&to->turn))
		list_add_tail(&share->turns, &to->turn);
}

/* The first in turn that may begin another, or NULL. */
static struct share_group *share_next(const struct share *share)
{
	list_for_each (node, &share->turns) {
		struct share_group *group = container_of(node, struct share_group, turn);

		if (group->running < share->most - share->running)
			return group;
	}
	return NULL;
}

bool share_is_ready(const struct share *share)
{
	return share_next(share) != NULL;
}

struct share_node *share_take(struct share *share)
{
	struct share_group *group = share_next(share);
	struct list_node *node;

	if (!group)
		return NULL;
	node = list_pop(&group->members);
	list_remove(&group->turn);
	if (!list_empty(&group->members))
		list_add_tail(&share->turns, &group->turn);
	group->running++;
	share->running++;
	return container_of(node, struct share_node, node);
}

void share_end(struct share *share, uint64_t group)
{
	struct share_group *of = &share->groups[group % SHARE_GROUPS];

	assert(of->running > 0);
	of->running--;
	share->running--;
}
