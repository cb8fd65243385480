/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exports(5): what good lines mean, and what is said about lines that administrators really write.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "support/alloc_fail.h"
#include "support/check_main.h"
#include "vfs/base/cleanup.h"
#include "vfs/exports.h"

static struct exports exports;
static char reports[256 * 1024];
static unsigned error_count, warning_count;

static void record(void *context, enum exports_severity severity, const char *file, unsigned line,
                   const char *message)
{
	size_t used = strlen(reports);

	ck_assert_ptr_eq(context, &exports);
	ck_assert_ptr_null(strchr(message, '\n'));
	if (severity == EXPORTS_WARNING)
		warning_count++;
	else
		error_count++;
	(void) snprintf(reports + used, sizeof reports - used, "%s%s:%u: %s\n",
	                severity == EXPORTS_WARNING ? "warning: " : "", file, line, message);
}

static int parse_bytes(const char *text, size_t text_bytes)
{
	return exports_parse(&exports, "f", text, text_bytes, record, &exports);
}

static int parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

/* The only export of @text, which is without mistakes. */
static const struct export_spec *parse_one(const char *text)
{
	ck_assert_msg(parse(text) == 0, "'%s': %s", text, reports);
	ck_assert_str_eq(reports, "");
	ck_assert_uint_eq(exports.count, 1);
	return &exports.specs[0];
}

static void set_up(void)
{
	exports = (struct exports){ 0 };
	reports[0] = '\0';
	error_count = 0;
	warning_count = 0;
}

static void tear_down(void)
{
	exports_done(&exports);
	ck_assert_ptr_null(exports.specs);
}

static const struct {
	const char *text;
	const char *path;
	const char *hosts; /* kind and text of each */
} lines[] = {
	/* clang-format off */
	{ "/srv *(rw)",                             "/srv",     "any * " },
	{ "/srv (rw)\n",                            "/srv",     "any * " },
	{ "/srv\t\t*(rw)\t# all\r\n",               "/srv",     "any * " },
	{ "\xef\xbb\xbf# first\n\n  /srv  *",       "/srv",     "any * " },
	{ "/ *",                                    "/",        "any * " },
	{ "//a//./b/// *",                          "/a/b",     "any * " },
	{ "\"/srv/a dir\" *",                       "/srv/a dir", "any * " },
	{ "/srv/\"a # dir\"/b *",                   "/srv/a # dir/b", "any * " },
	{ "/srv/a\\040dir\\134 *",                  "/srv/a dir\\", "any * " },
	{ "/srv/\xc3\xa4 *",                        "/srv/\xc3\xa4", "any * " },
	{ "/srv(1) *(ro)",                          "/srv(1)",  "any * " },
	{ "/srv a b(rw)  c()",                      "/srv",     "name a name b name c " },
	{ "/srv \\\n  a(rw) \\\r\n b(ro)\\\n",      "/srv",     "name a name b " },
	{ "/srv\\\na",                              "/srv",     "name a " },
	{ "/srv a(rw,\\\n   sync)",                 "/srv",     "name a " },
	{ "/srv a \\",                              "/srv",     "name a " },
	{ "/srv -rw,async a b",                     "/srv",     "name a name b " },
	{ "/srv ESX1.Lab. a_b 1.lab 3com x-",
	  "/srv",     "name ESX1.Lab. name a_b name 1.lab name 3com name x- " },
	{ "/srv *.lab esx?? *x*",
	  "/srv",     "pattern *.lab pattern esx?? pattern *x* " },
	{ "/srv 10.0.0.5 ::1 [fe80::1]",
	  "/srv",     "address 10.0.0.5 address ::1 address [fe80::1] " },
	{ "/srv 10.0.0.0/8 2001:db8::/32 [::]/0",
	  "/srv",     "network 10.0.0.0/8 network 2001:db8::/32 network [::]/0 " },
	/* clang-format on */
};

