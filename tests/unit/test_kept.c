/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets kept over a restart: which of them is taken for an address, and what the manager is told.
 */
#include "nfsd/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "nfsd/sockets.h"
#include "support/check_main.h"
#include "vfs/base/cleanup.h"

static struct kept kept;

static void setup(void)
{
	memset(&kept, 0, sizeof kept);
	unsetenv("NOTIFY_SOCKET");
}

/* A socket as the server makes them, on any free port, which @ret_address has then. */
static int made(const char *ip, int type, union sockets_address *ret_address)
{
	socklen_t bytes = sizeof *ret_address;
	int fd;

	ck_assert_int_eq(sockets_parse(ip, 0, ret_address), 0);
	fd = sockets_bind(ret_address, type);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(getsockname(fd, &ret_address->any, &bytes), 0);
	return fd;
}

static void keep(int fd, const char *name)
{
	struct kept_socket *socket = &kept.sockets[kept.count++];

	socket->fd = fd;
	snprintf(socket->name, sizeof socket->name, "%s", name);
}

START_TEST(a_socket_is_taken_by_its_address_and_type_once)
{
	union sockets_address tcp_address, udp_address;
	int tcp = made("127.0.0.1", SOCK_STREAM, &tcp_address);
	int udp = made("127.0.0.1", SOCK_DGRAM, &udp_address);

	keep(udp, "udp");
	keep(tcp, "tcp");
	ck_assert_int_eq(kept_take(&kept, &tcp_address, SOCK_STREAM), tcp);
	ck_assert_int_eq(kept_take(&kept, &tcp_address, SOCK_STREAM), -ENOENT);
	ck_assert_int_eq(kept_take(&kept, &udp_address, SOCK_DGRAM), udp);
	close_fd(&tcp);
	close_fd(&udp);
}
END_TEST

START_TEST(another_port_address_or_family_is_not_taken)
{
	union sockets_address address, other;
	int fd = made("127.0.0.1", SOCK_STREAM, &address);

	keep(fd, "tcp");
	other = address;
	other.v4.sin_port = htons((uint16_t) (ntohs(address.v4.sin_port) ^ 1));
	ck_assert_int_eq(kept_take(&kept, &other, SOCK_STREAM), -ENOENT);
	ck_assert_int_eq(sockets_parse("0.0.0.0", ntohs(address.v4.sin_port), &other), 0);
	ck_assert_int_eq(kept_take(&kept, &other, SOCK_STREAM), -ENOENT);
	ck_assert_int_eq(sockets_parse("::ffff:127.0.0.1", ntohs(address.v4.sin_port), &other), 0);
	ck_assert_int_eq(kept_take(&kept, &other, SOCK_STREAM), -ENOENT);
	ck_assert_int_eq(kept_take(&kept, &address, SOCK_STREAM), fd);
	close_fd(&fd);
}
END_TEST

START_TEST(what_does_not_listen_or_is_no_socket_is_not_taken)
{
	union sockets_address address;
	socklen_t bytes = sizeof address;
	int bound = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(sockets_parse("127.0.0.1", 0, &address), 0);
	ck_assert_int_eq(bind(bound, &address.any, sizeof address.v4), 0);
	ck_assert_int_eq(getsockname(bound, &address.any, &bytes), 0);
	keep(bound, "bound");
	keep(open("/dev/null", O_RDONLY | O_CLOEXEC), "file");
	ck_assert_int_eq(kept_take(&kept, &address, SOCK_STREAM), -ENOENT);
	kept_drop(&kept);
	ck_assert_int_eq(fcntl(bound, F_GETFD), -1);
}
END_TEST

/* One for IPv4 as well would be in the way of our own for IPv4. */
START_TEST(ipv6_that_takes_ipv4_too_is_not_taken)
{
	static const int off = 0;
	union sockets_address address;
	socklen_t bytes = sizeof address;
	int both = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (both < 0)
		return; /* no IPv6 here: nothing to take */
	ck_assert_int_eq(setsockopt(both, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off), 0);
	ck_assert_int_eq(sockets_parse("::", 0, &address), 0);
	ck_assert_int_eq(bind(both, &address.any, sizeof address.v6), 0);
	ck_assert_int_eq(getsockname(both, &address.any, &bytes), 0);
	keep(both, "both");
	ck_assert_int_eq(kept_take(&kept, &address, SOCK_DGRAM), -ENOENT);
	kept_drop(&kept);
}
END_TEST

/* What is said to @manager, as text. */
static void hear(int manager, char *text, size_t text_bytes)
{
	ssize_t bytes = recv(manager, text, text_bytes - 1, MSG_DONTWAIT);

	ck_assert_int_gt(bytes, 0);
	text[bytes] = '\0';
}

static int manager_open(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t bytes = sizeof address;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	/* Any free name of the abstract ones (unix(7)). */
	ck_assert_int_eq(bind(fd, (struct sockaddr *) &address, sizeof address.sun_family), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *) &address, &bytes), 0);
	address.sun_path[0] = '@';
	address.sun_path[bytes - offsetof(struct sockaddr_un, sun_path)] = '\0';
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	return fd;
}

START_TEST(the_manager_is_told_what_to_keep_and_what_to_forget)
{
	union sockets_address address;
	char text[256];
	int manager = manager_open(), fd = made("127.0.0.1", SOCK_DGRAM, &address);

	ck_assert_int_eq(sockets_parse("2001:db8::1", 2049, &address), 0);
	ck_assert(kept_keep(fd, &address, SOCK_DGRAM));
	hear(manager, text, sizeof text);
	ck_assert_str_eq(text, "FDSTORE=1\nFDNAME=udp-2001_db8__1-2049");
	keep(fd, "udp-2001_db8__1-2049");
	kept_drop(&kept);
	hear(manager, text, sizeof text);
	ck_assert_str_eq(text, "FDSTOREREMOVE=1\nFDNAME=udp-2001_db8__1-2049");
	close_fd(&manager);
}
END_TEST

START_TEST(without_a_manager_nothing_is_kept)
{
	union sockets_address address;
	int fd = made("127.0.0.1", SOCK_STREAM, &address);

	ck_assert(!kept_keep(fd, &address, SOCK_STREAM));
	kept_receive(&kept);
	ck_assert_uint_eq(kept.count, 0);
	close_fd(&fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kept");
	TCase *tcase = tcase_create("kept");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_socket_is_taken_by_its_address_and_type_once);
	tcase_add_test(tcase, another_port_address_or_family_is_not_taken);
	tcase_add_test(tcase, what_does_not_listen_or_is_no_socket_is_not_taken);
	tcase_add_test(tcase, ipv6_that_takes_ipv4_too_is_not_taken);
	tcase_add_test(tcase, the_manager_is_told_what_to_keep_and_what_to_forget);
	tcase_add_test(tcase, without_a_manager_nothing_is_kept);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
