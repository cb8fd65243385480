/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listing: every name that stays is seen exactly once, whatever comes and goes meanwhile.
 */
#include <sys/statfs.h>

#include "support/random.h"
#include "support/vfs_real_names.h"

enum {
	NAMES = 2000,
	PAGES_MAX = 10000,
};

struct page {
	unsigned count_max, count; /* entries taken at a time; so far */
	uint64_t cookie;           /* of the last */
	unsigned seen[NAMES], dots;
	bool with_attr;
};

static bool take(void *context, const struct vfs_entry *entry)
{
	struct page *page = context;

	if (page->count == page->count_max)
		return false;
	MUST(strlen(entry->name) == entry->name_bytes);
	MUST(entry->has_attr == page->with_attr);
	if (entry->name[0] == '.') {
		page->dots++;
	} else if (entry->name[0] == 'n') {
		unsigned long number = strtoul(entry->name + 1, NULL, 10);

		MUST(number < NAMES);
		page->seen[number]++;
	}
	if (page->with_attr)
		MUST(entry->attr.fileid == entry->fileid && entry->handle.count > 0);
	page->cookie = entry->cookie;
	page->count++;
	return true;
}

/* One READDIR; true at the end. */
static bool turn_page(struct page *page)
{
	bool eof = false;

	page->count = 0;
	ck_assert_int_eq(vfs_readdir(real.root, page->cookie, page->with_attr, take, page, &eof),
	                 0);
	MUST(eof || page->count == page->count_max);
	return eof;
}

static void put_names(void)
{
	char name[16];

	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(name, sizeof name, "n%u", i);
		vfs_real_put(&real, name, "");
	}
}

START_TEST(all_is_listed_once_in_pages_of_any_size)
{
	static const unsigned sizes[] = { 1, 7, 500, NAMES + 2, NAMES + 3 };

	put_names();
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		struct page page = { .count_max = sizes[i], .with_attr = i % 2 };
		unsigned pages = 0;

		while (!turn_page(&page))
			MUST(++pages < PAGES_MAX);
		for (unsigned n = 0; n < NAMES; n++)
			MUST(page.seen[n] == 1);
		ck_assert_uint_eq(page.dots, 2);
	}
}
END_TEST

START_TEST(names_that_stay_are_seen_once_while_others_come_and_go)
{
	struct page page = { .count_max = 20 };
	struct random random = random_new();
	bool removed[NAMES] = { false };
	unsigned pages = 0, others = 0;
	char name[32];

	put_names();
	while (!turn_page(&page)) {
		MUST(++pages < PAGES_MAX);
		for (int i = 0; i < 10; i++) {
			unsigned victim = random_below(&random, NAMES);

			snprintf(name, sizeof name, "n%u", victim);
			removed[victim] |= unlink(path_of(name)) == 0;
			snprintf(name, sizeof name, "other%u", others++ % 5000);
			vfs_real_put(&real, name, "");
		}
		MUST(others < 100000);
	}
	for (unsigned n = 0; n < NAMES; n++)
		MUST(removed[n] ? page.seen[n] <= 1 : page.seen[n] == 1);
}
END_TEST

START_TEST(deleting_all_while_listing_ends_with_an_empty_directory)
{
	struct page page = { .count_max = 100 };
	unsigned pages = 0;
	char name[16];
	bool eof;

	put_names();
	do {
		unsigned before[NAMES];

		memcpy(before, page.seen, sizeof before);
		eof = turn_page(&page);
		for (unsigned n = 0; n < NAMES; n++)
			if (page.seen[n] > before[n]) {
				snprintf(name, sizeof name, "n%u", n);
				MUST(unlink(path_of(name)) == 0);
			}
		MUST(++pages < PAGES_MAX);
	} while (!eof);
	for (unsigned n = 0; n < NAMES; n++)
		MUST(page.seen[n] == 1);
}
END_TEST

START_TEST(an_old_cookie_at_the_end_is_an_empty_list)
{
	struct page page = { .count_max = 100 };

	ck_assert(turn_page(&page));
	ck_assert_uint_eq(page.count, 2);
	ck_assert(turn_page(&page));
	ck_assert_uint_eq(page.count, 0);
}
END_TEST

START_TEST(a_cookie_that_is_none_is_told)
{
	struct page page = { .count_max = 100 };
	bool eof;

	ck_assert_int_eq(vfs_readdir(real.root, UINT64_MAX, false, take, &page, &eof), -ESPIPE);
	ck_assert_int_eq(vfs_readdir(real.root, (uint64_t) INT64_MAX + 1, false, take, &page, &eof),
	                 -ESPIPE);
}
END_TEST

