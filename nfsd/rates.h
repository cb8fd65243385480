/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rates.h - what each client, and all clients of an export together, have taken of their limits.
 *
 * One account for an export and a client's address, whatever connections and workers it uses, and
 * one for the export. Thread-safe. An account that owes nothing is as good as a new one and is
 * forgotten, so there are no more than clients that have called within the last moments.
 */
#pragma once

#include <stdint.h>

#include "vfs/exports.h"

struct rates;

/* NULL if memory is short. */
struct rates *rates_new(void);
struct rates *rates_free(struct rates *rates);

/* One call: whose, under which limits, and how much data. */
struct rates_call {
	uint32_t export_id;
	uint32_t bytes;
	struct export_address client;
	struct export_rate each, total;
};

/* For how many nanoseconds the call must wait; what it takes is taken. If memory is short nothing
 * is, and it need not wait. */
uint64_t rates_take(struct rates *rates, const struct rates_call *call, uint64_t now_ns);

/* The call that waits is given up, or its limits have changed. */
void rates_give_back(struct rates *rates, const struct rates_call *call);
