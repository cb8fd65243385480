/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/base/file_text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"

int file_text_read(const char *path, char **ret_text, size_t *ret_bytes)
{
	AUTO(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO(free_ptr) char *text = NULL;
	size_t bytes = 0, room = 0;
	ssize_t count;

	if (fd < 0)
		return -errno;
	do {
		if (room - bytes < 2) {
			size_t more = room ? room * 2 : 16 << 10;
			char *grown = more > FILE_TEXT_BYTES_MAX ? NULL : realloc(text, more);

			if (!grown)
				return more > FILE_TEXT_BYTES_MAX ? -EFBIG : -ENOMEM;
			text = grown;
			room = more;
		}
		count = read(fd, text + bytes, room - bytes - 1);
		if (count < 0 && errno != EINTR)
			return -errno;
		bytes += count > 0 ? (size_t) count : 0;
	} while (count != 0);
	text[bytes] = '\0';
	*ret_text = take_ptr(text);
	*ret_bytes = bytes;
	return 0;
}

static int dir_sync_of(const char *path)
{
	AUTO(free_ptr) char *copy = strdup(path);
	AUTO(close_fd) int fd = -EBADF;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int write_durably(int fd, const void *bytes, size_t bytes_count)
{
	ssize_t written = write(fd, bytes, bytes_count);

	if (written >= 0 && (size_t) written < bytes_count)
		return -EIO;
	return written < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Written under another name and moved to its own by @place, so that nobody ever finds half of it.
 * The other name is a random one: what a crash has left must not be in the way. */
static int write_and_place(const char *path, const void *bytes, size_t bytes_count,
                           const struct stat *like, int (*place)(const char *from, const char *to))
{
	AUTO(free_ptr) char *temporary = NULL;
	AUTO(close_fd) int fd = -EBADF;
	int r;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (like &&
	    (fchmod(fd, like->st_mode & 07777) < 0 || fchown(fd, like->st_uid, like->st_gid) < 0))
		r = -errno;
	else
		r = write_durably(fd, bytes, bytes_count);
	if (r == 0 && place(temporary, path) < 0)
		r = -errno;
	if (r < 0 || place == link)
		(void) unlink(temporary);
	return r < 0 ? r : dir_sync_of(path);
}

int file_text_create(const char *path, const void *bytes, size_t bytes_count)
{
	return write_and_place(path, bytes, bytes_count, NULL, link);
}

int file_text_replace(const char *path, const void *bytes, size_t bytes_count)
{
	return write_and_place(path, bytes, bytes_count, NULL, rename);
}

int file_text_rewrite(const char *path, const void *bytes, size_t bytes_count)
{
	AUTO(free_ptr) char *real = realpath(path, NULL);
	struct stat like = { .st_mode = 0644, .st_uid = geteuid(), .st_gid = getegid() };

	if (!real && errno != ENOENT)
		return -errno;
	if (real && stat(real, &like) < 0)
		return -errno;
	return write_and_place(real ? real : path, bytes, bytes_count, &like, rename);
}
