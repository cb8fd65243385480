/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rule counts for a client, and which export for a path. The name service is a table here.
 */
#include <stdio.h>
#include <string.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"
#include "vfs/exports.h"

static struct exports exports;

static void refuse(void *context, enum exports_severity severity, const char *file, unsigned line,
                   const char *message)
{
	ck_abort_msg("%u: %s", line, message);
}

static void tolerate(void *context, enum exports_severity severity, const char *file, unsigned line,
                     const char *message)
{
}

static struct export_address address_of(const char *text)
{
	struct export_address address;

	ck_assert_msg(export_address_parse(text, &address) == 0, "%s", text);
	return address;
}

static const struct {
	const char *name, *address;
	bool reverse; /* is the address's name this one? */
} name_table[] = {
	/* clang-format off */
	{ "esx1.lab",      "10.0.0.1",    true },
	{ "esx2.lab",      "10.0.0.2",    true },
	{ "ESX6.lab.",     "2001:db8::6", true },
	{ "a.b.lab",       "10.0.0.9",    true },
	{ "alias.lab",     "10.0.0.1",    false },
	/* clang-format on */
};

static unsigned asked_count;

static bool fake_has_address(void *context, const char *name, const struct export_address *address)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];

	ck_assert_ptr_eq(context, &exports);
	asked_count++;
	(void) export_address_print(address, text);
	for (size_t i = 0; i < ARRAY_COUNT(name_table); i++) {
		if (strcmp(name_table[i].name, name) == 0 &&
		    strcmp(name_table[i].address, text) == 0)
			return true;
	}
	return false;
}

static bool fake_name_of(void *context, const struct export_address *address, char *ret_name,
                         size_t name_bytes_max)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];

	ck_assert_ptr_eq(context, &exports);
	asked_count++;
	(void) export_address_print(address, text);
	for (size_t i = 0; i < ARRAY_COUNT(name_table); i++) {
		if (name_table[i].reverse && strcmp(name_table[i].address, text) == 0) {
			(void) snprintf(ret_name, name_bytes_max, "%s", name_table[i].name);
			return true;
		}
	}
	return false;
}

static const struct export_names fake_names = { fake_has_address, fake_name_of, &exports };

/* The text of the rule of "/srv @hosts" that counts for @client; "-" for none. */
static const char *match(const char *hosts, const char *client)
{
	struct export_address address = address_of(client);
	const struct export_rule *rule;
	char line[1024];

	exports_done(&exports);
	(void) snprintf(line, sizeof line, "/srv %s", hosts);
	ck_assert_int_eq(exports_parse_line(&exports, line, tolerate, NULL), 0);
	asked_count = 0;
	rule = export_match(&exports.specs[0], &address,
	                    export_needs_names(&exports.specs[0]) ? &fake_names : NULL);
	return rule ? rule->text : "-";
}

static void set_up(void)
{
	exports = (struct exports){ 0 };
}

static void tear_down(void)
{
	exports_done(&exports);
}

static void parse_text(const char *text)
{
	ck_assert_int_eq(exports_parse(&exports, "f", text, strlen(text), refuse, NULL), 0);
}

