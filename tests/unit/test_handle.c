/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles: what was packed comes back, and nothing else is taken for ours.
 */
#include "vfs/handle.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "support/check_main.h"

enum {
	BYTES_TRIED_MAX = 80,
	HANDLE_BYTES_MIN = VFS_HANDLE_HEAD_BYTES + VFS_HANDLE_KERNEL_BYTES_MIN +
	                   VFS_HANDLE_MAC_BYTES,
};

static const struct vfs_handle_key key = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
};

static const uint8_t kernel[VFS_HANDLE_KERNEL_BYTES_MAX + 1] = "the kernel's own, of any bytes..";

static struct vfs_handle packed(uint8_t kernel_count)
{
	struct vfs_handle_parts parts = {
		.export_id = 0x01020304,
		.fs_identity = 0x1122334455667788,
		.kernel_type = 0x81,
		.kernel_count = kernel_count,
		.kernel = kernel,
	};
	struct vfs_handle handle;

	ck_assert_int_eq(vfs_handle_pack(&key, &parts, &handle), 0);
	return handle;
}

/* What parse() or verify() says: 0 only if both take it. */
static int judge(const struct vfs_handle_key *with, const uint8_t *bytes, size_t bytes_count)
{
	struct vfs_handle_parts parts;
	int r = vfs_handle_parse(bytes, bytes_count, &parts);

	return r < 0 ? r : vfs_handle_verify(with, bytes, bytes_count);
}

START_TEST(what_was_packed_is_parsed)
{
	for (uint8_t count = VFS_HANDLE_KERNEL_BYTES_MIN; count <= VFS_HANDLE_KERNEL_BYTES_MAX;
	     count++) {
		struct vfs_handle handle = packed(count);
		struct vfs_handle_parts parts;

		ck_assert_uint_eq(handle.count,
		                  VFS_HANDLE_HEAD_BYTES + count + VFS_HANDLE_MAC_BYTES);
		ck_assert_int_eq(vfs_handle_parse(handle.bytes, handle.count, &parts), 0);
		ck_assert_uint_eq(parts.export_id, 0x01020304);
		ck_assert_uint_eq(parts.fs_identity, 0x1122334455667788);
		ck_assert_uint_eq(parts.kernel_type, 0x81);
		ck_assert_uint_eq(parts.kernel_count, count);
		ck_assert_ptr_eq(parts.kernel, handle.bytes + VFS_HANDLE_HEAD_BYTES);
		ck_assert_mem_eq(parts.kernel, kernel, count);
		ck_assert_int_eq(vfs_handle_verify(&key, handle.bytes, handle.count), 0);
	}
}
END_TEST

/* Clients keep handles for years: what any release has made stays good. Should this fail, the
 * layout has changed and needs a version of its own beside the old one. */
START_TEST(a_handle_made_by_an_earlier_release_is_still_good)
{
	static const uint8_t earlier[HANDLE_BYTES_MIN] = {
		0x01, 0x81, 0x00, 0x00,                         /* version, kernel's type, zeros */
		0x01, 0x02, 0x03, 0x04,                         /* export */
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, /* file system */
		't', 'h', 'e', ' ',                             /* kernel's handle */
		/* SipHash-2-4, computed apart from libsodium */
		0x96, 0x78, 0x0f, 0x5a, 0x0f, 0x02, 0x27, 0xdd
	};
	struct vfs_handle handle = packed(VFS_HANDLE_KERNEL_BYTES_MIN);

	ck_assert_uint_eq(handle.count, sizeof earlier);
	ck_assert_mem_eq(handle.bytes, earlier, sizeof earlier);
	ck_assert_int_eq(judge(&key, earlier, sizeof earlier), 0);
}
END_TEST

START_TEST(the_longest_has_the_56_bytes_that_esxi_takes)
{
	ck_assert_uint_eq(packed(VFS_HANDLE_KERNEL_BYTES_MAX).count, 56);
	ck_assert_uint_eq(VFS_HANDLE_BYTES_MAX, 56);
	ck_assert_uint_eq(sizeof((struct vfs_handle *) NULL)->bytes, 56);
}
END_TEST

START_TEST(a_kernel_handle_that_does_not_fit_is_refused)
{
	struct vfs_handle handle, before;

	memset(&handle, 0xa5, sizeof handle);
	before = handle;
	for (unsigned count = 0; count <= UINT8_MAX; count++) {
		static const uint8_t long_kernel[UINT8_MAX];
		struct vfs_handle_parts parts = { .kernel_count = (uint8_t) count,
			                          .kernel = long_kernel };

		if (count >= VFS_HANDLE_KERNEL_BYTES_MIN && count <= VFS_HANDLE_KERNEL_BYTES_MAX)
			continue;
		ck_assert_int_eq(vfs_handle_pack(&key, &parts, &handle), -EOVERFLOW);
		ck_assert_mem_eq(&handle, &before, sizeof handle);
	}
}
END_TEST

