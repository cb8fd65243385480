/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a process's capabilities, and that nothing else comes back. As root.
 */
#include "vfs/base/privileges.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

static const struct privilege needed[] = {
	{ CAP_SETUID, "CAP_SETUID", "nobody is acted for" },
	{ CAP_CHOWN, "CAP_CHOWN", "nothing is given away" },
	{ CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE", "no low port", true },
};

static char missing[256];

static bool has(cap_value_t value, cap_flag_t flag)
{
	cap_t now = cap_get_proc();
	cap_flag_value_t is = CAP_CLEAR;

	ck_assert_int_eq(cap_get_flag(now, value, flag, &is), 0);
	cap_free(now);
	return is == CAP_SET;
}

static int keep(void)
{
	return privileges_keep(needed, ARRAY_COUNT(needed), missing, sizeof missing);
}

static void give_up(const cap_value_t *values, int count)
{
	cap_t now = cap_get_proc();

	cap_set_flag(now, CAP_PERMITTED, count, values, CAP_CLEAR);
	cap_set_flag(now, CAP_EFFECTIVE, count, values, CAP_CLEAR);
	ck_assert_int_eq(cap_set_proc(now), 0);
	cap_free(now);
}

START_TEST(what_is_needed_is_kept_and_nothing_else)
{
	ck_assert_int_eq(keep(), 0);
	for (cap_value_t value = 0; cap_valid(value); value++) {
		bool is_needed = value == CAP_SETUID || value == CAP_CHOWN ||
		                 value == CAP_NET_BIND_SERVICE;

		ck_assert_int_eq(has(value, CAP_PERMITTED), is_needed);
		ck_assert_int_eq(has(value, CAP_EFFECTIVE), is_needed);
		ck_assert_int_eq(prctl(PR_CAPBSET_READ, value, 0, 0, 0), is_needed);
		ck_assert(!has(value, CAP_INHERITABLE));
	}
	ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	ck_assert_int_eq(sethostname("other", 5), -1);
	ck_assert_int_eq(errno, EPERM);
}
END_TEST

START_TEST(what_root_starts_does_not_come_back)
{
	ck_assert_int_eq(keep(), 0);
	ck_assert_int_eq(setresuid(1000, 1000, 0), 0);
	ck_assert_int_eq(setresuid(0, 0, 0), 0);
	ck_assert(!has(CAP_SYS_ADMIN, CAP_PERMITTED));
}
END_TEST

START_TEST(what_is_missing_is_named_with_what_fails)
{
	static const cap_value_t gone[] = { CAP_SETUID, CAP_CHOWN };

	give_up(gone, 1);
	ck_assert_int_eq(keep(), -EPERM);
	ck_assert_str_eq(missing, "CAP_SETUID (nobody is acted for)");
	give_up(gone, 2);
	ck_assert_int_eq(keep(), -EPERM);
	ck_assert_str_eq(missing, "CAP_SETUID (nobody is acted for),"
	                          " CAP_CHOWN (nothing is given away)");
	ck_assert(has(CAP_SYS_ADMIN, CAP_PERMITTED));
	ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
}
END_TEST

START_TEST(what_is_optional_may_be_missing)
{
	static const cap_value_t gone[] = { CAP_NET_BIND_SERVICE };

	give_up(gone, 1);
	ck_assert_int_eq(keep(), 0);
	ck_assert_str_eq(missing, "");
	ck_assert(!has(CAP_NET_BIND_SERVICE, CAP_PERMITTED));
}
END_TEST

/* A unit's user has what it may have, and no right to change the bounding set. */
START_TEST(a_units_user_keeps_what_it_was_given)
{
	cap_t given = cap_init();
	static const cap_value_t values[] = { CAP_SETUID, CAP_CHOWN, CAP_MKNOD };

	cap_set_flag(given, CAP_PERMITTED, 3, values, CAP_SET);
	cap_set_flag(given, CAP_EFFECTIVE, 3, values, CAP_SET);
	ck_assert_int_eq(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(setresuid(1000, 1000, 1000), 0);
	ck_assert_int_eq(cap_set_proc(given), 0);
	cap_free(given);
	ck_assert_int_eq(keep(), 0);
	ck_assert(has(CAP_SETUID, CAP_EFFECTIVE));
	ck_assert(!has(CAP_MKNOD, CAP_PERMITTED));
}
END_TEST

START_TEST(a_text_that_is_too_long_is_cut)
{
	static const cap_value_t gone[] = { CAP_SETUID, CAP_CHOWN };
	char small[8];

	give_up(gone, 2);
	ck_assert_int_eq(privileges_keep(needed, ARRAY_COUNT(needed), small, sizeof small), -EPERM);
	ck_assert_str_eq(small, "CAP_SET");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("privileges");
	TCase *tcase = tcase_create("privileges");

	if (geteuid() != 0) {
		fprintf(stderr,
		        "SKIPPED: giving up capabilities needs some. Run the tests as root\n");
		return 77;
	}
	tcase_add_test(tcase, what_is_needed_is_kept_and_nothing_else);
	tcase_add_test(tcase, what_root_starts_does_not_come_back);
	tcase_add_test(tcase, what_is_missing_is_named_with_what_fails);
	tcase_add_test(tcase, what_is_optional_may_be_missing);
	tcase_add_test(tcase, a_units_user_keeps_what_it_was_given);
	tcase_add_test(tcase, a_text_that_is_too_long_is_cut);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
