/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - connections, calls, and answers that wait for a job.
 *
 * libtirpc keeps the id of a connection's last call in the connection, so that a later
 * svc_sendreply() answers it. While an answer waits, the connection is not polled: no other call of
 * its client is read, which a client that has one call in flight does not notice.
 */
#include "offload/service.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <rpc/rpc_com.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "offload/service_internal.h"
#include "offload/status.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"
#include "vfs/base/list.h"
#include "vfs/base/process.h"

enum {
	BACKLOG = 512,       /* more than nfsd's relay has calls with us */
	WAITING_MAX = 512,   /* connections with an answer that waits; more are answered at once */
	LAST_WAIT_MS = 8000, /* for a job to end that was cancelled because it took too long */
	RECORD_BYTES_MAX = 64 << 10, /* of a call */
	POLL_SPARE = 16,
};

struct waiting {
	struct list_node node;
	SVCXPRT *connection; /* NULL: nobody wants the answer any more */
	uint64_t until_ms;   /* of a clock that does not jump */
	bool extended, cancelled;
	struct service_wait wait;
	struct service_measure *measure; /* NULL: the wait counts */
};

/* libtirpc calls us back without a context. */
static struct {
	struct service_settings settings;
	struct list_node waiting;
	unsigned waiting_count;
	SVCXPRT *listener;
	bool stop;
} service = { .waiting = LIST_INIT(service.waiting) };

/* ---- answers ---- */

void service_send(struct request *request, xdrproc_t encode, void *result)
{
	/* It fails when the client is gone: the next poll tells libtirpc. */
	(void) svc_sendreply(request->connection, encode, result);
}

void service_refused(const struct request *request, const char *what, int error)
{
	const struct service_settings *settings = request->settings;
	const struct service_refusal refusal = { request->asked, what, error, &request->caller };

	totals_refused(settings->totals, offload_status_of(error));
	if (settings->refused)
		settings->refused(&refusal);
}

static struct waiting *waiting_new(const struct request *request)
{
	struct waiting *waiting = calloc(1, sizeof *waiting);

	if (!waiting)
		return NULL;
	list_node_init(&waiting->node);
	waiting->connection = request->connection;
	list_add_tail(&service.waiting, &waiting->node);
	service.waiting_count++;
	return waiting;
}

static void waiting_free(struct waiting *waiting)
{
	list_remove(&waiting->node);
	service.waiting_count--;
	if (waiting->measure)
		vfs_file_put(waiting->measure->measure.file);
	free(waiting->measure);
	free(waiting);
}

void service_wait(struct request *request, const struct service_wait *wait)
{
	struct waiting *waiting = NULL;
	bool found = jobs_get(service.settings.jobs, wait->job_id, &request->record) == 0;

	if (found && wait->wait_ms > 0 && job_is_live(&request->record) &&
	    service.waiting_count < WAITING_MAX)
		waiting = waiting_new(request);
	if (!waiting)
		return wait->answer(request->connection, wait, found ? &request->record : NULL);
	waiting->wait = *wait;
	waiting->until_ms = clock_ms(CLOCK_MONOTONIC) + wait->wait_ms;
}

/* The file, open so that it can be measured. */
static int measurable(struct request *request, const offload_file *named,
                      struct vfs_file **ret_file)
{
	struct target target;
	int r;

	r = target_resolve(request->settings->vfs, &request->caller, named, TARGET_LOOK, &target);
	if (r == 0 && !target.file)
		r = -ENOENT;
	if (r == 0 && vfs_file_type(target.file) != VFS_REGULAR)
		r = -OFFLOAD_ENOTFILE;
	if (r == 0)
		r = vfs_file_need(target.file, VFS_OPEN_READ);
	if (r == 0)
		*ret_file = take_ptr(target.file);
	target_done(&target);
	return r;
}

int service_measure(struct request *request, const offload_file *named,
                    void (*answer)(SVCXPRT *connection, const struct service_measure *done),
                    const struct vaai_call *vaai)
{
	struct service_measure *measure;
	struct waiting *waiting;
	struct vfs_file *file;
	int r = measurable(request, named, &file);

	if (r < 0)
		return r;
	measure = calloc(1, sizeof *measure);
	waiting = measure && service.waiting_count < WAITING_MAX ? waiting_new(request) : NULL;
	if (!waiting) {
		vfs_file_put(file);
		free(measure);
		return -ENOMEM;
	}
	measure->measure.file = file;
	measure->answer = answer;
	if (vaai)
		measure->vaai = *vaai;
	waiting->measure = measure;
	measure_begin(&measure->measure);
	return 0;
}

static struct waiting *waiting_of(const SVCXPRT *connection)
{
	list_for_each (node, &service.waiting) {
		struct waiting *waiting = container_of(node, struct waiting, node);

		if (waiting->connection == connection)
			return waiting;
	}
	return NULL;
}

/* Nobody wants its answer. What a thread has stays until that has done with it. */
static void waiting_abandon(struct waiting *waiting)
{
	waiting->connection = NULL;
	if (!waiting->measure)
		waiting_free(waiting);
}

