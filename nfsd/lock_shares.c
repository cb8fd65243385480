/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/lock_shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vfs/base/cleanup.h"

struct share {
	struct lock_file *file;
	struct list_node in_file, in_all;
	struct export_address client;
	unsigned access, deny;
	uint32_t opaque_count;
	uint8_t opaque[];
};

void lock_shares_init(struct lock_shares *shares)
{
	list_init(&shares->all);
	shares->count = 0;
}

static void share_free(struct lock_shares *shares, struct share *share)
{
	list_remove(&share->in_file);
	list_remove(&share->in_all);
	shares->count--;
	free(share);
}

void lock_shares_done(struct lock_shares *shares)
{
	list_for_each_safe (node, &shares->all)
		share_free(shares, container_of(node, struct share, in_all));
}

static bool is_of_client(const struct share *share, const struct export_address *client)
{
	return memcmp(&share->client, client, sizeof *client) == 0;
}

static bool is_of(const struct share *share, const struct lock_share_ask *ask)
{
	return is_of_client(share, &ask->client) && share->opaque_count == ask->opaque.count &&
	       (share->opaque_count == 0 ||
	        memcmp(share->opaque, ask->opaque.bytes, share->opaque_count) == 0);
}

static struct share *share_find(struct lock_file *file, const struct lock_share_ask *ask)
{
	list_for_each (node, &file->shares) {
		struct share *share = container_of(node, struct share, in_file);

		if (is_of(share, ask))
			return share;
	}
	return NULL;
}

static bool is_forbidden(const struct lock_file *file, const struct lock_share_ask *ask)
{
	list_for_each (node, &file->shares) {
		const struct share *share = container_of(node, struct share, in_file);

		if (!is_of(share, ask) &&
		    ((share->deny & ask->access) || (share->access & ask->deny)))
			return true;
	}
	return false;
}

static unsigned client_count(const struct lock_shares *shares, const struct export_address *client)
{
	unsigned count = 0;

	list_for_each (node, &shares->all)
		count += is_of_client(container_of(node, struct share, in_all), client);
	return count;
}

static int share_new(struct lock_shares *shares, struct lock_file *file,
                     const struct lock_share_ask *ask, struct share **ret_share)
{
	struct share *share;

	if (client_count(shares, &ask->client) >= LOCK_SHARES_PER_CLIENT_MAX)
		return -ENOLCK;
	share = calloc(1, sizeof *share + ask->opaque.count);
	if (!share)
		return -ENOMEM;
	share->file = file;
	share->client = ask->client;
	share->opaque_count = ask->opaque.count;
	if (ask->opaque.count)
		memcpy(share->opaque, ask->opaque.bytes, ask->opaque.count);
	list_node_init(&share->in_file);
	list_node_init(&share->in_all);
	list_add_tail(&file->shares, &share->in_file);
	list_add_tail(&shares->all, &share->in_all);
	shares->count++;
	*ret_share = share;
	return 0;
}

int lock_share_set(struct lock_shares *shares, struct lock_file *file,
                   const struct lock_share_ask *ask)
{
	struct share *share = share_find(file, ask);
	int r = is_forbidden(file, ask) ? -EAGAIN : 0;

	if (r == 0 && !share)
		r = share_new(shares, file, ask, &share);
	if (r < 0)
		return r;
	share->access = ask->access;
	share->deny = ask->deny;
	return 0;
}

void lock_share_clear(struct lock_shares *shares, struct lock_file *file,
                      const struct lock_share_ask *ask)
{
	struct share *share = share_find(file, ask);

	if (share)
		share_free(shares, share);
}

void lock_share_drop(struct lock_shares *shares, const struct export_address *client,
                     struct list_node *touched)
{
	list_for_each_safe (node, &shares->all) {
		struct share *share = container_of(node, struct share, in_all);

		if (!is_of_client(share, client))
			continue;
		if (!list_linked(&share->file->touched))
			list_add_tail(touched, &share->file->touched);
		share_free(shares, share);
	}
}
