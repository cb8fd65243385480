/* SPDX-License-Identifier: Apache-2.0 */
#include "vfs/base/unix_address.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"

int unix_address(const char *path, struct sockaddr_un *ret_address)
{
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof ret_address->sun_path)
		return -ENAMETOOLONG;
	memcpy(ret_address->sun_path, path, strlen(path) + 1);
	return 0;
}

int unix_connect(const char *path, int *ret_fd)
{
	AUTO(close_fd) int fd = -EBADF;
	struct sockaddr_un address;
	int r = unix_address(path, &address);

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *) &address, sizeof address) < 0)
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}