static const char *const kinds[] = {
	[EXPORT_HOST_ADDRESS] = "address", [EXPORT_HOST_NAME] = "name",
	[EXPORT_HOST_NETWORK] = "network", [EXPORT_HOST_PATTERN] = "pattern",
	[EXPORT_HOST_ANY] = "any",
};

START_TEST(a_good_line_is_understood_in_silence)
{
	const struct export_spec *spec = parse_one(lines[_i].text);
	char hosts[512] = "";

	ck_assert_str_eq(spec->path, lines[_i].path);
	ck_assert_str_eq(spec->file, "f");
	for (size_t i = 0; i < spec->rule_count; i++)
		(void) snprintf(hosts + strlen(hosts), sizeof hosts - strlen(hosts), "%s %s ",
		                kinds[spec->rules[i].kind], spec->rules[i].text);
	ck_assert_str_eq(hosts, lines[_i].hosts);
}
END_TEST

static const struct {
	const char *list;
	struct export_options options;
} option_lists[] = {
	/* clang-format off */
	{ "", { true, true, false, false, false, true, true, 65534, 65534 } },
	{ "ro,sync,root_squash,no_all_squash,insecure,sec=sys",
	  { true, true, false, false, false, true, true, 65534, 65534 } },
	{ "rw,no_root_squash", { false, false, false, false, false, true, true, 65534, 65534 } },
	{ "all_squash,anonuid=0,anongid=4294967294",
	  { true, true, true, false, false, true, true, 0, 4294967294 } },
	{ "rw,offload", { false, true, false, false, false, true, true, 65534, 65534 } },
	{ "no_offload", { true, true, false, false, false, false, true, 65534, 65534 } },
	{ "no_nlm", { true, true, false, false, false, true, false, 65534, 65534 } },
	{ "async,secure", { true, true, false, true, true, true, true, 65534, 65534 } },
	{ "no_subtree_check,hide,nocrossmnt,no_acl,no_pnfs,auth_nlm,secure_locks",
	  { true, true, false, false, false, true, true, 65534, 65534 } },
	/* clang-format on */
};

START_TEST(options_mean_what_they_say)
{
	char text[256];
	const struct export_options *expected = &option_lists[_i].options, *options;

	(void) snprintf(text, sizeof text, "/srv a(%s)", option_lists[_i].list);
	options = &parse_one(text)->rules[0].options;
	ck_assert_int_eq(options->read_only, expected->read_only);
	ck_assert_int_eq(options->root_squash, expected->root_squash);
	ck_assert_int_eq(options->all_squash, expected->all_squash);
	ck_assert_int_eq(options->async, expected->async);
	ck_assert_int_eq(options->secure, expected->secure);
	ck_assert_int_eq(options->offload, expected->offload);
	ck_assert_int_eq(options->nlm, expected->nlm);
	ck_assert_uint_eq(options->anon_uid, expected->anon_uid);
	ck_assert_uint_eq(options->anon_gid, expected->anon_gid);
}
END_TEST

START_TEST(defaults_count_for_the_hosts_that_do_not_say_otherwise)
{
	const struct export_spec *spec = parse_one("/srv -rw,anonuid=7 -secure a b(ro,insecure)");

	ck_assert(!spec->rules[0].options.read_only);
	ck_assert(spec->rules[0].options.secure);
	ck_assert(spec->rules[1].options.read_only);
	ck_assert(!spec->rules[1].options.secure);
	ck_assert_uint_eq(spec->rules[1].options.anon_uid, 7);
}
END_TEST

static const struct {
	const char *list;
	uint32_t fsid;
	const char *mountpoint;
} spec_options[] = {
	{ "a", 0, NULL },
	{ "a(fsid=2147483647) b", EXPORT_FSID_MAX, NULL },
	{ "a(fsid=7) b(fsid=7)", 7, NULL },
	{ "-fsid=7,mp a b", 7, "/srv" },
	{ "a(mountpoint) b(mp)", 0, "/srv" },
	{ "a(mountpoint=/mnt//a\\040b/)", 0, "/mnt/a b" },
};

