/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool: work() on its threads, done() on the loop that asked, each once. Assertions of Check
 * are for the main thread; others count mistakes.
 */
#include "vfs/io/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

enum {
	JOBS = 2000,
	LOOPS = 3,
};

struct job {
	struct pool_job job;
	struct client *client;
	atomic_uint worked;
	unsigned done_count, order;
	pthread_t worker;
};

/* A loop with its own jobs; its thread submits them and waits for the last. */
struct client {
	struct loop *loop;
	struct pool *pool;
	pthread_t thread;
	struct job jobs[JOBS];
	unsigned job_count, done_count;
	unsigned again; /* each job is submitted so many times more from its done() */
};

static struct client clients[LOOPS];
static atomic_uint mistakes, started, order;

static void work(struct pool_job *pool_job)
{
	struct job *job = container_of(pool_job, struct job, job);

	job->worker = pthread_self();
	job->order = atomic_fetch_add(&order, 1);
	atomic_fetch_add(&job->worked, 1);
}

static void done(struct pool_job *pool_job)
{
	struct job *job = container_of(pool_job, struct job, job);
	struct client *client = job->client;

	job->done_count++;
	if (pool_job->loop != client->loop || !pthread_equal(pthread_self(), client->thread) ||
	    pthread_equal(pthread_self(), job->worker) ||
	    atomic_load(&job->worked) != job->done_count)
		atomic_fetch_add(&mistakes, 1);
	if (job->done_count <= client->again)
		pool_submit(client->pool, pool_job);
	else if (++client->done_count == client->job_count)
		loop_stop(client->loop);
}

static void tick(void *context)
{
	(void) context;
}

static void client_open(struct client *client, struct pool *pool, unsigned job_count)
{
	const char *hint;

	client->pool = pool;
	client->job_count = job_count;
	client->thread = pthread_self();
	if (loop_open(tick, NULL, &client->loop, &hint) < 0)
		abort();
	for (unsigned i = 0; i < job_count; i++) {
		client->jobs[i].client = client;
		client->jobs[i].job = (struct pool_job){
			.work = work,
			.done = done,
			.loop = client->loop,
		};
	}
}

static void client_submit(struct client *client)
{
	for (unsigned i = 0; i < client->job_count; i++)
		pool_submit(client->pool, &client->jobs[i].job);
}

static void *client_run(void *arg)
{
	struct client *client = arg;

	client_open(client, client->pool, JOBS);
	client_submit(client);
	if (loop_run(client->loop) != 0)
		atomic_fetch_add(&mistakes, 1);
	for (unsigned i = 0; i < JOBS; i++)
		if (client->jobs[i].done_count != 1 + client->again)
			atomic_fetch_add(&mistakes, 1);
	client->loop = loop_close(client->loop);
	return NULL;
}

static struct pool *pool_of(unsigned threads)
{
	struct pool *pool;

	ck_assert_int_eq(pool_open(threads, NULL, &pool), 0);
	return pool;
}

static void count_start(void)
{
	atomic_fetch_add(&started, 1);
}

START_TEST(one_thread_works_in_the_order_of_submitting)
{
	struct pool *pool = pool_of(1);

	client_open(&clients[0], pool, 100);
	client_submit(&clients[0]);
	ck_assert_int_eq(loop_run(clients[0].loop), 0);
	for (unsigned i = 0; i < 100; i++) {
		ck_assert_uint_eq(clients[0].jobs[i].done_count, 1);
		ck_assert_uint_eq(clients[0].jobs[i].order, i);
	}
	ck_assert_uint_eq(atomic_load(&mistakes), 0);
	loop_close(clients[0].loop);
	pool_close(pool);
}
END_TEST

START_TEST(done_may_submit_the_job_again)
{
	struct pool *pool = pool_of(2);

	clients[0].again = 9;
	client_open(&clients[0], pool, 50);
	client_submit(&clients[0]);
	ck_assert_int_eq(loop_run(clients[0].loop), 0);
	for (unsigned i = 0; i < 50; i++)
		ck_assert_uint_eq(atomic_load(&clients[0].jobs[i].worked), 10);
	ck_assert_uint_eq(atomic_load(&mistakes), 0);
	loop_close(clients[0].loop);
	pool_close(pool);
}
END_TEST

START_TEST(jobs_of_many_loops_come_back_to_their_own)
{
	struct pool *pool = pool_of(4);
	pthread_t threads[LOOPS];

	for (size_t i = 0; i < LOOPS; i++) {
		clients[i].pool = pool;
		clients[i].again = (unsigned) i;
	}
	for (size_t i = 0; i < LOOPS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, client_run, &clients[i]), 0);
	for (size_t i = 0; i < LOOPS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(atomic_load(&mistakes), 0);
	pool_close(pool);
}
END_TEST

