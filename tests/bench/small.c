/* SPDX-License-Identifier: Apache-2.0 */
#include "small.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stamp.h"
#include "stream.h"
#include "tool.h"
#include "vfs/base/cleanup.h"

enum {
	NAME_BYTES_MAX = 32,
	REPLY_BYTES_MAX = NFS_LIST_BYTES_MAX + 4096,
};

/* One connection, its folder and its files. */
struct lane {
	struct stream stream;
	pthread_t thread;
	const struct small_options *options;
	struct nfs_handle folder;
	struct nfs_handle *handles; /* by file */
	unsigned *slot_file;
	uint8_t *data;
	unsigned files, next;
	enum small_phase phase;
	struct nfs_listing listing;
	unsigned listed;
	struct histogram latencies;
};

const char *const small_phase_names[SMALL_PHASES] = {
	[SMALL_CREATE] = "create", [SMALL_WRITE] = "write", [SMALL_COMMIT] = "commit",
	[SMALL_LIST] = "list",     [SMALL_READ] = "read",   [SMALL_REMOVE] = "remove",
};

static void file_name(char *name, unsigned file)
{
	snprintf(name, NAME_BYTES_MAX, "small.%06u", file);
}

static size_t put_call(struct lane *lane, struct stream_call *call, unsigned file)
{
	const struct nfs_handle *handle = &lane->handles[file];
	const uint32_t bytes = lane->options->file_bytes;
	char name[NAME_BYTES_MAX];

	file_name(name, file);
	switch (lane->phase) {
	case SMALL_CREATE:
		return nfs_call_create(call->header, call->xid, &lane->folder, name);
	case SMALL_WRITE:
		return nfs_call_write(call->header, call->xid, handle, 0, bytes,
		                      lane->options->stable ? NFS_FILE_SYNC : NFS_UNSTABLE);
	case SMALL_COMMIT:
		return nfs_call_commit(call->header, call->xid, handle);
	case SMALL_LIST:
		return nfs_call_list(call->header, call->xid, &lane->folder, &lane->listing, true);
	case SMALL_READ:
		return nfs_call_read(call->header, call->xid, handle, 0, bytes);
	default:
		return nfs_call_remove(call->header, call->xid, &lane->folder, name);
	}
}

/* The next file's call, if there is one. */
static void queue_next(struct lane *lane, unsigned slot, uint64_t now)
{
	struct stream_call *call;

	if (lane->next == lane->files)
		return;
	lane->slot_file[slot] = lane->next;
	call = stream_begin(&lane->stream, slot, now);
	stream_add(&lane->stream, call->header, put_call(lane, call, lane->next));
	if (lane->phase == SMALL_WRITE)
		stream_add(&lane->stream, lane->data, lane->options->file_bytes);
	if (lane->phase != SMALL_LIST)
		lane->next++;
}

static const char *check_list(struct lane *lane, struct wire_in *in)
{
	const char *fault = nfs_reply_list(in, &lane->listing);
	struct nfs_entry entry;

	if (fault)
		return fault;
	while (nfs_list_entry(in, &lane->listing, true, &entry))
		lane->listed += entry.name[0] != '.';
	fault = nfs_list_end(in, &lane->listing);
	if (fault || !lane->listing.ended)
		return fault;
	lane->next = lane->files;
	return lane->listed == lane->files ? NULL : "a listing has not all files";
}

static const char *check_data(const struct lane *lane, struct wire_in *in)
{
	const uint8_t *data;
	const char *fault;
	uint32_t count;

	fault = nfs_reply_read(in, &count, &data);
	if (fault)
		return fault;
	if (count != lane->options->file_bytes || !wire_get_bytes(in, count))
		return "a file is not as long as it was written";
	return memcmp(data, lane->data, count) == 0 ? NULL : "a file has not what was written";
}

static const char *check_written(const struct lane *lane, struct wire_in *in)
{
	uint32_t count, committed;
	const char *fault = nfs_reply_write(in, &count, &committed);

	if (fault)
		return fault;
	if (count != lane->options->file_bytes)
		return "WRITE took fewer bytes than it was given";
	if (lane->options->stable && committed != NFS_FILE_SYNC)
		return "a FILE_SYNC write was not committed";
	return NULL;
}