START_TEST(fsid_and_mountpoint_are_the_directorys)
{
	char text[256];
	const struct export_spec *spec;

	(void) snprintf(text, sizeof text, "/srv %s", spec_options[_i].list);
	spec = parse_one(text);
	ck_assert_uint_eq(spec->fsid, spec_options[_i].fsid);
	ck_assert_pstr_eq(spec->mountpoint, spec_options[_i].mountpoint);
}
END_TEST

START_TEST(limits_are_of_a_host_and_of_the_directory)
{
	const struct export_spec *spec = parse_one("/srv -iops=100,total_mbps=7 a(mbps=100000) "
	                                           "b(iops=0,total_mbps=7) c(iops=10000000)");

	ck_assert_uint_eq(spec->rules[0].options.rate.iops, 100);
	ck_assert_uint_eq(spec->rules[0].options.rate.mbps, EXPORT_MBPS_MAX);
	ck_assert_uint_eq(spec->rules[1].options.rate.iops, 0); /* against the line's default */
	ck_assert_uint_eq(spec->rules[1].options.rate.mbps, 0);
	ck_assert_uint_eq(spec->rules[2].options.rate.iops, EXPORT_IOPS_MAX);
	ck_assert_uint_eq(spec->total_rate.iops, 0);
	ck_assert_uint_eq(spec->total_rate.mbps, 7);
}
END_TEST

