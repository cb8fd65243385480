/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/peers.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
	PEER_BUCKETS = 1024
};

struct peer {
	struct peer *next;
	struct export_address address;
	unsigned count;
};

struct peers {
	pthread_mutex_t lock;
	unsigned count, most, most_each;
	struct peer *buckets[PEER_BUCKETS];
};

struct peers *peers_new(unsigned most, unsigned most_each)
{
	struct peers *peers = calloc(1, sizeof *peers);

	if (!peers)
		return NULL;
	pthread_mutex_init(&peers->lock, NULL);
	peers->most = most;
	peers->most_each = most_each;
	return peers;
}

struct peers *peers_free(struct peers *peers)
{
	if (!peers)
		return NULL;
	assert(peers->count == 0);
	pthread_mutex_destroy(&peers->lock);
	free(peers);
	return NULL;
}

/* The place that points to the address' entry, or to NULL. */
static struct peer **peer_slot(struct peers *peers, const struct export_address *address)
{
	struct peer **slot = &peers->buckets[XXH3_64bits(address, sizeof *address) % PEER_BUCKETS];

	while (*slot && memcmp(&(*slot)->address, address, sizeof *address) != 0)
		slot = &(*slot)->next;
	return slot;
}

static enum peers_verdict peers_take_locked(struct peers *peers,
                                            const struct export_address *address)
{
	struct peer **slot = peer_slot(peers, address);

	if (peers->count >= peers->most)
		return PEERS_FULL;
	if (!*slot) {
		*slot = calloc(1, sizeof **slot);
		if (!*slot)
			return PEERS_FULL;
		(*slot)->address = *address;
	}
	if ((*slot)->count >= peers->most_each)
		return PEERS_ADDRESS_FULL;
	(*slot)->count++;
	peers->count++;
	return PEERS_TAKEN;
}

enum peers_verdict peers_take(struct peers *peers, const struct export_address *address)
{
	enum peers_verdict verdict;

	pthread_mutex_lock(&peers->lock);
	verdict = peers_take_locked(peers, address);
	pthread_mutex_unlock(&peers->lock);
	return verdict;
}

void peers_release(struct peers *peers, const struct export_address *address)
{
	struct peer **slot, *peer;

	pthread_mutex_lock(&peers->lock);
	slot = peer_slot(peers, address);
	peer = *slot;
	assert(peer && peer->count > 0);
	peers->count--;
	if (--peer->count == 0) {
		*slot = peer->next;
		free(peer);
	}
	pthread_mutex_unlock(&peers->lock);
}

unsigned peers_count(struct peers *peers)
{
	unsigned count;

	pthread_mutex_lock(&peers->lock);
	count = peers->count;
	pthread_mutex_unlock(&peers->lock);
	return count;
}
