/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/mounts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rpcgen/mount3_results.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/list.h"

struct mount {
	struct list_node node;
	struct export_address client;
	char *directory;
};

struct mounts {
	pthread_mutex_t lock;
	struct list_node list; /* the oldest first */
	unsigned count;
};

struct mounts *mounts_new(void)
{
	struct mounts *mounts = calloc(1, sizeof *mounts);

	if (!mounts)
		return NULL;
	pthread_mutex_init(&mounts->lock, NULL);
	list_init(&mounts->list);
	return mounts;
}

static void mount_free(struct mounts *mounts, struct mount *mount)
{
	list_remove(&mount->node);
	mounts->count--;
	free(mount->directory);
	free(mount);
}

struct mounts *mounts_free(struct mounts *mounts)
{
	if (!mounts)
		return NULL;
	list_for_each_safe (node, &mounts->list)
		mount_free(mounts, container_of(node, struct mount, node));
	pthread_mutex_destroy(&mounts->lock);
	free(mounts);
	return NULL;
}

/* "/a/b/" and "/a/b" are the same mount. */
static size_t trimmed_bytes(const char *directory)
{
	size_t bytes = strlen(directory);

	while (bytes > 1 && directory[bytes - 1] == '/')
		bytes--;
	return bytes;
}

/* @directory NULL: any. */
static void remove_locked(struct mounts *mounts, const struct export_address *client,
                          const char *directory)
{
	list_for_each_safe (node, &mounts->list) {
		struct mount *mount = container_of(node, struct mount, node);

		if (memcmp(&mount->client, client, sizeof *client) != 0)
			continue;
		if (directory &&
		    (strlen(mount->directory) != trimmed_bytes(directory) ||
		     memcmp(mount->directory, directory, trimmed_bytes(directory)) != 0))
			continue;
		mount_free(mounts, mount);
	}
}

void mounts_add(struct mounts *mounts, const struct export_address *client, const char *directory)
{
	struct mount *mount = calloc(1, sizeof *mount);

	if (!mount)
		return;
	mount->client = *client;
	list_node_init(&mount->node);
	mount->directory = strndup(directory, trimmed_bytes(directory));
	if (!mount->directory) {
		free(mount);
		return;
	}
	pthread_mutex_lock(&mounts->lock);
	remove_locked(mounts, client, directory);
	if (mounts->count == MOUNTS_MAX)
		mount_free(mounts, container_of(list_first(&mounts->list), struct mount, node));
	list_add_tail(&mounts->list, &mount->node);
	mounts->count++;
	pthread_mutex_unlock(&mounts->lock);
}

void mounts_remove(struct mounts *mounts, const struct export_address *client,
                   const char *directory)
{
	pthread_mutex_lock(&mounts->lock);
	remove_locked(mounts, client, directory);
	pthread_mutex_unlock(&mounts->lock);
}

void mounts_remove_all(struct mounts *mounts, const struct export_address *client)
{
	pthread_mutex_lock(&mounts->lock);
	remove_locked(mounts, client, NULL);
	pthread_mutex_unlock(&mounts->lock);
}

static struct xdr_view view_of(const char *text)
{
	return (struct xdr_view){ (const uint8_t *) text, (uint32_t) strlen(text) };
}

void mounts_put(struct mounts *mounts, struct xdr_out *out)
{
	char address[EXPORT_ADDRESS_TEXT_BYTES];

	pthread_mutex_lock(&mounts->lock);
	list_for_each (node, &mounts->list) {
		struct mount *mount = container_of(node, struct mount, node);
		struct xdr_view host = view_of(export_address_print(&mount->client, address));
		struct xdr_view directory = view_of(mount->directory);

		if (mount3_mount_bytes(host, directory) + MOUNT3_LIST_END_BYTES >
		    (size_t) (out->end - out->at))
			break;
		mount3_put_mount(out, host, directory);
	}
	pthread_mutex_unlock(&mounts->lock);
	mount3_put_list_end(out);
}
