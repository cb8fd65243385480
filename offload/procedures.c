/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procedures.c - offload.x, procedure by procedure: what is asked is checked in full, then done.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/answer.h"
#include "offload/service_internal.h"
#include "offload/status.h"
#include "vfs/base/cleanup.h"

enum {
	MS_PER_S = 1000
};

offload_file service_file(const struct xdr_view *handle, const struct xdr_view *name)
{
	offload_handle dir = { handle->count, (char *) (uintptr_t) handle->bytes };
	offload_file file = { .kind = name ? OFFLOAD_FILE_BELOW : OFFLOAD_FILE_HANDLE };

	if (name) {
		file.offload_file_u.below.dir = dir;
		file.offload_file_u.below.path = (offload_path){ name->count,
			                                         (char *) (uintptr_t) name->bytes };
	} else {
		file.offload_file_u.handle = dir;
	}
	return file;
}

static void refuse_job(struct request *request, int error, const char *what)
{
	char text[JOB_TEXT_BYTES];
	offload_job_result result = { 0 };

	service_refused(request, what, error);
	answer_refusal(error, what, text, &result.status, &result.offload_job_result_u.text);
	service_send(request, (xdrproc_t) xdr_offload_job_result, &result);
}

/* xdr_void() has another type than the other coders. */
static bool_t xdr_nothing(XDR *xdrs, void *nothing)
{
	return TRUE;
}

static void serve_null(struct request *request)
{
	service_send(request, (xdrproc_t) xdr_nothing, NULL);
}

/* ---- SUPPORT, STAT ---- */

static bool knows_shared(const struct vfs_export *export)
{
	AUTO(close_fd) int fd = -EBADF;
	struct vfs_usage usage;

	return vfs_scratch_open(export, &fd) == 0 && vfs_usage(fd, &usage) == 0 &&
	       usage.knows_shared;
}

static void serve_support(struct request *request)
{
	static char version[] = LODESTORE_VERSION;
	char text[JOB_TEXT_BYTES];
	offload_support_result result = { 0 };
	offload_support *support = &result.offload_support_result_u.support;
	struct target target;
	const struct vfs_export *export;
	const char *name;
	int r;

	r = target_resolve(request->settings->vfs, &request->caller, &request->args.file,
	                   TARGET_LOOK, &target);
	if (r < 0) {
		service_refused(request, "", r);
		answer_refusal(r, "", text, &result.status, &result.offload_support_result_u.text);
	} else {
		export = vfs_file_export(target.file ? target.file : target.dir);
		name = vfs_export_fs_name(export);
		support->can = OFFLOAD_CAN_CLONE | OFFLOAD_CAN_RESERVE | OFFLOAD_CAN_PUNCH;
		if (vfs_can_share(export))
			support->can |= OFFLOAD_CAN_FAST_CLONE;
		if (knows_shared(export))
			support->can |= OFFLOAD_CAN_STAT_UNIQUE;
		support->file_system = (offload_text){ (u_int) strlen(name),
			                               (char *) (uintptr_t) name };
		support->server_version = (offload_text){ (u_int) strlen(version), version };
	}
	service_send(request, (xdrproc_t) xdr_offload_support_result, &result);
	target_done(&target);
}

static void send_stat(SVCXPRT *connection, int error, const struct vfs_usage *usage)
{
	char text[JOB_TEXT_BYTES];
	offload_stat_result result = { 0 };

	if (error < 0)
		answer_refusal(error, "", text, &result.status, &result.offload_stat_result_u.text);
	else
		result.offload_stat_result_u.stat = (offload_stat){
			.total_bytes = usage->total_bytes,
			.allocated_bytes = usage->allocated_bytes,
			.unique_bytes = usage->unique_bytes,
			.extents = usage->extents,
			.knows_shared = usage->knows_shared,
		};
	(void) svc_sendreply(connection, (xdrproc_t) xdr_offload_stat_result, &result);
}

static void send_measured(SVCXPRT *connection, const struct service_measure *done)
{
	send_stat(connection, done->measure.error, &done->measure.usage);
}

static void serve_stat(struct request *request)
{
	int r = service_measure(request, &request->args.file, send_measured, NULL);

	if (r == 0)
		return;
	service_refused(request, "", r);
	send_stat(request->connection, r, NULL);
}

/* ---- what begins a job ---- */

int service_take(struct request *request, const offload_file *named, enum target_use use,
                 struct job_file *ret_file)
{
	struct target target;
	int r;

	r = target_resolve(request->settings->vfs, &request->caller, named, use, &target);
	if (r == 0 && target.file && vfs_file_type(target.file) != VFS_REGULAR)
		r = use == TARGET_MAKE && (request->record.flags & OFFLOAD_CLONE_NEW)
		            ? -EEXIST
		            : -OFFLOAD_ENOTFILE;
	if (r == 0) {
		*ret_file = target.where;
		request->record.cred = target.cred;
	}
	target_done(&target);
	return r;
}

int service_begin(struct request *request, uint64_t *ret_id)
{
	request->record.host = request->caller.address;
	return jobs_begin(request->settings->jobs, &request->record, ret_id);
}

