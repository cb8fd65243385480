/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/worker.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/conn.h"
#include "nfsd/sockets.h"
#include "nfsd/udp.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	REAP_IDLE_MS = 60000, /* what is idle for less may be a heartbeat's connection */
	WIND_DOWN_MS = 5,
	TICKS_PER_TRIM = 4, /* buffers that lie unused for a second begin to go back */
};

struct worker_start {
	struct worker *worker;
	sem_t ready;
	int result;
	const char *hint;
};

static void worker_for_each(struct worker *worker, void (*visit)(struct conn *conn))
{
	for (unsigned i = 0; i < worker->conn_slots; i++)
		if (worker->conns[i])
			visit(worker->conns[i]);
}

static void worker_trim(struct worker *worker)
{
	buffer_pool_trim(worker->buffers);
	while (worker->free_calls && worker->free_call_count > worker->call_count + 64) {
		struct call *call = worker->free_calls;

		worker->free_calls = call->next;
		worker->free_call_count--;
		free(call);
	}
}

static void worker_resume_starved(struct worker *worker)
{
	if (!buffer_budget_has_room(&worker->server->budget))
		buffer_pool_trim(
			worker->buffers); /* what lies unused here may be what is missing */
	list_for_each (node, &worker->starved)
		conn_turn_schedule(conn_of_starved(node));
}

static void conn_close_now(struct conn *conn)
{
	conn_close(conn, NULL);
}

/* Others' calls may wait for a flush that runs here: nobody goes before everybody is done. */
static bool calls_are_over(const struct server *server)
{
	for (unsigned i = 0; i < server->worker_count; i++)
		if (atomic_load(&server->workers[i]->call_count) > 0)
			return false;
	return true;
}

/* Everything answered, or the time is up: close what is left, and end when it is gone. */
static void worker_wind_down(struct worker *worker)
{
	bool listeners = listeners_gone(worker), datagrams = udp_gone(worker);

	if (loop_now_ms(worker->loop) >= worker->stop_at_ms)
		worker_for_each(worker, conn_close_now);
	if (listeners && datagrams && atomic_load(&worker->conn_count) == 0 &&
	    calls_are_over(worker->server))
		loop_stop(worker->loop);
	else
		loop_timer_set(worker->loop, &worker->wind_down_timer,
		               loop_now_ms(worker->loop) + WIND_DOWN_MS);
}

/* More often than the tick: clients wait for who is started next. */
static void worker_wind_down_due(struct loop_timer *timer)
{
	worker_wind_down(container_of(timer, struct worker, wind_down_timer));
}

static void worker_tick(void *context)
{
	struct worker *worker = context;

	worker->tick_count++;
	atomic_fetch_add_explicit(&worker->alive, 1, memory_order_relaxed);
	worker_for_each(worker, conn_tick);
	worker_resume_starved(worker);
	listeners_tick(worker);
	if (worker->tick_count % TICKS_PER_TRIM == 0)
		worker_trim(worker);
}

/* And for nothing else: who waits for a disk leaves the processor to those who serve it. */
static bool waits_for_clients(void *context)
{
	const struct worker *worker = context;

	return worker->call_count == 0;
}

static int worker_init(struct worker *worker, const char **reterr_hint)
{
	int r;

	worker->buffers = buffer_pool_new(&worker->server->budget);
	if (!worker->buffers)
		return -ENOMEM;
	list_init(&worker->starved);
	list_init(&worker->listeners);
	list_init(&worker->udp_sockets);
	list_node_init(&worker->wind_down_timer.node);
	worker->wind_down_timer.run = worker_wind_down_due;
	r = loop_open(worker_tick, worker, &worker->loop, reterr_hint);
	if (r == 0)
		ring_busy_poll_set(loop_ring(worker->loop),
		                   (unsigned) worker->server->config->busy_poll_us,
		                   waits_for_clients, worker);
	return r;
}

