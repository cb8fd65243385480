/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring on real sockets and files: results are the system call's, and no callback comes from
 * inside a submission.
 */
#include "vfs/io/ring.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/clock.h"
#include "vfs/io/busy_poll.h"

enum {
	ENTRIES = 8,
	RUNS_MAX = 1000,
};

struct op {
	struct ring_op op;
	unsigned done_count;
	int result;
};

static struct ring *ring;
static bool submitting;
static int pair[2], file_fd;

static void op_done(struct ring_op *ring_op, int result)
{
	struct op *op = container_of(ring_op, struct op, op);

	ck_assert_msg(!submitting, "a callback from inside a submission");
	ck_assert(!ring_op->in_flight);
	op->done_count++;
	op->result = result;
}

static void setup(void)
{
	const char *hint = NULL;

	ck_assert_int_eq(ring_open(ENTRIES, &ring, &hint), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	file_fd = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_ge(file_fd, 0);
}

static void teardown(void)
{
	ck_assert_uint_eq(ring_in_flight(ring), 0);
	ring = ring_close(ring);
	ck_assert_ptr_null(ring);
	ck_assert_ptr_null(ring_close(NULL));
	close_fd(&pair[0]);
	close_fd(&pair[1]);
	close_fd(&file_fd);
}

/* Runs the ring until nothing is in flight, for a while at most. */
static void run_all(void)
{
	for (int i = 0; i < RUNS_MAX && ring_in_flight(ring) > 0; i++)
		ck_assert_int_ge(ring_run(ring, 10), 0);
	ck_assert_uint_eq(ring_in_flight(ring), 0);
}

#define SUBMIT(...)                 \
	do {                        \
		submitting = true;  \
		__VA_ARGS__;        \
		submitting = false; \
	} while (0)

static int result_of(struct op *op)
{
	ck_assert_uint_eq(op->done_count, 0);
	ck_assert(op->op.in_flight);
	run_all();
	ck_assert_uint_eq(op->done_count, 1);
	return op->result;
}

static int pwrite_result(const char *text, uint64_t offset)
{
	struct op op = { .op.done = op_done };

	SUBMIT(ring_pwrite(ring, &op.op, file_fd, text, (uint32_t) strlen(text), offset));
	return result_of(&op);
}

static int pread_result(int fd, char *bytes, uint32_t bytes_max, uint64_t offset)
{
	struct op op = { .op.done = op_done };

	SUBMIT(ring_pread(ring, &op.op, fd, bytes, bytes_max, offset));
	return result_of(&op);
}

START_TEST(data_goes_to_its_offset_and_comes_back)
{
	struct op op = { .op.done = op_done };
	char bytes[32];

	ck_assert_int_eq(pwrite_result("hello", 1000), 5);
	ck_assert_int_eq(pwrite_result("HE", 1000), 2);
	ck_assert_int_eq(pread_result(file_fd, bytes, sizeof bytes, 1000), 5); /* short: the end */
	ck_assert_mem_eq(bytes, "HEllo", 5);
	ck_assert_int_eq(pread_result(file_fd, bytes, sizeof bytes, 998), 7);
	ck_assert_mem_eq(bytes, "\0\0HEllo", 7);
	ck_assert_int_eq(pread_result(file_fd, bytes, sizeof bytes, 5000), 0);
	SUBMIT(ring_fdatasync(ring, &op.op, file_fd));
	ck_assert_int_eq(result_of(&op), 0);
}
END_TEST

START_TEST(mistakes_are_negative_errnos)
{
	struct op op = { .op.done = op_done };
	AUTO(close_fd) int read_only = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char bytes[8];

	ck_assert_int_eq(pread_result(-1, bytes, sizeof bytes, 0), -EBADF);
	ck_assert_int_eq(pread_result(pair[0], bytes, sizeof bytes, 1), -ESPIPE);
	SUBMIT(ring_pwrite(ring, &op.op, read_only, "x", 1, 0));
	ck_assert_int_eq(result_of(&op), -EBADF);
	op.done_count = 0;
	SUBMIT(ring_fdatasync(ring, &op.op, pair[0]));
	ck_assert_int_eq(result_of(&op), -EINVAL);
	/* The largest offset there is: refused by the file system, not by us. */
	ck_assert_int_lt(pwrite_result("x", INT64_MAX), 0);
}
END_TEST

/* A limit on file sizes in the middle of a write gives a short count, then -EFBIG. */
START_TEST(short_writes_are_told)
{
	struct rlimit few = { .rlim_cur = 6, .rlim_max = RLIM_INFINITY };
	struct rlimit many = { .rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY };
	struct op first = { .op.done = op_done }, second = { .op.done = op_done };

	signal(SIGXFSZ, SIG_IGN);
	ring_pwrite(ring, &first.op, file_fd, "0123456789", 10, 0);
	setrlimit(RLIMIT_FSIZE, &few); /* Check writes files, too: no assertion until it is back */
	while (ring_in_flight(ring) > 0)
		(void) ring_run(ring, 10);
	ring_pwrite(ring, &second.op, file_fd, "6789", 4, 6);
	while (ring_in_flight(ring) > 0)
		(void) ring_run(ring, 10);
	setrlimit(RLIMIT_FSIZE, &many);
	ck_assert_int_eq(first.result, 6);
	ck_assert_int_eq(second.result, -EFBIG);
}
END_TEST

START_TEST(bytes_are_received_and_sent)
{
	struct op receive = { .op.done = op_done }, send = { .op.done = op_done };
	struct iovec parts[] = { { (void *) "two ", 4 }, { (void *) "parts", 5 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	char bytes[64];

	for (int expect_empty = 0; expect_empty < 2; expect_empty++) {
		receive.done_count = send.done_count = 0;
		SUBMIT(ring_recv(ring, &receive.op, pair[0], bytes, sizeof bytes, expect_empty));
		ck_assert_int_eq(ring_run(ring, 0), 0); /* nothing is there yet */
		ck_assert_uint_eq(receive.done_count, 0);
		ck_assert_uint_eq(ring_in_flight(ring), 1);
		SUBMIT(ring_sendmsg(ring, &send.op, pair[1], &message));
		run_all();
		ck_assert_int_eq(send.result, 9);
		ck_assert_int_eq(receive.result, 9);
		ck_assert_mem_eq(bytes, "two parts", 9);
	}
}
END_TEST

START_TEST(a_peer_that_has_gone_is_told)
{
	struct op receive = { .op.done = op_done }, send = { .op.done = op_done };
	struct iovec part = { (void *) "x", 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	char bytes[8];

	SUBMIT(ring_recv(ring, &receive.op, pair[0], bytes, sizeof bytes, true));
	ck_assert_int_eq(ring_run(ring, 0), 0);
	close_fd(&pair[1]);
	pair[1] = -1;
	ck_assert_int_eq(result_of(&receive), 0);
	SUBMIT(ring_sendmsg(ring, &send.op, pair[0], &message)); /* and no SIGPIPE */
	ck_assert_int_eq(result_of(&send), -EPIPE);
}
END_TEST

START_TEST(a_datagram_comes_with_its_sender)
{
	struct op op = { .op.done = op_done };
	struct sockaddr_in address = { .sin_family = AF_INET }, from = { 0 };
	AUTO(close_fd) int receiver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	AUTO(close_fd) int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t address_bytes = sizeof address;
	char bytes[16];
	struct iovec part = { bytes, sizeof bytes };
	struct msghdr message = {
		.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &part, .msg_iovlen = 1
	};

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(receiver, (struct sockaddr *) &address, sizeof address), 0);
	ck_assert_int_eq(bind(sender, (struct sockaddr *) &address, sizeof address), 0);
	getsockname(receiver, (struct sockaddr *) &address, &address_bytes);
	SUBMIT(ring_recvmsg(ring, &op.op, receiver, &message));
	ck_assert_int_eq(sendto(sender, "ask", 3, 0, (struct sockaddr *) &address, address_bytes),
	                 3);
	ck_assert_int_eq(result_of(&op), 3);
	ck_assert_int_eq(from.sin_family, AF_INET);
	ck_assert_uint_eq(ntohl(from.sin_addr.s_addr), INADDR_LOOPBACK);
}
END_TEST

START_TEST(connections_are_accepted_and_become_readable)
{
	struct op accepted = { .op.done = op_done }, readable = { .op.done = op_done };
	struct sockaddr_in address = { .sin_family = AF_INET };
	AUTO(close_fd) int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	AUTO(close_fd) int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	AUTO(close_fd) int server = -EBADF;
	socklen_t address_bytes = sizeof address;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(listener, (struct sockaddr *) &address, sizeof address), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	getsockname(listener, (struct sockaddr *) &address, &address_bytes);
	SUBMIT(ring_accept(ring, &accepted.op, listener));
	ck_assert_int_eq(connect(client, (struct sockaddr *) &address, address_bytes), 0);
	server = result_of(&accepted);
	ck_assert_int_ge(server, 0);
	ck_assert_int_eq(fcntl(server, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);

	SUBMIT(ring_poll_readable(ring, &readable.op, server));
	ck_assert_int_eq(ring_run(ring, 0), 0);
	ck_assert_int_eq(write(client, "x", 1), 1);
	ck_assert_int_gt(result_of(&readable), 0);
	readable.done_count = 0;
	ck_assert_int_eq(read(server, &readable.result, 1), 1);
	SUBMIT(ring_poll_readable(ring, &readable.op, server));
	close_fd(&client); /* the end is something to read, too */
	client = -1;
	ck_assert_int_gt(result_of(&readable), 0);
}
END_TEST

START_TEST(what_is_cancelled_ends_with_ecanceled)
{
	struct op receive = { .op.done = op_done }, poll = { .op.done = op_done };
	char bytes[8];

	SUBMIT(ring_recv(ring, &receive.op, pair[0], bytes, sizeof bytes, false));
	SUBMIT(ring_poll_readable(ring, &poll.op, pair[0]));
	ck_assert_int_eq(ring_run(ring, 0), 0);
	SUBMIT(ring_cancel(ring, &receive.op));
	SUBMIT(ring_cancel(ring, &poll.op));
	ck_assert(receive.op.in_flight);
	run_all();
	ck_assert_int_eq(receive.result, -ECANCELED);
	ck_assert_int_eq(poll.result, -ECANCELED);
	ck_assert_uint_eq(receive.done_count, 1);
}
END_TEST

START_TEST(a_cancel_that_comes_too_late_changes_nothing)
{
	struct op receive = { .op.done = op_done };
	char bytes[8];

	ck_assert_int_eq(write(pair[1], "abc", 3), 3);
	SUBMIT(ring_recv(ring, &receive.op, pair[0], bytes, sizeof bytes, false));
	SUBMIT(ring_cancel(ring, &receive.op)); /* handed over together */
	ck_assert_int_eq(result_of(&receive), 3);
	SUBMIT(ring_cancel(ring, &receive.op)); /* not in flight at all */
	ck_assert_int_eq(ring_run(ring, 0), 0);
	ck_assert_uint_eq(receive.done_count, 1);
}
END_TEST

START_TEST(more_operations_than_entries_are_taken)
{
	struct op ops[ENTRIES * 40] = { 0 };
	static char bytes[ARRAY_COUNT(ops)];

	for (size_t i = 0; i < ARRAY_COUNT(ops); i++) {
		ops[i].op.done = op_done;
		SUBMIT(ring_pwrite(ring, &ops[i].op, file_fd, "y", 1, i));
	}
	ck_assert_uint_eq(ring_in_flight(ring), ARRAY_COUNT(ops));
	run_all();
	for (size_t i = 0; i < ARRAY_COUNT(ops); i++) {
		ck_assert_uint_eq(ops[i].done_count, 1);
		ck_assert_int_eq(ops[i].result, 1);
	}
	ck_assert_int_eq(pread(file_fd, bytes, sizeof bytes, 0), (int) sizeof bytes);
	ck_assert_ptr_null(memchr(bytes, '\0', sizeof bytes));
}
END_TEST

static unsigned chain_left;

static void chain_done(struct ring_op *op, int result)
{
	ck_assert_int_eq(result, 1);
	if (--chain_left > 0)
		ring_pwrite(ring, op, file_fd, "z", 1, chain_left);
	else
		free(op);
}

START_TEST(a_callback_may_go_on_with_the_operation_and_free_it)
{
	struct ring_op *op = calloc(1, sizeof *op);

	ck_assert_ptr_nonnull(op);
	op->done = chain_done;
	chain_left = 20;
	ring_pwrite(ring, op, file_fd, "z", 1, 20);
	run_all();
	ck_assert_uint_eq(chain_left, 0);
}
END_TEST

/* One busy client must not starve the rest: what a callback starts waits for the next turn. */
START_TEST(what_a_callback_starts_is_handed_over_by_the_next_run)
{
	struct ring_op *op = calloc(1, sizeof *op);
	unsigned runs = 0;

	ck_assert_ptr_nonnull(op);
	op->done = chain_done;
	chain_left = 20;
	ring_pwrite(ring, op, file_fd, "z", 1, 20);
	while (chain_left > 0) {
		unsigned before = chain_left;

		ck_assert_int_le(ring_run(ring, 10), 1);
		ck_assert_uint_ge(chain_left + 1, before);
		ck_assert_uint_lt(runs++, RUNS_MAX);
	}
	ck_assert_uint_ge(runs, 20);
}
END_TEST

START_TEST(running_with_nothing_to_do_waits_as_long_as_asked)
{
	struct timespec begin, end;
	long waited_ms;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	ck_assert_int_eq(ring_run(ring, 0), 0);
	ck_assert_int_eq(ring_run(ring, 60), 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	waited_ms = (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
	ck_assert_int_ge(waited_ms, 50);
	ck_assert_int_lt(waited_ms, 1000);
}
END_TEST

/* ---- a kernel that refuses ---- */

static unsigned may_count;

static bool may_look(void *context)
{
	may_count++;
	return *(const bool *) context;
}

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* So many waits cost one look of 10 ms at least, or next to nothing. */
START_TEST(it_looks_before_it_sleeps_if_that_may_be)
{
	uint64_t spent_ns[2];
	bool may = true;
	char byte = 'x';

	ring_busy_poll_set(ring, 10000, may_look, &may);
	for (unsigned i = 0; i < 10 * BUSY_POLL_PROBE_EVERY; i++) {
		struct op op = { .op.done = op_done };

		ring_recv(ring, &op.op, pair[0], &byte, 1, false);
		ck_assert_int_eq(ring_run(ring, 0), 0); /* handed over */
		ck_assert_int_eq(write(pair[1], "a", 1), 1);
		ck_assert_int_eq(result_of(&op), 1);
	}
	ck_assert_uint_gt(may_count, 0);
	for (unsigned i = 0; i < 2; i++) {
		struct op op = { .op.done = op_done };
		uint64_t begun_ns = cpu_ns();

		may = i == 0;
		ring_recv(ring, &op.op, pair[0], &byte, 1, false);
		for (unsigned n = 0; n < BUSY_POLL_PROBE_EVERY; n++)
			ck_assert_int_eq(ring_run(ring, 1), 0);
		spent_ns[i] = cpu_ns() - begun_ns;
		ck_assert_int_eq(write(pair[1], "a", 1), 1);
		ck_assert_int_eq(result_of(&op), 1);
	}
	ck_assert_uint_gt(spent_ns[0], spent_ns[1] + 2000000);
}
END_TEST

static const struct {
	int error;
	const char *hint; /* a word of it */
} refusals[] = {
	{ EPERM, "io_uring_disabled" }, { EACCES, "seccomp" },     { ENOSYS, "5.19" },
	{ ENOMEM, "LimitMEMLOCK" },     { EMFILE, "LimitNOFILE" }, { ENFILE, "ulimit -n" },
	{ EIO, "does not know" },
};

/* From here on io_uring_setup(2) fails, as in a container that does not allow it. */
static void refuse_setup(int error)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned) error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_COUNT(lines), lines };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

START_TEST(a_refusal_comes_with_the_line_that_mends_it)
{
	struct ring *none = NULL;
	const char *hint = NULL;

	refuse_setup(refusals[_i].error);
	ck_assert_int_eq(ring_open(ENTRIES, &none, &hint), -refusals[_i].error);
	ck_assert_ptr_null(none);
	ck_assert_ptr_nonnull(hint);
	ck_assert_msg(strstr(hint, refusals[_i].hint), "'%s' lacks '%s'", hint, refusals[_i].hint);
}
END_TEST

/* The descriptor of our ring: the only one there is. */
static int ring_fd(void)
{
	char path[64], name[64];
	ssize_t bytes;

	for (int fd = 0; fd < 64; fd++) {
		(void) snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		bytes = readlink(path, name, sizeof name - 1);
		if (bytes < 0)
			continue;
		name[bytes] = '\0';
		if (strcmp(name, "anon_inode:[io_uring]") == 0)
			return fd;
	}
	return -1;
}

/* A ring with limits refuses all that changes them, with another error than one without. */
START_TEST(the_ring_is_limited_for_good)
{
	int fd = ring_fd();

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(syscall(SYS_io_uring_register, fd, IORING_REGISTER_FILES, &pair, 1), -1);
	ck_assert_int_eq(errno, EACCES);
	ck_assert_int_eq(syscall(SYS_io_uring_register, fd, IORING_REGISTER_RESTRICTIONS, NULL, 0),
	                 -1);
	ck_assert_int_ne(errno, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring");
	TCase *tcase = tcase_create("ring"), *refusing = tcase_create("refusing");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_ring_is_limited_for_good);
	tcase_add_test(tcase, data_goes_to_its_offset_and_comes_back);
	tcase_add_test(tcase, mistakes_are_negative_errnos);
	tcase_add_test(tcase, short_writes_are_told);
	tcase_add_test(tcase, bytes_are_received_and_sent);
	tcase_add_test(tcase, a_peer_that_has_gone_is_told);
	tcase_add_test(tcase, a_datagram_comes_with_its_sender);
	tcase_add_test(tcase, connections_are_accepted_and_become_readable);
	tcase_add_test(tcase, what_is_cancelled_ends_with_ecanceled);
	tcase_add_test(tcase, a_cancel_that_comes_too_late_changes_nothing);
	tcase_add_test(tcase, more_operations_than_entries_are_taken);
	tcase_add_test(tcase, a_callback_may_go_on_with_the_operation_and_free_it);
	tcase_add_test(tcase, what_a_callback_starts_is_handed_over_by_the_next_run);
	tcase_add_test(tcase, running_with_nothing_to_do_waits_as_long_as_asked);
	tcase_add_test(tcase, it_looks_before_it_sleeps_if_that_may_be);
	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(refusing, a_refusal_comes_with_the_line_that_mends_it, 0,
	                    (int) ARRAY_COUNT(refusals));
	suite_add_tcase(suite, refusing);
	return check_main(suite);
}
