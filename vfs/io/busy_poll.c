/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/io/busy_poll.h"

uint64_t busy_poll_begin(struct busy_poll *busy)
{
	if (busy->span_ns == 0)
		return 0;
	if (busy->trust == 0 && ++busy->waits % BUSY_POLL_PROBE_EVERY != 0)
		return 0;
	return busy->span_ns;
}

void busy_poll_end(struct busy_poll *busy, bool found)
{
	if (found)
		busy->trust += busy->trust < BUSY_POLL_TRUST_MAX;
	else
		busy->trust -= busy->trust < 2 ? busy->trust : 2;
}
