/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_nlm4_args - any bytes as arguments of NLM version 4 or NSM.
 *
 * The input's first byte is the procedure; from 32 on NSM's. Our decoders and rpcgen's accept the
 * same bytes, but for bools, of which rpcgen's take any value as true, and both read the same
 * handle, owner, cookie and range.
 */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rpcgen/nlm4_args.h"
#include "rpcgen/xdr_generated.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	INPUT_BYTES_MAX = 1 << 14,
	NSM = 32,
};

union any_args {
	nlm4_testargs test;
	nlm4_lockargs lock;
	nlm4_cancargs cancel;
	nlm4_unlockargs unlock;
	nlm4_shareargs share;
	nlm4_testres testres;
	nlm4_res res;
	nlm4_notify notify;
	nlm4_sm_status status;
	nsm_name name;
	nsm_mon mon;
	nsm_mon_id mon_id;
	nsm_my_id my_id;
	nsm_stat_chge change;
};

static const xdrproc_t types[NSM + 8] = {
	[NLMPROC4_TEST] = (xdrproc_t) xdr_nlm4_testargs,
	[NLMPROC4_LOCK] = (xdrproc_t) xdr_nlm4_lockargs,
	[NLMPROC4_CANCEL] = (xdrproc_t) xdr_nlm4_cancargs,
	[NLMPROC4_UNLOCK] = (xdrproc_t) xdr_nlm4_unlockargs,
	[NLMPROC4_GRANTED] = (xdrproc_t) xdr_nlm4_testargs,
	[NLMPROC4_TEST_MSG] = (xdrproc_t) xdr_nlm4_testargs,
	[NLMPROC4_LOCK_MSG] = (xdrproc_t) xdr_nlm4_lockargs,
	[NLMPROC4_CANCEL_MSG] = (xdrproc_t) xdr_nlm4_cancargs,
	[NLMPROC4_UNLOCK_MSG] = (xdrproc_t) xdr_nlm4_unlockargs,
	[NLMPROC4_GRANTED_MSG] = (xdrproc_t) xdr_nlm4_testargs,
	[NLMPROC4_TEST_RES] = (xdrproc_t) xdr_nlm4_testres,
	[NLMPROC4_LOCK_RES] = (xdrproc_t) xdr_nlm4_res,
	[NLMPROC4_CANCEL_RES] = (xdrproc_t) xdr_nlm4_res,
	[NLMPROC4_UNLOCK_RES] = (xdrproc_t) xdr_nlm4_res,
	[NLMPROC4_GRANTED_RES] = (xdrproc_t) xdr_nlm4_res,
	[NLMPROC4_SM_NOTIFY] = (xdrproc_t) xdr_nlm4_sm_status,
	[NLMPROC4_SHARE] = (xdrproc_t) xdr_nlm4_shareargs,
	[NLMPROC4_UNSHARE] = (xdrproc_t) xdr_nlm4_shareargs,
	[NLMPROC4_NM_LOCK] = (xdrproc_t) xdr_nlm4_lockargs,
	[NLMPROC4_FREE_ALL] = (xdrproc_t) xdr_nlm4_notify,
	[NSM + NSMPROC_STAT] = (xdrproc_t) xdr_nsm_name,
	[NSM + NSMPROC_MON] = (xdrproc_t) xdr_nsm_mon,
	[NSM + NSMPROC_UNMON] = (xdrproc_t) xdr_nsm_mon_id,
	[NSM + NSMPROC_UNMON_ALL] = (xdrproc_t) xdr_nsm_my_id,
	[NSM + NSMPROC_NOTIFY] = (xdrproc_t) xdr_nsm_stat_chge,
};

static void check_view(struct xdr_view view, const char *bytes, u_int count)
{
	assert(view.count == count);
	assert(count == 0 || memcmp(view.bytes, bytes, count) == 0);
}

static void check_lock(const struct nlm4_args *args, const nlm4_lock *lock)
{
	check_view(args->caller, lock->caller_name.nlm4_caller_val,
	           lock->caller_name.nlm4_caller_len);
	check_view(args->handle, lock->fh.nlm4_handle_val, lock->fh.nlm4_handle_len);
	check_view(args->owner, lock->oh.nlm4_netobj_val, lock->oh.nlm4_netobj_len);
	assert(args->svid == lock->svid);
	assert(args->offset == lock->l_offset && args->bytes == lock->l_len);
}

static void check_nlm(unsigned procedure, const struct nlm4_args *args, const union any_args *other)
{
	switch (procedure) {
	case NLMPROC4_TEST:
	case NLMPROC4_GRANTED_MSG:
		check_lock(args, &other->test.alock);
		assert(args->exclusive == other->test.exclusive);
		break;
	case NLMPROC4_LOCK:
	case NLMPROC4_NM_LOCK:
		check_lock(args, &other->lock.alock);
		check_view(args->cookie, other->lock.cookie.nlm4_netobj_val,
		           other->lock.cookie.nlm4_netobj_len);
		assert(args->block == other->lock.block && args->reclaim == other->lock.reclaim);
		assert(args->exclusive == other->lock.exclusive &&
		       args->state == other->lock.state);
		break;
	case NLMPROC4_CANCEL:
		check_lock(args, &other->cancel.alock);
		break;
	case NLMPROC4_UNLOCK:
		check_lock(args, &other->unlock.alock);
		break;
	case NLMPROC4_SHARE:
		assert(args->mode == other->share.share.mode);
		assert(args->access == other->share.share.access);
		break;
	case NLMPROC4_TEST_RES:
		assert(args->status == other->testres.stat.stat);
		break;
	case NLMPROC4_SM_NOTIFY:
		assert(memcmp(args->priv, other->status.priv, NLM4_PRIV_BYTES) == 0);
		break;
	default:
		break;
	}
}

/* What is accepted can be put together again, and is the same. */
static void check_granted(const struct nlm4_args *args, size_t size)
{
	static uint8_t again[INPUT_BYTES_MAX];
	struct xdr_out out = xdr_out(again, sizeof again);
	struct nlm4_args second;

	nlm4_put_granted(&out, args);
	assert(!out.failed && (size_t) (out.at - again) == size);
	assert(nlm4_args_decode(NLMPROC4_GRANTED, again, size, &second) == 0);
	assert(second.offset == args->offset && second.handle.count == args->handle.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nlm4_args args;
	struct nsm_args nsm;
	union any_args other;
	unsigned procedure;
	bool accepted, theirs;

	if (size == 0 || size > INPUT_BYTES_MAX)
		return 0;
	procedure = data[0] % (NSM + 8);
	data++;
	size--;
	accepted = procedure < NSM ? nlm4_args_decode(procedure, data, size, &args) == 0
	                           : nsm_args_decode(procedure - NSM, data, size, &nsm) == 0;
	if (!types[procedure]) {
		assert(accepted == (procedure == NLMPROC4_NULL || procedure == NSM + NSMPROC_NULL ||
		                    procedure == NSM + NSMPROC_SIMU_CRASH));
		return 0;
	}
	theirs = xdr_args_decode(types[procedure], &other, sizeof other, data, size) == 0;
	assert(theirs || !accepted);
	if (accepted && procedure < NSM)
		check_nlm(procedure, &args, &other);
	if (accepted && procedure == NLMPROC4_GRANTED)
		check_granted(&args, size);
	if (accepted && procedure == NSM + NSMPROC_NOTIFY) {
		check_view(nsm.name, other.change.mon_name.nsm_name_val,
		           other.change.mon_name.nsm_name_len);
		assert(nsm.state == other.change.state);
	}
	if (theirs)
		xdr_free(types[procedure], &other);
	return 0;
}
