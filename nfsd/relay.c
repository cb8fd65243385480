/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c - a relayed call's life:
 *
 *     relay_start      on its worker: the message is put together, handed to the thread
 *     relay_run        the thread: waits its turn, connects, sends, receives; or the deadline
 *                      passes
 *     relay_finished   on its worker again: results into the reply; call_finish()
 */
#include "nfsd/relay.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rpc/rpc_msg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nfsd/peers.h"
#include "nfsd/worker.h"
#include "rpcgen/offload.h"
#include "rpcgen/offload_text.h"
#include "rpcgen/record.h"
#include "rpcgen/rpc_call.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"
#include "vfs/base/list.h"
#include "vfs/base/log.h"
#include "vfs/base/unix_address.h"

enum {
	CALLS_MAX = 256,     /* with the sidecar at once; more wait */
	CALLS_EACH_MAX = 64, /* of one client: its waits shall not be everybody's */
	QUEUE_MAX = 4096,    /* here in all; more are refused */
	QUEUE_EACH_MAX = 1024,
	DEADLINE_MS = 5000, /* beyond the wait that the call asks for */
	/* A plug-in gives up after 60 s. What changes files is waited for long: to call it refused
	 * and find it done later would have two write the same file. */
	DEADLINE_ASK_MS = 10000,
	DEADLINE_CHANGE_MS = 50000,
	RETRY_MS = 20, /* the sidecar's listening queue was full */
	MS_PER_S = 1000,
	ARGS_BYTES_MAX = 4096,
	/* Mark, header with AUTH_NONE, envelope, arguments. */
	MESSAGE_BYTES_MAX = 4 + 40 + 32 + 4 * OFFLOAD_GROUPS_MAX + ARGS_BYTES_MAX,
	RESULT_BYTES_JOB = 4096,
	RESULT_BYTES_JOBS = 96 << 10,
	REPLY_BYTES_MAX = RESULT_BYTES_JOBS + 4096, /* with header and record marks */
	REPLY_BYTES_FIRST = 4096,
};

struct relayed {
	struct list_node node;
	struct loop_task task;
	struct call *call;
	bool is_there; /* counted in relay.there */
	int fd;
	uint64_t deadline_ms;
	uint32_t message_bytes, sent_bytes;
	uint8_t message[MESSAGE_BYTES_MAX];
	struct record_state record;
	uint8_t *reply;
	size_t reply_bytes, reply_room;
	struct xdr_view results; /* in reply; when accept_stat is SUCCESS */
	uint32_t accept_stat;
	int error; /* the sidecar did not answer */
};

struct relay {
	char *socket_path;
	pthread_t thread;
	int wake_fd;
	pthread_mutex_t lock;
	struct list_node fresh; /* under lock: not seen by the thread yet */
	bool stop;              /* under lock */
	struct peers *here;     /* the calls that are with us, by client */
	/* The thread's: */
	struct list_node queued, mine; /* without and with a connection to the sidecar */
	struct peers *there;           /* those with one */
	bool retry;
	bool is_down;
};

static void relay_finished(struct loop_task *task);

static void relayed_free(struct relayed *relayed)
{
	close_fd(&relayed->fd);
	free(relayed->reply);
	free(relayed);
}

/* ---- on the worker: beginning ---- */

static bool is_native(const struct call *call)
{
	return call->program == &offload_program;
}

/* Where a call says how long it waits, it says so last. */
static uint32_t wait_s_of(const struct call *call)
{
	struct xdr_in in;
	uint32_t wait_s;

	switch (call->rpc.procedure) {
	case OFFLOAD_CLONE:
	case OFFLOAD_RESERVE:
	case OFFLOAD_CHECKSUM:
	case OFFLOAD_PUNCH:
	case OFFLOAD_WAIT:
		if (call->rpc.args_bytes < 4)
			return 0;
		in = xdr_in(call->rpc.args + call->rpc.args_bytes - 4, 4);
		wait_s = xdr_get_u32(&in);
		return wait_s < OFFLOAD_WAIT_S_MAX ? wait_s : OFFLOAD_WAIT_S_MAX;
	case OFFLOAD_CANCEL:
		return 1;
	default:
		return 0;
	}
}

