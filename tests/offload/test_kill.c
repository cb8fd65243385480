/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process is killed right before and right after each write to the journal, at every one of
 * them in turn; then another goes on. In the end the destination is whole, or as before; never
 * between.
 */
#include <signal.h>
#include <sys/wait.h>

#include "offload/jobs_fixture.h"
#include "offload/status.h"

enum {
	STEPS_MAX = 64,
	FILE_MIB = 12,
};

struct scenario {
	const char *name;
	bool existing, thick; /* the destination before */
	bool disturb;         /* the source changes at the second step: the clone fails */
	bool reserve;         /* not a clone */
	uint32_t flags;
};

static const struct scenario scenarios[] = {
	{ .name = "new" },
	{ .name = "new, verified", .flags = OFFLOAD_CLONE_VERIFY },
	{ .name = "existing", .existing = true },
	{ .name = "existing, verified", .existing = true, .flags = OFFLOAD_CLONE_VERIFY },
	{ .name = "thick", .existing = true, .thick = true },
	{ .name = "thick, failing", .existing = true, .thick = true, .disturb = true },
	{ .name = "reserve", .reserve = true },
};

struct killer {
	const struct scenario *scenario;
	unsigned step, kill_at;
};

static void step(void *context)
{
	struct killer *killer = context;

	killer->step++;
	if (killer->step == killer->kill_at)
		(void) kill(getpid(), SIGKILL);
	if (killer->scenario->disturb && killer->step == 4) { /* FILLING is noted */
		AUTO(close_fd) int fd = open_in("a", O_RDWR);

		(void) !pwrite(fd, "changed", 7, 5 * MIB);
	}
}

static struct job_record wanted_of(const struct scenario *scenario)
{
	if (scenario->reserve)
		return job_on(OFFLOAD_KIND_RESERVE, "a", 0);
	return clone_of("a", "b", scenario->flags);
}

/* Returns true if it was killed; otherwise the job has ended. */
static bool run_and_kill(const struct scenario *scenario, unsigned kill_at)
{
	struct killer killer = { scenario, 0, kill_at };
	struct job_record wanted;
	int status;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		uint64_t id;

		open_vfs();
		settings.step = step;
		settings.context = &killer;
		if (jobs_open(vfs, &settings, &jobs) < 0)
			_exit(2);
		wanted = wanted_of(scenario);
		if (jobs_begin(jobs, &wanted, &id) < 0)
			_exit(3);
		(void) wait_for(id);
		jobs_close(jobs);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "%s, step %u: exit %d",
	              scenario->name, kill_at, WEXITSTATUS(status));
	return WIFSIGNALED(status);
}

static void prepare(const struct scenario *scenario)
{
	char path[TEMP_PATH_BYTES * 2];

	make_dirs();
	make_file("a", FILE_MIB * MIB + 5, 1, FILE_MIB - 3);
	make_file("before", FILE_MIB * MIB + 5, 1, FILE_MIB - 3);
	if (scenario->existing)
		make_file("b", FILE_MIB * MIB, 0, scenario->thick ? FILE_MIB : 0);
	ck_assert_int_eq(exists("b"), scenario->existing);
	(void) in_root(path, "b");
}

static void check_clone(const struct scenario *scenario, unsigned kill_at, bool any,
                        const struct job_record *last)
{
	bool whole = exists("b") && same_content("a", "b");
	char path[TEMP_PATH_BYTES * 2];
	struct stat now;

	if (any && last->state == OFFLOAD_STATE_COMPLETE) {
		ck_assert_msg(whole, "%s, step %u: complete, but not whole", scenario->name,
		              kill_at);
		return;
	}
	/* Not accepted, or failed: the destination is as before. */
	ck_assert_msg(!any || scenario->disturb, "%s, step %u: %s", scenario->name, kill_at,
	              last->text);
	if (!scenario->existing) {
		ck_assert(!exists("b"));
		return;
	}
	ck_assert_int_eq(stat(in_root(path, "b"), &now), 0);
	ck_assert_int_eq(now.st_size, FILE_MIB * MIB);
	if (scenario->thick)
		ck_assert_int_ge(now.st_blocks * 512, FILE_MIB * MIB);
}

/* What a later process makes of it. */
static void go_on(const struct scenario *scenario, unsigned kill_at)
{
	struct job_record last;
	bool any;

	open_vfs();
	settings.step = NULL;
	ck_assert_int_eq(jobs_open(vfs, &settings, &jobs), 0);
	any = jobs_next(jobs, 0, &last) == 0;
	if (any)
		last = wait_for(last.id);
	ck_assert(same_content("a", "before") || scenario->disturb);
	if (!scenario->reserve)
		check_clone(scenario, kill_at, any, &last);
	else
		ck_assert(!any || last.state == OFFLOAD_STATE_COMPLETE);
	jobs = jobs_close(jobs);
	vfs = vfs_free(vfs);
}

START_TEST(killed_at_any_step_it_is_whole_or_as_before)
{
	const struct scenario *scenario = &scenarios[_i];
	unsigned kill_at;
	bool killed = true;

	for (kill_at = 1; killed && kill_at < STEPS_MAX; kill_at++) {
		prepare(scenario);
		killed = run_and_kill(scenario, kill_at);
		go_on(scenario, kill_at);
		temp_dir_remove(dir);
	}
	ck_assert_msg(!killed, "%s: more than %u steps", scenario->name, STEPS_MAX);
	ck_assert_uint_gt(kill_at, 4); /* two writes at least, each with a before and an after */
}
END_TEST

/* Killed in the middle of copying, at no step in particular. */
START_TEST(killed_while_copying_it_goes_on)
{
	const struct scenario scenario = { .name = "copying", .existing = true, .thick = true };
	int status;
	pid_t child;

	prepare(&scenario);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		struct job_record wanted;
		uint64_t id;

		open_vfs();
		settings.copy_rate = 2 * MIB;
		(void) jobs_open(vfs, &settings, &jobs);
		wanted = clone_of("a", "b", 0);
		(void) jobs_begin(jobs, &wanted, &id);
		(void) wait_for(id);
		_exit(0);
	}
	usleep(2700000);
	(void) kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	go_on(&scenario, 0);
	ck_assert(same_content("a", "b"));
	temp_dir_remove(dir);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kill");
	TCase *tcase = tcase_create("kill");

	tcase_set_timeout(tcase, 300);
	tcase_add_loop_test(tcase, killed_at_any_step_it_is_whole_or_as_before, 0,
	                    ARRAY_COUNT(scenarios));
	tcase_add_test(tcase, killed_while_copying_it_goes_on);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
