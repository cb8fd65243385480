/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vaai.c - what VAAI-NAS plug-ins ask (rpcgen/vaai.h), as the jobs that offload.x has, too.
 *
 * A plug-in gives a call 60 s, and a clone into an existing file it polls. So:
 *
 *     clone into a file     begun; answered when it has ended or after a moment, whichever is first
 *     clone into a folder   is not polled: answered when it has ended; cancelled if that takes long
 *     reserve               dialect O: likewise when it has ended; Q polls: after a moment
 *     progress, abort       find the job by its destination, whoever began it
 *
 * To abort is answered when the destination is as it was before.
 */
#include <errno.h>
#include <string.h>

#include "offload/service_internal.h"
#include "offload/status.h"
#include "offload/vaai_status.h"
#include "vfs/base/cleanup.h"

enum {
	MOMENT_MS = 250,
	QUICK_MS =
		2500, /* for what shares extents or allocates: a poll later would cost a second */
	END_MS = 35000,
	CLONES = 1 << OFFLOAD_KIND_CLONE,
	CLONES_AND_RESERVES = CLONES | 1 << OFFLOAD_KIND_RESERVE,
};

/* ---- answers ---- */

static void send_result(SVCXPRT *connection, const struct vaai_call *call,
                        const struct vaai_result *result)
{
	uint8_t bytes[VAAI_RESULT_BYTES_MAX];
	struct xdr_out out = xdr_out(bytes, sizeof bytes);
	offload_vaai sent;

	vaai_put_result(&out, call, result);
	sent = (offload_vaai){ (u_int) (out.at - bytes), (char *) bytes };
	(void) svc_sendreply(connection, (xdrproc_t) xdr_offload_vaai, &sent);
}

static void send_status(SVCXPRT *connection, const struct vaai_call *call, nfsstat3 status)
{
	send_result(connection, call, &(struct vaai_result){ .status = status });
}

/* The plug-in hears a number; why, the log keeps. */
static void refuse(const struct request *request, const struct vaai_call *call, int error,
                   const char *what)
{
	service_refused(request, what, error);
	send_status(request->connection, call, vaai_status_of_error(error));
}

static enum vaai_state state_of(const struct job_record *record)
{
	switch (record->state) {
	case OFFLOAD_STATE_QUEUED:
		return VAAI_STATE_WAITING;
	case OFFLOAD_STATE_RUNNING:
		return VAAI_STATE_RUNNING;
	case OFFLOAD_STATE_COMPLETE:
		return VAAI_STATE_FINISHED;
	case OFFLOAD_STATE_FAILED:
		return VAAI_STATE_FAILED;
	case OFFLOAD_STATE_CANCELLED:
		return VAAI_STATE_ABORTED;
	}
	return VAAI_STATE_FAILED;
}

static struct vaai_result result_of(const struct job_record *record)
{
	return (struct vaai_result){
		.status = NFS3_OK,
		.total_bytes = record->bytes_total,
		.done_bytes = record->bytes_done,
		.state = state_of(record),
	};
}

/* CLONE and RESERVE. */
static void send_begun(SVCXPRT *connection, const struct service_wait *wait,
                       struct job_record *record)
{
	struct vaai_result result = { .status = NFS3ERR_SERVERFAULT };

	if (record)
		result = result_of(record);
	if (record && !job_is_live(record))
		result.status = vaai_status_of_job(record->status);
	else if (record && wait->must_end)
		result.status = NFS3ERR_JUKEBOX; /* cancelled, and still not over */
	send_result(connection, &wait->vaai, &result);
}

/* Over before its end was asked for, or by it: both are what ABORT wants. */
static void send_aborted(SVCXPRT *connection, const struct service_wait *wait,
                         struct job_record *record)
{
	struct vaai_result result = { .status = NFS3ERR_JUKEBOX };

	if (record && !job_is_live(record))
		result = result_of(record);
	send_result(connection, &wait->vaai, &result);
}

/* ---- support ---- */

struct host_search {
	const struct export_address *address;
	bool found;
};

static void look_for_host(void *context, const struct export_spec *spec)
{
	struct host_search *search = context;
	const struct export_rule *rule;

	/* To ask for names may take long: the export is not ruled out then. */
	if (export_needs_names(spec)) {
		search->found = true;
		return;
	}
	rule = export_match(spec, search->address, &export_names_system);
	search->found |= rule && rule->options.offload;
}

/* Dialect Q asks once for all; dialect O for one export and one primitive. */
static void serve_support(struct request *request, const struct vaai_call *call)
{
	struct host_search search = { &request->caller.address, false };
	offload_file root = service_file(&call->file, NULL);
	struct vaai_result result = { .status = NFS3_OK };
	struct target target;
	int r = 0;

	if (call->dialect == VAAI_DIALECT_Q) {
		vfs_exports_visit(request->settings->vfs, look_for_host, &search);
		r = search.found ? 0 : -OFFLOAD_EOFF;
	} else {
		r = target_resolve(request->settings->vfs, &request->caller, &root, TARGET_LOOK,
		                   &target);
		target_done(&target);
	}
	if (r < 0 && r != -OFFLOAD_EOFF)
		return refuse(request, call, r, "");
	result.primitives = r == 0 ? VAAI_CAN_ALL : 0;
	send_result(request->connection, call, &result);
}

/* ---- what begins a job ---- */

static void begin(struct request *request, const struct vaai_call *call, bool must_end)
{
	struct service_wait wait = {
		.wait_ms = must_end ? END_MS : MOMENT_MS,
		.quick_ms = must_end ? 0 : QUICK_MS,
		.must_end = must_end,
		.answer = send_begun,
		.vaai = *call,
	};
	int r = service_begin(request, &wait.job_id);

	if (r < 0)
		refuse(request, call, r,
		       r == -ENOSPC || r == -EDQUOT ? "the server's state directory" : "");
	else
		service_wait(request, &wait);
}

