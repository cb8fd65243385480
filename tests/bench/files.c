/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "stamp.h"
#include "tool.h"

static void fill(struct client *client, struct file *file)
{
	uint32_t piece_bytes = NFS_BLOCK_BYTES_MAX - NFS_BLOCK_BYTES_MAX % file->block_bytes;
	uint8_t *piece = allocate(piece_bytes);
	uint32_t count, committed;

	for (uint64_t offset = 0; offset < file->bytes; offset += count) {
		uint32_t rest_bytes = piece_bytes;
		struct wire_in in;

		if (rest_bytes > file->bytes - offset)
			rest_bytes = (uint32_t) (file->bytes - offset);
		for (uint32_t at = 0; at < rest_bytes; at += file->block_bytes)
			stamp_fill(piece + at, file->block_bytes, offset + at, 1);
		in = client_transact(client,
		                     nfs_call_write(client->call, ++client->xid, &file->handle,
		                                    offset, rest_bytes, NFS_UNSTABLE),
		                     piece, rest_bytes);
		client_expect(nfs_reply_write(&in, &count, &committed));
		if (count == 0 || count > rest_bytes || count % file->block_bytes != 0)
			die("WRITE of %u bytes took %u", rest_bytes, count);
	}
	free(piece);
}

static void commit(struct client *client, const struct file *file)
{
	struct wire_in in = client_transact(
		client, nfs_call_commit(client->call, ++client->xid, &file->handle), NULL, 0);

	client_expect(nfs_reply_commit(&in));
}

static void prepare(struct client *client, const struct nfs_handle *root, struct file *file,
                    const char *name, bool stamped)
{
	uint64_t present_bytes = 0, blocks = file->bytes / file->block_bytes;
	uint32_t status;
	struct wire_in in;

	in = client_transact(client, nfs_call_lookup(client->call, ++client->xid, root, name), NULL,
	                     0);
	client_expect(nfs_reply_lookup(&in, &status, &file->handle, &present_bytes));
	if (status == NFS_ERROR_NOENT) {
		in = client_transact(
			client, nfs_call_create(client->call, ++client->xid, root, name), NULL, 0);
		client_expect(nfs_reply_create(&in, &file->handle));
	}
	if (stamped || present_bytes < file->bytes) {
		fill(client, file);
		commit(client, file);
	}
	if (!stamped)
		return;
	file->generations = allocate_zeroed(blocks, sizeof *file->generations);
	file->busy = allocate_zeroed(blocks, sizeof *file->busy);
	for (uint64_t i = 0; i < blocks; i++)
		file->generations[i] = 1;
}

struct file *files_prepare(const struct target *target, const char *stem, unsigned count,
                           uint64_t file_bytes, uint32_t block_bytes, bool stamped)
{
	struct nfs_handle root = client_mount(target);
	struct client *client = client_new(target, target->nfs_port);
	struct file *files = allocate_zeroed(count, sizeof *files);
	char name[NAME_MAX + 1];

	for (unsigned i = 0; i < count; i++) {
		files[i].block_bytes = block_bytes;
		files[i].bytes = file_bytes - file_bytes % block_bytes;
		snprintf(name, sizeof name, "%s.%u", stem, i);
		prepare(client, &root, &files[i], name, stamped);
	}
	client_free(client);
	return files;
}

void files_commit(const struct target *target, const struct file *files, unsigned count)
{
	struct client *client = client_new(target, target->nfs_port);

	for (unsigned i = 0; i < count; i++)
		commit(client, &files[i]);
	client_free(client);
}

void files_check(const struct target *target, const struct file *files, unsigned count)
{
	struct client *client = client_new(target, target->nfs_port);

	for (unsigned i = 0; i < count; i++) {
		const struct file *file = &files[i];

		for (uint64_t offset = 0; offset < file->bytes; offset += file->block_bytes) {
			const uint8_t *data;
			uint32_t got_bytes;
			struct wire_in in;

			in = client_transact(client,
			                     nfs_call_read(client->call, ++client->xid,
			                                   &file->handle, offset,
			                                   file->block_bytes),
			                     NULL, 0);
			client_expect(nfs_reply_read(&in, &got_bytes, &data));
			if (got_bytes != file->block_bytes)
				die("READ at %ju gave %u bytes", (uintmax_t) offset, got_bytes);
			client_expect(stamp_check(data, got_bytes, offset,
			                          file->generations[offset / file->block_bytes]));
		}
	}
	client_free(client);
}

void files_free(struct file *files, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		free(files[i].generations);
		free(files[i].busy);
	}
	free(files);
}