static uint64_t deadline_ms_of(const struct call *call)
{
	if (is_native(call))
		return DEADLINE_MS + (uint64_t) wait_s_of(call) * MS_PER_S;
	switch (call->vaai.ask) {
	case VAAI_CLONE:
	case VAAI_RESERVE:
	case VAAI_ABORT:
		return DEADLINE_CHANGE_MS;
	case VAAI_SUPPORT:
	case VAAI_STAT:
	case VAAI_PROGRESS:
		break;
	}
	return DEADLINE_ASK_MS;
}

static void put_envelope(struct xdr_out *out, const struct call *call)
{
	const struct rpc_cred *cred = &call->rpc.cred;

	static_assert((int) RPC_GROUPS_MAX <= (int) OFFLOAD_GROUPS_MAX, "all groups fit");
	xdr_put_fixed(out, call->client.bytes, sizeof call->client.bytes);
	xdr_put_u32(out, call->client_port);
	xdr_put_u32(out, cred->uid);
	xdr_put_u32(out, cred->gid);
	xdr_put_u32(out, cred->group_count);
	for (uint32_t i = 0; i < cred->group_count; i++)
		xdr_put_u32(out, cred->groups[i]);
}

static void put_message(struct relayed *relayed, const struct call *call)
{
	struct xdr_out out = xdr_out(relayed->message + RPC_RECORD_MARK_BYTES,
	                             sizeof relayed->message - RPC_RECORD_MARK_BYTES);
	uint32_t bytes;

	xdr_put_u32(&out, call->rpc.xid);
	xdr_put_u32(&out, CALL);
	xdr_put_u32(&out, RPC_VERSION);
	xdr_put_u32(&out, OFFLOAD_RELAY_PROGRAM);
	xdr_put_u32(&out, OFFLOAD_RELAY_V1);
	xdr_put_u32(&out, is_native(call) ? call->rpc.procedure : OFFLOAD_RELAY_VAAI);
	for (unsigned i = 0; i < 4; i++)
		xdr_put_u32(&out, 0); /* AUTH_NONE twice: who we are the socket tells */
	put_envelope(&out, call);
	if (is_native(call))
		xdr_put_fixed(&out, call->rpc.args, call->rpc.args_bytes);
	else
		xdr_put_opaque(&out, call->rpc.args, call->rpc.args_bytes);
	assert(!out.failed); /* relay_decode(), VAAI_ARGS_BYTES_MAX */
	bytes = (uint32_t) (out.at - relayed->message) - RPC_RECORD_MARK_BYTES;
	rpc_record_mark(relayed->message, bytes);
	relayed->message_bytes = RPC_RECORD_MARK_BYTES + bytes;
}

/* Takes it over, or says why not. */
static int relay_submit(struct relay *relay, struct relayed *relayed)
{
	uint64_t one = 1;
	bool stop;

	if (peers_take(relay->here, &relayed->call->client) != PEERS_TAKEN)
		return -EBUSY;
	pthread_mutex_lock(&relay->lock);
	stop = relay->stop;
	if (!stop)
		list_add_tail(&relay->fresh, &relayed->node);
	pthread_mutex_unlock(&relay->lock);
	if (stop)
		peers_release(relay->here, &relayed->call->client);
	else
		(void) !write(relay->wake_fd, &one, sizeof one);
	return stop ? -ESHUTDOWN : 0;
}

void relay_start(struct call *call)
{
	struct relay *relay = call->worker->server->relay;
	struct relayed *relayed;
	int r;

	if (call->udp) { /* an answer may be longer than a datagram */
		call->accept_stat = PROC_UNAVAIL;
		call_finish(call);
		return;
	}
	relayed = relay ? calloc(1, sizeof *relayed) : NULL;
	if (!relayed) {
		call_fail(call, -ENOTCONN);
		return;
	}
	list_node_init(&relayed->node);
	relayed->call = call;
	relayed->task.run = relay_finished;
	relayed->fd = -EBADF;
	relayed->deadline_ms = clock_ms(CLOCK_MONOTONIC) + deadline_ms_of(call);
	put_message(relayed, call);
	r = relay_submit(relay, relayed);
	if (r < 0) {
		relayed_free(relayed);
		call_fail(call, r);
	}
}

