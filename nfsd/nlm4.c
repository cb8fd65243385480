/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nlm4.c - NLM version 4: RFC 1813 appendix II, Open Group C702 chapter 10.
 *
 * All but NULL run on the pool: files are opened, clients are written down. A procedure has up to
 * three forms: the plain one answers in its reply; the one by message (_MSG) has an empty reply,
 * and the answer is a call of ours to the client (_RES). We lock nothing on others' behalf: what
 * only a client is called for (GRANTED) is denied.
 */
#include "nfsd/nlm4.h"

#include <errno.h>
#include <string.h>

#include "nfsd/locks.h"
#include "nfsd/nfs3.h"
#include "nfsd/rpc_out.h"
#include "nfsd/worker.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	/* A cookie and an owner, and what is around them. */
	REPLY_BYTES = 2 * (4 + MAXNETOBJ_SZ) + 64,
	RES_PATIENCE_MS = 10000, /* to find the client's port; who gets no answer asks again */
};

static struct locks *locks_of(const struct call *call)
{
	return call->worker->server->locks;
}

/* They were found good by nlm4_decode(). */
static void args_of(const struct call *call, struct nlm4_args *ret_args)
{
	memset(ret_args, 0, sizeof *ret_args);
	(void) nlm4_args_decode(call->rpc.procedure, call->rpc.args, call->rpc.args_bytes,
	                        ret_args);
}

static int nlm4_decode(struct call *call)
{
	struct nlm4_args args;
	int r = nlm4_args_decode(call->rpc.procedure, call->rpc.args, call->rpc.args_bytes, &args);

	if (r == 0)
		call->args.object = args.handle;
	return r;
}

/* ---- answering ---- */

/* The procedure that answers one by message, or NLMPROC4_NULL. */
static uint32_t res_of(uint32_t procedure)
{
	switch (procedure) {
	case NLMPROC4_TEST_MSG:
		return NLMPROC4_TEST_RES;
	case NLMPROC4_LOCK_MSG:
		return NLMPROC4_LOCK_RES;
	case NLMPROC4_CANCEL_MSG:
		return NLMPROC4_CANCEL_RES;
	case NLMPROC4_UNLOCK_MSG:
		return NLMPROC4_UNLOCK_RES;
	case NLMPROC4_GRANTED_MSG:
		return NLMPROC4_GRANTED_RES;
	default:
		return NLMPROC4_NULL;
	}
}

static void put_answer(struct xdr_out *out, uint32_t procedure, struct xdr_view cookie,
                       nlm4_stats status, const struct nlm4_who *holder)
{
	if (procedure == NLMPROC4_TEST || procedure == NLMPROC4_TEST_MSG)
		nlm4_put_testres(out, cookie, status, holder);
	else if (procedure == NLMPROC4_SHARE || procedure == NLMPROC4_UNSHARE)
		nlm4_put_shareres(out, cookie, status);
	else
		nlm4_put_res(out, cookie, status);
}

static void send_res(const struct call *call, uint32_t res, struct xdr_view cookie,
                     nlm4_stats status, const struct nlm4_who *holder)
{
	uint8_t bytes[REPLY_BYTES];
	struct xdr_out out = xdr_out(bytes, sizeof bytes);
	struct rpc_out_call *answer;

	put_answer(&out, call->rpc.procedure, cookie, status, holder);
	answer = rpc_out_new(bytes, (size_t) (out.at - bytes));
	if (!answer)
		return; /* the client asks again */
	answer->to = call->client;
	answer->from = call->local;
	answer->program = NLM4_PROGRAM;
	answer->version = NLM4_V4;
	answer->procedure = res;
	answer->patience_ms = RES_PATIENCE_MS;
	answer->is_message = true;
	(void) rpc_out_submit(locks_rpc_out(locks_of(call)), answer);
}

static int answer(struct call *call, const struct nlm4_args *args, nlm4_stats status,
                  const struct nlm4_who *holder)
{
	uint32_t res = res_of(call->rpc.procedure);

	if (res)
		send_res(call, res, args->cookie, status, holder);
	else
		put_answer(&call->out, call->rpc.procedure, args->cookie, status, holder);
	return 0;
}

