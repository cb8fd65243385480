/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/unix_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfs/base/cleanup.h"

enum {
	LISTEN_BACKLOG = 64
};

/* What a server that was killed left is in the way of bind(2); a living one's is left alone. */
static int bind_socket(int fd, const struct sockaddr_un *address)
{
	AUTO(close_fd) int probe = -EBADF;

	if (bind(fd, (const struct sockaddr *) address, sizeof *address) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (probe < 0)
		return -errno;
	if (connect(probe, (const struct sockaddr *) address, sizeof *address) == 0 ||
	    errno != ECONNREFUSED)
		return -EADDRINUSE;
	(void) unlink(address->sun_path);
	return bind(fd, (const struct sockaddr *) address, sizeof *address) < 0 ? -errno : 0;
}

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
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	AUTO(close_fd) int fd = -EBADF;
	int r;

	if (strlen(path) >= sizeof address.sun_path)
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	make_directory(path);
	r = bind_socket(fd, &address);
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