static void send_job(SVCXPRT *connection, const struct service_wait *wait,
                     struct job_record *record)
{
	static char expired[] = "the job's result has expired";
	offload_job_result result = { .status = OFFLOAD_OK };

	if (record) {
		answer_job(record, jobs_now_ms(), &result.offload_job_result_u.job);
	} else {
		result.status = OFFLOAD_ERR_NO_JOB;
		result.offload_job_result_u.text = (offload_text){ sizeof expired - 1, expired };
	}
	(void) svc_sendreply(connection, (xdrproc_t) xdr_offload_job_result, &result);
}

/* Answer with the job when it has ended, or after @wait_s. */
static void answer_job_after(struct request *request, uint64_t id, uint32_t wait_s)
{
	struct service_wait wait = {
		.job_id = id,
		.wait_ms = (wait_s < OFFLOAD_WAIT_S_MAX ? wait_s : OFFLOAD_WAIT_S_MAX) * MS_PER_S,
		.answer = send_job,
	};

	service_wait(request, &wait);
}

static void begin(struct request *request, uint32_t wait_s)
{
	uint64_t id;
	int r = service_begin(request, &id);

	if (r < 0)
		refuse_job(request, r,
		           r == -ENOSPC || r == -EDQUOT ? "the server's state directory" : "");
	else
		answer_job_after(request, id, wait_s);
}

static void serve_clone(struct request *request)
{
	const offload_clone_args *args = &request->args.clone;
	const uint32_t known = OFFLOAD_CLONE_FAST | OFFLOAD_CLONE_VERIFY | OFFLOAD_CLONE_NEW |
	                       OFFLOAD_CLONE_THIN;
	int r;

	if (args->flags & ~known)
		return refuse_job(request, -EINVAL, "flags");
	request->record.kind = OFFLOAD_KIND_CLONE;
	request->record.flags = args->flags;
	r = service_take(request, &args->source, TARGET_READ, &request->record.source);
	if (r < 0)
		return refuse_job(request, r, "source");
	r = service_take(request, &args->destination, TARGET_MAKE, &request->record.destination);
	if (r < 0)
		return refuse_job(request, r, "destination");
	begin(request, args->wait_s);
}

static void serve_reserve(struct request *request)
{
	const offload_reserve_args *args = &request->args.reserve;
	int r;

	if (args->bytes > INT64_MAX)
		return refuse_job(request, -EINVAL, "bytes");
	request->record.kind = OFFLOAD_KIND_RESERVE;
	request->record.reserve_bytes = args->bytes;
	r = service_take(request, &args->file, TARGET_WRITE, &request->record.source);
	if (r < 0)
		return refuse_job(request, r, "");
	begin(request, args->wait_s);
}

static void serve_checksum(struct request *request)
{
	const offload_checksum_args *args = &request->args.checksum;
	int r;

	request->record.kind = OFFLOAD_KIND_CHECKSUM;
	r = service_take(request, &args->file, TARGET_READ, &request->record.source);
	if (r < 0)
		return refuse_job(request, r, "");
	begin(request, args->wait_s);
}

static void serve_punch(struct request *request)
{
	const offload_punch_args *args = &request->args.punch;
	int r;

	if (args->flags & ~(uint32_t) OFFLOAD_PUNCH_DRY_RUN)
		return refuse_job(request, -EINVAL, "flags");
	request->record.kind = OFFLOAD_KIND_PUNCH;
	request->record.flags = args->flags;
	r = service_take(request, &args->file, TARGET_WRITE, &request->record.source);
	if (r < 0)
		return refuse_job(request, r, "");
	if (request->record.source.dir.count == 0)
		return refuse_job(request, -EINVAL, "name the file by its path, not its handle");
	begin(request, args->wait_s);
}

/* ---- what asks for jobs ---- */

/* The job in request->record: may the caller know of it, and (@write) stop it? */
static int check_job(struct request *request, bool write)
{
	struct vfs *vfs = request->settings->vfs;

	if (!target_job_allowed(vfs, &request->caller, &request->record, false))
		return -OFFLOAD_ENOJOB; /* nothing is told to strangers */
	if (write && !target_job_allowed(vfs, &request->caller, &request->record, true))
		return -EACCES;
	return 0;
}

int service_find(struct request *request, const offload_file *named, unsigned kinds, bool write)
{
	struct target target;
	int r;

	r = target_resolve(request->settings->vfs, &request->caller, named, TARGET_LOOK, &target);
	if (r == 0)
		r = jobs_find(request->settings->jobs, &target.where, kinds, &request->record);
	target_done(&target);
	return r < 0 ? r : check_job(request, write);
}

static int find_job(struct request *request, const offload_which *which, bool write)
{
	int r;

	if (which->kind == OFFLOAD_WHICH_FILE)
		return service_find(request, &which->offload_which_u.file, JOBS_ALL_KINDS, write);
	r = jobs_get(request->settings->jobs, which->offload_which_u.id, &request->record);
	return r < 0 ? r : check_job(request, write);
}

static void serve_job(struct request *request)
{
	int r = find_job(request, &request->args.which, false);

	if (r < 0)
		return refuse_job(request, r, "");
	answer_job_after(request, request->record.id, 0);
}

