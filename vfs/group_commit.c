/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/group_commit.h"

#include <assert.h>

bool group_commit_join(struct group_commit *gate, struct group_commit_waiter *waiter)
{
	waiter->next = NULL;
	if (!gate->waiting)
		gate->waiting_last = &gate->waiting;
	*gate->waiting_last = waiter;
	gate->waiting_last = &waiter->next;

	if (gate->flushing || gate->scheduled)
		return false;
	gate->scheduled = true;
	return true;
}

void group_commit_flush_begins(struct group_commit *gate)
{
	assert(gate->scheduled);
	assert(!gate->flushing);
	assert(gate->waiting && !gate->covered);
	gate->scheduled = false;
	gate->flushing = true;
	gate->covered = gate->waiting;
	gate->waiting = NULL;
}

struct group_commit_waiter *group_commit_flush_ends(struct group_commit *gate, bool *ret_again)
{
	struct group_commit_waiter *covered = gate->covered;

	assert(gate->flushing);
	assert(!gate->scheduled);
	gate->flushing = false;
	gate->covered = NULL;
	gate->scheduled = *ret_again = gate->waiting != NULL;
	return covered;
}

bool group_commit_busy(const struct group_commit *gate)
{
	return gate->flushing || gate->scheduled;
}
