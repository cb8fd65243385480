/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/unix_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"
#include "vfs/base/process.h"
#include "vfs/base/unix_address.h"

enum {
	LISTEN_BACKLOG = 64
};

/* /run is empty after a boot, and without systemd nobody else makes a directory there. */
static void make_directory(const char *path)
{
	AUTO(free_ptr) char *copy = strdup(path);
	char *slash = copy ? strrchr(copy, '/') : NULL;

	if (!slash || slash == copy)
		return;
	*slash = '\0';
	(void) mkdir(copy, 0750);
}

/* The mode is set before anybody can connect: no listen(2) yet. */
int unix_socket_listen(const char *path, struct sockaddr_un *ret_address, int *ret_fd)
{
	AUTO(close_fd) int fd = -EBADF;
	struct sockaddr_un address;
	int r = unix_address(path, &address);

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	make_directory(path);
	r = process_bind_socket(fd, path);
	if (r < 0)
		return r;
	if (chmod(path, 0600) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
		r = -errno;
		(void) unlink(path);
		return r;
	}
	*ret_address = address;
	*ret_fd = take_fd(&fd);
	return 0;
}
