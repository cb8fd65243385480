/* SPDX-License-Identifier: Apache-2.0 */
#include "rpcgen/status_text.h"

#include <stddef.h>

#include "rpcgen/nfs3.h"
#include "rpcgen/nlm4.h"

#define ERROR(status)           \
	{                       \
		status, #status \
	}
const struct nfs3_error nfs3_errors[NFS3_ERRORS] = {
	ERROR(NFS3ERR_PERM),        ERROR(NFS3ERR_NOENT),       ERROR(NFS3ERR_IO),
	ERROR(NFS3ERR_NXIO),        ERROR(NFS3ERR_ACCES),       ERROR(NFS3ERR_EXIST),
	ERROR(NFS3ERR_XDEV),        ERROR(NFS3ERR_NODEV),       ERROR(NFS3ERR_NOTDIR),
	ERROR(NFS3ERR_ISDIR),       ERROR(NFS3ERR_INVAL),       ERROR(NFS3ERR_FBIG),
	ERROR(NFS3ERR_NOSPC),       ERROR(NFS3ERR_ROFS),        ERROR(NFS3ERR_MLINK),
	ERROR(NFS3ERR_NAMETOOLONG), ERROR(NFS3ERR_NOTEMPTY),    ERROR(NFS3ERR_DQUOT),
	ERROR(NFS3ERR_STALE),       ERROR(NFS3ERR_REMOTE),      ERROR(NFS3ERR_BADHANDLE),
	ERROR(NFS3ERR_NOT_SYNC),    ERROR(NFS3ERR_BAD_COOKIE),  ERROR(NFS3ERR_NOTSUPP),
	ERROR(NFS3ERR_TOOSMALL),    ERROR(NFS3ERR_SERVERFAULT), ERROR(NFS3ERR_BADTYPE),
	ERROR(NFS3ERR_JUKEBOX),
};

#define NAME(status) [status] = #status
static const char *const nlm4_names[] = {
	NAME(NLM4_GRANTED),
	NAME(NLM4_DENIED),
	NAME(NLM4_DENIED_NOLOCKS),
	NAME(NLM4_BLOCKED),
	NAME(NLM4_DENIED_GRACE_PERIOD),
	NAME(NLM4_DEADLCK),
	NAME(NLM4_ROFS),
	NAME(NLM4_STALE_FH),
	NAME(NLM4_FBIG),
	NAME(NLM4_FAILED),
};

const char *nfs3_status_name(uint32_t status)
{
	if (status == NFS3_OK)
		return "NFS3_OK";
	for (size_t i = 0; i < NFS3_ERRORS; i++)
		if (nfs3_errors[i].status == status)
			return nfs3_errors[i].name;
	return NULL;
}

const char *nlm4_status_name(uint32_t status)
{
	return status < sizeof nlm4_names / sizeof nlm4_names[0] ? nlm4_names[status] : NULL;
}
