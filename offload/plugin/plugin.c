/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/plugin/plugin.h"

#include <errno.h>
#include <string.h>

/* ---- dialect O ---- */

static const char *o_result_text(int32_t result)
{
	switch (result) {
	case PLUGIN_O_TOO_DEEP:
		return ": too deep a chain of clones";
	case PLUGIN_O_TOO_MANY:
		return ": too many snapshots";
	case PLUGIN_O_BUSY:
		return ": the object is busy";
	case PLUGIN_O_FULL:
		return ": the disk is full";
	default:
		return "";
	}
}

static int o_call(struct plugin_session *session, const char *name,
                  const struct plugin_o_call *call, struct plugin_o_reply *ret_reply)
{
	uint8_t args[PLUGIN_ARGS_BYTES_MAX], bytes[PLUGIN_REPLY_BYTES_MAX];
	size_t bytes_count;
	int args_bytes, r;

	args_bytes = plugin_o_encode(call, args);
	if (args_bytes < 0) {
		session->status = NFS3ERR_NAMETOOLONG;
		return plugin_session_say(session, -EREMOTEIO,
		                          "%s: the path is too long for"
		                          " dialect O",
		                          name);
	}
	r = plugin_session_extend(session, args, (size_t) args_bytes, bytes, &bytes_count);
	if (r < 0)
		return r;
	if (plugin_o_decode(call->command, bytes, bytes_count, ret_reply) < 0)
		return plugin_session_say(session, -ECOMM,
		                          "%s: %zu bytes that are no reply of dialect O", name,
		                          bytes_count);
	if (ret_reply->status == NFS3_OK)
		return 0;
	session->status = ret_reply->status;
	return plugin_session_say(session, -EREMOTEIO, "%s: %s, result %d%s", name,
	                          plugin_status_name(ret_reply->status), ret_reply->result,
	                          o_result_text(ret_reply->result));
}

static struct plugin_progress o_progress(const struct plugin_o_reply *reply)
{
	struct plugin_progress progress = { PLUGIN_RUNNING, reply->done_bytes };

	if (reply->state == PLUGIN_O_STARTED)
		progress.state = PLUGIN_WAITING;
	if (reply->state == PLUGIN_O_COMPLETE)
		progress.state = PLUGIN_COMPLETE;
	return progress;
}

static int o_support(struct plugin_session *session, uint32_t *ret_can)
{
	static const struct {
		enum plugin_o_command command;
		uint32_t bit;
	} asked[] = {
		{ PLUGIN_O_HAS_CLONE, PLUGIN_CAN_CLONE },
		{ PLUGIN_O_HAS_RESERVE, PLUGIN_CAN_RESERVE },
		{ PLUGIN_O_HAS_STAT, PLUGIN_CAN_STAT },
	};
	struct plugin_o_reply reply;
	uint32_t can = 0;

	for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		const struct plugin_o_call call = { asked[i].command, &session->root, NULL, 0, "" };
		int r = o_call(session, "support", &call, &reply);

		if (r < 0)
			return r;
		if (reply.result == PLUGIN_O_OK)
			can |= asked[i].bit;
	}
	*ret_can = can;
	return 0;
}

static int o_clone(struct plugin_session *session, const struct plugin_handle *source,
                   const struct plugin_handle *target, const char *path,
                   struct plugin_progress *ret_progress)
{
	const struct plugin_o_call call = { PLUGIN_O_CLONE, target, source, 0, path };
	struct plugin_o_reply reply;
	int r = o_call(session, "clone", &call, &reply);

	if (r == 0)
		*ret_progress = o_progress(&reply);
	return r;
}

/* A command about one file, with nothing else to say. */
static int o_file_call(struct plugin_session *session, const char *name,
                       enum plugin_o_command command, const struct plugin_handle *file,
                       struct plugin_o_reply *ret_reply)
{
	const struct plugin_o_call call = { command, file, NULL, 0, "" };