static const struct {
	const char *text;
	const char *report; /* how the first begins: severity, line, and what it is about */
} mistakes[] = {
	/* clang-format off */
	{ "/srv",                     "f:1: No host is named for '/srv'" },
	{ "/srv -ro",                 "f:1: No host is named for '/srv'" },
	{ "/srv # *(rw)",             "f:1: No host is named for '/srv'" },
	{ "/srv(rw)",
	  "f:1: '/srv(rw)' was read as a directory, without hosts. Put a blank before the"
	  " host or parenthesis: '/srv *(rw)'" },
	{ "\n/srv a (rw)",
	  "warning: f:2: 'a (rw)' with a blank means: a with the defaults, and everybody"
	  " with (rw). Write 'a(rw)'" },
	{ "/srv * (rw)",
	  "warning: f:1: '* (rw)' with a blank means: everybody with the defaults, and (rw) does"
	  " not count. Write '*(rw)'." },
	{ "/srv *(rw",                "f:1: '*(rw' has no ')'" },
	{ "/srv *(rw b(ro)",          "f:1: '*(rwb' has no ')'" },
	{ "/srv a) b",                "f:1: There is a ')' without a '(' after 'a'" },
	{ "/srv a(rw))",              "f:1: There is text right after the ')' of 'a'" },
	{ "/srv a(rw),b(rw)",         "f:1: There is text right after the ')' of 'a'" },
	{ "/srv a(rw, sync)",
	  "f:1: There are blanks between the parentheses. Write 'a(rw,sync)'" },
	{ "/srv -rw(sync)",           "f:1: '-rw(' mixes two forms" },
	{ "/srv a -ro",               "f:1: '-ro' comes after a host" },
	{ "/srv - ro",                "f:1: No option follows the '-'" },
	{ "srv a",                    "f:1: 'srv' is no absolute path. Write '/srv'" },
	{ "/srv a\n   b(rw)",
	  "f:2: 'b(rw)' is no directory: that would begin with '/'. To continue the line above" },
	{ "\xe2\x80\x9c/srv\xe2\x80\x9d a",
	  "f:1: '\xe2\x80\x9c/srv\xe2\x80\x9d' begins with a typographic quote" },
	{ "/srv/../etc a",            "f:1: '/srv/../etc' has a '..'" },
	{ "\"/srv a",                 "f:1: The quote before '/srv a' is not closed" },
	{ "/srv\\x a",                "f:1: '/srv\\x' has a '\\' without three octal digits" },
	{ "/srv\\000 a",              "f:1: '/srv\\000' has a '\\' without three octal digits" },
	{ "/srv\\012 a",              "f:1: The path has a control character" },
	{ "/srv a \\ \n  b",
	  "f:1: There are blanks after the '\\', so the line does not continue" },
	{ "/srv a\\b",                "f:1: 'a\\b' is no host" },
	{ "/a x\n//a/ y",             "f:2: '/a' is exported already (f:1)" },
	{ "/srv \\\n a(foo)",
	  "f:2: There is no option 'foo'. lodestore-exports(5) lists them all" },
	{ "/srv a(no_root_sqaush)",
	  "f:1: There is no option 'no_root_sqaush'. Did you mean 'no_root_squash'?" },
	{ "/srv a(RW)",               "f:1: There is no option 'RW'. Did you mean 'rw'?" },
	{ "/srv a(rw,ro)",            "f:1: 'rw' and 'ro' contradict each other" },
	{ "/srv a(sync,async)",       "f:1: 'sync' and 'async' contradict each other" },
	{ "/srv a(rw,rw)",            "f:1: 'rw' is given twice" },
	{ "/srv a(rw,,sync)",         "f:1: There is an empty option" },
	{ "/srv a(rw,)",              "f:1: There is an empty option" },
	{ "/srv a(rw=1)",             "f:1: 'rw' takes no value" },
	{ "/srv a(anonuid)",          "f:1: 'anonuid' needs a value. Write anonuid=N" },
	{ "/srv a(sec)",              "f:1: 'sec' needs a value. Write sec=sys" },
	{ "/srv a(anonuid=-2)",
	  "f:1: '-2' is no id for anonuid. Write a number from 0 to 4294967294, for"
	  " example anonuid=65534" },
	{ "/srv a(anongid=4294967295)", "f:1: '4294967295' is no id for anongid" },
	{ "/srv a(anongid=1x)",       "f:1: '1x' is no id for anongid" },
	{ "/srv a(iops)",             "f:1: 'iops' needs a value. Write iops=N" },
	{ "\n/srv a(rw,iops=fast)",
	  "f:2: 'fast' is no limit for iops. Write a whole number of calls a second from 1 to"
	  " 10000000, or 0 for no limit" },
	{ "/srv a(iops=10000001)",    "f:1: '10000001' is no limit for iops" },
	{ "/srv a(mbps=1.5)",
	  "f:1: '1.5' is no limit for mbps. Write a whole number of megabytes a second" },
	{ "/srv a(mbps=-1)",          "f:1: '-1' is no limit for mbps" },
	{ "/srv a(total_mbps=100001)", "f:1: '100001' is no limit for total_mbps" },
	{ "/srv a(total_iops=1) b(total_iops=2)",
	  "f:1: total_iops=2, but total_iops=1 for the same directory before. Keep one" },
	{ "/srv a(fsid=0)",           "f:1: fsid=0 marks the root of NFSv4" },
	{ "/srv a(fsid=root)",        "f:1: fsid=root marks the root of NFSv4" },
	{ "/srv a(fsid=2147483648)",  "f:1: '2147483648' is no fsid" },
	{ "/srv a(fsid=1) b(fsid=2)", "f:1: fsid=2, but fsid=1 for the same directory before" },
	{ "/a x(fsid=1)\n/b x(fsid=1)", "f:2: fsid=1 belongs to '/a' already (f:1)" },
	{ "/srv a(mp=x)",             "f:1: 'x' is no path for mountpoint" },
	{ "/srv a(mp=/x/../y)",       "f:1: '/x/../y' is no path for mountpoint" },
	{ "/srv a(mp) b(mp=/x)",
	  "f:1: mountpoint is '/x', but was '/srv' for the same directory" },
	{ "/srv a(sec=krb5:sys)",     "f:1: sec=krb5:sys is not served" },
	{ "/srv a(subtree_check)",
	  "warning: f:1: 'subtree_check' has no effect: handles are signed" },
	{ "/srv a(wdelay)",           "warning: f:1: 'wdelay' has no effect" },
	{ "/srv a(crossmnt)",
	  "f:1: 'crossmnt' is not supported. Each file system needs a line of its own" },
	{ "/srv a(nohide)",           "f:1: 'nohide' is not supported" },
	{ "/srv a(refer=/x@y)",       "f:1: 'refer' is not supported. It belongs to NFSv4" },
	{ "/srv -maproot=root a",     "f:1: 'maproot' is not supported. Write no_root_squash" },
	{ "/srv @lab(rw)",            "f:1: '@lab' is no host. Netgroups are not supported" },
	{ "/srv gss/krb5i(rw)",       "f:1: 'gss/krb5i' is no host. Kerberos is not supported" },
	{ "/srv a,b(rw)",             "f:1: 'a,b' is no host. Put blanks between hosts" },
	{ "/srv a=rw",                "f:1: 'a=rw' is no host. Put options in parentheses" },
	{ "/srv fe80::1%eth0",        "f:1: 'fe80::1%eth0' is no host. Take the '%'" },
	{ "/srv esx[1-4].lab",
	  "f:1: 'esx[1-4].lab' is no host. Lists of characters are not supported" },
	{ "/srv 10.0.0.1:2049",
	  "f:1: '10.0.0.1:2049' is no host. An IPv6 address is written" },
	{ "/srv [::1",                "f:1: '[::1' is no host. An IPv6 address is written" },
	{ "/srv ::1]",                "f:1: '::1]' is no host. An IPv6 address is written" },
	{ "/srv /data a",
	  "f:1: '/data' is no host. Each directory needs a line of its own" },
	{ "/srv 10.0.0.300",          "f:1: '10.0.0.300' is no host. Write four numbers" },
	{ "/srv 10.0.0",              "f:1: '10.0.0' is no host. Write four numbers" },
	{ "/srv 10.0.0.*",            "f:1: '10.0.0.*' is no host. Write four numbers" },
	{ "/srv 10.0.0.1-10.0.0.9",   "f:1: '10.0.0.1-10.0.0.9' is no host. Write a network" },
	{ "/srv 0.0.0.0(rw)",         "f:1: No host has the address '0.0.0.0'. Write *" },
	{ "/srv ::(rw)",              "f:1: No host has the address '::'. Write *" },
	{ "/srv \"*\"(rw)",           "f:1: '\"*\"' is no host. Write an address" },
	{ "/srv a..b",                "f:1: 'a..b' is no host" },
	{ "/srv b\xc3\xa4r",          "f:1: 'b\xc3\xa4r' is no host" },
	{ "/srv 10.0.0.5/24",
	  "warning: f:1: '10.0.0.5/24' has bits set behind its prefix. It is taken as"
	  " 10.0.0.0/24" },
	{ "/srv 10.0.0.0/33",
	  "f:1: '10.0.0.0/33' has no valid netmask. Write a number from 0 to 32" },
	{ "/srv 10.0.0.0/",           "f:1: '10.0.0.0/' has no valid netmask" },
	{ "/srv 10.0.0.0/0.0.0.255",  "f:1: '10.0.0.0/0.0.0.255' has no valid netmask" },
	{ "/srv 10.0.0.0/255.0.255.0", "f:1: '10.0.0.0/255.0.255.0' has no valid netmask" },
	{ "/srv 2001:db8::/129",
	  "f:1: '2001:db8::/129' has no valid prefix. Write a number from 0 to 128" },
	{ "/srv esx1/24",             "f:1: 'esx1/24' is no network" },
	{ "/srv [::1/128",            "f:1: '[::1/128' is no network" },
	{ "/srv ::ffff:10.0.0.0/24",  "f:1: '::ffff:10.0.0.0/24' is wider than all of IPv4" },
	{ "/srv a b A",               "warning: f:1: The host 'A' is named twice" },
	{ "/srv *(rw) *(ro)",         "warning: f:1: The host '*' is named twice" },
	{ "/srv ::1 [::1] 10.0.0.0/8", "warning: f:1: The host '[::1]' is named twice" },
	{ "/srv a\x01",               "f:1: The line has a byte that is no text (0x01)" },
	{ "/srv a\rb",                "f:1: The line has a byte that is no text (0x0d)" },
	{ "/srv a \\\n\x7f b\n",      "f:2: The line has a byte that is no text (0x7f)" },
	/* clang-format on */
};

