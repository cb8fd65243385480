/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/vaai_status.h"

#include "offload/status.h"
#include "support/check_main.h"
#include "vfs/base/cleanup.h"

START_TEST(errors_become_the_statuses_that_plug_ins_know)
{
	static const struct {
		int error;
		nfsstat3 status;
	} rows[] = {
		{ 0, NFS3_OK },
		{ -EPERM, NFS3ERR_PERM },
		{ -ENOENT, NFS3ERR_NOENT },
		{ -EIO, NFS3ERR_IO },
		{ -EACCES, NFS3ERR_ACCES },
		{ -EEXIST, NFS3ERR_EXIST },
		{ -ENOTDIR, NFS3ERR_NOTDIR },
		{ -EISDIR, NFS3ERR_ISDIR },
		{ -EINVAL, NFS3ERR_INVAL },
		{ -ENOSPC, NFS3ERR_NOSPC },
		{ -EDQUOT, NFS3ERR_DQUOT },
		{ -EFBIG, NFS3ERR_FBIG },
		{ -EROFS, NFS3ERR_ROFS },
		{ -ENAMETOOLONG, NFS3ERR_NAMETOOLONG },
		{ -ESTALE, NFS3ERR_STALE },
		{ -EBADMSG, NFS3ERR_BADHANDLE },
		{ -EOPNOTSUPP, NFS3ERR_NOTSUPP },
		{ -OFFLOAD_EOFF, NFS3ERR_NOTSUPP },
		{ -EBUSY, NFS3ERR_JUKEBOX },
		{ -OFFLOAD_EMANY, NFS3ERR_JUKEBOX },
		{ -ENOMEM, NFS3ERR_JUKEBOX },
		{ -OFFLOAD_ENOJOB, NFS3ERR_NOENT },
		{ -OFFLOAD_ESAME, NFS3ERR_INVAL },
		{ -OFFLOAD_ENOTFILE, NFS3ERR_INVAL },
		{ -OFFLOAD_ECHANGED, NFS3ERR_IO },
		{ -OFFLOAD_EGONE, NFS3ERR_STALE },
		{ -ECANCELED, NFS3ERR_SERVERFAULT },
		{ -EXFULL, NFS3ERR_SERVERFAULT },
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		ck_assert_msg(vaai_status_of_error(rows[i].error) == rows[i].status, "%d",
		              rows[i].error);
}
END_TEST

START_TEST(every_jobs_end_but_a_good_one_is_an_error)
{
	ck_assert_int_eq(vaai_status_of_job(OFFLOAD_OK), NFS3_OK);
	for (int i = 1; i <= OFFLOAD_ERR_INTERNAL; i++)
		ck_assert_int_ne(vaai_status_of_job((offload_status) i), NFS3_OK);
	ck_assert_int_eq(vaai_status_of_job(OFFLOAD_ERR_NO_SPACE), NFS3ERR_NOSPC);
	ck_assert_int_eq(vaai_status_of_job((offload_status) 4711), NFS3ERR_SERVERFAULT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vaai_status");
	TCase *tcase = tcase_create("vaai_status");

	tcase_add_test(tcase, errors_become_the_statuses_that_plug_ins_know);
	tcase_add_test(tcase, every_jobs_end_but_a_good_one_is_an_error);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
