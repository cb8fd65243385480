/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COMMIT - RFC 1813 section 3.3.21.
 *
 * The whole file is flushed, whatever range was named, through the same gate as stable writes: a
 * COMMIT shares a flush with whatever else waits for one.
 */
#include <errno.h>

#include "nfsd/nfs3.h"
#include "nfsd/worker.h"
#include "vfs/base/cleanup.h"

static void nfs3_commit_synced(struct vfs_commit *commit, int error);

int nfs3_commit_prepare(struct call *call)
{
	const struct nfs3_commit_args *args = &call->args.commit;

	if (args->offset > INT64_MAX || args->count > INT64_MAX - args->offset)
		return -EINVAL;
	return nfs3_data_prepare(call, true);
}

void nfs3_commit(struct call *call)
{
	call->commit.loop = call->worker->loop;
	call->commit.done = nfs3_commit_synced;
	if (call->caller.async)
		nfs3_commit_synced(&call->commit, 0);
	else
		vfs_file_commit(call->file, &call->commit);
}

static void nfs3_commit_synced(struct vfs_commit *commit, int error)
{
	struct call *call = container_of(commit, struct call, commit);

	if (error < 0) {
		call_fail(call, error); /* the verifier has changed: server_flush_failed() */
		return;
	}
	nfs3_put_ok(&call->out);
	nfs3_put_wcc_of(&call->out, call->file);
	xdr_put_u64(&call->out, atomic_load(&call->worker->server->write_verifier));
	call_finish(call); /* call is gone */
}