START_TEST(a_mistake_is_told_once_with_its_line)
{
	const char *expected = mistakes[_i].report;
	bool warning = strncmp(expected, "warning: ", 9) == 0;

	ck_assert_msg(parse(mistakes[_i].text) == (warning ? 0 : -EINVAL), "'%s': %s",
	              mistakes[_i].text, reports);
	ck_assert_msg(strncmp(reports, expected, strlen(expected)) == 0, "'%s': %s, not: %s",
	              mistakes[_i].text, reports, expected);
	ck_assert_msg(error_count == !warning && warning_count == warning, "'%s': %s",
	              mistakes[_i].text, reports);
}
END_TEST

START_TEST(all_mistakes_are_told_in_order_and_good_lines_stay)
{
	ck_assert_int_eq(parse("/a\n"
	                       "b *(rw)\n"
	                       "/c *(rw,ro,foo) 10.0.0.1/99 @x \\\n"
	                       "   y(bar)\n"
	                       "/d z\n"
	                       "/e \"q\n"),
	                 -EINVAL);
	ck_assert_uint_eq(error_count, 8);
	ck_assert_ptr_nonnull(strstr(reports, "f:4: There is no option 'bar'"));
	ck_assert_ptr_nonnull(strstr(reports, "f:6: '\"q' is no host"));
	for (const char *at = reports, *next; (next = strchr(at, '\n')) && next[1]; at = next + 1)
		ck_assert_int_le(at[2], next[3]); /* "f:N" */
	ck_assert_str_eq(exports.specs[2].path, "/d");
}
END_TEST

