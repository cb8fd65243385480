/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list behind showmount -a, read back from the wire's bytes.
 */
#include "nfsd/mounts.h"

#include <stdio.h>
#include <string.h>

#include "support/check_main.h"

enum {
	WIRE_BYTES = 1 << 20,
	TEXT_BYTES = 4096,
};

static struct mounts *mounts;
static uint8_t wire[WIRE_BYTES];
static char text[TEXT_BYTES]; /* "10.0.0.1:/a 10.0.0.2:/b " */

static void setup(void)
{
	mounts = mounts_new();
	ck_assert_ptr_nonnull(mounts);
}

static void teardown(void)
{
	mounts = mounts_free(mounts);
	ck_assert_ptr_null(mounts);
	ck_assert_ptr_null(mounts_free(NULL));
}

static struct export_address host(const char *address_text)
{
	struct export_address address;

	ck_assert_int_eq(export_address_parse(address_text, &address), 0);
	return address;
}

static void add(const char *client, const char *directory)
{
	struct export_address address = host(client);

	mounts_add(mounts, &address, directory);
}

static void take_away(const char *client, const char *directory)
{
	struct export_address address = host(client);

	if (directory)
		mounts_remove(mounts, &address, directory);
	else
		mounts_remove_all(mounts, &address);
}

/* What DUMP says with so much room; returns the number of entries, the texts are in text[]. */
static unsigned dump(size_t room)
{
	struct xdr_out out = xdr_out(wire, room);
	struct xdr_in in;
	unsigned count = 0;
	size_t used = 0;

	mounts_put(mounts, &out);
	ck_assert(!out.failed);
	in = xdr_in(wire, (size_t) (out.at - wire));
	text[0] = '\0';
	while (xdr_get_bool(&in)) {
		struct xdr_view client = xdr_get_opaque(&in, 255);
		struct xdr_view directory = xdr_get_opaque(&in, 1024);

		if (used < TEXT_BYTES)
			used += (size_t) snprintf(text + used, TEXT_BYTES - used, "%.*s:%.*s ",
			                          (int) client.count, (const char *) client.bytes,
			                          (int) directory.count,
			                          (const char *) directory.bytes);
		count++;
	}
	ck_assert(xdr_in_done(&in));
	return count;
}

START_TEST(what_was_mounted_is_listed_the_oldest_first)
{
	ck_assert_uint_eq(dump(WIRE_BYTES), 0);
	add("10.0.0.2", "/b");
	add("10.0.0.1", "/a");
	add("fe80::1", "/a");
	ck_assert_uint_eq(dump(WIRE_BYTES), 3);
	ck_assert_str_eq(text, "10.0.0.2:/b 10.0.0.1:/a fe80::1:/a ");
}
END_TEST

START_TEST(mounting_again_is_no_second_mount)
{
	add("10.0.0.1", "/a");
	add("10.0.0.2", "/a");
	add("10.0.0.1", "/a/");
	ck_assert_uint_eq(dump(WIRE_BYTES), 2);
	ck_assert_str_eq(text, "10.0.0.2:/a 10.0.0.1:/a ");
}
END_TEST

START_TEST(unmounting_removes_one_clients_one_directory)
{
	add("10.0.0.1", "/a");
	add("10.0.0.1", "/ab");
	add("10.0.0.2", "/a");
	add("10.0.0.1", "/");
	take_away("10.0.0.1", "/a///");
	take_away("10.0.0.1", "/nothing");
	take_away("10.0.0.3", "/a");
	ck_assert_uint_eq(dump(WIRE_BYTES), 3);
	ck_assert_str_eq(text, "10.0.0.1:/ab 10.0.0.2:/a 10.0.0.1:/ ");
	take_away("10.0.0.1", "//");
	ck_assert_uint_eq(dump(WIRE_BYTES), 2);
}
END_TEST

START_TEST(unmounting_all_removes_one_clients)
{
	add("10.0.0.1", "/a");
	add("10.0.0.2", "/a");
	add("10.0.0.1", "/b");
	take_away("10.0.0.1", NULL);
	take_away("10.0.0.9", NULL);
	ck_assert_uint_eq(dump(WIRE_BYTES), 1);
	ck_assert_str_eq(text, "10.0.0.2:/a ");
}
END_TEST

START_TEST(the_list_is_bounded_and_the_oldest_goes_first)
{
	char directory[32];

	for (unsigned i = 0; i < MOUNTS_MAX + 5; i++) {
		snprintf(directory, sizeof directory, "/%u", i);
		add("10.0.0.1", directory);
	}
	ck_assert_uint_eq(dump(WIRE_BYTES), MOUNTS_MAX);
	ck_assert_mem_eq(text, "10.0.0.1:/5 ", 12);
}
END_TEST

START_TEST(a_list_that_does_not_fit_is_cut_at_an_entry_and_ended)
{
	static const char path[] = "/a/long/directory";
	size_t whole = 4 + 4 + 8 + 4 +
	               20; /* follows, length, "10.0.0.1", length, 17 bytes padded */

	add("10.0.0.1", path);
	add("10.0.0.2", path);
	for (size_t room = 4; room <= 2 * whole + 8; room++) {
		unsigned want = room >= 2 * whole + 4 ? 2 : room >= whole + 4 ? 1 : 0;

		ck_assert_uint_eq(dump(room), want);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mounts");
	TCase *tcase = tcase_create("mounts");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, what_was_mounted_is_listed_the_oldest_first);
	tcase_add_test(tcase, mounting_again_is_no_second_mount);
	tcase_add_test(tcase, unmounting_removes_one_clients_one_directory);
	tcase_add_test(tcase, unmounting_all_removes_one_clients);
	tcase_add_test(tcase, the_list_is_bounded_and_the_oldest_goes_first);
	tcase_add_test(tcase, a_list_that_does_not_fit_is_cut_at_an_entry_and_ended);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