static nlm4_stats status_of(int error)
{
	switch (error) {
	case -ESTALE:
	case -EBADMSG:
		return NLM4_STALE_FH;
	case -EROFS:
		return NLM4_ROFS;
	case -EFBIG:
		return NLM4_FBIG;
	case -ENFILE:
	case -EMFILE:
	case -ENOMEM:
		return NLM4_DENIED_NOLOCKS;
	default:
		return NLM4_FAILED;
	}
}

static void nlm4_failed(struct call *call, int error)
{
	static const struct nlm4_who nobody;
	struct nlm4_args args;

	args_of(call, &args);
	call->forget = true; /* it may be otherwise the next time */
	(void) answer(call, &args, status_of(error), &nobody);
}

/* ---- may this caller? ---- */

/* A lock is for who may read the file, an exclusive one for who may write it; the owner may
 * always, as with READ and WRITE. */
static int may_lock(struct call *call, bool exclusive)
{
	struct vfs_attr attr;
	unsigned granted;
	int r;

	if (!call->options.nlm) {
		log_warn("locks on export %u are asked for, and its line says no_nlm: let the"
		         " client mount with nolock",
		         vfs_export_id(vfs_file_export(call->file)));
		return -EPERM;
	}
	if (vfs_file_type(call->file) != VFS_REGULAR)
		return -EINVAL;
	if (exclusive && call->options.read_only)
		return -EROFS;
	if (call->caller.cred.uid == 0)
		return 0;
	r = vfs_file_attr(call->file, &attr);
	if (r == 0)
		r = vfs_file_may(call->file, &attr, &call->caller.cred, exclusive);
	if (r != -EAGAIN)
		return r;
	nfs3_become_caller(call);
	granted = vfs_access(call->file, exclusive ? VFS_MAY_WRITE : VFS_MAY_READ);
	vfs_identity_server();
	return granted ? 0 : -EACCES;
}

/* What the procedures with a file begin with. */
static int ask_of(struct call *call, struct nlm4_args *args, struct lock_ask *ret_ask)
{
	int r;

	args_of(call, args);
	r = locks_ask(args, &call->client, ret_ask);
	ret_ask->local = call->local;
	return r;
}

/* ---- procedures ---- */

static int proc_nothing(struct call *call)
{
	return 0;
}

static int proc_test(struct call *call)
{
	uint8_t owner[LOCK_OWNER_BYTES_MAX];
	struct nlm4_who holder = { 0 };
	struct nlm4_args args;
	struct lock_ask ask;
	int r = ask_of(call, &args, &ask);

	if (r == 0)
		r = may_lock(call, false);
	if (r < 0)
		return r;
	return answer(call, &args, locks_test(locks_of(call), call->file, &ask, &holder, owner),
	              &holder);
}

static int proc_lock(struct call *call)
{
	struct nlm4_args args;
	struct lock_ask ask;
	nlm4_stats status;
	int r = ask_of(call, &args, &ask);

	if (r == 0)
		r = may_lock(call, args.exclusive);
	if (r < 0)
		return r;
	ask.monitored = call->rpc.procedure != NLMPROC4_NM_LOCK;
	ask.by_message = call->rpc.procedure == NLMPROC4_LOCK_MSG;
	status = locks_lock(locks_of(call), call->file, &ask);
	call->failed = status != NLM4_GRANTED && status != NLM4_BLOCKED && status != NLM4_DENIED;
	return answer(call, &args, status, NULL);
}

/* UNLOCK, CANCEL and UNSHARE give back: the file may be gone, the export another. */
static int give_back(struct call *call,
                     nlm4_stats (*how)(struct locks *locks, const struct lock_ask *ask))
{
	struct nlm4_args args;
	struct lock_ask ask;
	int r = ask_of(call, &args, &ask);

	if (r == 0 &&
	    vfs_device(call->worker->server->vfs, args.handle.bytes, args.handle.count) == 0)
		r = -ESTALE;
	return r < 0 ? r : answer(call, &args, how(locks_of(call), &ask), NULL);
}