START_TEST(a_nul_byte_spoils_its_line_only)
{
	static const char text[] = "/a x\0y\n/b x\n";

	ck_assert_int_eq(parse_bytes(text, sizeof text - 1), -EINVAL);
	ck_assert_uint_eq(error_count, 1);
	ck_assert_uint_eq(exports.count, 1);
	ck_assert_str_eq(exports.specs[0].path, "/b");
}
END_TEST

START_TEST(files_share_one_table)
{
	char second[] = "g";

	ck_assert_int_eq(parse("/a x(fsid=1)\n"), 0);
	ck_assert_int_eq(exports_parse(&exports, second, "/b x\n/a x\n", 10, record, &exports),
	                 -EINVAL);
	second[0] = '?'; /* the table has a copy */
	ck_assert_str_eq(reports, "g:2: '/a' is exported already (f:1). Put all its hosts into one"
	                          " line.\n");
	ck_assert_uint_eq(exports.count, 2);
	ck_assert_str_eq(exports.specs[1].file, "g");
	ck_assert_uint_eq(exports.specs[1].line, 1);
}
END_TEST

START_TEST(a_line_from_the_command_line_is_read)
{
	ck_assert_int_eq(exports_parse_line(&exports, "/a *(rw)", record, &exports), 0);
	ck_assert_int_eq(exports_parse_line(&exports, "/b", record, &exports), -EINVAL);
	ck_assert_ptr_eq(strstr(reports, "--export:1: No host"), reports);
	reports[0] = '\0';
	ck_assert_int_eq(exports_parse_line(&exports, " # x", record, &exports), -EINVAL);
	ck_assert_int_eq(exports_parse_line(&exports, "", record, &exports), -EINVAL);
	ck_assert_ptr_eq(strstr(reports, "--export:1: No directory is named"), reports);
}
END_TEST

