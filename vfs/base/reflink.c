/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/base/reflink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"

int reflink_probe(const char *dir)
{
	AUTO(close_fd) int from = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	AUTO(close_fd) int to = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (from < 0 || to < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	if (write(from, "x", 1) != 1)
		return -EIO;
	if (ioctl(to, FICLONE, from) == 0)
		return 1;
	return errno == EOPNOTSUPP || errno == ENOTTY || errno == EINVAL ? 0 : -errno;
}
