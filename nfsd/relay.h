/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.h - offload.x, and NFS's procedure 22, through nfsd's port: calls go to the sidecar with
 * the caller's verified address and credential before them, results come back unchanged.
 *
 * One thread of its own has all calls that are with the sidecar, and a deadline for each: a sidecar
 * that is down, hangs or is restarted costs NFS nothing. The call fails then (the client is told
 * OFFLOAD_ERR_UNAVAILABLE or the like), and the log is told once for each change. More calls than
 * the sidecar is given at once wait here.
 */
#pragma once

#include "nfsd/call.h"

struct relay;

extern const struct program offload_program;

/* CALL_RING's start(): ends in call_finish() or call_fail(). -EBUSY: too many wait already. */
void relay_start(struct call *call);

/* @socket_path: the sidecar's; it need not be there yet. 0, -ENOMEM, -EAGAIN, ... */
int relay_open(const char *socket_path, struct relay **ret_relay);

/* Answer what is with the sidecar, and everything from now on, with "unavailable". Takes NULL. */
void relay_stop(struct relay *relay);

/* The workers have ended. Takes NULL, returns NULL. */
struct relay *relay_close(struct relay *relay);