/* @count times @unit after @start: 0 or -EINVAL, in no time. */
static int parse_repeated(const char *start, const char *unit, size_t count)
{
	size_t start_bytes = strlen(start), unit_bytes = strlen(unit);
	AUTO(free_ptr) char *text = malloc(start_bytes + count * unit_bytes);
	clock_t before = clock();
	int r;

	ck_assert_ptr_nonnull(text);
	memcpy(text, start, start_bytes);
	for (size_t i = 0; i < count; i++)
		memcpy(text + start_bytes + i * unit_bytes, unit, unit_bytes);
	r = parse_bytes(text, start_bytes + count * unit_bytes);
	ck_assert_msg(clock() - before < 5 * CLOCKS_PER_SEC, "'%s' '%s': slow", start, unit);
	return r;
}

static const struct {
	const char *start, *unit;
	const char *report; /* the last one; NULL: no error */
} floods[] = {
	/* clang-format off */
	{ "/srv ",   "a",        "is too long for a host" },
	{ "/srv a(", "a",        "The options have more than 4096 bytes" },
	{ "/",       "a",        "has more than 1024 bytes" },
	{ "\"/",     "a ",       "has more than 1024 bytes" },
	{ "/srv ",   "a ",       "More than 4096 hosts" },
	{ "/srv ",   "a(x) ",    "More than 1000 errors: the rest is not read" },
	{ "/srv ",   "\\ ",      "More than 1000 errors: the rest is not read" },
	{ "",        "a\n",      "More than 1000 errors: the rest is not read" },
	{ "/srv a ", "\\\n",     NULL },
	{ "/srv a ", "#",        NULL },
	{ "/srv a(", "\\\n ",    "has no ')'" },
	{ "/srv a",  " ",        NULL },
	{ "/srv a\n", "\n",      NULL },
	/* clang-format on */
};

START_TEST(ten_megabytes_of_anything_end_soon)
{
	const char *report = floods[_i].report;
	size_t count = 10 * 1024 * 1024 / strlen(floods[_i].unit);

	ck_assert_int_eq(parse_repeated(floods[_i].start, floods[_i].unit, count),
	                 report ? -EINVAL : 0);
	if (report)
		ck_assert_msg(strstr(reports, report), "%.300s", reports);
	ck_assert_uint_le(error_count, 1001);
}
END_TEST

static const struct {
	const char *start;
	size_t bytes; /* of 'a' after it */
	const char *end;
	const char *report; /* NULL: fits */
} limits[] = {
	/* clang-format off */
	{ "/",       1023, " *",   NULL },
	{ "/",       1024, " *",   "has more than 1024 bytes" },
	{ "/srv a.", 63,   "",     NULL },
	{ "/srv a.", 64,   "",     "is no host" },
	{ "/srv ",   300,  ".lab", "has more than 255 bytes" },
	{ "/srv ",   60,   "/24",  "is no network" },
	{ "\"/a\tb", 1,    "\" *", "has a control character" },
	{ "\"a\tb",  1,    "\" *", "'a?ba' is no absolute path" },
	/* clang-format on */
};

START_TEST(limits_are_exact)
{
	const char *report = limits[_i].report;
	char text[2048];
	size_t at = strlen(limits[_i].start);

	memcpy(text, limits[_i].start, at);
	memset(text + at, 'a', limits[_i].bytes);
	at += limits[_i].bytes;
	memcpy(text + at, limits[_i].end, strlen(limits[_i].end) + 1);
	ck_assert_int_eq(parse(text), report ? -EINVAL : 0);
	ck_assert_msg(report ? strstr(reports, report) != NULL : !reports[0], "%s", reports);
}
END_TEST

START_TEST(a_thousand_warnings_do_not_stop_the_reading)
{
	char text[64];

	for (unsigned i = 0; i < 1002; i++) {
		(void) snprintf(text, sizeof text, "/d%u a(subtree_check) b(acl)", i);
		ck_assert_int_eq(parse(text), 0);
	}
	reports[0] = '\0';
	warning_count = 0;
	ck_assert_int_eq(parse_repeated("/srv ", "a(subtree_check) ", 2000), 0);
	ck_assert_uint_eq(warning_count, 1001);
	ck_assert_ptr_nonnull(strstr(reports, "More than 1000 warnings"));
	ck_assert_uint_eq(exports.count, 1003);
}
END_TEST

