/* SPDX-License-Identifier: Apache-2.0 */
#include "nfsd/locks_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd/locks.h"
#include "nfsd/unix_service.h"
#include "vfs/base/cleanup.h"
#include "vfs/base/log.h"

enum {
	REQUEST_BYTES = 64,
	ROWS_MAX = 20000,
	TAKE_MS = 5000, /* who stops reading keeps the next one waiting no longer */
};

struct locks_socket {
	struct locks *locks;
	struct unix_service *service;
};

static void release(struct locks *locks, const char *address, struct json *json)
{
	struct export_address client;
	char text[EXPORT_ADDRESS_TEXT_BYTES];
	unsigned count;

	if (export_address_parse(address, &client) < 0 ||
	    !locks_client_release(locks, &client, &count)) {
		json_bool(json, "unknown", true);
		return;
	}
	json_u64(json, "released", count);
	log_info("the %u locks of %s are released, as 'lodestore locks --release' asks", count,
	         export_address_print(&client, text));
}

static void answer(struct locks *locks, const char *request, struct json *json)
{
	static const char release_word[] = "release ";

	if (strcmp(request, "list") == 0)
		locks_put_list(locks, json, ROWS_MAX);
	else if (strncmp(request, release_word, strlen(release_word)) == 0)
		release(locks, request + strlen(release_word), json);
	else
		json_word(json, "error", "ask for list, or release ADDRESS");
}

static void serve(void *context, int fd, int stop_fd)
{
	struct locks_socket *socket = context;
	AUTO(free_ptr) char *text = NULL;
	char request[REQUEST_BYTES];
	struct json json = { NULL };
	size_t bytes;

	if (!unix_service_line(fd, stop_fd, request, sizeof request))
		return;
	json.to = open_memstream(&text, &bytes);
	if (!json.to)
		return;
	json_begin(&json, NULL, '{');
	answer(socket->locks, request, &json);
	json_end(&json, '}');
	fputc('\n', json.to);
	if (fclose(json.to) == 0)
		(void) unix_service_send(fd, stop_fd, text, bytes, TAKE_MS);
}

struct locks_socket *locks_socket_open(struct locks *locks, const char *status_path)
{
	AUTO(free_ptr) char *path = NULL;
	struct locks_socket *socket;
	int r;

	if (!locks || strcmp(status_path, "none") == 0)
		return NULL;
	socket = calloc(1, sizeof *socket);
	if (!socket)
		return NULL;
	socket->locks = locks;
	r = asprintf(&path, "%s.locks", status_path) < 0
	            ? -ENOMEM
	            : unix_service_open(path, "locks", serve, socket, &socket->service);
	if (r == 0)
		return socket;
	log_warn("'lodestore locks' cannot ask on %s.locks: %s", status_path, strerror(-r));
	return locks_socket_close(socket);
}

struct locks_socket *locks_socket_close(struct locks_socket *socket)
{
	if (!socket)
		return NULL;
	socket->service = unix_service_close(socket->service);
	free(socket);
	return NULL;
}