static const struct {
	const char *hosts, *client, *rule;
} hosts[] = {
	/* clang-format off */
	{ "10.0.0.1",                       "10.0.0.1",        "10.0.0.1" },
	{ "10.0.0.1",                       "::ffff:10.0.0.1", "10.0.0.1" },
	{ "::ffff:10.0.0.1",                "10.0.0.1",        "::ffff:10.0.0.1" },
	{ "10.0.0.1",                       "10.0.0.2",        "-" },
	{ "10.0.0.1",                       "::10.0.0.1",      "-" },
	{ "[::1]",                          "::1",             "[::1]" },
	{ "2001:DB8:0::1",                  "2001:db8::1",     "2001:DB8:0::1" },
	{ "10.0.0.0/24",                    "10.0.0.255",      "10.0.0.0/24" },
	{ "10.0.0.0/24",                    "10.0.1.0",        "-" },
	{ "10.0.0.7/24",                    "10.0.0.255",      "10.0.0.7/24" },
	{ "10.0.0.0/255.255.254.0",         "10.0.1.255",      "10.0.0.0/255.255.254.0" },
	{ "10.0.0.0/255.255.254.0",         "10.0.2.0",        "-" },
	{ "10.0.0.1/255.255.255.255",       "10.0.0.1",        "10.0.0.1/255.255.255.255" },
	{ "0.0.0.0/0",                      "203.0.113.7",     "0.0.0.0/0" },
	{ "0.0.0.0/0.0.0.0",                "203.0.113.7",     "0.0.0.0/0.0.0.0" },
	{ "0.0.0.0/0",                      "2001:db8::1",     "-" },
	{ "::/0",                           "2001:db8::1",     "::/0" },
	{ "::/0",                           "10.0.0.1",        "-" },
	{ "::ffff:0:0/96",                  "10.0.0.1",        "::ffff:0:0/96" },
	{ "::ffff:10.0.0.0/120",            "10.0.0.200",      "::ffff:10.0.0.0/120" },
	{ "2001:db8::/64",                  "2001:db8::ffff",  "2001:db8::/64" },
	{ "2001:db8::/64",                  "2001:db8:0:1::",  "-" },
	{ "[2001:db8::]/127",               "2001:db8::1",     "[2001:db8::]/127" },
	{ "[2001:db8::]/127",               "2001:db8::2",     "-" },
	{ "*",                              "10.0.0.1",        "*" },
	{ "(ro)",                           "::1",             "*" },
	{ "esx1.lab",                       "10.0.0.1",        "esx1.lab" },
	{ "alias.lab",                      "10.0.0.1",        "alias.lab" },
	{ "esx1.lab",                       "10.0.0.2",        "-" },
	{ "*.lab",                          "10.0.0.2",        "*.lab" },
	{ "ESX?.LAB",                       "10.0.0.2",        "ESX?.LAB" },
	{ "*.lab",                          "2001:db8::6",     "*.lab" },
	{ "*.lab.",                         "10.0.0.1",        "*.lab." },
	{ "*.lab",                          "10.0.0.9",        "-" },
	{ "*.*.lab",                        "10.0.0.9",        "*.*.lab" },
	{ "a?b.lab",                        "10.0.0.9",        "-" },
	{ "*.lab",                          "10.0.0.77",       "-" },
	{ "e*x*1.lab",                      "10.0.0.1",        "e*x*1.lab" },
	{ "*x*x*.lab",                      "10.0.0.1",        "-" },
	{ "esx1.lab*",                      "10.0.0.1",        "esx1.lab*" },
	{ "esx1.*",                         "10.0.0.1",        "esx1.*" },
	{ "esx1.la?",                       "10.0.0.1",        "esx1.la?" },
	{ "esx1.lab?",                      "10.0.0.1",        "-" },
	{ "?esx1.lab",                      "10.0.0.1",        "-" },

	/* The most specific one counts, wherever it stands. */
	{ "* *.lab 10.0.0.0/8 10.0.0.0/24 10.0.0.1", "10.0.0.1",  "10.0.0.1" },
	{ "10.0.0.1 10.0.0.0/24 10.0.0.0/8 *.lab *", "10.0.0.1",  "10.0.0.1" },
	{ "* *.lab 10.0.0.0/8 10.0.0.0/24 esx1.lab", "10.0.0.1",  "esx1.lab" },
	{ "* *.lab 10.0.0.0/8 10.0.0.0/24 10.0.0.1", "10.0.0.2",  "10.0.0.0/24" },
	{ "* *.lab 10.0.0.0/24 10.0.0.0/8 10.0.0.1", "10.0.0.2",  "10.0.0.0/24" },
	{ "* *.lab 10.0.0.0/24 10.0.0.0/8 10.0.0.1", "10.9.0.2",  "10.0.0.0/8" },
	{ "* *.lab 10.0.0.0/24",                     "2001:db8::6", "*.lab" },
	{ "* *.lab 10.0.0.0/24",                     "2001:db8::7", "*" },
	{ "esx1.lab 10.0.0.1",                       "10.0.0.1",  "esx1.lab" },
	{ "10.0.0.1 esx1.lab",                       "10.0.0.1",  "10.0.0.1" },
	{ "esx1.* *.lab",                            "10.0.0.1",  "esx1.*" },
	{ "0.0.0.0/0 *.lab",                         "10.0.0.1",  "0.0.0.0/0" },
	/* clang-format on */
};

START_TEST(the_right_rule_counts)
{
	const char *rule = match(hosts[_i].hosts, hosts[_i].client);

	ck_assert_msg(strcmp(rule, hosts[_i].rule) == 0, "'%s' for %s: '%s', not '%s'",
	              hosts[_i].hosts, hosts[_i].client, rule, hosts[_i].rule);
}
END_TEST