static void worker_done(struct worker *worker)
{
	worker->loop = loop_close(worker->loop);
	worker->buffers = buffer_pool_free(worker->buffers);
	while (worker->free_calls) {
		struct call *call = worker->free_calls;

		worker->free_calls = call->next;
		free(call);
	}
	counters_done(&worker->counters);
	free(worker->conns);
}

static void *worker_thread(void *arg)
{
	struct worker_start *start = arg;
	struct worker *worker = start->worker;
	char name[16];
	int r;

	snprintf(name, sizeof name, "worker %u", worker->number);
	pthread_setname_np(pthread_self(), name);
	r = worker_init(worker, &start->hint); /* here: the ring belongs to this thread */
	start->result = r;
	sem_post(&start->ready); /* start is gone */
	if (r == 0)
		worker->result = loop_run(worker->loop);
	if (worker->result < 0)
		log_error("worker %u cannot go on: io_uring_enter(2): %s", worker->number,
		          strerror(-worker->result));
	sem_post(&worker->ended);
	/* The pool and other workers may be about to post the last time. */
	while (r == 0 && sem_wait(&worker->may_close) < 0)
		;
	worker_done(worker);
	return NULL;
}

int worker_start(struct server *server, unsigned number, struct worker **ret_worker,
                 const char **reterr_hint)
{
	struct worker *worker = calloc(1, sizeof *worker);
	struct worker_start start = { .worker = worker, .hint = "" };
	int r;

	*reterr_hint = "";
	if (!worker)
		return -ENOMEM;
	worker->server = server;
	worker->number = number;
	sem_init(&worker->ended, 0, 0);
	sem_init(&worker->may_close, 0, 0);
	sem_init(&start.ready, 0, 0);
	r = -pthread_create(&worker->thread, NULL, worker_thread, &start);
	if (r == 0) {
		while (sem_wait(&start.ready) < 0)
			;
		r = start.result;
		*reterr_hint = start.hint;
		if (r < 0)
			pthread_join(worker->thread, NULL);
	}
	sem_destroy(&start.ready);
	if (r < 0)
		free(worker);
	else
		*ret_worker = worker;
	return r;
}

static void worker_stopping(struct loop_task *task)
{
	struct worker *worker = container_of(task, struct worker, stop_task);

	worker->stopping = true;
	worker->stop_at_ms = loop_now_ms(worker->loop) + worker->grace_ms;
	listeners_close(worker);
	udp_close_all(worker);
	worker_for_each(worker, conn_stop);
	loop_timer_set(worker->loop, &worker->wind_down_timer, loop_now_ms(worker->loop));
}

void worker_stop(struct worker *worker, unsigned grace_ms)
{
	worker->grace_ms = grace_ms;
	worker->stop_task.run = worker_stopping;
	loop_post(worker->loop, &worker->stop_task);
}

void worker_wait(struct worker *worker)
{
	while (sem_wait(&worker->ended) < 0)
		;
}

int worker_join(struct worker *worker)
{
	int r;

	sem_post(&worker->may_close);
	pthread_join(worker->thread, NULL);
	r = worker->result;
	free(worker);
	return r;
}

static void conn_reap(struct conn *conn)
{
	if (conn_idle_ms(conn) > REAP_IDLE_MS)
		conn_close_over(conn, CLOSED_REAPED);
}

static void worker_reap(struct loop_task *task)
{
	struct worker *worker = container_of(task, struct worker, reap_task);

	worker_for_each(worker, conn_reap);
	atomic_store(&worker->reaping, false);
}

void workers_reap_idle(struct server *server)
{
	for (unsigned i = 0; i < server->worker_count; i++) {
		struct worker *worker = server->workers[i];

		if (atomic_exchange(&worker->reaping, true))
			continue;
		worker->reap_task.run = worker_reap;
		loop_post(worker->loop, &worker->reap_task);
	}
}
