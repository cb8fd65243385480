/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nsm_hosts.c - lock order: write_lock, under which files are made and removed, then lock, under
 * which the hosts in memory are looked at. Who finds its host watched never waits for a disk.
 */
#include "nfsd/nsm_hosts.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nfsd/lock_grace.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/file_text.h"

enum {
	CHAINS = 256,
	PATH_BYTES_MAX = 1024,
	STATE_FIRST_MAX = 0x3fffffff,
};

struct host {
	struct export_address client, local;
	bool old, watched;
	int32_t state;
	struct host *next;
};

struct nsm_hosts {
	char folder[PATH_BYTES_MAX];
	int32_t state;
	pthread_mutex_t write_lock, lock;
	struct host *chains[CHAINS]; /* under lock */
	unsigned count;              /* under lock */
};

static struct host **chain_of(struct nsm_hosts *hosts, const struct export_address *client)
{
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof client->bytes; i++)
		sum = sum * 31 + client->bytes[i];
	return &hosts->chains[sum % CHAINS];
}

static struct host *host_find(struct nsm_hosts *hosts, const struct export_address *client)
{
	struct host *host = *chain_of(hosts, client);

	while (host && memcmp(&host->client, client, sizeof *client) != 0)
		host = host->next;
	return host;
}

static struct host *host_get(struct nsm_hosts *hosts, const struct export_address *client)
{
	struct host **chain = chain_of(hosts, client);
	struct host *host = host_find(hosts, client);

	if (host || hosts->count == NSM_HOSTS_MAX)
		return host;
	host = calloc(1, sizeof *host);
	if (!host)
		return NULL;
	host->client = *client;
	host->next = *chain;
	*chain = host;
	hosts->count++;
	return host;
}

static void host_free(struct nsm_hosts *hosts, struct host *host)
{
	struct host **slot = chain_of(hosts, &host->client);

	while (*slot != host)
		slot = &(*slot)->next;
	*slot = host->next;
	hosts->count--;
	free(host);
}

static int path_of(const struct nsm_hosts *hosts, const struct export_address *client,
                   char to[PATH_BYTES_MAX])
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	int count = snprintf(to, PATH_BYTES_MAX, "%s/hosts/%s", hosts->folder,
	                     export_address_print(client, text));

	return count < PATH_BYTES_MAX ? 0 : -ENAMETOOLONG;
}

/* ---- reading ---- */

