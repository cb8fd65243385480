/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers.h - how many connections (or calls with the sidecar) there are, in all and from each
 * address, so that one address cannot take them all. Thread-safe.
 */
#pragma once

#include <stdint.h>

#include "vfs/exports.h"

struct peers;

struct peers *peers_new(unsigned most, unsigned most_each);
struct peers *peers_free(struct peers *peers);

enum peers_verdict {
	PEERS_TAKEN,
	PEERS_FULL,
	PEERS_ADDRESS_FULL
};
enum peers_verdict peers_take(struct peers *peers, const struct export_address *address);
void peers_release(struct peers *peers, const struct export_address *address);

unsigned peers_count(struct peers *peers);