/* Row _i: a prefix of _i bits, on an address with every bit set. */
START_TEST(every_ipv6_prefix_holds_to_the_bit)
{
	struct export_address client;
	struct export_rule rule = { .kind = EXPORT_HOST_NETWORK, .prefix_bits = (unsigned) _i };
	struct export_spec spec = { .rules = &rule, .rule_count = 1 };
	unsigned bit = (unsigned) _i;

	memset(&client, 0xff, sizeof client);
	for (unsigned i = 0; i < bit; i++)
		rule.address.bytes[i / 8] |= (uint8_t) (0x80 >> i % 8);
	ck_assert_ptr_eq(export_match(&spec, &client, NULL), &rule);
	if (bit == 0)
		return;
	bit--; /* the last one that counts */
	client.bytes[bit / 8] ^= (uint8_t) (0x80 >> bit % 8);
	ck_assert_ptr_null(export_match(&spec, &client, NULL));
}
END_TEST

START_TEST(every_ipv4_prefix_holds_to_the_bit)
{
	char hosts_text[64], client[64];
	uint32_t address = 0xc0a85aa5, outside;

	(void) snprintf(hosts_text, sizeof hosts_text, "%u.%u.%u.%u/%d", address >> 24,
	                address >> 16 & 255, address >> 8 & 255, address & 255, _i);
	ck_assert_str_eq(match(hosts_text, "192.168.90.165"), hosts_text);
	if (_i == 0)
		return;
	outside = address ^ (UINT32_C(1) << (32 - _i));
	(void) snprintf(client, sizeof client, "%u.%u.%u.%u", outside >> 24, outside >> 16 & 255,
	                outside >> 8 & 255, outside & 255);
	ck_assert_str_eq(match(hosts_text, client), "-");
}
END_TEST

START_TEST(names_are_asked_for_only_when_they_can_matter)
{
	(void) match("10.0.0.1 esx1.lab *.lab", "10.0.0.1");
	ck_assert_uint_eq(asked_count, 0);
	(void) match("10.0.0.0/8 *.lab", "10.0.0.1");
	ck_assert_uint_eq(asked_count, 0);
	(void) match("*.a *.b *.lab", "10.0.0.1");
	ck_assert_uint_eq(asked_count, 1); /* one answer serves all patterns */
	(void) match("esx2.lab *", "10.0.0.1");
	ck_assert_uint_eq(asked_count, 1);
}
END_TEST

START_TEST(only_names_and_patterns_need_the_name_service)
{
	static const bool needed[] = { false, false, true, true };

	parse_text("/a 10.0.0.1 ::/0\n/b *\n/c * x\n/d *.x\n");
	for (size_t i = 0; i < exports.count; i++)
		ck_assert_int_eq(export_needs_names(&exports.specs[i]), needed[i]);
}
END_TEST

static const struct {
	const char *path, *found, *below; /* NULL: not found */
} paths[] = {
	/* clang-format off */
	{ "/srv/a",            "/srv/a",     "" },
	{ "/srv/a/",           "/srv/a",     "" },
	{ "//srv///a//",       "/srv/a",     "" },
	{ "srv/a",             "/srv/a",     "" },
	{ "/srv/a/x/y",        "/srv/a",     "x/y" },
	{ "/srv/a//x/",        "/srv/a",     "x/" },
	{ "/srv/ab",           NULL,         NULL },
	{ "/srv",              NULL,         NULL },
	{ "/",                 NULL,         NULL },
	{ "",                  NULL,         NULL },
	{ "/srv/a/deep/er",    "/srv/a/deep/er", "" },
	{ "/srv/a/deep/er/z",  "/srv/a/deep/er", "z" },
	{ "/srv/a/deep",       "/srv/a",     "deep" },
	{ "/srv/a/../a",       NULL,         NULL },
	{ "/srv/./a",          NULL,         NULL },
	{ "/srv/a/..",         NULL,         NULL },
	{ "/srv/a/...",        "/srv/a",     "..." },
	{ "/srv/a dir/x",      "/srv/a dir", "x" },
	/* clang-format on */
};

static const char *find(const char *path, const char **ret_below)
{
	const struct export_spec *spec = exports_find_path(&exports, path, ret_below);

	return spec ? spec->path : NULL;
}

START_TEST(the_longest_export_of_whole_components_is_found)
{
	const char *below = NULL, *found;

	parse_text("/srv/a *\n\"/srv/a dir\" *\n/srv/a/deep/er *\n");
	found = find(paths[_i].path, &below);
	ck_assert_pstr_eq(found, paths[_i].found);
	ck_assert_pstr_eq(below, paths[_i].below);
	if (below)
		ck_assert_ptr_eq(below, paths[_i].path + strlen(paths[_i].path) - strlen(below));
}
END_TEST