/* A name that is no address is none of ours. A file that cannot be read still names a client. */
static void host_load(struct nsm_hosts *hosts, const char *name)
{
	AUTO(free_ptr) char *text = NULL;
	struct export_address client;
	char path[PATH_BYTES_MAX];
	struct host *host;
	size_t bytes;

	if (export_address_parse(name, &client) < 0 || path_of(hosts, &client, path) < 0)
		return;
	host = host_get(hosts, &client);
	if (!host)
		return;
	host->old = true;
	if (file_text_read(path, &text, &bytes) < 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	(void) export_address_parse(text, &host->local);
}

static int hosts_load(struct nsm_hosts *hosts)
{
	char path[PATH_BYTES_MAX + 16];
	DIR *dir;

	snprintf(path, sizeof path, "%s/hosts", hosts->folder);
	dir = opendir(path);
	if (!dir)
		return -errno;
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		host_load(hosts, entry->d_name);
	closedir(dir);
	return 0;
}

/* The first number is of the clock, so that a state directory that was lost does not bring an
 * earlier one back. */
static int state_next(struct nsm_hosts *hosts)
{
	AUTO(free_ptr) char *text = NULL;
	char path[PATH_BYTES_MAX + 16], line[32];
	int32_t state = 0;
	size_t bytes;
	int r;

	snprintf(path, sizeof path, "%s/state", hosts->folder);
	r = file_text_read(path, &text, &bytes);
	if (r == 0)
		state = (int32_t) strtol(text, NULL, 10);
	else if (r != -ENOENT)
		return r;
	if (state <= 0)
		state = (int32_t) (time(NULL) & STATE_FIRST_MAX);
	hosts->state = lock_state_after(state);
	snprintf(line, sizeof line, "%d\n", hosts->state);
	return file_text_replace(path, line, strlen(line));
}

static int make_folder(const char *path)
{
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int hosts_begin(struct nsm_hosts *hosts, const char *state_dir)
{
	char path[PATH_BYTES_MAX + 16];
	int r;

	if (snprintf(hosts->folder, sizeof hosts->folder, "%s/nsm", state_dir) >=
	    (int) sizeof hosts->folder)
		return -ENAMETOOLONG;
	snprintf(path, sizeof path, "%s/hosts", hosts->folder);
	r = make_folder(hosts->folder);
	if (r == 0)
		r = make_folder(path);
	if (r == 0)
		r = hosts_load(hosts);
	if (r == 0)
		r = state_next(hosts);
	return r;
}

int nsm_hosts_open(const char *state_dir, struct nsm_hosts **ret_hosts)
{
	struct nsm_hosts *hosts = calloc(1, sizeof *hosts);
	int r;

	if (!hosts)
		return -ENOMEM;
	pthread_mutex_init(&hosts->write_lock, NULL);
	pthread_mutex_init(&hosts->lock, NULL);
	r = hosts_begin(hosts, state_dir);
	if (r < 0)
		nsm_hosts_close(hosts);
	else
		*ret_hosts = hosts;
	return r;
}

struct nsm_hosts *nsm_hosts_close(struct nsm_hosts *hosts)
{
	if (!hosts)
		return NULL;
	for (unsigned i = 0; i < CHAINS; i++)
		while (hosts->chains[i])
			host_free(hosts, hosts->chains[i]);
	pthread_mutex_destroy(&hosts->write_lock);
	pthread_mutex_destroy(&hosts->lock);
	free(hosts);
	return NULL;
}

int32_t nsm_hosts_state(const struct nsm_hosts *hosts)
{
	return hosts->state;
}

/* ---- watching ---- */

bool nsm_hosts_find(struct nsm_hosts *hosts, const struct export_address *client,
                    int32_t *ret_state)
{
	const struct host *host;
	bool watched;

	pthread_mutex_lock(&hosts->lock);
	host = host_find(hosts, client);
	watched = host && host->watched;
	*ret_state = watched ? host->state : 0;
	pthread_mutex_unlock(&hosts->lock);
	return watched;
}

/* In memory, once it is on disk. */
static int host_watched(struct nsm_hosts *hosts, const struct export_address *client,
                        const struct export_address *local)
{
	struct host *host;

	pthread_mutex_lock(&hosts->lock);
	host = host_get(hosts, client);
	if (host) {
		host->watched = true;
		host->local = *local;
	}
	pthread_mutex_unlock(&hosts->lock);
	return host ? 0 : -ENOMEM; /* there is room: watch_new() has looked */
}

static int watch_new(struct nsm_hosts *hosts, const struct export_address *client,
                     const struct export_address *local)
{
	char path[PATH_BYTES_MAX], line[EXPORT_ADDRESS_TEXT_BYTES + 1] = { 0 };
	bool full;
	int r = path_of(hosts, client, path);

	pthread_mutex_lock(&hosts->lock);
	full = hosts->count == NSM_HOSTS_MAX && !host_find(hosts, client);
	pthread_mutex_unlock(&hosts->lock);
	if (r < 0 || full)
		return r < 0 ? r : -ENOLCK;
	(void) export_address_print(local, line);

	line[strlen(line)] = '\n';
	r = file_text_replace(path, line, strlen(line));
	return r < 0 ? r : host_watched(hosts, client, local);
}

int nsm_hosts_watch(struct nsm_hosts *hosts, const struct export_address *client,
                    const struct export_address *local, bool *ret_new)
{
	int32_t state;
	int r = 0;

	*ret_new = false;
	if (nsm_hosts_find(hosts, client, &state))
		return 0;
	pthread_mutex_lock(&hosts->write_lock);
	if (!nsm_hosts_find(hosts, client, &state)) { /* others may have come before */
		r = watch_new(hosts, client, local);
		*ret_new = r == 0;
	}
	pthread_mutex_unlock(&hosts->write_lock);
	return r;
}

void nsm_hosts_state_set(struct nsm_hosts *hosts, const struct export_address *client,
                         int32_t state)
{
	struct host *host;

	pthread_mutex_lock(&hosts->lock);
	host = host_find(hosts, client);
	if (host)
		host->state = state;
	pthread_mutex_unlock(&hosts->lock);
}

/* ---- telling ---- */

unsigned nsm_hosts_visit_old(struct nsm_hosts *hosts,
                             void (*visit)(void *context, const struct export_address *client,
                                           const struct export_address *local),
                             void *context)
{
	unsigned count = 0;

	pthread_mutex_lock(&hosts->lock);
	for (unsigned i = 0; i < CHAINS; i++)
		for (const struct host *host = hosts->chains[i]; host; host = host->next) {
			if (!host->old)
				continue;
			count++;
			visit(context, &host->client, &host->local);
		}
	pthread_mutex_unlock(&hosts->lock);
	return count;
}

static void remove_host(struct nsm_hosts *hosts, const struct export_address *client,
                        bool if_watched)
{
	char path[PATH_BYTES_MAX];
	bool gone = false;
	struct host *host;

	pthread_mutex_lock(&hosts->write_lock);
	pthread_mutex_lock(&hosts->lock);
	host = host_find(hosts, client);
	if (host) {
		host->old = false;
		gone = if_watched || !host->watched;
	}
	if (gone)
		host_free(hosts, host);
	pthread_mutex_unlock(&hosts->lock);
	/* Without a flush: if the name comes back after a crash, the client is told for nothing. */
	if (gone && path_of(hosts, client, path) == 0)
		(void) unlink(path);
	pthread_mutex_unlock(&hosts->write_lock);
}

void nsm_hosts_told(struct nsm_hosts *hosts, const struct export_address *client)
{
	remove_host(hosts, client, false);
}

void nsm_hosts_forget(struct nsm_hosts *hosts, const struct export_address *client)
{
	remove_host(hosts, client, true);
}
