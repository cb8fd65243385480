/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_session.h - one session of a plug-in with a server: the ports, two connections, a mount,
 * and the few NFS calls that plug-ins and the hosts around them make. libtirpc's client.
 *
 * As plug-ins do: the portmapper is asked over UDP (with IPv6: rpcbind over TCP), both connections
 * come from unreserved ports, the caller is uid 0, and a call has PLUGIN_RPC_S seconds.
 *
 * Functions give 0; -EREMOTEIO when the server refused, with the nfsstat3 in session->status; or
 * -ECOMM when no answer came or the connection is gone, where only a new session helps. Both leave
 * a sentence in session->why. One thread at a time has a session.
 */
#pragma once

#include <netinet/in.h>
#include <rpc/rpc.h>
#include <stdbool.h>
#include <stdint.h>

#include "offload/plugin/plugin_wire.h"
#include "rpcgen/nfs3.h"

enum {
	PLUGIN_RPC_S = 60,
	PLUGIN_WHY_BYTES = 256,
	PLUGIN_READ_BYTES_MAX = 1 << 16,
};

/* Whom to call, and as whom. The texts must last as long as its sessions. */
struct plugin_server {
	const char *host;
	uint16_t port;       /* of NFS and MOUNT; 0: ask the portmapper */
	const char *from;    /* a local address to connect from, or NULL */
	const char *path;    /* what is mounted */
	const char *machine; /* the name in our credential */
};

struct plugin_session {
	const struct plugin_server *server;
	struct sockaddr_storage address; /* of the server; the port is set for each connection */
	socklen_t address_bytes;
	CLIENT *nfs;
	struct plugin_handle root;
	uint32_t status; /* nfsstat3 of the last refusal */
	char why[PLUGIN_WHY_BYTES];
};

/* Ports, NULL, MNT. @session need not be initialised; close it whatever came of it. */
int plugin_session_open(struct plugin_session *session, const struct plugin_server *server);
void plugin_session_close(struct plugin_session *session);

/* Leave a sentence in session->why. Returns @error. */
int plugin_session_say(struct plugin_session *session, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "NFS3ERR_NOSPC"; "status 4711" in a buffer of the thread's own. */
const char *plugin_status_name(uint32_t status);

/* A call of the NFS program. @ret_results: zeroed here; freed by the caller with xdr_free(), on
 * success only. The results' own status is the caller's to look at. */
int plugin_session_call(struct plugin_session *session, const char *name, uint32_t procedure,
                        xdrproc_t encode, void *args, xdrproc_t decode, void *ret_results,
                        size_t results_bytes);

/* Procedure 22: bytes out, bytes back. */
int plugin_session_extend(struct plugin_session *session, const uint8_t *args, size_t args_bytes,
                          uint8_t ret_reply[PLUGIN_REPLY_BYTES_MAX], size_t *ret_reply_bytes);

/* The engine of the last clone into @file ("reflink"), as lodestore's own program tells: "" if the
 * server has no such program, or nothing to tell. */
void plugin_session_engine(struct plugin_session *session, const struct plugin_handle *file,
                           char ret_engine[32]);

/* ---- NFS (plugin_files.c). @ret_attributes may be NULL. ---- */

/* Component by component, from the root. Refused with NFS3ERR_NOENT: *ret_missing (may be NULL) is
 * where the missing component begins in @path. */
int plugin_lookup(struct plugin_session *session, const char *path, struct plugin_handle *ret_file,
                  fattr3 *ret_attributes, const char **ret_missing);
/* The directory that @path lies in, by its handle; *ret_name points to the last component. */
int plugin_lookup_parent(struct plugin_session *session, const char *path,
                         struct plugin_handle *ret_dir, const char **ret_name);
/* UNCHECKED, no attributes set. */
int plugin_create(struct plugin_session *session, const struct plugin_handle *dir, const char *name,
                  struct plugin_handle *ret_file);
int plugin_mkdir(struct plugin_session *session, const struct plugin_handle *dir, const char *name);
int plugin_set_size(struct plugin_session *session, const struct plugin_handle *file,
                    uint64_t bytes);
int plugin_get_attributes(struct plugin_session *session, const struct plugin_handle *file,
                          fattr3 *ret_attributes);
int plugin_read(struct plugin_session *session, const struct plugin_handle *file, uint64_t offset,
                uint8_t to[PLUGIN_READ_BYTES_MAX], size_t *ret_bytes, bool *ret_eof);
/* REMOVE, or with @is_dir RMDIR. */
int plugin_remove(struct plugin_session *session, const struct plugin_handle *dir, const char *name,
                  bool is_dir);