/* ---- the thread ---- */

static void relay_say(struct relay *relay, int error)
{
	bool is_down = error < 0;

	if (is_down == relay->is_down)
		return;
	relay->is_down = is_down;
	if (is_down)
		log_warn("lodestore-offloadd does not answer on %s: %s. Hosts copy for themselves"
		         " until it does",
		         relay->socket_path, strerror(-error));
	else
		log_info("lodestore-offloadd answers again");
}

static void relayed_end(struct relay *relay, struct relayed *relayed, int error)
{
	relayed->error = error;
	list_remove(&relayed->node);
	if (relayed->is_there)
		peers_release(relay->there, &relayed->call->client);
	close_fd(&relayed->fd);
	relayed->fd = -EBADF; /* the number may be another's from now on */
	relay_say(relay, error);
	peers_release(relay->here, &relayed->call->client);
	loop_post(relayed->call->worker->loop, &relayed->task); /* relayed is gone */
}

static int relayed_send(struct relayed *relayed)
{
	ssize_t count = send(relayed->fd, relayed->message + relayed->sent_bytes,
	                     relayed->message_bytes - relayed->sent_bytes, MSG_NOSIGNAL);

	if (count < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	relayed->sent_bytes += (uint32_t) count;
	return 0;
}

/* Anything but a reply that was accepted is none of ours. */
static int relayed_parse(struct relayed *relayed, const struct record *record)
{
	struct rpc_answer answer;

	if (rpc_answer_decode(record->payload, record->payload_bytes, &answer) < 0 ||
	    answer.denied || answer.xid != relayed->call->rpc.xid)
		return -EPROTO;
	relayed->accept_stat = answer.accept_stat;
	relayed->results = (struct xdr_view){ answer.results, answer.results_bytes };
	return 0;
}

/* 1: the reply is there. 0: more has to come. */
static int relayed_receive(struct relayed *relayed)
{
	struct record record;
	ssize_t count;

	if (relayed->reply_room - relayed->reply_bytes < REPLY_BYTES_FIRST / 2) {
		size_t room = relayed->reply_room ? REPLY_BYTES_MAX : REPLY_BYTES_FIRST;
		uint8_t *grown = room == relayed->reply_room ? NULL : realloc(relayed->reply, room);

		if (!grown)
			return -EMSGSIZE;
		relayed->reply = grown;
		relayed->reply_room = room;
	}
	count = recv(relayed->fd, relayed->reply + relayed->reply_bytes,
	             relayed->reply_room - relayed->reply_bytes, 0);
	if (count < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (count == 0)
		return -ECONNRESET;
	relayed->reply_bytes += (size_t) count;
	record = record_next(&relayed->record, relayed->reply, relayed->reply_bytes,
	                     REPLY_BYTES_MAX);
	if (record.status == RECORD_BAD)
		return -EPROTO;
	if (record.status == RECORD_MORE) {
		relayed->reply_bytes = record.have_bytes;
		return 0;
	}
	return relayed_parse(relayed, &record) < 0 ? -EPROTO : 1;
}

static void relayed_step(struct relay *relay, struct relayed *relayed, short events, uint64_t now)
{
	int r = 0;

	if (events && relayed->sent_bytes < relayed->message_bytes)
		r = relayed_send(relayed);
	else if (events)
		r = relayed_receive(relayed);
	if (r == 0 && now >= relayed->deadline_ms)
		r = -ETIMEDOUT;
	if (r != 0)
		relayed_end(relay, relayed, r < 0 ? r : 0);
}

/* Take over what workers have handed in; true: the end. */
static bool relay_take(struct relay *relay)
{
	uint64_t count;
	bool stop;

	(void) !read(relay->wake_fd, &count, sizeof count);
	pthread_mutex_lock(&relay->lock);
	list_splice(&relay->queued, &relay->fresh);
	stop = relay->stop;
	pthread_mutex_unlock(&relay->lock);
	return stop;
}

/* Whose turn it is goes to the sidecar. */
static void relay_admit(struct relay *relay)
{
	relay->retry = false;
	list_for_each_safe (node, &relay->queued) {
		struct relayed *relayed = container_of(node, struct relayed, node);
		enum peers_verdict verdict = peers_take(relay->there, &relayed->call->client);
		int r;

		if (verdict == PEERS_FULL)
			return;
		if (verdict == PEERS_ADDRESS_FULL)
			continue; /* others' turns come */
		r = unix_connect(relay->socket_path, &relayed->fd);
		if (r == -EAGAIN) {
			peers_release(relay->there, &relayed->call->client);
			relay->retry = true;
			return;
		}
		relayed->is_there = true;
		list_remove(&relayed->node);
		list_add_tail(&relay->mine, &relayed->node);
		if (r < 0)
			relayed_end(relay, relayed, r);
	}
}

/* The deadlines of those that wait here; the first one still to come. */
static uint64_t relay_expire(struct relay *relay)
{
	uint64_t now = clock_ms(CLOCK_MONOTONIC);
	uint64_t first = relay->retry ? now + RETRY_MS : UINT64_MAX;

	list_for_each_safe (node, &relay->queued) {
		struct relayed *relayed = container_of(node, struct relayed, node);

		if (now >= relayed->deadline_ms)
			relayed_end(relay, relayed, -ETIMEDOUT);
		else if (relayed->deadline_ms < first)
			first = relayed->deadline_ms;
	}
	return first;
}

static int relay_poll(const struct relay *relay, uint64_t first, struct pollfd *set)
{
	uint64_t now = clock_ms(CLOCK_MONOTONIC);
	nfds_t count = 0;

	set[count++] = (struct pollfd){ .fd = relay->wake_fd, .events = POLLIN };
	list_for_each (node, &relay->mine) {
		struct relayed *relayed = container_of(node, struct relayed, node);
		bool sends = relayed->sent_bytes < relayed->message_bytes;

		set[count++] = (struct pollfd){ .fd = relayed->fd,
			                        .events = sends ? POLLOUT : POLLIN };
		first = relayed->deadline_ms < first ? relayed->deadline_ms : first;
	}
	return poll(set, count, first == UINT64_MAX ? -1 : first > now ? (int) (first - now) : 0);
}

static void *relay_run(void *arg)
{
	static struct pollfd set[CALLS_MAX + 1];
	struct relay *relay = arg;
	bool stop = false;

	pthread_setname_np(pthread_self(), "relay");
	while (!stop) {
		unsigned i = 1;
		int ready = relay_poll(relay, relay_expire(relay), set);

		list_for_each_safe (node, &relay->mine) {
			short events = ready > 0 ? set[i].revents : 0;

			i++;
			relayed_step(relay, container_of(node, struct relayed, node), events,
			             clock_ms(CLOCK_MONOTONIC));
		}
		stop = relay_take(relay);
		if (!stop)
			relay_admit(relay);
	}
	list_splice(&relay->mine, &relay->queued);
	list_for_each_safe (node, &relay->mine)
		relayed_end(relay, container_of(node, struct relayed, node), -ESHUTDOWN);
	return NULL;
}

/* ---- on the worker: ending ---- */

/* Procedure 22's results come in an opaque; nothing else can be made of them. */
static int put_results(struct call *call, const struct relayed *relayed)
{
	struct xdr_in in = xdr_in(relayed->results.bytes, relayed->results.count);
	struct xdr_view results = relayed->results;

	call->accept_stat = relayed->accept_stat;
	if (!is_native(call)) {
		results = xdr_get_opaque(&in, VAAI_RESULT_BYTES_MAX);
		if (relayed->accept_stat != SUCCESS || !xdr_in_done(&in))
			return -EPROTO;
	}
	xdr_put_fixed(&call->out, results.bytes, results.count);
	return 0;
}

static void relay_finished(struct loop_task *task)
{
	struct relayed *relayed = container_of(task, struct relayed, task);
	struct call *call = relayed->call;
	int error = relayed->error;

	if (error == 0)
		error = put_results(call, relayed);
	relayed_free(relayed);
	if (error < 0)
		call_fail(call, error);
	else
		call_finish(call); /* call is gone */
}

/* Every result but NULL's has a text behind a status that is not OFFLOAD_OK. */
static void relay_failed(struct call *call, int error)
{
	const char *text = error == -EBUSY ? "too many calls are with the offload service"
	                                   : offload_status_text(OFFLOAD_ERR_UNAVAILABLE);

	call->accept_stat = SUCCESS;
	xdr_put_u32(&call->out, OFFLOAD_ERR_UNAVAILABLE);
	xdr_put_opaque(&call->out, text, (uint32_t) strlen(text));
}

static int relay_decode(struct call *call)
{
	return call->rpc.args_bytes > ARGS_BYTES_MAX ? -EBADMSG : 0;
}

static int relay_null(struct call *call)
{
	return 0;
}

static uint32_t job_room(const struct call *call)
{
	return RESULT_BYTES_JOB;
}

static uint32_t jobs_room(const struct call *call)
{
	return RESULT_BYTES_JOBS;
}

/* ---- the whole ---- */

int relay_open(const char *socket_path, struct relay **ret_relay)
{
	struct relay *relay = calloc(1, sizeof *relay);
	int r;

	if (!relay)
		return -ENOMEM;
	pthread_mutex_init(&relay->lock, NULL);
	list_init(&relay->fresh);
	list_init(&relay->queued);
	list_init(&relay->mine);
	relay->socket_path = strdup(socket_path);
	relay->here = peers_new(QUEUE_MAX, QUEUE_EACH_MAX);
	relay->there = peers_new(CALLS_MAX, CALLS_EACH_MAX);
	relay->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = relay->wake_fd < 0 ? -errno : 0;
	if (!relay->socket_path || !relay->here || !relay->there)
		r = -ENOMEM;
	if (r == 0)
		r = -pthread_create(&relay->thread, NULL, relay_run, relay);
	if (r < 0) {
		relay->stop = true; /* nothing to join */
		relay_close(relay);
		return r;
	}
	*ret_relay = relay;
	return 0;
}

void relay_stop(struct relay *relay)
{
	uint64_t one = 1;

	if (!relay)
		return;
	pthread_mutex_lock(&relay->lock);
	relay->stop = true;
	pthread_mutex_unlock(&relay->lock);
	(void) !write(relay->wake_fd, &one, sizeof one);
	pthread_join(relay->thread, NULL);
}

struct relay *relay_close(struct relay *relay)
{
	if (!relay)
		return NULL;
	assert(relay->stop);
	close_fd(&relay->wake_fd);
	peers_free(relay->here);
	peers_free(relay->there);
	pthread_mutex_destroy(&relay->lock);
	free(relay->socket_path);
	free(relay);
	return NULL;
}

/* clang-format off */
#define RELAY_ROW(id, room_) \
	[OFFLOAD_##id] = { .name = "OFFLOAD " #id, .kind = CALL_RING, .reply_room = room_, \
			   .start = relay_start }

static const struct proc offload_procs[] = {
	[OFFLOAD_NULL] = { .name = "OFFLOAD NULL", .kind = CALL_INLINE, .flags = PROC_OPEN,
			   .run = relay_null },
	RELAY_ROW(SUPPORT, job_room),
	RELAY_ROW(CLONE, job_room),
	RELAY_ROW(RESERVE, job_room),
	RELAY_ROW(STAT, job_room),
	RELAY_ROW(CHECKSUM, job_room),
	RELAY_ROW(PUNCH, job_room),
	RELAY_ROW(JOB, job_room),
	RELAY_ROW(JOBS, jobs_room),
	RELAY_ROW(CANCEL, job_room),
	RELAY_ROW(WAIT, job_room),
};
/* clang-format on */

const struct program offload_program = {
	.number = OFFLOAD_PROGRAM,
	.version = OFFLOAD_V1,
	.procs = offload_procs,
	.proc_count = ARRAY_COUNT(offload_procs),
	.failed = relay_failed,
	.decode = relay_decode,
	.role = ROLE_NFS,
};
