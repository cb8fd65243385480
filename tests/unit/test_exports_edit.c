/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to an exports file: what is meant changes, every other byte stays.
 */
#include "vfs/exports_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check_main.h"
#include "vfs/base/cleanup.h"

static struct exports exports, wanted;
static char *changed;

static void no_mistake(void *context, enum exports_severity severity, const char *file,
                       unsigned line, const char *message)
{
	ck_abort_msg("%s:%u: %s", file, line, message);
}

static void teardown(void)
{
	exports_done(&exports);
	exports_done(&wanted);
	free(changed);
	changed = NULL;
}

static struct exports_text parse(const char *text)
{
	struct exports_text from = { text, strlen(text), &exports };

	ck_assert_int_eq(exports_parse(&exports, "f", text, from.bytes, no_mistake, NULL), 0);
	return from;
}

/* @hosts: with blanks between. */
static int add(const char *text, const char *path, const char *hosts)
{
	struct exports_text from = parse(text);
	char line[256], copy[256], *rest;
	const char *words[8] = { NULL };
	int count = 0;

	snprintf(line, sizeof line, "\"%s\" %s", path, hosts);
	snprintf(copy, sizeof copy, "%s", hosts);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		words[count++] = word;
	ck_assert_int_eq(exports_parse_line(&wanted, line, no_mistake, NULL), 0);
	return exports_edit_add(&from, &wanted.specs[0], words, &changed);
}

static const struct {
	const char *before, *path, *hosts, *after; /* after NULL: nothing changes */
} additions[] = {
	{ "", "/a", "h(rw)", "/a  h(rw)\n" },
	{ "# c\n/a h(rw)", "/b", "h(rw) 10.0.0.0/8", "# c\n/a h(rw)\n/b  h(rw)  10.0.0.0/8\n" },
	{ "", "/a b#c", "h", "\"/a b#c\"  h\n" },
	{ "/a h(rw)\n", "/a", "h(rw)", NULL },
	{ "/a h(rw)\n", "/a/", "H(rw)", NULL },
	{ "/a -rw,no_root_squash h\n", "/a", "h(rw,no_root_squash)", NULL },
	{ "/a 10.0.0.0/8(rw)\n", "/a", "10.0.0.0/255.0.0.0(rw)", NULL },
	{ "/a h(rw) # why\n/b i\n", "/a", "j(ro)", "/a h(rw)  j(ro) # why\n/b i\n" },
	{ "/a h(rw) \\\n\ti(ro) \\\n\tk\n", "/a", "i(rw)", "/a h(rw) \\\n\ti(rw) \\\n\tk\n" },
	{ "/a h(rw) i(ro)\n", "/a", "h(ro) *(ro)", "/a h(ro) i(ro)  *(ro)\n" },
	{ "/a h(rw)\n", "/a", "h(rw,fsid=7)", "/a h(rw,fsid=7)\n" },
	{ "/a h(rw,fsid=7)\n", "/a", "h(rw,fsid=7)", NULL },
	{ "/a h(rw)\n", "/a", "h(rw,mountpoint)", "/a h(rw,mountpoint)\n" },
	{ "/a h(rw)\n", "/a", "h(rw,total_iops=5)", "/a h(rw,total_iops=5)\n" },
	{ "/a h(rw)\n", "/a", "h(rw,iops=5)", "/a h(rw,iops=5)\n" },
};

START_TEST(additions_change_no_more_than_they_must)
{
	const char *after = additions[_i].after;
	int r = add(additions[_i].before, additions[_i].path, additions[_i].hosts);

	ck_assert_int_eq(r, after ? 1 : 0);
	if (after)
		ck_assert_str_eq(changed, after);
}
END_TEST

START_TEST(what_was_added_is_there)
{
	char *once;

	ck_assert_int_eq(add("/x h(rw)\n", "/a b", "*(ro) 10.0.0.1(rw)"), 1);
	once = changed;
	changed = NULL;
	exports_done(&exports);
	exports_done(&wanted);
	ck_assert_int_eq(add(once, "/a b", "*(ro) 10.0.0.1(rw)"), 0);
	ck_assert_str_eq(exports.specs[1].path, "/a b");
	free(once);
}
END_TEST

static const struct {
	const char *before, *path, *host, *after;
} removals[] = {
	{ "/a h(rw)\n", "/b", NULL, NULL },
	{ "/a h(rw)\n", "/a", "i", NULL },
	{ "# c\n/a h(rw) # why\n/b i\n", "/a", NULL, "# c\n/b i\n" },
	{ "/a h \\\n i \\\n j\n/b k\n", "/a", NULL, "/b k\n" },
	{ "/b k\n/a h \\\n i", "/a", NULL, "/b k\n" },
	{ "/a h(rw) i(ro) j\n", "/a", "i", "/a h(rw) j\n" },
	{ "/a h(rw) \\\n\ti(ro)\n", "/a", "i", "/a h(rw) \\\n\n" },
	{ "/a h(rw) *(ro)\n", "/a", "*", "/a h(rw)\n" },
	{ "/a h(rw)\n/b i\n", "/a", "H", "/b i\n" },
};

START_TEST(removals_take_a_line_or_a_host)
{
	struct exports_text from = parse(removals[_i].before);
	const char *after = removals[_i].after;
	int r = exports_edit_remove(&from, removals[_i].path, removals[_i].host, &changed);

	ck_assert_int_eq(r, after ? 1 : 0);
	if (!after)
		return;
	ck_assert_str_eq(changed, after);
	exports_done(&exports);
	(void) parse(changed);
}
END_TEST

START_TEST(overlaps_are_found)
{
	(void) parse("/srv/a h\n/tank h\n");
	ck_assert_ptr_null(exports_find_overlap(&exports, "/srv/a"));
	ck_assert_ptr_null(exports_find_overlap(&exports, "/srv/ab"));
	ck_assert_str_eq(exports_find_overlap(&exports, "/srv")->path, "/srv/a");
	ck_assert_str_eq(exports_find_overlap(&exports, "/tank/x/y")->path, "/tank");
	ck_assert_str_eq(exports_find_overlap(&exports, "/")->path, "/srv/a");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exports_edit");
	TCase *tcase = tcase_create("exports_edit");

	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_loop_test(tcase, additions_change_no_more_than_they_must, 0,
	                    ARRAY_COUNT(additions));
	tcase_add_test(tcase, what_was_added_is_there);
	tcase_add_loop_test(tcase, removals_take_a_line_or_a_host, 0, ARRAY_COUNT(removals));
	tcase_add_test(tcase, overlaps_are_found);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