START_TEST(every_other_length_is_refused)
{
	struct vfs_handle_parts parts, before;

	memset(&parts, 0xa5, sizeof parts);
	before = parts;
	for (size_t count = 0; count <= BYTES_TRIED_MAX; count++) {
		/* Of its own size, so that a sanitizer sees a read behind its end. */
		uint8_t *bytes = calloc(1, count + 1);
		int r;

		ck_assert_ptr_nonnull(bytes);
		if (count)
			bytes[1] = VFS_HANDLE_VERSION;
		r = vfs_handle_parse(bytes + 1, count, &parts);
		if (count >= HANDLE_BYTES_MIN && count <= VFS_HANDLE_BYTES_MAX) {
			ck_assert_int_eq(r, 0);
			ck_assert_int_eq(vfs_handle_verify(&key, bytes + 1, count), -ESTALE);
			parts = before;
		} else {
			ck_assert_int_eq(r, -EBADMSG);
			ck_assert_mem_eq(&parts, &before, sizeof parts);
		}
		free(bytes);
	}
	ck_assert_int_eq(vfs_handle_parse(NULL, 0, &parts), -EBADMSG);
}
END_TEST

START_TEST(every_flipped_bit_is_refused)
{
	for (uint8_t count = VFS_HANDLE_KERNEL_BYTES_MIN; count <= VFS_HANDLE_KERNEL_BYTES_MAX;
	     count++) {
		struct vfs_handle handle = packed(count);

		for (size_t bit = 0; bit < (size_t) handle.count * 8; bit++) {
			int r;

			handle.bytes[bit / 8] ^= (uint8_t) (1U << bit % 8);
			r = judge(&key, handle.bytes, handle.count);
			ck_assert_msg(r == -ESTALE || r == -EBADMSG, "bit %zu of %u bytes: %d", bit,
			              handle.count, r);
			handle.bytes[bit / 8] ^= (uint8_t) (1U << bit % 8);
		}
		ck_assert_int_eq(judge(&key, handle.bytes, handle.count), 0);
	}
}
END_TEST

START_TEST(a_handle_cut_short_or_made_longer_is_refused)
{
	struct vfs_handle handle = packed(20);
	uint8_t longer[VFS_HANDLE_BYTES_MAX] = { 0 };

	memcpy(longer, handle.bytes, handle.count);
	for (size_t count = 0; count <= sizeof longer; count++)
		if (count != handle.count)
			ck_assert_int_lt(judge(&key, longer, count), 0);
}
END_TEST

START_TEST(versions_and_zeros_that_are_not_ours_are_refused_by_shape)
{
	struct vfs_handle handle = packed(8);
	struct vfs_handle_parts parts;

	for (unsigned value = 0; value <= UINT8_MAX; value++)
		for (size_t at = 0; at <= 3; at++) {
			struct vfs_handle other = handle;
			bool same;

			if (at == 1)
				continue;
			other.bytes[at] = (uint8_t) value;
			same = other.bytes[at] == handle.bytes[at];
			ck_assert_int_eq(vfs_handle_parse(other.bytes, other.count, &parts),
			                 same ? 0 : -EBADMSG);
		}
}
END_TEST

START_TEST(every_other_key_refuses)
{
	struct vfs_handle handle = packed(12);

	for (size_t bit = 0; bit < (size_t) VFS_HANDLE_KEY_BYTES * 8; bit++) {
		struct vfs_handle_key other = key;

		other.bytes[bit / 8] ^= (uint8_t) (1U << bit % 8);
		ck_assert_int_eq(judge(&other, handle.bytes, handle.count), -ESTALE);
	}
}
END_TEST

START_TEST(equal_handles_have_equal_hashes)
{
	struct vfs_handle a = packed(16), b = packed(16);
	uint64_t hash = vfs_handle_hash(a.bytes, a.count);

	ck_assert_uint_eq(hash, vfs_handle_hash(b.bytes, b.count));
	for (size_t bit = 0; bit < (size_t) b.count * 8; bit++) {
		b.bytes[bit / 8] ^= (uint8_t) (1U << bit % 8);
		ck_assert_uint_ne(hash, vfs_handle_hash(b.bytes, b.count));
		b.bytes[bit / 8] ^= (uint8_t) (1U << bit % 8);
	}
	ck_assert_uint_ne(hash, vfs_handle_hash(a.bytes, a.count - 1));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("handle");
	TCase *tcase = tcase_create("handle");

	tcase_add_test(tcase, what_was_packed_is_parsed);
	tcase_add_test(tcase, a_handle_made_by_an_earlier_release_is_still_good);
	tcase_add_test(tcase, the_longest_has_the_56_bytes_that_esxi_takes);
	tcase_add_test(tcase, a_kernel_handle_that_does_not_fit_is_refused);
	tcase_add_test(tcase, every_other_length_is_refused);
	tcase_add_test(tcase, every_flipped_bit_is_refused);
	tcase_add_test(tcase, a_handle_cut_short_or_made_longer_is_refused);
	tcase_add_test(tcase, versions_and_zeros_that_are_not_ours_are_refused_by_shape);
	tcase_add_test(tcase, every_other_key_refuses);
	tcase_add_test(tcase, equal_handles_have_equal_hashes);
	suite_add_tcase(suite, tcase);
	return check_main(suite);
}
