/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/lock_grace.h"

#include "support/check_main.h"

START_TEST(nobody_held_anything_so_there_is_no_grace)
{
	struct lock_grace grace;

	lock_grace_begin(&grace, 0, 1000, 45000);
	ck_assert(!lock_grace_lasts(&grace, 1000));
	ck_assert(lock_grace_admits(&grace, 1000, false));
	ck_assert(!lock_grace_admits(&grace, 1000, true));
}
END_TEST

START_TEST(while_it_lasts_only_reclaims_then_only_new_ones)
{
	struct lock_grace grace;

	lock_grace_begin(&grace, 2, 1000, 45000);
	ck_assert(lock_grace_lasts(&grace, 45999));
	ck_assert(lock_grace_admits(&grace, 45999, true));
	ck_assert(!lock_grace_admits(&grace, 45999, false));
	ck_assert(!lock_grace_lasts(&grace, 46000));
	ck_assert(!lock_grace_admits(&grace, 46000, true));
	ck_assert(lock_grace_admits(&grace, 46000, false));
}
END_TEST

START_TEST(each_start_is_odd_and_later)
{
	ck_assert_int_eq(lock_state_after(0), 1);
	ck_assert_int_eq(lock_state_after(1), 3);
	ck_assert_int_eq(lock_state_after(2), 3);
	ck_assert_int_eq(lock_state_after(3), 5);
	ck_assert_int_eq(lock_state_after(INT32_MAX), 1);
	ck_assert_int_eq(lock_state_after(INT32_MAX - 1), INT32_MAX);
}
END_TEST

START_TEST(a_restart_is_a_larger_number)
{
	ck_assert(lock_state_is_newer(3, 5));
	ck_assert(!lock_state_is_newer(5, 5));
	ck_assert(!lock_state_is_newer(5, 3));
	ck_assert(!lock_state_is_newer(0, 5));
	ck_assert(!lock_state_is_newer(5, 0));
	ck_assert(lock_state_is_newer(INT32_MAX, INT32_MIN)); /* a host that counts on and on */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lock_grace");
	TCase *tcase = tcase_create("lock_grace");

	tcase_add_test(tcase, nobody_held_anything_so_there_is_no_grace);
	tcase_add_test(tcase, while_it_lasts_only_reclaims_then_only_new_ones);
	tcase_add_test(tcase, each_start_is_odd_and_later);
	tcase_add_test(tcase, a_restart_is_a_larger_number);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
