/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/trace_event.h"

#include <string.h>
#include <xxhash.h>

#include "rpcgen/mount3.h"
#include "rpcgen/nlm4.h"
#include "rpcgen/offload.h"
#include "vfs/base/json.h"

static void put_handle(struct trace_file *file, const struct xdr_view *handle)
{
	if (!handle->bytes)
		return;
	file->has_handle = true;
	file->handle = XXH32(handle->bytes, handle->count, 0);
}

static void put_dirop(struct trace_file *file, const struct nfs3_dirop *dirop)
{
	uint32_t bytes = dirop->name.count < TRACE_NAME_BYTES ? dirop->name.count
	                                                      : TRACE_NAME_BYTES;

	put_handle(file, &dirop->dir);
	if (bytes > 0)
		memcpy(file->name, dirop->name.bytes, bytes);
	file->name_bytes = (uint16_t) bytes;
}

static void put_range(struct trace_event *event, uint64_t offset, uint32_t count)
{
	event->has_range = true;
	event->offset = offset;
	event->count = count;
}

void trace_event_args(struct trace_event *event, uint32_t procedure, const union nfs3_args *args)
{
	struct trace_file *files = event->files;

	put_handle(&files[0], &args->object); /* each arm begins with it */
	switch (procedure) {
	case NFSPROC3_LOOKUP:
	case NFSPROC3_REMOVE:
	case NFSPROC3_RMDIR:
	case NFSPROC3_CREATE:
	case NFSPROC3_MKDIR:
	case NFSPROC3_SYMLINK:
	case NFSPROC3_MKNOD:
		put_dirop(&files[0], &args->dirop); /* these begin with that */
		break;
	case NFSPROC3_RENAME:
		put_dirop(&files[0], &args->rename.from);
		put_dirop(&files[1], &args->rename.to);
		break;
	case NFSPROC3_LINK:
		put_dirop(&files[1], &args->link.link);
		break;
	case NFSPROC3_READ:
		put_range(event, args->read.offset, args->read.count);
		break;
	case NFSPROC3_WRITE:
		put_range(event, args->write.offset, args->write.count);
		break;
	case NFSPROC3_COMMIT:
		put_range(event, args->commit.offset, args->commit.count);
		break;
	default:
		break;
	}
}

void trace_event_results(struct trace_event *event, uint32_t program, uint32_t procedure,
                         const uint8_t *results, size_t bytes)
{
	struct xdr_in in = xdr_in(results, bytes);
	uint32_t status;

	if (program == NLM4_PROGRAM)
		(void) xdr_get_opaque(&in, MAXNETOBJ_SZ); /* the cookie goes before it */
	else if (program == MOUNT_PROGRAM && procedure != MOUNTPROC3_MNT)
		return; /* lists */
	else if (program != MOUNT_PROGRAM && program != NFS_PROGRAM && program != OFFLOAD_PROGRAM)
		return;
	status = xdr_get_u32(&in);
	if (!in.failed)
		event->status = status;
}

static void put_file(struct json *json, const struct trace_file *file)
{
	json_begin(json, NULL, '{');
	json_u64(json, "handle", file->handle);
	json_text(json, "name", file->name, file->name_bytes);
	json_end(json, '}');
}

void trace_event_json(FILE *to, const struct trace_event *event)
{
	struct json json = { to };

	json_begin(&json, NULL, '{');
	json_u64(&json, "at_ms", event->at_ms);
	json_word(&json, "program", event->program);
	json_word(&json, "procedure", event->procedure);
	json_begin(&json, "files", '[');
	for (unsigned i = 0; i < 2; i++)
		if (event->files[i].has_handle)
			put_file(&json, &event->files[i]);
	json_end(&json, ']');
	if (event->has_range) {
		json_u64(&json, "offset", event->offset);
		json_u64(&json, "count", event->count);
	}
	if (event->answered)
		json_u64(&json, "status", event->status);
	else
		json_null(&json, "status");
	json_u64(&json, "latency_us", event->latency_us);
	json_end(&json, '}');
	fputc('\n', to);
}
