/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/unix_service.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nfsd/unix_socket.h"
#include "vfs/base/cleanup.h"

enum {
	REQUEST_MS = 2000,
	AGAIN_MS = 100,
};

struct unix_service {
	const char *name;
	unix_service_fn *serve;
	void *context;
	struct sockaddr_un address;
	int listen_fd, stop_fd;
	pthread_t thread;
};

int unix_service_wait(int fd, int stop_fd, short events, int wait_ms)
{
	struct pollfd fds[] = { { .fd = fd, .events = events },
		                { .fd = stop_fd, .events = POLLIN } };

	if (poll(fds, ARRAY_COUNT(fds), wait_ms) < 0 && errno != EINTR)
		return -1;
	return fds[1].revents ? -1 : fds[0].revents;
}

bool unix_service_send(int fd, int stop_fd, const char *text, size_t bytes, int wait_ms)
{
	size_t sent = 0;

	while (sent < bytes) {
		ssize_t part = send(fd, text + sent, bytes - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		int ready;

		if (part > 0) {
			sent += (size_t) part;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return false;
		ready = unix_service_wait(fd, stop_fd, POLLOUT, wait_ms);
		if (ready < 0 || (ready == 0 && wait_ms >= 0))
			return false;
	}
	return true;
}

bool unix_service_line(int fd, int stop_fd, char *ret_line, size_t room)
{
	ssize_t bytes;

	if (unix_service_wait(fd, stop_fd, POLLIN, REQUEST_MS) <= 0)
		return false;
	bytes = recv(fd, ret_line, room - 1, MSG_DONTWAIT);
	if (bytes <= 0)
		return false;
	ret_line[bytes] = '\0';
	ret_line[strcspn(ret_line, "\n")] = '\0';
	return true;
}

static void *service_run(void *arg)
{
	struct unix_service *service = arg;

	pthread_setname_np(pthread_self(), service->name);
	while (unix_service_wait(service->listen_fd, service->stop_fd, POLLIN, -1) >= 0) {
		AUTO(close_fd) int fd = accept4(service->listen_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			service->serve(service->context, fd, service->stop_fd);
		else /* gone already, or out of descriptors: a while later, perhaps */
			(void) unix_service_wait(-1, service->stop_fd, 0, AGAIN_MS);
	}
	return NULL;
}

static void service_free(struct unix_service *service)
{
	if (service->listen_fd >= 0)
		(void) unlink(service->address.sun_path);
	close_fd(&service->listen_fd);
	close_fd(&service->stop_fd);
	free(service);
}

int unix_service_open(const char *path, const char *name, unix_service_fn *serve, void *context,
                      struct unix_service **ret_service)
{
	struct unix_service *service = calloc(1, sizeof *service);
	int r;

	if (!service)
		return -ENOMEM;
	service->name = name;
	service->serve = serve;
	service->context = context;
	service->listen_fd = -EBADF;
	service->stop_fd = eventfd(0, EFD_CLOEXEC);
	r = service->stop_fd < 0 ? -errno
	                         : unix_socket_listen(path, &service->address, &service->listen_fd);
	if (r == 0)
		r = -pthread_create(&service->thread, NULL, service_run, service);
	if (r < 0) {
		service_free(service);
		return r;
	}
	*ret_service = service;
	return 0;
}

struct unix_service *unix_service_close(struct unix_service *service)
{
	static const uint64_t one = 1;

	if (!service)
		return NULL;
	(void) !write(service->stop_fd, &one, sizeof one);
	pthread_join(service->thread, NULL);
	service_free(service);
	return NULL;
}