static const char *check_reply(struct lane *lane, unsigned file, struct wire_in *in)
{
	switch (lane->phase) {
	case SMALL_CREATE:
		return nfs_reply_create(in, &lane->handles[file]);
	case SMALL_WRITE:
		return check_written(lane, in);
	case SMALL_COMMIT:
		return nfs_reply_commit(in);
	case SMALL_LIST:
		return check_list(lane, in);
	case SMALL_READ:
		return check_data(lane, in);
	default:
		return nfs_reply_remove(in);
	}
}

static void take_reply(struct stream *stream, unsigned slot, struct wire_in in, uint64_t now)
{
	struct lane *lane = container_of(stream, struct lane, stream);

	client_expect(check_reply(lane, lane->slot_file[slot], &in));
	histogram_add(&lane->latencies, now - stream->calls[slot].started_ns);
	queue_next(lane, slot, now);
}

/* A listing is a chain: each call needs the cookie of the one before. */
static void *lane_main(void *argument)
{
	struct lane *lane = argument;
	unsigned depth = lane->phase == SMALL_LIST ? 1 : lane->options->depth;
	uint64_t now = now_ns();

	for (unsigned slot = 0; slot < depth; slot++)
		queue_next(lane, slot, now);
	stream_send(&lane->stream);
	while (lane->stream.in_flight > 0)
		stream_wait(&lane->stream);
	return NULL;
}

static void run_phase(const struct small_options *options, struct lane *lanes,
                      enum small_phase phase, struct measurement *ret_phase)
{
	measurement_begin(ret_phase, &options->observed);
	for (unsigned i = 0; i < options->connections; i++) {
		lanes[i].phase = phase;
		lanes[i].next = 0;
		memset(&lanes[i].latencies, 0, sizeof lanes[i].latencies);
		if (pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]) != 0)
			die("a thread could not be started");
	}
	for (unsigned i = 0; i < options->connections; i++) {
		pthread_join(lanes[i].thread, NULL);
		ret_phase->calls += lanes[i].files;
		histogram_merge(&ret_phase->latencies, &lanes[i].latencies);
	}
	measurement_end(ret_phase);
	if (phase == SMALL_WRITE || phase == SMALL_READ)
		ret_phase->bytes = ret_phase->calls * options->file_bytes;
}

static void lane_open(const struct small_options *options, struct client *client,
                      const struct nfs_handle *root, struct lane *lane, unsigned number)
{
	char name[NAME_BYTES_MAX];

	snprintf(name, sizeof name, "nfsbench.small.%u", number);
	lane->options = options;
	lane->folder = client_folder(client, root, name);
	lane->files = options->files / options->connections;
	lane->handles = allocate_zeroed(lane->files, sizeof *lane->handles);
	lane->slot_file = allocate_zeroed(options->depth, sizeof *lane->slot_file);
	lane->data = allocate(options->file_bytes);
	stamp_fill(lane->data, options->file_bytes, 0, number + 1);
	stream_open(&lane->stream, &options->target, options->depth, REPLY_BYTES_MAX,
	            REPLY_BYTES_MAX, take_reply);
}

static void lane_close(struct lane *lane)
{
	stream_close(&lane->stream);
	free(lane->handles);
	free(lane->slot_file);
	free(lane->data);
}

void small_run(const struct small_options *options, struct measurement *ret_phases)
{
	struct lane *lanes = allocate_zeroed(options->connections, sizeof *lanes);
	struct nfs_handle root = client_mount(&options->target);
	struct client *client = client_new(&options->target, options->target.nfs_port);

	for (unsigned i = 0; i < options->connections; i++)
		lane_open(options, client, &root, &lanes[i], i);
	for (unsigned phase = 0; phase < SMALL_PHASES; phase++)
		if (phase != SMALL_COMMIT || !options->stable)
			run_phase(options, lanes, phase, &ret_phases[phase]);
	for (unsigned i = 0; i < options->connections; i++)
		lane_close(&lanes[i]);
	client_free(client);
	free(lanes);
}