static void answer_measured(struct waiting *waiting)
{
	if (!atomic_load(&waiting->measure->measure.done))
		return;
	if (waiting->connection)
		waiting->measure->answer(waiting->connection, waiting->measure);
	waiting_free(waiting);
}

/* True: wait on. What is quick gets more time; what must end and has not in time is cancelled, and
 * gets a last chance. */
static bool waits_on(struct waiting *waiting, const struct job_record *record)
{
	if (!job_is_live(record))
		return false;
	if (clock_ms(CLOCK_MONOTONIC) < waiting->until_ms)
		return true;
	if (!waiting->extended && !job_is_slow(record)) {
		waiting->extended = true;
		waiting->until_ms += waiting->wait.quick_ms;
		if (clock_ms(CLOCK_MONOTONIC) < waiting->until_ms)
			return true;
	}
	if (!waiting->wait.must_end || waiting->cancelled)
		return false;
	waiting->cancelled = true;
	waiting->until_ms = clock_ms(CLOCK_MONOTONIC) + LAST_WAIT_MS;
	(void) jobs_cancel(service.settings.jobs, record->id);
	return true;
}

static void answer_waiting(void)
{
	struct job_record record;

	list_for_each_safe (node, &service.waiting) {
		struct waiting *waiting = container_of(node, struct waiting, node);
		const struct service_wait *wait = &waiting->wait;
		bool found;

		if (waiting->measure) {
			answer_measured(waiting);
			continue;
		}
		found = jobs_get(service.settings.jobs, wait->job_id, &record) == 0;
		if (found && waits_on(waiting, &record))
			continue;
		wait->answer(waiting->connection, wait, found ? &record : NULL);
		waiting_free(waiting);
	}
}

/* ---- calls ---- */

/* The envelope, and the procedure's arguments behind it. */
struct relayed {
	offload_envelope *envelope; /* NULL: there is none */
	xdrproc_t decode;
	void *args;
};

static bool_t xdr_relayed(XDR *xdrs, struct relayed *relayed)
{
	if (relayed->envelope && !xdr_offload_envelope(xdrs, relayed->envelope))
		return FALSE;
	return relayed->decode(xdrs, relayed->args);
}