static bool only_dots(void *context, const struct vfs_entry *entry)
{
	uint64_t *ids = context;

	if (strcmp(entry->name, ".") == 0)
		ids[0] = entry->fileid;
	else if (strcmp(entry->name, "..") == 0)
		ids[1] = entry->fileid;
	return true;
}

START_TEST(dots_are_what_getattr_says_and_nothing_above_the_root)
{
	uint64_t root_ids[2] = { 0 }, dir_ids[2] = { 0 };
	struct vfs_file *dir;
	bool eof;

	ck_assert_int_eq(make_dir("dir", 0755), 0);
	dir = dir_of("dir");
	for (int with_attr = 0; with_attr < 2; with_attr++) {
		ck_assert_int_eq(vfs_readdir(real.root, 0, with_attr, only_dots, root_ids, &eof),
		                 0);
		ck_assert_int_eq(vfs_readdir(dir, 0, with_attr, only_dots, dir_ids, &eof), 0);
		ck_assert_uint_eq(root_ids[0], stat_of(".").st_ino);
		ck_assert_uint_eq(root_ids[1], root_ids[0]);
		ck_assert_uint_eq(dir_ids[0], stat_of("dir").st_ino);
		ck_assert_uint_eq(dir_ids[1], root_ids[0]);
	}
	vfs_file_put(dir);
}
END_TEST

START_TEST(reading_is_enough_to_list_and_needed)
{
	struct page page = { .count_max = 100 };
	struct vfs_file *dir;
	bool eof;

	ck_assert_int_eq(make_dir("dir", 0744), 0);
	dir = dir_of("dir");
	vfs_identity_assume(&user.cred);
	ck_assert_int_eq(vfs_readdir(dir, 0, false, take, &page, &eof), 0);
	vfs_identity_server();
	ck_assert_int_eq(chmod(path_of("dir"), 0711), 0);
	vfs_identity_assume(&user.cred);
	ck_assert_int_eq(vfs_readdir(dir, 0, false, take, &page, &eof), -EACCES);
	vfs_identity_server();
	vfs_file_put(dir);
}
END_TEST

START_TEST(what_is_no_directory_or_no_more_is_told)
{
	struct page page = { .count_max = 100 };
	struct vfs_file *file, *dir;
	bool eof;

	vfs_real_put(&real, "file", "");
	file = vfs_real_lookup(&real, "file");
	ck_assert_int_eq(vfs_readdir(file, 0, false, take, &page, &eof), -ENOTDIR);
	vfs_file_put(file);
	ck_assert_int_eq(make_dir("dir", 0755), 0);
	dir = dir_of("dir");
	ck_assert_int_eq(rmdir(path_of("dir")), 0);
	ck_assert_int_eq(vfs_readdir(dir, 0, false, take, &page, &eof), -ESTALE);
	vfs_file_put(dir);
}
END_TEST

START_TEST(space_and_limits_are_the_file_systems)
{
	struct vfs_space space;
	struct vfs_limits limits;
	struct statfs statfs_;

	ck_assert_int_eq(vfs_space(real.root, &space), 0);
	ck_assert_int_eq(statfs(real.dir, &statfs_), 0);
	ck_assert_uint_eq(space.total_bytes,
	                  (uint64_t) statfs_.f_blocks * (uint64_t) statfs_.f_bsize);
	ck_assert_uint_le(space.available_bytes, space.free_bytes);
	ck_assert_uint_le(space.free_bytes, space.total_bytes);
	ck_assert_int_eq(vfs_limits(real.root, &limits), 0);
	ck_assert_uint_eq(limits.name_bytes_max, 255);
	ck_assert_uint_ge(limits.link_max, 8);
	ck_assert_uint_ge(limits.file_bytes_max, INT32_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vfs_dir");
	TCase *tcase = tcase_create("vfs_dir");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, all_is_listed_once_in_pages_of_any_size);
	tcase_add_test(tcase, names_that_stay_are_seen_once_while_others_come_and_go);
	tcase_add_test(tcase, deleting_all_while_listing_ends_with_an_empty_directory);
	tcase_add_test(tcase, an_old_cookie_at_the_end_is_an_empty_list);
	tcase_add_test(tcase, a_cookie_that_is_none_is_told);
	tcase_add_test(tcase, dots_are_what_getattr_says_and_nothing_above_the_root);
	tcase_add_test(tcase, reading_is_enough_to_list_and_needed);
	tcase_add_test(tcase, what_is_no_directory_or_no_more_is_told);
	tcase_add_test(tcase, space_and_limits_are_the_file_systems);
	suite_add_tcase(suite, tcase);
	return vfs_real_needs_root() ?: check_main(suite);
}