static int is_directory(struct request *request, const struct xdr_view *handle, bool *ret_is)
{
	offload_file named = service_file(handle, NULL);
	struct target target;
	int r;

	r = target_resolve(request->settings->vfs, &request->caller, &named, TARGET_LOOK, &target);
	if (r == 0)
		*ret_is = vfs_file_type(target.file) == VFS_DIRECTORY;
	target_done(&target);
	return r;
}

/* Where to: an existing file, or (*ret_new) a name in a directory. */
static int destination_of(struct request *request, const struct vaai_call *call,
                          offload_file *ret_named, bool *ret_new)
{
	struct xdr_view name = call->file_name;
	int r = 0;

	*ret_new = name.count > 0;
	if (call->dialect == VAAI_DIALECT_O) {
		r = is_directory(request, &call->file, ret_new);
		if (r == 0 && *ret_new && vaai_last_name(&call->file_name, &name) != NFS3_OK)
			r = -EINVAL;
	}
	*ret_named = service_file(&call->file, *ret_new ? &name : NULL);
	return r;
}

static void serve_clone(struct request *request, const struct vaai_call *call)
{
	struct job_record *record = &request->record;
	offload_file source = service_file(&call->source,
	                                   call->source_name.count ? &call->source_name : NULL);
	offload_file destination;
	bool is_new;
	int r;

	record->kind = OFFLOAD_KIND_CLONE;
	r = service_take(request, &source, TARGET_READ, &record->source);
	if (r < 0)
		return refuse(request, call, r, "source");
	r = destination_of(request, call, &destination, &is_new);
	if (r < 0)
		return refuse(request, call, r, "destination");
	record->flags = is_new            ? OFFLOAD_CLONE_FAST | OFFLOAD_CLONE_NEW
	                : call->keep_thin ? OFFLOAD_CLONE_THIN
	                                  : 0;
	r = service_take(request, &destination, TARGET_MAKE, &record->destination);
	if (r < 0)
		return refuse(request, call, r, "destination");
	begin(request, call, is_new);
}

static void serve_reserve(struct request *request, const struct vaai_call *call)
{
	struct job_record *record = &request->record;
	offload_file file = service_file(&call->file, NULL);
	int r;

	record->kind = OFFLOAD_KIND_RESERVE;
	record->reserve_bytes = call->reserve_bytes;
	r = call->reserve_bytes > INT64_MAX
	            ? -EFBIG
	            : service_take(request, &file, TARGET_WRITE, &record->source);
	if (r < 0)
		return refuse(request, call, r, "");
	begin(request, call, call->dialect == VAAI_DIALECT_O);
}

/* ---- statistics ---- */

static void send_usage(SVCXPRT *connection, const struct service_measure *done)
{
	const struct vfs_usage *usage = &done->measure.usage;
	struct vaai_result result = {
		.status = vaai_status_of_error(done->measure.error),
		.total_bytes = usage->total_bytes,
		.allocated_bytes = usage->allocated_bytes,
		.unique_bytes = usage->unique_bytes,
	};

	send_result(connection, &done->vaai, &result);
}

static void serve_stat(struct request *request, const struct vaai_call *call)
{
	offload_file file = service_file(&call->file, NULL);
	int r = service_measure(request, &file, send_usage, call);

	if (r < 0)
		refuse(request, call, r, "");
}

/* ---- what asks for a job ---- */

static int find(struct request *request, const struct vaai_call *call, bool write)
{
	unsigned kinds = call->dialect == VAAI_DIALECT_O ? CLONES : CLONES_AND_RESERVES;
	offload_file file = service_file(&call->file, NULL);

	return service_find(request, &file, kinds, write);
}

/* Dialect O has no state for what failed, so that is told as a failure; Q has. */
static void serve_progress(struct request *request, const struct vaai_call *call)
{
	const struct job_record *record = &request->record;
	struct vaai_result result;
	int r = find(request, call, false);

	if (r < 0)
		return refuse(request, call, r, "");
	result = result_of(record);
	if (call->dialect == VAAI_DIALECT_O && !job_is_live(record))
		result.status = vaai_status_of_job(record->status);
	send_result(request->connection, call, &result);
}

static void serve_abort(struct request *request, const struct vaai_call *call)
{
	struct service_wait wait = { .wait_ms = END_MS, .answer = send_aborted, .vaai = *call };
	int r = find(request, call, true);

	if (r == 0)
		r = jobs_cancel(request->settings->jobs, request->record.id);
	if (r < 0)
		return refuse(request, call, r, "");
	wait.job_id = request->record.id;
	service_wait(request, &wait);
}

void serve_vaai(struct request *request)
{
	const offload_vaai *args = &request->args.vaai;
	struct vaai_call call;

	/* nfsd has looked; as if it had been taken over, so do we. */
	if (vaai_decode((const uint8_t *) args->offload_vaai_val, args->offload_vaai_len, &call) <
	    0)
		return svcerr_decode(request->connection);
	request->asked = vaai_ask_name(call.ask);
	if (call.refusal != NFS3_OK)
		return send_status(request->connection, &call, call.refusal);
	switch (call.ask) {
	case VAAI_SUPPORT:
		return serve_support(request, &call);
	case VAAI_CLONE:
		return serve_clone(request, &call);
	case VAAI_RESERVE:
		return serve_reserve(request, &call);
	case VAAI_STAT:
		return serve_stat(request, &call);
	case VAAI_PROGRESS:
		return serve_progress(request, &call);
	case VAAI_ABORT:
		return serve_abort(request, &call);
	}
}
