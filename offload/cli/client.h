/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - calls of offload.x to one server: by TCP, or on this machine's Unix socket.
 *
 * A server that has answered once is waited for when it is lost: it may only be restarting, and a
 * call that was answered already may be sent again (offload.x). A first call that gets no answer
 * fails at once.
 */
#pragma once

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "offload/cli/arguments.h"
#include "offload/cli/place.h"
#include "rpcgen/offload.h"

enum {
	CLIENT_WHY_BYTES = 512,
	CLIENT_NAME_BYTES = PLACE_HOST_BYTES + 2,
};

struct client {
	char name[CLIENT_NAME_BYTES]; /* of the host, as it was written; "" on this machine */
	const char *socket_path;
	uint16_t port;
	uint64_t timeout_ms;
	struct addrinfo *addresses; /* NULL: the Unix socket */

	int fd; /* -EBADF: not connected */
	uint32_t xid;
	bool answered;
	uint8_t *reply;
	char why[CLIENT_WHY_BYTES];
	void (*lost)(void *context, const char *why); /* once, when it is lost; NULL: never mind */
	void *context;
};

struct client_call {
	uint32_t procedure;
	xdrproc_t encode;
	const void *args;
	uint32_t wait_s; /* that its args ask for */
	xdrproc_t decode;
	size_t result_bytes;
};

/* Finds the server's addresses; does not connect. On failure -EHOSTUNREACH, and client->why. */
int client_open(struct client *client, const struct place *place,
                const struct arguments *arguments);
void client_close(struct client *client);

/* JOBS, a page of it: those behind args->after_id, the oldest first. Kept: @args. */
struct client_call client_jobs_call(const offload_jobs_args *args);

/* On success free @ret_result with xdr_free(). On failure client->why is a sentence without a full
 * stop: -EINTR after Ctrl-C, -EPROTO if what answers does not serve the program. */
int client_call(struct client *client, const struct client_call *call, void *ret_result);
