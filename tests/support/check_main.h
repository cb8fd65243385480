/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_main.h - run one suite of Check, as every unit test does.
 *
 *     int main(void)
 *     {
 *             Suite *suite = suite_create("record");
 *             TCase *tcase = tcase_create("record");
 *
 *             tcase_add_test(tcase, claim);
 *             suite_add_tcase(suite, tcase);
 *             return check_main(suite);
 *     }
 */
#pragma once

#include <check.h>
#include <stdlib.h>

/* As ck_assert(), which tells the runner of each that holds: this one is for loops of many
 * thousands. */
#define MUST(what)                                 \
	do {                                       \
		if (!(what))                       \
			ck_abort_msg("%s", #what); \
	} while (0)

static inline int check_main(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed_count;

	srunner_run_all(runner, CK_ENV);
	failed_count = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed_count == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
