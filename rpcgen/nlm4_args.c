/* SPDX-License-Identifier: Apache-2.0 */
#include "rpcgen/nlm4_args.h"

#include <errno.h>
#include <string.h>

/* nlm4_lock */
static void get_lock(struct xdr_in *in, struct nlm4_args *args)
{
	args->caller = xdr_get_opaque(in, LM_MAXSTRLEN);
	args->handle = xdr_get_opaque(in, NLM4_FHSIZE);
	args->owner = xdr_get_opaque(in, MAXNETOBJ_SZ);
	args->svid = (int32_t) xdr_get_u32(in);
	args->offset = xdr_get_u64(in);
	args->bytes = xdr_get_u64(in);
}

/* An enumeration from 0 to @max. */
static uint32_t get_enum(struct xdr_in *in, uint32_t max)
{
	uint32_t value = xdr_get_u32(in);

	in->failed |= value > max;
	return in->failed ? 0 : value;
}

static void get_lockargs(struct xdr_in *in, struct nlm4_args *args)
{
	args->block = xdr_get_bool(in);
	args->exclusive = xdr_get_bool(in);
	get_lock(in, args);
	args->reclaim = xdr_get_bool(in);
	args->state = (int32_t) xdr_get_u32(in);
}

static void get_share(struct xdr_in *in, struct nlm4_args *args)
{
	args->caller = xdr_get_opaque(in, LM_MAXSTRLEN);
	args->handle = xdr_get_opaque(in, NLM4_FHSIZE);
	args->owner = xdr_get_opaque(in, MAXNETOBJ_SZ);
	args->mode = get_enum(in, fsm_DRW);
	args->access = get_enum(in, fsa_RW);
	args->reclaim = xdr_get_bool(in);
}

static void get_testres(struct xdr_in *in, struct nlm4_args *args)
{
	args->status = get_enum(in, NLM4_FAILED);
	if (args->status != NLM4_DENIED)
		return;
	args->exclusive = xdr_get_bool(in);
	args->svid = (int32_t) xdr_get_u32(in);
	args->owner = xdr_get_opaque(in, MAXNETOBJ_SZ);
	args->offset = xdr_get_u64(in);
	args->bytes = xdr_get_u64(in);
}

/* What begins with a cookie, behind it. */
static int get_after_cookie(uint32_t procedure, struct xdr_in *in, struct nlm4_args *args)
{
	switch (procedure) {
	case NLMPROC4_LOCK:
	case NLMPROC4_LOCK_MSG:
	case NLMPROC4_NM_LOCK:
		get_lockargs(in, args);
		return 0;
	case NLMPROC4_CANCEL:
	case NLMPROC4_CANCEL_MSG:
		args->block = xdr_get_bool(in);
		args->exclusive = xdr_get_bool(in);
		get_lock(in, args);
		return 0;
	case NLMPROC4_TEST:
	case NLMPROC4_TEST_MSG:
	case NLMPROC4_GRANTED:
	case NLMPROC4_GRANTED_MSG:
		args->exclusive = xdr_get_bool(in);
		get_lock(in, args);
		return 0;
	case NLMPROC4_UNLOCK:
	case NLMPROC4_UNLOCK_MSG:
		get_lock(in, args);
		return 0;
	case NLMPROC4_SHARE:
	case NLMPROC4_UNSHARE:
		get_share(in, args);
		return 0;
	case NLMPROC4_TEST_RES:
		get_testres(in, args);
		return 0;
	case NLMPROC4_LOCK_RES:
	case NLMPROC4_CANCEL_RES:
	case NLMPROC4_UNLOCK_RES:
	case NLMPROC4_GRANTED_RES:
		args->status = get_enum(in, NLM4_FAILED);
		return 0;
	default:
		return -ENOSYS;
	}
}

int nlm4_args_decode(uint32_t procedure, const uint8_t *bytes, size_t bytes_count,
                     struct nlm4_args *ret_args)
{
	struct xdr_in in = xdr_in(bytes, bytes_count);
	struct nlm4_args args;
	int r = 0;

