/* SPDX-License-Identifier: Apache-2.0 */
/*
 * throttle.h - calls that wait for their turn, where an export has limits (iops=, mbps=, ...).
 *
 * Counted: READ, WRITE, COMMIT, what changes names or attributes, READDIR, READLINK. Free, for a
 * host gives its datastore up if they wait: what tells of attributes and space (the heartbeat), and
 * READ and WRITE of less than a disk's sector (lock files; no guest's disk does that).
 *
 * A call that waits is a call in flight of its connection: it is bounded with them, and when the
 * bound is reached nothing more is received from there. Nobody else waits for it.
 */
#pragma once

#include "nfsd/call.h"

struct conn;

/* Is this one counted, and its export limited? The export's options are known. */
bool throttle_applies(const struct call *call);

/* On the call's worker: call_resume() now, or in its turn. Over UDP there is no connection to wait
 * in: NFS3ERR_JUKEBOX. */
void throttle_call(struct call *call);

/* Every tick of the connection: after a reload, those that wait are looked at anew. */
void throttle_tick(struct conn *conn);

/* The connection ends: what waits is not carried out, and NFS3ERR_JUKEBOX tells who still listens
 * to try again. */
void throttle_cancel(struct conn *conn);