/* Only root and our own user speak to us: nfsd, and administrators. */
static bool peer_is_trusted(int fd)
{
	struct ucred peer;
	socklen_t bytes = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static void caller_of(const offload_envelope *envelope, struct caller *ret_caller)
{
	memset(ret_caller, 0, sizeof *ret_caller);
	if (!envelope) {
		ret_caller->local = true;
		return;
	}
	static_assert(OFFLOAD_GROUPS_MAX == VFS_GROUPS_MAX, "all groups fit");
	memcpy(ret_caller->address.bytes, envelope->address, sizeof ret_caller->address.bytes);
	ret_caller->port = envelope->port;
	ret_caller->cred.uid = envelope->uid;
	ret_caller->cred.gid = envelope->gid;
	ret_caller->cred.group_count = envelope->groups.groups_len;
	if (envelope->groups.groups_len)
		memcpy(ret_caller->cred.groups, envelope->groups.groups_val,
		       envelope->groups.groups_len * sizeof ret_caller->cred.groups[0]);
}

static void serve(const struct procedure *procedure, SVCXPRT *connection, bool is_relayed)
{
	AUTO(free_ptr) struct request *request = calloc(1, sizeof *request);
	offload_envelope envelope = { 0 };
	struct relayed relayed = { is_relayed ? &envelope : NULL, procedure->decode, NULL };

	if (!request)
		return svcerr_systemerr(connection);
	relayed.args = &request->args;
	if (!svc_getargs(connection, (xdrproc_t) xdr_relayed, &relayed)) {
		svcerr_decode(connection);
	} else {
		request->connection = connection;
		request->settings = &service.settings;
		request->asked = procedure->name;
		caller_of(relayed.envelope, &request->caller);
		procedure->serve(request);
	}
	(void) svc_freeargs(connection, (xdrproc_t) xdr_relayed, &relayed);
}

/* Then nobody would hear that something was begun: nfsd has given up, and told its client so. */
static bool peer_is_gone(int fd)
{
	struct pollfd peer = { .fd = fd, .events = POLLRDHUP };

	return poll(&peer, 1, 0) > 0 && (peer.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static void dispatch(struct svc_req *call, SVCXPRT *connection)
{
	const struct procedure *procedure = call->rq_proc < PROCEDURES ? &procedures[call->rq_proc]
	                                                               : NULL;
	bool is_relayed = call->rq_prog == OFFLOAD_RELAY_PROGRAM;
	struct waiting *waiting = waiting_of(connection);

	/* Its client sent a second call before the first was answered: libtirpc has read it and
	 * forgotten the first one's id. The client has to ask again for that one. */
	if (waiting)
		waiting_abandon(waiting);
	if (peer_is_gone(connection->xp_fd))
		return;
	if (!peer_is_trusted(connection->xp_fd))
		return svcerr_weakauth(connection);
	if (!procedure || !procedure->decode || (procedure->relay_only && !is_relayed))
		return svcerr_noproc(connection);
	serve(procedure, connection, is_relayed);
}

/* ---- the socket ---- */

static int listen_on(const char *path, int *ret_fd)
{
	AUTO(close_fd) int fd = -EBADF;
	mode_t before;
	int r;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	before = umask(0177);
	r = process_bind_socket(fd, path);
	(void) umask(before);
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}

int service_open(const struct service_settings *settings)
{
	int record_bytes_max = RECORD_BYTES_MAX, fd = -EBADF, r;

	service.settings = *settings;
	/* Calls are read as they arrive: one that stops half way keeps nobody waiting. */
	(void) rpc_control(RPC_SVC_CONNMAXREC_SET, &record_bytes_max);
	r = listen_on(settings->socket_path, &fd);
	if (r < 0)
		return r;
	service.listener = svc_vc_create(fd, 0, 0);
	if (!service.listener) {
		close_fd(&fd);
		return -ENOMEM;
	}
	if (!svc_reg(service.listener, OFFLOAD_PROGRAM, OFFLOAD_V1, dispatch, NULL) ||
	    !svc_reg(service.listener, OFFLOAD_RELAY_PROGRAM, OFFLOAD_RELAY_V1, dispatch, NULL))
		return -ENOMEM;
	return measure_open(jobs_event_fd(settings->jobs));
}

/* ---- the loop ---- */

static void signals_read(int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof info) == (ssize_t) sizeof info) {
		if (info.ssi_signo == SIGHUP)
			service.settings.reload(service.settings.context);
		else
			service.stop = true;
	}
}

static bool is_of_fd(const struct waiting *waiting, int fd)
{
	return waiting->connection && waiting->connection->xp_fd == fd;
}

/* If there is no descriptor for a connection, libtirpc closes another one to make room: the one
 * that has been silent longest, so one whose answer waits. */
static bool may_accept(void)
{
	AUTO(close_fd) int spare = dup(service.listener->xp_fd);

	return spare >= 0;
}

/* Two of ours, and of libtirpc's all whose answer does not wait. */
static struct pollfd *poll_set(int signal_fd, nfds_t *ret_count)
{
	/* While libtirpc goes through them it may add what it has just accepted. */
	struct pollfd *set = calloc((size_t) svc_max_pollfd + 2 + POLL_SPARE, sizeof *set);
	nfds_t count = 2;

	if (!set)
		return NULL;
	set[0] = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
	set[1] = (struct pollfd){ .fd = jobs_event_fd(service.settings.jobs), .events = POLLIN };
	for (int i = 0; i < svc_max_pollfd; i++) {
		bool waits = svc_pollfd[i].fd == service.listener->xp_fd && !may_accept();

		list_for_each (node, &service.waiting)
			waits |= is_of_fd(container_of(node, struct waiting, node),
			                  svc_pollfd[i].fd);
		if (svc_pollfd[i].fd >= 0 && !waits)
			set[count++] = svc_pollfd[i];
	}
	*ret_count = count;
	return set;
}

static int poll_ms(void)
{
	uint64_t now = clock_ms(CLOCK_MONOTONIC), first = now + SERVICE_TICK_MS;

	list_for_each (node, &service.waiting) {
		const struct waiting *waiting = container_of(node, struct waiting, node);

		if (!waiting->measure && waiting->until_ms < first)
			first = waiting->until_ms;
	}
	return first > now ? (int) (first - now) : 0;
}

static int turn(int signal_fd, uint64_t *ticked_ms)
{
	nfds_t count;
	AUTO(free_ptr) struct pollfd *set = poll_set(signal_fd, &count);
	uint64_t events;
	int ready;

	if (!set)
		return -ENOMEM;
	ready = poll(set, count, poll_ms());
	if (ready < 0 && errno != EINTR)
		return -errno;
	if (ready > 0 && set[0].revents)
		signals_read(signal_fd);
	if (ready > 0 && set[1].revents)
		(void) !read(set[1].fd, &events, sizeof events);
	if (ready > 0)
		svc_getreq_poll(set + 2, (int) count - 2);
	answer_waiting();
	if (clock_ms(CLOCK_MONOTONIC) - *ticked_ms >= SERVICE_TICK_MS) {
		*ticked_ms = clock_ms(CLOCK_MONOTONIC);
		jobs_tick(service.settings.jobs);
		service.settings.tick(service.settings.context);
	}
	return 0;
}

int service_run(const sigset_t *signals)
{
	AUTO(close_fd) int signal_fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
	uint64_t ticked_ms = 0;
	int r = 0;

	if (signal_fd < 0)
		return -errno;
	while (r == 0 && !service.stop)
		r = turn(signal_fd, &ticked_ms);
	return r;
}

void service_close(void)
{
	measure_close();
	list_for_each_safe (node, &service.waiting)
		waiting_free(container_of(node, struct waiting, node));
	if (service.listener) {
		(void) unlink(service.settings.socket_path);
		SVC_DESTROY(service.listener);
		service.listener = NULL;
	}
	svc_exit();
}
