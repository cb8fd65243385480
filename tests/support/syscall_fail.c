/* SPDX-License-Identifier: Apache-2.0 */
#include "support/syscall_fail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>

static unsigned until_failure; /* 0: none will fail */
static int failure;
static const char *failed;

void syscall_fail_begin(unsigned nth, int error)
{
	failed = NULL;
	failure = error;
	until_failure = nth;
}

const char *syscall_fail_end(void)
{
	until_failure = 0;
	return failed;
}

bool syscall_is_flush(const char *name)
{
	return strcmp(name, "fsync") == 0 || strcmp(name, "fdatasync") == 0 ||
	       strcmp(name, "syncfs") == 0;
}

static bool must_fail(const char *name)
{
	if (until_failure == 0 || --until_failure > 0)
		return false;
	failed = name;
	errno = failure;
	return true;
}

/* ld's --wrap=NAME: a call of NAME goes to __wrap_NAME, and __real_NAME is libc's. A variadic
 * argument that was not given is read and passed on, and nobody looks at it. */
#define WRAP(type, name, params, args)                             \
	type __real_##name params;                                 \
	type __wrap_##name params;                                 \
	type __wrap_##name params                                  \
	{                                                          \
		return must_fail(#name) ? -1 : __real_##name args; \
	}

struct file_handle;
struct statfs;
struct statvfs;

WRAP(int, open64, (const char *path, int flags, mode_t mode), (path, flags, mode))
WRAP(int, openat64, (int dir, const char *path, int flags, mode_t mode), (dir, path, flags, mode))
WRAP(int, open_by_handle_at, (int mount, struct file_handle *handle, int flags),
     (mount, handle, flags))
WRAP(int, name_to_handle_at,
     (int dir, const char *path, struct file_handle *handle, int *mount, int flags),
     (dir, path, handle, mount, flags))
WRAP(int, dup, (int fd), (fd))
WRAP(int, dup3, (int fd, int to, int flags), (fd, to, flags))
WRAP(int, fstat64, (int fd, struct stat *stat), (fd, stat))
WRAP(int, statx, (int dir, const char *path, int flags, unsigned mask, struct statx *statx),
     (dir, path, flags, mask, statx))
WRAP(int, fstatfs64, (int fd, struct statfs *statfs), (fd, statfs))
WRAP(int, fstatvfs64, (int fd, struct statvfs *statvfs), (fd, statvfs))
WRAP(long, fpathconf, (int fd, int name), (fd, name))
WRAP(ssize_t, fgetxattr, (int fd, const char *name, void *value, size_t bytes),
     (fd, name, value, bytes))
WRAP(ssize_t, readlinkat, (int dir, const char *path, char *target, size_t bytes),
     (dir, path, target, bytes))
WRAP(ssize_t, getdents64, (int fd, void *entries, size_t bytes), (fd, entries, bytes))
WRAP(off_t, lseek64, (int fd, off_t offset, int whence), (fd, offset, whence))
WRAP(int, ioctl, (int fd, unsigned long request, void *argument), (fd, request, argument))
WRAP(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
WRAP(int, mknodat, (int dir, const char *path, mode_t mode, dev_t device),
     (dir, path, mode, device))
WRAP(int, symlinkat, (const char *target, int dir, const char *path), (target, dir, path))
WRAP(int, linkat, (int dir, const char *path, int to_dir, const char *to, int flags),
     (dir, path, to_dir, to, flags))
WRAP(int, renameat, (int dir, const char *path, int to_dir, const char *to),
     (dir, path, to_dir, to))
WRAP(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
WRAP(int, ftruncate64, (int fd, off_t size), (fd, size))
WRAP(int, fchmodat, (int dir, const char *path, mode_t mode, int flags), (dir, path, mode, flags))
WRAP(int, fchownat, (int dir, const char *path, uid_t uid, gid_t gid, int flags),
     (dir, path, uid, gid, flags))
WRAP(int, futimens, (int fd, const struct timespec times[2]), (fd, times))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, syncfs, (int fd), (fd))

/* Of the calls that libc has no function for, those on files. */
static const char *name_of(long number)
{
	switch (number) {
	case SYS_openat2:
		return "openat2";
	case SYS_faccessat2:
		return "faccessat2";
	case SYS_utimensat:
		return "utimensat";
	default:
		return NULL;
	}
}

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	const char *name = name_of(number);

	return name && must_fail(name) ? -1 : __real_syscall(number, a, b, c, d, e, f);
}