static int proc_unlock(struct call *call)
{
	return give_back(call, locks_unlock);
}

static int proc_cancel(struct call *call)
{
	return give_back(call, locks_cancel);
}

static int proc_unshare(struct call *call)
{
	return give_back(call, locks_unshare);
}

static int proc_share(struct call *call)
{
	struct nlm4_args args;
	struct lock_ask ask;
	int r = ask_of(call, &args, &ask);

	if (r == 0)
		r = may_lock(call, args.access & fsa_W);
	return r < 0 ? r : answer(call, &args, locks_share(locks_of(call), &ask), NULL);
}

static int proc_granted(struct call *call)
{
	struct nlm4_args args;

	args_of(call, &args);
	return answer(call, &args, NLM4_DENIED, NULL);
}

static int proc_granted_res(struct call *call)
{
	struct nlm4_args args;

	args_of(call, &args);
	locks_granted_res(locks_of(call), &call->client, args.cookie, args.status);
	return 0;
}

static bool is_loopback(const struct export_address *address)
{
	static const struct export_address loopback6 = { { [15] = 1 } };

	return (export_address_is_ipv4(address) && address->bytes[12] == 127) ||
	       memcmp(address, &loopback6, sizeof loopback6) == 0;
}

/* The machine's rpc.statd: a client that it watches for us has restarted. */
static int proc_sm_notify(struct call *call)
{
	struct export_address client;
	struct nlm4_args args;
	char text[EXPORT_ADDRESS_TEXT_BYTES];

	args_of(call, &args);
	if (!is_loopback(&call->client)) {
		log_warn("%s says that another client has restarted: only this machine's status"
		         " monitor may",
		         export_address_print(&call->client, text));
		return 0;
	}
	memcpy(client.bytes, args.priv, sizeof client.bytes);
	(void) locks_client_restarted(locks_of(call), &client, args.state);
	return 0;
}

static int proc_free_all(struct call *call)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	unsigned count = locks_client_drop(locks_of(call), &call->client);

	log_info("%s gives back all it has: %u locks", export_address_print(&call->client, text),
	         count);
	return 0;
}

static bool nlm4_is_served(const struct server *server)
{
	return server->locks != NULL;
}

static uint32_t reply_room(const struct call *call)
{
	return REPLY_BYTES;
}

/* PROC_ELSEWHERE: the file is not looked at first. */
/* clang-format off */
#define NLM_ROW(id, flags_, run_) \
	[NLMPROC4_##id] = { .name = "NLM " #id, .kind = CALL_BLOCKING, .flags = flags_, \
			    .reply_room = reply_room, .run = run_ }

enum {
	FREE = PROC_OPEN | PROC_ELSEWHERE,
	BACK = PROC_ELSEWHERE | PROC_ONCE_NAMES,
};

static const struct proc nlm4_procs[] = {
	[NLMPROC4_NULL] = { .name = "NLM NULL", .kind = CALL_INLINE, .flags = FREE,
			    .run = proc_nothing },
	NLM_ROW(TEST, 0, proc_test),
	NLM_ROW(LOCK, PROC_ONCE_NAMES, proc_lock),
	NLM_ROW(CANCEL, BACK, proc_cancel),
	NLM_ROW(UNLOCK, BACK, proc_unlock),
	NLM_ROW(GRANTED, FREE, proc_granted),
	NLM_ROW(TEST_MSG, 0, proc_test),
	NLM_ROW(LOCK_MSG, PROC_ONCE_NAMES, proc_lock),
	NLM_ROW(CANCEL_MSG, BACK, proc_cancel),
	NLM_ROW(UNLOCK_MSG, BACK, proc_unlock),
	NLM_ROW(GRANTED_MSG, FREE, proc_granted),
	NLM_ROW(TEST_RES, FREE, proc_nothing),
	NLM_ROW(LOCK_RES, FREE, proc_nothing),
	NLM_ROW(CANCEL_RES, FREE, proc_nothing),
	NLM_ROW(UNLOCK_RES, FREE, proc_nothing),
	NLM_ROW(GRANTED_RES, FREE, proc_granted_res),
	NLM_ROW(SM_NOTIFY, FREE, proc_sm_notify),
	NLM_ROW(SHARE, PROC_ONCE_NAMES, proc_share),
	NLM_ROW(UNSHARE, BACK, proc_unshare),
	NLM_ROW(NM_LOCK, PROC_ONCE_NAMES, proc_lock),
	NLM_ROW(FREE_ALL, FREE, proc_free_all),
};
/* clang-format on */