	return o_call(session, name, &call, ret_reply);
}

/* ---- dialect Q ---- */

static int q_call(struct plugin_session *session, const char *name,
                  const struct plugin_q_call *call, struct plugin_q_reply *ret_reply)
{
	uint8_t args[PLUGIN_ARGS_BYTES_MAX], bytes[PLUGIN_REPLY_BYTES_MAX];
	size_t bytes_count;
	int args_bytes, r;

	args_bytes = plugin_q_encode(call, args);
	if (args_bytes < 0) {
		session->status = NFS3ERR_NAMETOOLONG;
		return plugin_session_say(session, -EREMOTEIO,
		                          "%s: a name is too long for"
		                          " dialect Q",
		                          name);
	}
	r = plugin_session_extend(session, args, (size_t) args_bytes, bytes, &bytes_count);
	if (r < 0)
		return r;
	if (plugin_q_decode(call->op, bytes, bytes_count, ret_reply) < 0)
		return plugin_session_say(session, -ECOMM,
		                          "%s: %zu bytes that are no reply of dialect Q", name,
		                          bytes_count);
	if (ret_reply->status == NFS3_OK)
		return 0;
	session->status = ret_reply->status;
	return plugin_session_say(session, -EREMOTEIO, "%s: %s", name,
	                          plugin_status_name(ret_reply->status));
}

static struct plugin_progress q_progress(const struct plugin_q_reply *reply)
{
	struct plugin_progress progress = { PLUGIN_FAILED, reply->done_bytes };

	switch (reply->state) {
	case PLUGIN_Q_WAITING:
		progress.state = PLUGIN_WAITING;
		break;
	case PLUGIN_Q_RUNNING:
		progress.state = PLUGIN_RUNNING;
		break;
	case PLUGIN_Q_FINISHED:
		progress.state = PLUGIN_COMPLETE;
		break;
	case PLUGIN_Q_ABORTED:
		progress.state = PLUGIN_ABORTED;
		break;
	default: /* "ended" without having finished is no success either */
		break;
	}
	return progress;
}

static int q_support(struct plugin_session *session, uint32_t *ret_can)
{
	const struct plugin_q_call call = { .op = PLUGIN_Q_REGISTER, .magic = PLUGIN_Q_MAGIC };
	struct plugin_q_reply reply;
	int r = q_call(session, "register", &call, &reply);

	if (r == 0)
		*ret_can = reply.primitives;
	return r;
}

static int q_file_call(struct plugin_session *session, const char *name, enum plugin_q_op op,
                       const struct plugin_handle *file, struct plugin_q_reply *ret_reply)
{
	const struct plugin_q_call call = { .op = op, .file = file };

	return q_call(session, name, &call, ret_reply);
}

static int q_clone_fast(struct plugin_session *session, const struct plugin_handle *source_dir,
                        const char *source_name, const struct plugin_handle *dir, const char *name)
{
	const struct plugin_q_call call = {
		.op = PLUGIN_Q_CLONE,
		.source = source_dir,
		.file = dir,
		.flags = PLUGIN_Q_FLAGS_FAST,
		.name = name,
		.source_name = source_name,
	};
	struct plugin_q_reply reply;

	return q_call(session, "fast clone", &call, &reply);
}

/* ---- either ---- */

int plugin_support(struct plugin_session *session, enum plugin_dialect dialect, uint32_t *ret_can)
{
	return dialect == PLUGIN_DIALECT_O ? o_support(session, ret_can)
	                                   : q_support(session, ret_can);
}

