/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/status.h"

#include <stddef.h>
#include <string.h>

#include "rpcgen/offload_text.h"
#include "vfs/base/cleanup.h"

static const struct {
	int error;
	offload_status status;
} rows[] = {
	{ EINVAL, OFFLOAD_ERR_INVALID },
	{ EBADMSG, OFFLOAD_ERR_STALE },
	{ ESTALE, OFFLOAD_ERR_STALE },
	{ ENOENT, OFFLOAD_ERR_NOENT },
	{ ENOTDIR, OFFLOAD_ERR_NOENT },
	{ EACCES, OFFLOAD_ERR_ACCESS },
	{ EPERM, OFFLOAD_ERR_ACCESS },
	{ EROFS, OFFLOAD_ERR_READ_ONLY },
	{ EEXIST, OFFLOAD_ERR_EXISTS },
	{ EISDIR, OFFLOAD_ERR_NOT_FILE },
	{ ELOOP, OFFLOAD_ERR_NOT_FILE },
	{ OFFLOAD_ENOTFILE, OFFLOAD_ERR_NOT_FILE },
	{ OFFLOAD_ESAME, OFFLOAD_ERR_SAME_FILE },
	{ EBUSY, OFFLOAD_ERR_BUSY },
	{ OFFLOAD_ELOCKED, OFFLOAD_ERR_LOCKED },
	{ ENOSPC, OFFLOAD_ERR_NO_SPACE },
	{ EDQUOT, OFFLOAD_ERR_NO_SPACE },
	{ EFBIG, OFFLOAD_ERR_NO_SPACE },
	{ EOPNOTSUPP, OFFLOAD_ERR_UNSUPPORTED },
	{ EXDEV, OFFLOAD_ERR_UNSUPPORTED },
	{ OFFLOAD_EOFF, OFFLOAD_ERR_UNSUPPORTED },
	{ ENAMETOOLONG, OFFLOAD_ERR_INVALID },
	{ OFFLOAD_ECHANGED, OFFLOAD_ERR_CHANGED },
	{ OFFLOAD_EGONE, OFFLOAD_ERR_GONE },
	{ OFFLOAD_EDIFFERS, OFFLOAD_ERR_DIFFERS },
	{ ECANCELED, OFFLOAD_ERR_CANCELLED },
	{ OFFLOAD_ENOJOB, OFFLOAD_ERR_NO_JOB },
	{ OFFLOAD_EMANY, OFFLOAD_ERR_TOO_MANY },
	{ EIO, OFFLOAD_ERR_IO },
};

offload_status offload_status_of(int error)
{
	if (error == 0)
		return OFFLOAD_OK;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		if (rows[i].error == -error)
			return rows[i].status;
	return OFFLOAD_ERR_INTERNAL;
}

const char *offload_error_text(int error)
{
	switch (-error) {
	case OFFLOAD_EOFF:
		return "offloads are off for this export (no_offload)";
	case OFFLOAD_ESAME:
	case OFFLOAD_ENOTFILE:
	case OFFLOAD_ELOCKED:
	case OFFLOAD_ECHANGED:
	case OFFLOAD_EGONE:
	case OFFLOAD_EDIFFERS:
	case OFFLOAD_EMANY:
	case OFFLOAD_ENOJOB:
	case EBUSY:
	case EBADMSG:
	case ECANCELED:
		return offload_status_text(offload_status_of(error));
	default:
		return strerror(-error);
	}
}