START_TEST(the_table_has_an_end)
{
	AUTO(free_ptr) char *text = malloc((EXPORTS_MAX + 2) * 16);
	size_t bytes = 0;

	ck_assert_ptr_nonnull(text);
	for (unsigned i = 0; i < EXPORTS_MAX + 2; i++)
		bytes += (size_t) snprintf(text + bytes, 16, "/d%u a\n", i);
	ck_assert_int_eq(parse_bytes(text, bytes), -EINVAL);
	ck_assert_uint_eq(error_count, 1);
	ck_assert_str_eq(reports, "f:65537: More than 65536 directories. Take some out.\n");
	ck_assert_uint_eq(exports.count, EXPORTS_MAX);
}
END_TEST

START_TEST(a_thousand_exports_are_read_in_no_time)
{
	static char text[128 * 1024];
	size_t bytes = 0;
	clock_t before;

	for (unsigned i = 0; i < 1000; i++)
		bytes += (size_t) snprintf(text + bytes, sizeof text - bytes,
		                           "/srv/d%u 10.%u.%u.0/24(rw,no_root_squash,fsid=%u)"
		                           " esx%u.lab(rw) *(ro)\n",
		                           i, i / 256, i % 256, i + 1, i);
	before = clock();
	ck_assert_int_eq(parse_bytes(text, bytes), 0);
	ck_assert_int_lt(clock() - before, CLOCKS_PER_SEC / 5); /* 3 ms, and 20 ms is the aim */
	ck_assert_uint_eq(exports.count, 1000);
}
END_TEST

/* Check itself allocates: not while allocations are made to fail. */
static void ignore(void *context, enum exports_severity severity, const char *file, unsigned line,
                   const char *message)
{
}

START_TEST(running_out_of_memory_is_told_and_nothing_leaks)
{
	static const char text[] = "/a -mp a b c d e f(mp=/a)\n/b 10.0.0.0/8 \"x\n/c *.lab (rw)\n";
	bool failed;
	int r;

	for (unsigned n = 1; alloc_fail_begin(n); n++) {
		r = exports_parse(&exports, "f", text, strlen(text), ignore, NULL);
		failed = alloc_fail_end();
		exports_done(&exports);
		ck_assert_int_eq(r, failed ? -ENOMEM : -EINVAL);
		if (!failed)
			break;
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exports_parse");
	TCase *tcase = tcase_create("exports_parse");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, a_good_line_is_understood_in_silence, 0, ARRAY_COUNT(lines));
	tcase_add_loop_test(tcase, options_mean_what_they_say, 0, ARRAY_COUNT(option_lists));
	tcase_add_test(tcase, defaults_count_for_the_hosts_that_do_not_say_otherwise);
	tcase_add_test(tcase, limits_are_of_a_host_and_of_the_directory);
	tcase_add_loop_test(tcase, fsid_and_mountpoint_are_the_directorys, 0,
	                    ARRAY_COUNT(spec_options));
	tcase_add_loop_test(tcase, a_mistake_is_told_once_with_its_line, 0, ARRAY_COUNT(mistakes));
	tcase_add_test(tcase, all_mistakes_are_told_in_order_and_good_lines_stay);
	tcase_add_test(tcase, a_nul_byte_spoils_its_line_only);
	tcase_add_test(tcase, files_share_one_table);
	tcase_add_test(tcase, a_line_from_the_command_line_is_read);
	tcase_add_loop_test(tcase, ten_megabytes_of_anything_end_soon, 0, ARRAY_COUNT(floods));
	tcase_add_loop_test(tcase, limits_are_exact, 0, ARRAY_COUNT(limits));
	tcase_add_test(tcase, a_thousand_warnings_do_not_stop_the_reading);
	tcase_add_test(tcase, the_table_has_an_end);
	tcase_add_test(tcase, a_thousand_exports_are_read_in_no_time);
	tcase_add_test(tcase, running_out_of_memory_is_told_and_nothing_leaks);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
