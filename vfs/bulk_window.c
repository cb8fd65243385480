/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/bulk_window.h"

#include <assert.h>
#include <stddef.h>

static bool has_room(const struct bulk_window *window, uint32_t bytes)
{
	return window->inside_bytes == 0 || window->inside_bytes + bytes <= window->bytes_max;
}

bool bulk_window_enter(struct bulk_window *window, struct bulk_waiter *waiter)
{
	assert(waiter->bytes > 0);
	assert(window->inside_bytes > 0 || !window->waiting);
	if (!window->waiting && has_room(window, waiter->bytes)) {
		window->inside_bytes += waiter->bytes;
		return true;
	}
	waiter->next = NULL;
	if (!window->waiting)
		window->waiting_last = &window->waiting;
	*window->waiting_last = waiter;
	window->waiting_last = &waiter->next;
	return false;
}

struct bulk_waiter *bulk_window_leave(struct bulk_window *window, uint32_t bytes)
{
	struct bulk_waiter *let_in = window->waiting, **end = &let_in;

	assert(bytes > 0 && bytes <= window->inside_bytes);
	window->inside_bytes -= bytes;
	while (*end && has_room(window, (*end)->bytes)) {
		window->inside_bytes += (*end)->bytes;
		end = &(*end)->next;
	}
	window->waiting = *end;
	*end = NULL;
	return let_in;
}