int plugin_clone(struct plugin_session *session, enum plugin_dialect dialect,
                 const struct plugin_handle *source, const struct plugin_handle *destination,
                 const char *path, bool thin, struct plugin_progress *ret_progress)
{
	const struct plugin_q_call call = {
		.op = PLUGIN_Q_CLONE,
		.source = source,
		.file = destination,
		.flags = thin ? PLUGIN_Q_FLAG_THIN : 0,
	};
	struct plugin_q_reply reply;
	int r;

	if (dialect == PLUGIN_DIALECT_O)
		return o_clone(session, source, destination, path, ret_progress);
	r = q_call(session, "clone", &call, &reply);
	if (r == 0)
		*ret_progress = (struct plugin_progress){ .state = PLUGIN_WAITING };
	return r;
}

int plugin_clone_fast(struct plugin_session *session, enum plugin_dialect dialect,
                      const char *source_path, const char *path)
{
	struct plugin_handle source, dir;
	struct plugin_progress done;
	const char *source_name, *name;
	int r;

	r = plugin_lookup_parent(session, path, &dir, &name);
	if (r < 0)
		return r;
	if (dialect == PLUGIN_DIALECT_O) {
		r = plugin_lookup(session, source_path, &source, NULL, NULL);
		return r < 0 ? r : o_clone(session, &source, &dir, path, &done);
	}
	r = plugin_lookup_parent(session, source_path, &source, &source_name);
	return r < 0 ? r : q_clone_fast(session, &source, source_name, &dir, name);
}

int plugin_reserve(struct plugin_session *session, enum plugin_dialect dialect,
                   const struct plugin_handle *file, struct plugin_progress *ret_progress)
{
	struct plugin_o_reply o_reply;
	struct plugin_q_reply q_reply;
	int r;

	if (dialect == PLUGIN_DIALECT_O)
		r = o_file_call(session, "reserve", PLUGIN_O_RESERVE, file, &o_reply);
	else
		r = q_file_call(session, "reserve", PLUGIN_Q_RESERVE, file, &q_reply);
	if (r == 0)
		*ret_progress = (struct plugin_progress){
			.state = dialect == PLUGIN_DIALECT_O ? PLUGIN_COMPLETE : PLUGIN_WAITING,
		};
	return r;
}

int plugin_usage_of(struct plugin_session *session, enum plugin_dialect dialect,
                    const struct plugin_handle *file, struct plugin_usage *ret_usage)
{
	struct plugin_o_reply o;
	struct plugin_q_reply q;
	int r;

	if (dialect == PLUGIN_DIALECT_O) {
		r = o_file_call(session, "statistics", PLUGIN_O_STAT, file, &o);
		if (r == 0)
			*ret_usage = (struct plugin_usage){ o.total_bytes, o.allocated_bytes,
				                            o.unique_bytes };
	} else {
		r = q_file_call(session, "statistics", PLUGIN_Q_STAT, file, &q);
		if (r == 0)
			*ret_usage = (struct plugin_usage){ q.total_bytes, q.allocated_bytes,
				                            q.unique_bytes };
	}
	return r;
}

int plugin_poll(struct plugin_session *session, enum plugin_dialect dialect,
                const struct plugin_handle *destination, struct plugin_progress *ret_progress)
{
	struct plugin_o_reply o_reply;
	struct plugin_q_reply q_reply;
	int r;

	if (dialect == PLUGIN_DIALECT_O) {
		r = o_file_call(session, "progress", PLUGIN_O_PROGRESS, destination, &o_reply);
		if (r == 0)
			*ret_progress = o_progress(&o_reply);
	} else {
		r = q_file_call(session, "inquiry", PLUGIN_Q_INQUIRY, destination, &q_reply);
		if (r == 0)
			*ret_progress = q_progress(&q_reply);
	}
	return r;
}

int plugin_abort(struct plugin_session *session, enum plugin_dialect dialect,
                 const struct plugin_handle *destination)
{
	struct plugin_o_reply o_reply;
	struct plugin_q_reply q_reply;

	if (dialect == PLUGIN_DIALECT_O)
		return o_file_call(session, "abort", PLUGIN_O_ABORT, destination, &o_reply);
	return q_file_call(session, "abort", PLUGIN_Q_ABORT, destination, &q_reply);
}
