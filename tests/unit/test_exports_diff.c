/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an edited exports file changes.
 */
#include "vfs/exports_diff.h"

#include <stdio.h>
#include <string.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

static char told[1024];

static void no_mistake(void *context, enum exports_severity severity, const char *file,
                       unsigned line, const char *message)
{
	ck_abort_msg("%s:%u: %s", file, line, message);
}

static void tell(void *context, enum exports_change change, const char *path)
{
	size_t used = strlen(told);

	snprintf(told + used, sizeof told - used, "%s %s;", exports_change_names[change], path);
}

static const struct {
	const char *before, *now, *told;
} cases[] = {
	{ "", "", "" },
	{ "/a h(rw)\n", "# moved\n\n\"/a/\"   h(rw)\n", "" },
	{ "/a h(rw)\n/b h\n", "/c h\n/b h\n", "removed /a;added /c;" },
	{ "/a h(rw)\n", "/a h(ro)\n", "changed /a;" },
	{ "/a h(rw)\n", "/a h(rw) i\n", "changed /a;" },
	{ "/a h(rw)\n", "/a i(rw)\n", "changed /a;" },
	{ "/a 10.0.0.0/8(rw)\n", "/a 10.0.0.0/9(rw)\n", "changed /a;" },
	{ "/a 10.0.0.1(rw)\n", "/a 10.0.0.2(rw)\n", "changed /a;" },
	{ "/a *(rw)\n", "/a (rw)\n", "" },
	{ "/a *.lab(rw)\n", "/a *.LAB(rw)\n", "" },
	{ "/a h(fsid=1)\n", "/a h(fsid=2)\n", "changed /a;" },
	{ "/a h(mountpoint)\n", "/a h\n", "changed /a;" },
	{ "/a h(iops=1)\n", "/a h(iops=2)\n", "changed /a;" },
	{ "/a h(mbps=1)\n", "/a h(mbps=2)\n", "changed /a;" },
	{ "/a h(total_mbps=1)\n", "/a h(total_mbps=2)\n", "changed /a;" },
	{ "/a h(anonuid=1)\n", "/a h(anonuid=2)\n", "changed /a;" },
	{ "/a h(insecure)\n", "/a h(secure)\n", "changed /a;" },
};

START_TEST(changes_are_found)
{
	struct exports before = { 0 }, now = { 0 };

	told[0] = '\0';
	ck_assert_int_eq(exports_parse(&before, "f", cases[_i].before, strlen(cases[_i].before),
	                               no_mistake, NULL),
	                 0);
	ck_assert_int_eq(
		exports_parse(&now, "f", cases[_i].now, strlen(cases[_i].now), no_mistake, NULL),
		0);
	exports_diff(&before, &now, tell, NULL);
	ck_assert_str_eq(told, cases[_i].told);
	exports_done(&before);
	exports_done(&now);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exports_diff");
	TCase *tcase = tcase_create("exports_diff");

	tcase_add_loop_test(tcase, changes_are_found, 0, ARRAY_COUNT(cases));
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