START_TEST(an_exported_root_has_everything_below_it)
{
	const char *below;

	parse_text("/srv *\n/ *\n");
	ck_assert_str_eq(find("", &below), "/");
	ck_assert_str_eq(below, "");
	ck_assert_str_eq(find("///", &below), "/");
	ck_assert_str_eq(below, "");
	ck_assert_str_eq(find("/etc/x", &below), "/");
	ck_assert_str_eq(below, "etc/x");
	ck_assert_str_eq(find("/srv", &below), "/srv");
	ck_assert_ptr_null(find("/..", &below));
}
END_TEST

START_TEST(an_empty_table_has_nothing)
{
	const char *below;

	ck_assert_ptr_null(find("/srv", &below));
}
END_TEST

START_TEST(each_of_many_exports_is_found)
{
	char line[64];
	const char *below, *found;

	for (unsigned i = 0; i < 5000; i++) {
		(void) snprintf(line, sizeof line, "/srv/d%u *(fsid=%u)", i, i + 1);
		ck_assert_int_eq(exports_parse_line(&exports, line, refuse, NULL), 0);
	}
	for (unsigned i = 0; i < 5000; i++) {
		(void) snprintf(line, sizeof line, "/srv/d%u/x", i);
		found = find(line, &below);
		ck_assert_str_eq(below, "x");
		ck_assert_str_eq(found, exports.specs[i].path);
	}
}
END_TEST

static const struct {
	const char *text, *printed; /* NULL: refused */
} addresses[] = {
	/* clang-format off */
	{ "10.0.0.1",        "10.0.0.1" },
	{ "::ffff:10.0.0.1", "10.0.0.1" },
	{ "255.255.255.255", "255.255.255.255" },
	{ "FE80::1",         "fe80::1" },
	{ "::",              "::" },
	{ "::10.0.0.1",      "::10.0.0.1" },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
	  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	{ "",                NULL },
	{ "10.0.0",          NULL },
	{ "10.0.0.01",       NULL },
	{ "10.0.0.256",      NULL },
	{ " 10.0.0.1",       NULL },
	{ "10.0.0.1 ",       NULL },
	{ "[::1]",           NULL },
	{ "fe80::1%lo",      NULL },
	{ "esx1",            NULL },
	/* clang-format on */
};

START_TEST(addresses_are_read_strictly_and_printed_shortly)
{
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	struct export_address address;
	int r = export_address_parse(addresses[_i].text, &address);

	ck_assert_int_eq(r == 0, addresses[_i].printed != NULL);
	if (r == 0)
		ck_assert_str_eq(export_address_print(&address, text), addresses[_i].printed);
}
END_TEST

/* "localhost" is in /etc/hosts everywhere; names under .invalid are nowhere (RFC 6761). */
START_TEST(the_system_knows_localhost)
{
	const struct export_names *names = &export_names_system;
	struct export_address loopback = address_of("127.0.0.1"), other = address_of("192.0.2.1");
	char name[256] = "";

	ck_assert(names->has_address(names->context, "localhost", &loopback));
	ck_assert(!names->has_address(names->context, "localhost", &other));
	ck_assert(!names->has_address(names->context, "x.invalid", &loopback));
	ck_assert(names->name_of(names->context, &loopback, name, sizeof name));
	ck_assert_str_ne(name, "");
	ck_assert(!names->name_of(names->context, &loopback, name, 2));
	loopback = address_of("::1");
	if (names->has_address(names->context, "ip6-localhost", &loopback))
		ck_assert(names->name_of(names->context, &loopback, name, sizeof name));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exports_match");
	TCase *tcase = tcase_create("exports_match");

	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, the_right_rule_counts, 0, ARRAY_COUNT(hosts));
	tcase_add_loop_test(tcase, every_ipv6_prefix_holds_to_the_bit, 0, 129);
	tcase_add_loop_test(tcase, every_ipv4_prefix_holds_to_the_bit, 0, 33);
	tcase_add_test(tcase, names_are_asked_for_only_when_they_can_matter);
	tcase_add_test(tcase, only_names_and_patterns_need_the_name_service);
	tcase_add_loop_test(tcase, the_longest_export_of_whole_components_is_found, 0,
	                    ARRAY_COUNT(paths));
	tcase_add_test(tcase, an_exported_root_has_everything_below_it);
	tcase_add_test(tcase, an_empty_table_has_nothing);
	tcase_add_test(tcase, each_of_many_exports_is_found);
	tcase_add_loop_test(tcase, addresses_are_read_strictly_and_printed_shortly, 0,
	                    ARRAY_COUNT(addresses));
	tcase_add_test(tcase, the_system_knows_localhost);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
