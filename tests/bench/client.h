/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - a connection for one call at a time, to prepare what a load needs and to check it.
 *
 * All of these end the program if they fail.
 */
#pragma once

#include <stdint.h>

#include "nfs.h"

enum {
	CLIENT_REPLY_BYTES_MAX = NFS_BLOCK_BYTES_MAX + 4096,
};

struct target {
	const char *address;
	uint16_t nfs_port;
	uint16_t mount_port;
	const char *export;
};

/* The next call is written to `call` with ++xid. */
struct client {
	int fd;
	uint32_t xid;
	uint8_t call[NFS_CALL_BYTES_MAX];
	uint8_t reply[CLIENT_REPLY_BYTES_MAX];
};

/* A socket, from a reserved port if that is allowed. */
int client_connect(const struct target *target, uint16_t port);

/* Where a connection's xids begin: by chance, for a server may take a call that it has seen before,
 * on whichever connection, to be the same call once more (RFC 5531 section 9). */
uint32_t client_first_xid(void);

struct client *client_new(const struct target *target, uint16_t port);
struct client *client_free(struct client *client);

/* Sends client->call, and data after it; gives the reply's arguments. */
struct wire_in client_transact(struct client *client, size_t call_bytes, const uint8_t *data,
                               size_t data_bytes);

/* Ends the program if there is a fault. */
void client_expect(const char *fault);

/* The handle of target->export. */
struct nfs_handle client_mount(const struct target *target);

/* The folder of this name, made if it is missing. */
struct nfs_handle client_folder(struct client *client, const struct nfs_handle *parent,
                                const char *name);