static void serve_wait(struct request *request)
{
	int r = find_job(request, &request->args.wait.which, false);

	if (r < 0)
		return refuse_job(request, r, "");
	answer_job_after(request, request->record.id, request->args.wait.wait_s);
}

static void serve_cancel(struct request *request)
{
	int r = find_job(request, &request->args.which, true);

	if (r == 0)
		r = jobs_cancel(request->settings->jobs, request->record.id);
	if (r < 0)
		return refuse_job(request, r, "");
	answer_job_after(request, request->record.id, 1);
}

/* Those that the caller may know of, up to @count_max; how many. */
static u_int list_jobs(struct request *request, struct job_record *records, offload_job *list,
                       u_int count_max, bool *ret_eof)
{
	uint64_t id = request->args.jobs.after_id, now_ms = jobs_now_ms();
	u_int count = 0;

	*ret_eof = false;
	while (count < count_max) {
		struct job_record *record = &records[count];

		if (jobs_next(request->settings->jobs, id, record) < 0) {
			*ret_eof = true;
			return count;
		}
		id = record->id;
		if (!target_job_allowed(request->settings->vfs, &request->caller, record, false))
			continue;
		answer_job(record, now_ms, &list[count++]);
	}
	*ret_eof = jobs_next(request->settings->jobs, id, &request->record) < 0;
	return count;
}

static void serve_jobs(struct request *request)
{
	AUTO(free_ptr) struct job_record *records = calloc(OFFLOAD_JOBS_MAX, sizeof *records);
	char text[JOB_TEXT_BYTES];
	offload_jobs_result result = { 0 };
	offload_jobs *answer = &result.offload_jobs_result_u.list;
	offload_job list[OFFLOAD_JOBS_MAX];
	u_int count_max = request->args.jobs.count_max;
	bool eof;

	if (count_max < 1 || count_max > OFFLOAD_JOBS_MAX || !records) {
		answer_refusal(records ? -EINVAL : -ENOMEM, "count_max", text, &result.status,
		               &result.offload_jobs_result_u.text);
	} else {
		answer->jobs.jobs_len = list_jobs(request, records, list, count_max, &eof);
		answer->jobs.jobs_val = list;
		answer->eof = eof;
	}
	service_send(request, (xdrproc_t) xdr_offload_jobs_result, &result);
}

/* ---- for nfsd's metrics ---- */

static void serve_totals(struct request *request)
{
	AUTO(free_ptr) struct job_record *records = calloc(OFFLOAD_JOBS_MAX, sizeof *records);
	const struct service_settings *settings = request->settings;
	offload_total rows[OFFLOAD_TOTALS_ROWS_MAX];
	offload_job list[OFFLOAD_JOBS_MAX];
	uint64_t now_ms = jobs_now_ms();
	offload_totals answer = { .live.live_val = list };
	struct jobs_live live;

	answer.live.live_len = jobs_live(settings->jobs, records, records ? OFFLOAD_JOBS_MAX : 0,
	                                 &live);
	for (u_int i = 0; i < answer.live.live_len; i++)
		answer_job(&records[i], now_ms, &list[i]);
	answer.queued = live.queued;
	answer.running = live.running;
	totals_answer(settings->totals, rows, &answer);
	service_send(request, (xdrproc_t) xdr_offload_totals, &answer);
}

const struct procedure procedures[PROCEDURES] = {
	[OFFLOAD_NULL] = { "NULL", (xdrproc_t) xdr_nothing, serve_null },
	[OFFLOAD_SUPPORT] = { "SUPPORT", (xdrproc_t) xdr_offload_file, serve_support },
	[OFFLOAD_CLONE] = { "CLONE", (xdrproc_t) xdr_offload_clone_args, serve_clone },
	[OFFLOAD_RESERVE] = { "RESERVE", (xdrproc_t) xdr_offload_reserve_args, serve_reserve },
	[OFFLOAD_STAT] = { "STAT", (xdrproc_t) xdr_offload_file, serve_stat },
	[OFFLOAD_CHECKSUM] = { "CHECKSUM", (xdrproc_t) xdr_offload_checksum_args, serve_checksum },
	[OFFLOAD_PUNCH] = { "PUNCH", (xdrproc_t) xdr_offload_punch_args, serve_punch },
	[OFFLOAD_JOB] = { "JOB", (xdrproc_t) xdr_offload_which, serve_job },
	[OFFLOAD_JOBS] = { "JOBS", (xdrproc_t) xdr_offload_jobs_args, serve_jobs },
	[OFFLOAD_CANCEL] = { "CANCEL", (xdrproc_t) xdr_offload_which, serve_cancel },
	[OFFLOAD_WAIT] = { "WAIT", (xdrproc_t) xdr_offload_wait_args, serve_wait },
	[OFFLOAD_RELAY_VAAI] = { "VAAI", (xdrproc_t) xdr_offload_vaai, serve_vaai, true },
	[OFFLOAD_RELAY_TOTALS] = { "TOTALS", (xdrproc_t) xdr_nothing, serve_totals, true },
};