const struct program nlm4_program = {
	.number = NLM4_PROGRAM,
	.version = NLM4_V4,
	.procs = nlm4_procs,
	.proc_count = ARRAY_COUNT(nlm4_procs),
	.failed = nlm4_failed,
	.decode = nlm4_decode,
	.prepare = nfs3_prepare,
	.waits_for = nfs3_waits_for,
	.is_served = nlm4_is_served,
	.role = ROLE_NFS,
};

/* ---- NSM ---- */

static bool nsm_is_served(const struct server *server)
{
	return locks_serve_nsm(server->locks);
}

static int nsm_decode(struct call *call)
{
	struct nsm_args args;

	return nsm_args_decode(call->rpc.procedure, call->rpc.args, call->rpc.args_bytes, &args);
}

/* Would a host of this name be watched? Any that locks is. */
static int monitor_stat(struct call *call)
{
	xdr_put_u32(&call->out, NSM_STAT_SUCC);
	xdr_put_u32(&call->out, (uint32_t) locks_state(locks_of(call)));
	return 0;
}

/* Other programs' hosts: for those there is rpc.statd, and then we use it, too. */
static int monitor_mon(struct call *call)
{
	if (is_loopback(&call->client))
		log_warn("a program of this machine wants hosts watched, which lodestore does for"
		         " its own locks only: start rpc.statd (nfs-common), then restart"
		         " lodestore-nfsd");
	xdr_put_u32(&call->out, NSM_STAT_FAIL);
	xdr_put_u32(&call->out, (uint32_t) locks_state(locks_of(call)));
	return 0;
}

static int monitor_unmon(struct call *call)
{
	xdr_put_u32(&call->out, (uint32_t) locks_state(locks_of(call)));
	return 0;
}

/* A host tells of itself: who it is, its address says. A name alone could be anybody's. */
static int monitor_notify(struct call *call)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES], name[LOG_ESCAPED_BYTES_MAX];
	struct nsm_args args = { 0 };

	(void) nsm_args_decode(call->rpc.procedure, call->rpc.args, call->rpc.args_bytes, &args);
	if (!locks_client_restarted(locks_of(call), &call->client, args.state))
		log_warn("%s says that '%s' has restarted, and that address holds no locks here:"
		         " nothing is released",
		         export_address_print(&call->client, text),
		         log_escape(args.name.bytes, args.name.count, name, sizeof name));
	return 0;
}

/* clang-format off */
#define NSM_ROW(id, kind_, run_) \
	[NSMPROC_##id] = { .name = "NSM " #id, .kind = kind_, .flags = PROC_OPEN, .run = run_ }

static const struct proc nsm_procs[] = {
	NSM_ROW(NULL, CALL_INLINE, proc_nothing),
	NSM_ROW(STAT, CALL_INLINE, monitor_stat),
	NSM_ROW(MON, CALL_INLINE, monitor_mon),
	NSM_ROW(UNMON, CALL_INLINE, monitor_unmon),
	NSM_ROW(UNMON_ALL, CALL_INLINE, monitor_unmon),
	NSM_ROW(NOTIFY, CALL_BLOCKING, monitor_notify),
};
/* clang-format on */

static void nsm_failed(struct call *call, int error)
{
	call->accept_stat = error == -EBADMSG ? 4 /* GARBAGE_ARGS */ : 5 /* SYSTEM_ERR */;
}

const struct program nsm_program = {
	.number = NSM_PROGRAM,
	.version = NSM_V1,
	.procs = nsm_procs,
	.proc_count = ARRAY_COUNT(nsm_procs),
	.failed = nsm_failed,
	.decode = nsm_decode,
	.is_served = nsm_is_served,
	.role = ROLE_NFS,
};
