/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Procedure 22 - no RFC's: what VAAI-NAS plug-ins ask of a server (rpcgen/vaai.h, docs/vaai.md).
 *
 * Decoded here, so that nothing but well-formed calls reaches the sidecar; carried out there. If it
 * does not answer, support queries are answered "no" and the rest NFS3ERR_NOTSUPP: hosts copy for
 * themselves then.
 */
#include <errno.h>

#include "nfsd/nfs3.h"
#include "nfsd/relay.h"
#include "nfsd/worker.h"
#include "vfs/base/log.h"

int nfs3_vaai_decode(struct call *call)
{
	unsigned dialects = call->worker->server->config->offload_dialects;
	int r;

	if (!dialects)
		return -ENOSYS;
	r = vaai_decode(call->rpc.args, call->rpc.args_bytes, &call->vaai);
	return r == 0 && !(call->vaai.dialect & dialects) ? -ENOSYS : r;
}

static void put(struct call *call, const struct vaai_result *result)
{
	call->accept_stat = SUCCESS;
	vaai_put_result(&call->out, &call->vaai, result);
}

static void say_refused(const struct call *call)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	const struct log_about about = {
		.client = export_address_print(&call->client, text),
		.call = vaai_ask_name(call->vaai.ask),
	};

	log_about(LOG_LEVEL_WARNING, &about,
	          "offload %s from %s is refused: its arguments are wrong (%d)", about.call,
	          about.client, (int) call->vaai.refusal);
}

void nfs3_vaai(struct call *call)
{
	struct vaai_result result = { .status = call->vaai.refusal };

	if (result.status == NFS3_OK)
		return relay_start(call);
	say_refused(call);
	put(call, &result);
	call_finish(call);
}

/* -EBUSY: more calls than the relay takes; the others: the sidecar does not answer. */
void nfs3_vaai_failed(struct call *call, int error)
{
	struct vaai_result result = vaai_unavailable(&call->vaai);

	if (error == -EBUSY && call->vaai.ask != VAAI_SUPPORT)
		result.status = NFS3ERR_JUKEBOX;
	put(call, &result);
}
