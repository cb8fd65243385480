/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/window.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum {
	FLUSHES_FIELD = 15, /* from 0; Documentation/block/stat.rst of the kernel */
};

static const uint64_t ns_per_ms = 1000000;

int window_flushes(const char *stat, uint64_t *ret_flushes)
{
	uint64_t value = 0;
	int used;

	for (unsigned i = 0; i <= FLUSHES_FIELD; i++, stat += used)
		if (sscanf(stat, "%" SCNu64 "%n", &value, &used) != 1)
			return -EPROTO;
	*ret_flushes = value;
	return 0;
}

static void window_grow(struct window *window, uint64_t now_ns)
{
	if (window->busy_ns && now_ns - window->busy_ns < WINDOW_QUIET_MS * ns_per_ms)
		return;
	if (now_ns - window->grown_ns < WINDOW_GROW_MS * ns_per_ms)
		return;
	window->grown_ns = now_ns;
	window->bytes *= 2;
	if (window->bytes > WINDOW_BYTES_MAX)
		window->bytes = WINDOW_BYTES_MAX;
}

void window_look(struct window *window, uint64_t flushes, bool ours, uint64_t now_ns)
{
	bool by_others = window->known && flushes != window->flushes && !window->blurred && !ours;

	if (!window->known) {
		window->bytes = WINDOW_BYTES_MIN;
		window->grown_ns = now_ns;
	}
	window->known = true;
	window->flushes = flushes;
	window->blurred = ours;
	if (by_others) {
		window->busy_ns = now_ns;
		window->bytes = WINDOW_BYTES_MIN;
	}
	window_grow(window, now_ns);
}

uint32_t window_share(const struct window *window, unsigned copies)
{
	uint32_t bytes = window->known ? window->bytes : WINDOW_BYTES_UNKNOWN;

	assert(copies > 0);
	bytes = bytes / copies / WINDOW_PIECE_BYTES_MIN * WINDOW_PIECE_BYTES_MIN;
	return bytes < WINDOW_PIECE_BYTES_MIN ? WINDOW_PIECE_BYTES_MIN : bytes;
}