START_TEST(closing_waits_for_what_was_submitted)
{
	struct pool *pool = pool_of(2);
	unsigned worked = 0;

	client_open(&clients[0], pool, 500);
	client_submit(&clients[0]);
	ck_assert_ptr_null(pool_close(pool));
	for (unsigned i = 0; i < 500; i++)
		worked += atomic_load(&clients[0].jobs[i].worked);
	ck_assert_uint_eq(worked, 500);
	ck_assert_int_eq(loop_run(clients[0].loop), 0); /* the letters are all there */
	ck_assert_uint_eq(clients[0].done_count, 500);
	loop_close(clients[0].loop);
}
END_TEST

START_TEST(every_thread_is_started_before_it_works)
{
	struct pool *pool;

	ck_assert_int_eq(pool_open(7, count_start, &pool), 0);
	pool_close(pool);
	ck_assert_uint_eq(atomic_load(&started), 7);
	ck_assert_ptr_null(pool_close(NULL));
}
END_TEST

/* ---- groups ---- */

enum {
	GROUP_THREADS = 16,
	GROUP_JOBS = 40,
	STUCK_GROUPS = 3,
};

static pthread_mutex_t stuck_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint stuck_count, stuck_in[STUCK_GROUPS];

static void work_stuck(struct pool_job *pool_job)
{
	atomic_fetch_add(&stuck_in[pool_job->group], 1);
	atomic_fetch_add(&stuck_count, 1);
	pthread_mutex_lock(&stuck_lock); /* the test has it */
	pthread_mutex_unlock(&stuck_lock);
	work(pool_job);
}

static void wait_until_stuck(unsigned count)
{
	for (unsigned i = 0; i < 5000 && atomic_load(&stuck_count) < count; i++)
		usleep(1000);
	usleep(20000); /* no more than that */
	ck_assert_uint_eq(atomic_load(&stuck_count), count);
}

START_TEST(groups_that_are_stuck_leave_threads_for_others)
{
	struct pool *pool = pool_of(GROUP_THREADS);
	unsigned jobs = (STUCK_GROUPS + 1) * GROUP_JOBS;

	client_open(&clients[0], pool, jobs);
	pthread_mutex_lock(&stuck_lock);
	for (unsigned i = 0; i < STUCK_GROUPS * GROUP_JOBS; i++) {
		struct pool_job *job = &clients[0].jobs[i].job;

		job->group = i / GROUP_JOBS;
		job->work = work_stuck;
		pool_submit(pool, job);
		if (i == GROUP_JOBS - 1)
			wait_until_stuck(GROUP_THREADS / 2);
	}
	wait_until_stuck(GROUP_THREADS / 2 + GROUP_THREADS / 4 + GROUP_THREADS / 8);
	for (unsigned i = STUCK_GROUPS * GROUP_JOBS; i < jobs; i++) {
		clients[0].jobs[i].job.group = STUCK_GROUPS;
		pool_submit(pool, &clients[0].jobs[i].job);
	}
	clients[0].job_count = GROUP_JOBS;
	ck_assert_int_eq(loop_run(clients[0].loop), 0); /* the fourth group's are all done */
	ck_assert_uint_eq(atomic_load(&stuck_count), 14);
	ck_assert_uint_eq(atomic_load(&stuck_in[0]), 8);
	pthread_mutex_unlock(&stuck_lock);
	pool_close(pool);
	loop_close(clients[0].loop); /* it was stopped: the rest is told now */
	for (unsigned i = 0; i < jobs; i++)
		ck_assert_uint_eq(clients[0].jobs[i].done_count, 1);
	ck_assert_uint_eq(atomic_load(&mistakes), 0);
}
END_TEST

START_TEST(a_group_of_one_thread_works_in_the_order_of_submitting)
{
	struct pool *pool = pool_of(2); /* one of them for a group */

	client_open(&clients[0], pool, 200);
	for (unsigned i = 0; i < 200; i++)
		clients[0].jobs[i].job.group = 7;
	client_submit(&clients[0]);
	ck_assert_int_eq(loop_run(clients[0].loop), 0);
	for (unsigned i = 0; i < 200; i++)
		ck_assert_uint_eq(clients[0].jobs[i].order, i);
	loop_close(clients[0].loop);
	pool_close(pool);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pool");
	TCase *tcase = tcase_create("pool");

	tcase_add_test(tcase, one_thread_works_in_the_order_of_submitting);
	tcase_add_test(tcase, done_may_submit_the_job_again);
	tcase_add_test(tcase, jobs_of_many_loops_come_back_to_their_own);
	tcase_add_test(tcase, closing_waits_for_what_was_submitted);
	tcase_add_test(tcase, every_thread_is_started_before_it_works);
	tcase_add_test(tcase, groups_that_are_stuck_leave_threads_for_others);
	tcase_add_test(tcase, a_group_of_one_thread_works_in_the_order_of_submitting);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
