/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked over HTTP: which page, by whom, where it is served.
 */
#include "nfsd/http_rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "support/check_main.h"

START_TEST(each_page_has_one_path)
{
	ck_assert_int_eq(http_page_of("/"), HTTP_INDEX);
	ck_assert_int_eq(http_page_of("/metrics"), HTTP_METRICS);
	ck_assert_int_eq(http_page_of("/healthz"), HTTP_HEALTH);
	ck_assert_int_eq(http_page_of("/status.json"), HTTP_STATUS);
	ck_assert_int_eq(http_page_of("/metrics/"), HTTP_NOTHING);
	ck_assert_int_eq(http_page_of("//metrics"), HTTP_NOTHING);
	ck_assert_int_eq(http_page_of("/../metrics"), HTTP_NOTHING);
	ck_assert_int_eq(http_page_of("metrics"), HTTP_NOTHING);
	ck_assert_int_eq(http_page_of(""), HTTP_NOTHING);
	ck_assert(http_method_known("GET") && http_method_known("HEAD"));
	ck_assert(!http_method_known("get") && !http_method_known("POST"));
}
END_TEST

static const struct {
	const char *text;
	int family; /* 0: refused */
	uint16_t port;
	bool loopback;
} listens[] = {
	{ "127.0.0.1:9749", AF_INET, 9749, true },
	{ "127.255.0.9:1", AF_INET, 1, true },
	{ "0.0.0.0:65535", AF_INET, 65535, false },
	{ "192.0.2.1:80", AF_INET, 80, false },
	{ "[::1]:9749", AF_INET6, 9749, true },
	{ "[::]:9749", AF_INET6, 9749, false },
	{ "[2001:db8::1]:9749", AF_INET6, 9749, false },
	{ "", 0, 0, false },
	{ ":9749", 0, 0, false },
	{ "9749", 0, 0, false },
	{ "127.0.0.1", 0, 0, false },
	{ "127.0.0.1:", 0, 0, false },
	{ "127.0.0.1:0", 0, 0, false },
	{ "127.0.0.1:65536", 0, 0, false },
	{ "127.0.0.1:99999999999999999999", 0, 0, false },
	{ "127.0.0.1:+80", 0, 0, false },
	{ "127.0.0.1:80 ", 0, 0, false },
	{ "localhost:9749", 0, 0, false }, /* a name may change what it means */
	{ "::1:9749", 0, 0, false },
	{ "[::1]9749", 0, 0, false },
	{ "[::1:9749", 0, 0, false },
	{ "[]:9749", 0, 0, false },
	{ "1111111111111111111111111111111111111111111111111111111111111111:1", 0, 0, false },
};

START_TEST(an_address_to_listen_on_is_read_or_refused)
{
	union sockets_address address = { 0 };
	int r = http_listen_parse(listens[_i].text, &address);

	if (listens[_i].family == 0) {
		ck_assert_int_eq(r, -EINVAL);
		return;
	}
	ck_assert_int_eq(r, 0);
	ck_assert_int_eq(address.any.sa_family, listens[_i].family);
	ck_assert_uint_eq(ntohs(address.v4.sin_port), listens[_i].port); /* the same place in v6 */
	ck_assert_int_eq(http_is_loopback(&address), listens[_i].loopback);
}
END_TEST

static const struct {
	const char *host;
	bool good;
} hosts[] = {
	{ NULL, true },
	{ "localhost", true },
	{ "LocalHost:9749", true },
	{ "127.0.0.1", true },
	{ "127.0.0.1:9749", true },
	{ "127.9.9.9:1", true },
	{ "[::1]", true },
	{ "[::1]:9749", true },
	{ "", false },
	{ ":9749", false },
	{ "evil.example", false },
	{ "evil.example:9749", false },
	{ "localhost.evil.example", false },
	{ "127.0.0.1.evil.example", false },
	{ "127.0.0.1:9749.evil.example", false },
	{ "localhost:", false },
	{ "localhost:x", false },
	{ "192.0.2.1", false },
	{ "0.0.0.0", false },
	{ "[::]", false },
	{ "[::1", false },
	{ "::1", false },
	{ "[::1].evil.example", false },
};

START_TEST(a_name_that_is_not_this_machine_is_refused)
{
	ck_assert_int_eq(http_host_is_local(hosts[_i].host), hosts[_i].good);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http_rules");
	TCase *tcase = tcase_create("http_rules");

	tcase_add_test(tcase, each_page_has_one_path);
	tcase_add_loop_test(tcase, an_address_to_listen_on_is_read_or_refused, 0,
	                    sizeof listens / sizeof listens[0]);
	tcase_add_loop_test(tcase, a_name_that_is_not_this_machine_is_refused, 0,
	                    sizeof hosts / sizeof hosts[0]);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