	memset(&args, 0, sizeof args);
	if (procedure == NLMPROC4_NULL) {
		*ret_args = args;
		return 0;
	}
	if (procedure == NLMPROC4_FREE_ALL || procedure == NLMPROC4_SM_NOTIFY) {
		args.caller = xdr_get_opaque(&in, procedure == NLMPROC4_FREE_ALL ? LM_MAXNAMELEN
		                                                                 : LM_MAXSTRLEN);
		args.state = (int32_t) xdr_get_u32(&in);
		if (procedure == NLMPROC4_SM_NOTIFY)
			args.priv = xdr_get_fixed(&in, NLM4_PRIV_BYTES);
	} else {
		args.cookie = xdr_get_opaque(&in, MAXNETOBJ_SZ);
		r = get_after_cookie(procedure, &in, &args);
	}
	if (r == 0 && !xdr_in_done(&in))
		r = -EBADMSG;
	if (r == 0)
		*ret_args = args;
	return r;
}

static void put_view(struct xdr_out *out, struct xdr_view view)
{
	xdr_put_opaque(out, view.bytes, view.count);
}

void nlm4_put_res(struct xdr_out *out, struct xdr_view cookie, nlm4_stats status)
{
	put_view(out, cookie);
	xdr_put_u32(out, status);
}

void nlm4_put_testres(struct xdr_out *out, struct xdr_view cookie, nlm4_stats status,
                      const struct nlm4_who *holder)
{
	nlm4_put_res(out, cookie, status);
	if (status != NLM4_DENIED)
		return;
	xdr_put_u32(out, holder->exclusive);
	xdr_put_u32(out, (uint32_t) holder->svid);
	put_view(out, holder->owner);
	xdr_put_u64(out, holder->offset);
	xdr_put_u64(out, holder->bytes);
}

void nlm4_put_shareres(struct xdr_out *out, struct xdr_view cookie, nlm4_stats status)
{
	nlm4_put_res(out, cookie, status);
	xdr_put_u32(out, 0); /* sequence: no client looks at it */
}

void nlm4_put_granted(struct xdr_out *out, const struct nlm4_args *args)
{
	put_view(out, args->cookie);
	xdr_put_u32(out, args->exclusive);
	put_view(out, args->caller);
	put_view(out, args->handle);
	put_view(out, args->owner);
	xdr_put_u32(out, (uint32_t) args->svid);
	xdr_put_u64(out, args->offset);
	xdr_put_u64(out, args->bytes);
}

/* ---- NSM ---- */

static void get_my_id(struct xdr_in *in, struct xdr_view *ret_name)
{
	*ret_name = xdr_get_opaque(in, SM_MAXSTRLEN);
	for (int i = 0; i < 3; i++) /* program, version, procedure */
		(void) xdr_get_u32(in);
}

int nsm_args_decode(uint32_t procedure, const uint8_t *bytes, size_t bytes_count,
                    struct nsm_args *ret_args)
{
	struct xdr_in in = xdr_in(bytes, bytes_count);
	struct nsm_args args = { 0 };
	struct xdr_view my_name;

	switch (procedure) {
	case NSMPROC_NULL:
	case NSMPROC_SIMU_CRASH:
		*ret_args = args;
		return 0;
	case NSMPROC_UNMON_ALL:
		get_my_id(&in, &args.name);
		break;
	case NSMPROC_STAT:
		args.name = xdr_get_opaque(&in, SM_MAXSTRLEN);
		break;
	case NSMPROC_MON:
	case NSMPROC_UNMON:
		args.name = xdr_get_opaque(&in, SM_MAXSTRLEN);
		get_my_id(&in, &my_name);
		if (procedure == NSMPROC_MON)
			(void) xdr_get_fixed(&in, SM_PRIV_SIZE);
		break;
	case NSMPROC_NOTIFY:
		args.name = xdr_get_opaque(&in, SM_MAXSTRLEN);
		args.state = (int32_t) xdr_get_u32(&in);
		break;
	default:
		return -ENOSYS;
	}
	if (!xdr_in_done(&in))
		return -EBADMSG;
	*ret_args = args;
	return 0;
}
