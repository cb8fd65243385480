/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file systems a datastore may lie on.
 */
#include "offload/cli/mountinfo.h"

#include <string.h>

#include "support/check_main.h"

static const char text[] = "22 27 0:21 / /proc rw,nosuid shared:12 - proc proc rw\n"
			   "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
			   "30 27 254:1 / /boot rw shared:2 - ext4 /dev/vdb rw\n"
			   "31 27 7:1 / /srv/ds\\0401 rw master:1 - xfs /dev/loop1 rw,attr2\n"
			   "32 27 254:0 /home /srv/bound rw - ext4 /dev/vda rw\n"
			   "33 27 0:50 /sub /srv/b rw shared:9 shared:10 - btrfs /dev/loop2 rw\n"
			   "this is none\n"
			   "34 27 0:51 / /srv/\\";

START_TEST(disks_are_found_once)
{
	struct mountinfo mounts[8];

	ck_assert_uint_eq(mountinfo_read(text, mounts, 8), 3);
	ck_assert_str_eq(mounts[0].point, "/");
	ck_assert_str_eq(mounts[1].point, "/srv/ds 1");
	ck_assert_str_eq(mounts[1].type, "xfs");
	ck_assert_uint_eq(mounts[1].major, 7);
	ck_assert_str_eq(mounts[2].point, "/srv/b");
	ck_assert_str_eq(mounts[2].type, "btrfs");
}
END_TEST

START_TEST(no_more_than_there_is_room_for)
{
	struct mountinfo mounts[2];

	ck_assert_uint_eq(mountinfo_read(text, mounts, 2), 2);
	ck_assert_uint_eq(mountinfo_read("", mounts, 2), 0);
	ck_assert_uint_eq(mountinfo_read("1 2 3:4 / /x rw - ext4", mounts, 2), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_mountinfo");
	TCase *tcase = tcase_create("cli_mountinfo");

	tcase_add_test(tcase, disks_are_found_once);
	tcase_add_test(tcase, no_more_than_there_is_room_for);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
