/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/data_gate.h"

#include <assert.h>

bool data_gate_enter(struct data_gate *gate, bool direct, struct data_gate_waiter *waiter)
{
	assert(gate->inside > 0 || !gate->waiting);
	if (!gate->waiting && (gate->inside == 0 || gate->direct == direct)) {
		gate->inside++;
		gate->direct = direct;
		return true;
	}
	*waiter = (struct data_gate_waiter){ .direct = direct };
	if (!gate->waiting)
		gate->waiting_last = &gate->waiting;
	*gate->waiting_last = waiter;
	gate->waiting_last = &waiter->next;
	return false;
}

struct data_gate_waiter *data_gate_leave(struct data_gate *gate)
{
	struct data_gate_waiter *let_in = gate->waiting, **end = &let_in;

	assert(gate->inside > 0);
	if (--gate->inside > 0 || !let_in)
		return NULL;
	gate->direct = let_in->direct;
	while (*end && (*end)->direct == gate->direct) {
		gate->inside++;
		end = &(*end)->next;
	}
	gate->waiting = *end;
	*end = NULL;
	return let_in;
}
