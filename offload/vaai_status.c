/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/vaai_status.h"

#include <stddef.h>

#include "offload/status.h"
#include "vfs/base/cleanup.h"

/* Those that say more than an offload_status. */
static const struct {
	int error;
	nfsstat3 status;
} finer[] = {
	{ EPERM, NFS3ERR_PERM },
	{ ENAMETOOLONG, NFS3ERR_NAMETOOLONG },
	{ ENOTDIR, NFS3ERR_NOTDIR },
	{ EISDIR, NFS3ERR_ISDIR },
	{ EDQUOT, NFS3ERR_DQUOT },
	{ EFBIG, NFS3ERR_FBIG },
	{ EBADMSG, NFS3ERR_BADHANDLE },
	/* Short of something that comes back. */
	{ ENOMEM, NFS3ERR_JUKEBOX },
	{ ENFILE, NFS3ERR_JUKEBOX },
	{ EMFILE, NFS3ERR_JUKEBOX },
};

static const nfsstat3 of_jobs[] = {
	[OFFLOAD_OK] = NFS3_OK,
	[OFFLOAD_ERR_INVALID] = NFS3ERR_INVAL,
	[OFFLOAD_ERR_NOENT] = NFS3ERR_NOENT,
	[OFFLOAD_ERR_ACCESS] = NFS3ERR_ACCES,
	[OFFLOAD_ERR_READ_ONLY] = NFS3ERR_ROFS,
	[OFFLOAD_ERR_EXISTS] = NFS3ERR_EXIST,
	[OFFLOAD_ERR_NOT_FILE] = NFS3ERR_INVAL,
	[OFFLOAD_ERR_SAME_FILE] = NFS3ERR_INVAL,
	[OFFLOAD_ERR_STALE] = NFS3ERR_STALE,
	[OFFLOAD_ERR_BUSY] = NFS3ERR_JUKEBOX,
	[OFFLOAD_ERR_LOCKED] = NFS3ERR_JUKEBOX,
	[OFFLOAD_ERR_NO_SPACE] = NFS3ERR_NOSPC,
	[OFFLOAD_ERR_UNSUPPORTED] = NFS3ERR_NOTSUPP,
	[OFFLOAD_ERR_CHANGED] = NFS3ERR_IO,
	[OFFLOAD_ERR_GONE] = NFS3ERR_STALE,
	[OFFLOAD_ERR_DIFFERS] = NFS3ERR_IO,
	[OFFLOAD_ERR_CANCELLED] = NFS3ERR_SERVERFAULT, /* no better word */
	[OFFLOAD_ERR_NO_JOB] = NFS3ERR_NOENT,
	[OFFLOAD_ERR_TOO_MANY] = NFS3ERR_JUKEBOX,
	[OFFLOAD_ERR_IO] = NFS3ERR_IO,
	[OFFLOAD_ERR_UNAVAILABLE] = NFS3ERR_NOTSUPP,
	[OFFLOAD_ERR_INTERNAL] = NFS3ERR_SERVERFAULT,
};

nfsstat3 vaai_status_of_error(int error)
{
	for (size_t i = 0; i < ARRAY_COUNT(finer); i++)
		if (finer[i].error == -error)
			return finer[i].status;
	return vaai_status_of_job(offload_status_of(error));
}

nfsstat3 vaai_status_of_job(offload_status status)
{
	return (size_t) status < ARRAY_COUNT(of_jobs) ? of_jobs[status] : NFS3ERR_SERVERFAULT;
}
