/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

enum {
	PIECE_BYTES_MAX = 64 << 10,
	MODIFIED_S = 1000000000, /* any time but now */
	/* of one reply: each has attributes and a handle */
	ENTRIES_MAX = NFS_LIST_BYTES_MAX / 64,
};

/* A folder whose like exists and whose contents are to be copied. */
struct job {
	struct job *next;
	struct nfs_handle source, copy;
};

/* The folders that wait, and how many are waiting or being worked on: at 0 all is done. */
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job *first;
	unsigned unfinished;
};

struct tree_worker {
	pthread_t thread;
	struct queue *queue;
	struct client *client;
	struct tree_counts counts;
	uint64_t bytes;
	uint8_t piece[PIECE_BYTES_MAX];
	struct histogram latencies;
};

static void queue_add(struct queue *queue, const struct nfs_handle *source,
                      const struct nfs_handle *copy)
{
	struct job *job = allocate(sizeof *job);

	job->source = *source;
	job->copy = *copy;
	pthread_mutex_lock(&queue->lock);
	job->next = queue->first;
	queue->first = job;
	queue->unfinished++;
	pthread_cond_signal(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

/* NULL when all is done. */
static struct job *queue_take(struct queue *queue)
{
	struct job *job;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first && queue->unfinished > 0)
		pthread_cond_wait(&queue->changed, &queue->lock);
	job = queue->first;
	if (job)
		queue->first = job->next;
	pthread_mutex_unlock(&queue->lock);
	return job;
}

static void queue_finish(struct queue *queue, struct job *job)
{
	free(job);
	pthread_mutex_lock(&queue->lock);
	queue->unfinished--;
	if (queue->unfinished == 0)
		pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

static struct nfs_handle make_file(struct client *client, const struct nfs_handle *folder,
                                   const char *name)
{
	struct nfs_handle file;
	uint64_t bytes;
	uint32_t status;
	struct wire_in in;

	in = client_transact(client, nfs_call_lookup(client->call, ++client->xid, folder, name),
	                     NULL, 0);
	client_expect(nfs_reply_lookup(&in, &status, &file, &bytes));
	if (status != NFS_ERROR_NOENT)
		die("%s is there already: the copy must begin empty", name);
	in = client_transact(client, nfs_call_create(client->call, ++client->xid, folder, name),
	                     NULL, 0);
	client_expect(nfs_reply_create(&in, &file));
	return file;
}

static void copy_piece(struct tree_worker *worker, const struct nfs_handle *source,
                       const struct nfs_handle *copy, uint64_t offset, uint32_t bytes)
{
	struct client *client = worker->client;
	uint32_t count, committed;
	const uint8_t *data;
	struct wire_in in;

	in = client_transact(
		client, nfs_call_read(client->call, ++client->xid, source, offset, bytes), NULL, 0);
	client_expect(nfs_reply_read(&in, &count, &data));
	if (count != bytes || !wire_get_bytes(&in, count))
		die("READ gave fewer bytes than the file has there");
	memcpy(worker->piece, data, bytes);
	in = client_transact(
		client,
		nfs_call_write(client->call, ++client->xid, copy, offset, bytes, NFS_UNSTABLE),
		worker->piece, bytes);
	client_expect(nfs_reply_write(&in, &count, &committed));
	if (count != bytes)
		die("WRITE took fewer bytes than it was given");
}

static void copy_file(struct tree_worker *worker, const struct nfs_handle *folder,
                      const struct nfs_entry *entry)
{
	struct client *client = worker->client;
	uint64_t began_ns = now_ns(), rest_bytes = entry->bytes - entry->bytes % 16;
	struct nfs_handle copy = make_file(client, folder, entry->name);
	struct wire_in in;

	for (uint64_t offset = 0; offset < rest_bytes; offset += PIECE_BYTES_MAX) {
		uint64_t bytes = rest_bytes - offset;

		copy_piece(worker, &entry->handle, &copy, offset,
		           bytes < PIECE_BYTES_MAX ? (uint32_t) bytes : PIECE_BYTES_MAX);
	}
	in = client_transact(client, nfs_call_commit(client->call, ++client->xid, &copy), NULL, 0);
	client_expect(nfs_reply_commit(&in));
	in = client_transact(
		client, nfs_call_settime(client->call, ++client->xid, &copy, MODIFIED_S), NULL, 0);
	client_expect(nfs_reply_settime(&in));
	worker->counts.files++;
	worker->bytes += rest_bytes;
	histogram_add(&worker->latencies, now_ns() - began_ns);
}

static void copy_entry(struct tree_worker *worker, const struct job *job,
                       const struct nfs_entry *entry)
{
	struct nfs_handle folder;

	if (!entry->has_handle)
		die("READDIRPLUS gave no handle of %s", entry->name);
	if (!entry->is_folder) {
		copy_file(worker, &job->copy, entry);
		return;
	}
	folder = client_folder(worker->client, &job->copy, entry->name);
	worker->counts.folders++;
	queue_add(worker->queue, &entry->handle, &folder);
}

/* A reply's entries are taken off it before anything is copied: the next call overwrites it. */
static void copy_folder(struct tree_worker *worker, const struct job *job)
{
	struct nfs_entry *entries = allocate(ENTRIES_MAX * sizeof *entries);
	struct client *client = worker->client;
	struct nfs_listing listing = { 0 };

	while (!listing.ended) {
		unsigned count = 0;
		struct wire_in in;

		in = client_transact(
			client,
			nfs_call_list(client->call, ++client->xid, &job->source, &listing, true),
			NULL, 0);
		client_expect(nfs_reply_list(&in, &listing));
		while (nfs_list_entry(&in, &listing, true, &entries[count]))
			if (entries[count].name[0] != '.' && ++count == ENTRIES_MAX)
				die("a listing has more entries than its bytes allow");
		client_expect(nfs_list_end(&in, &listing));
		for (unsigned i = 0; i < count; i++)
			copy_entry(worker, job, &entries[i]);
	}
	free(entries);
}

static void *worker_main(void *argument)
{
	struct tree_worker *worker = argument;
	struct job *job;

	while ((job = queue_take(worker->queue))) {
		copy_folder(worker, job);
		queue_finish(worker->queue, job);
	}
	return NULL;
}

void tree_run(const struct tree_options *options, struct measurement *ret_result,
              struct tree_counts *ret_counts)
{
	struct tree_worker *workers = allocate_zeroed(options->workers, sizeof *workers);
	struct queue queue = { .lock = PTHREAD_MUTEX_INITIALIZER,
		               .changed = PTHREAD_COND_INITIALIZER };
	struct nfs_handle source = client_mount(&options->source);
	struct nfs_handle copy = client_mount(&options->copy);

	queue_add(&queue, &source, &copy);
	for (unsigned i = 0; i < options->workers; i++) {
		workers[i].queue = &queue;
		workers[i].client = client_new(&options->source, options->source.nfs_port);
	}
	measurement_begin(ret_result, &options->observed);
	for (unsigned i = 0; i < options->workers; i++)
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]) != 0)
			die("a thread could not be started");
	for (unsigned i = 0; i < options->workers; i++)
		pthread_join(workers[i].thread, NULL);
	measurement_end(ret_result);
	for (unsigned i = 0; i < options->workers; i++) {
		ret_result->calls += workers[i].counts.files;
		ret_result->bytes += workers[i].bytes;
		ret_counts->files += workers[i].counts.files;
		ret_counts->folders += workers[i].counts.folders;
		histogram_merge(&ret_result->latencies, &workers[i].latencies);
		client_free(workers[i].client);
	}
	free(workers);
}
